//! The copy of a program's root file: `main` has another name, a new one calls it on each rank, and the files of modules
//! are named by their whole paths. No line moves.

use std::path::Path;

/// The name of the program's own `main`.
const RANK_MAIN: &str = "main_of_each_rank";

/// What calls the program's own `main`.
#[derive(Clone, Copy)]
pub enum End {
    Main,
    Test,
}

/// What is appended to the copy. The original is named so that a change of it is noticed.
fn appendix(original: &Path, end: End) -> String {
    let original = format!(
        "const _: &str = include_str!({:?});",
        original.display().to_string()
    );
    match end {
        End::Main => format!(
            "\nfn main() -> ::std::process::ExitCode {{\n    {original}\n    ::mpi::ffi::launch({RANK_MAIN})\n}}\n"
        ),
        End::Test => format!(
            "\n#[test]\nfn main_on_all_ranks() {{\n    {original}\n    ::mpi::ffi::test({RANK_MAIN});\n}}\n"
        ),
    }
}

/// The rewritten text of a root file; `None` if it has no `main` at the start of a line.
pub fn rewritten(text: &str, original: &Path, end: End) -> Option<String> {
    let folder = original.parent()?;
    let mut has_main = false;
    let mut lines = Vec::new();
    for line in text.lines() {
        let renamed = ["fn main(", "pub fn main("].iter().find_map(|start| {
            let rest = line.strip_prefix(start)?;
            Some(format!(
                "{}{RANK_MAIN}({rest}",
                start.trim_end_matches("main(")
            ))
        });
        has_main |= renamed.is_some();
        lines.push(
            renamed
                .or_else(|| module(line, folder))
                .unwrap_or_else(|| line.into()),
        );
    }
    has_main.then(|| lines.join("\n") + &appendix(original, end))
}

/// A line that declares a module in a file of its own, with the path of that file.
fn module(line: &str, folder: &Path) -> Option<String> {
    let name = line
        .trim_start_matches("pub ")
        .trim_start_matches("pub(crate) ")
        .strip_prefix("mod ")?;
    let name = name.trim_end().strip_suffix(';')?;
    let files = [
        folder.join(format!("{name}.rs")),
        folder.join(name).join("mod.rs"),
    ];
    let file = files.iter().find(|file| file.is_file())?;
    Some(format!("#[path = {:?}] {line}", file.display().to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_name_of_main_changes_and_no_line_moves() {
        let text = "#![deny(warnings)]\nuse mpi::traits::*;\n\nfn main() {\n    let main = 1;\n}";
        let copy = rewritten(text, Path::new("/p/examples/x.rs"), End::Main).unwrap();
        let lines: Vec<&str> = copy.lines().collect();
        assert_eq!(lines[3], "fn main_of_each_rank() {");
        assert_eq!(lines[..3], text.lines().collect::<Vec<_>>()[..3]);
        assert_eq!(lines[4], "    let main = 1;");
        assert!(copy.contains("include_str!(\"/p/examples/x.rs\")"));
        let copy = rewritten(text, Path::new("/p/examples/x.rs"), End::Test).unwrap();
        assert!(copy.contains("#[test]\nfn main_on_all_ranks() {") && !copy.contains("fn main()"));
    }

    #[test]
    fn a_file_without_main_is_left_alone() {
        assert_eq!(
            rewritten("pub fn f() {}\n", Path::new("/p/src/lib.rs"), End::Test),
            None
        );
    }

    #[test]
    fn modules_are_found_where_they_are() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/bin/cargo-rankfold-mpi");
        let line = module("mod rewrite;", &folder).unwrap();
        assert!(
            line.starts_with("#[path = \"") && line.ends_with("rewrite.rs\"] mod rewrite;"),
            "{line}"
        );
        assert_eq!(module("mod here { }", &folder), None);
        assert_eq!(module("mod absent;", &folder), None);
    }
}
