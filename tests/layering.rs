//! Imports point down: the layers of DESIGN.md, checked against the source.

use std::fs;
use std::path::{Path, PathBuf};

/// Lowest first. Modules of one layer never import each other.
const LAYERS: &[&[&str]] = &[
    &["error", "machine", "names", "op", "span", "sync", "unwind"],
    &["topology", "transport"],
    &["schedule"],
    &["check", "collective", "cost", "draw", "simulate"],
    &["direct", "execute"],
    &["comm"],
    &["world"],
    &["measure", "testing"],
    &["tune"],
];

/// The lower rooms of the transport, and which other rooms each may import; the others stand on all of these.
const ROOMS: &[(&str, &[&str])] = &[
    ("wakeup", &[]),
    ("memory", &["wakeup"]),
    ("lanes", &["memory"]),
    ("trace", &["memory"]),
    // The scheduler asks what a receive is after.
    ("matching", &["memory", "deadlock"]),
];

/// The only files that may contain `unsafe`.
const UNSAFE: &[&str] = &[
    "op/kernels.rs",
    "op/kernels/loops.rs",
    "op/kernels/past_caches.rs",
    "op/kernels/tests.rs",
    "transport/lanes/slot.rs",
    "transport/memory/bytes.rs",
    "transport/memory/cells.rs",
    "transport/memory/cooperative_copy.rs",
    "transport/memory/fast_box.rs",
    "transport/memory/packet/body.rs",
    "transport/memory/packet/open.rs",
    "transport/memory/shared_vectors.rs",
    "world/pool.rs",
];

fn layer(module: &str) -> usize {
    LAYERS
        .iter()
        .position(|layer| layer.contains(&module))
        .unwrap_or_else(|| panic!("{module} is in no layer: put it into LAYERS and into DESIGN.md"))
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| {
            if path.is_dir() {
                sources(&path)
            } else {
                vec![path]
            }
        })
        .collect()
}

/// Returns the file's name relative to `src/`, and its code without comments.
fn code(path: &Path) -> (String, String) {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let name = path
        .strip_prefix(src)
        .unwrap()
        .to_string_lossy()
        .into_owned();
    let text = fs::read_to_string(path).unwrap();
    let lines = text.lines().map(|line| line.split("//").next().unwrap());
    (name, lines.collect::<Vec<_>>().join("\n"))
}

fn files() -> Vec<(String, String)> {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    sources(&src).iter().map(|path| code(path)).collect()
}

/// Returns the modules that a file names as `crate::module`. Capitalised names are re-exports of lib.rs, and names with
/// a `!` are macros.
fn imports(code: &str) -> impl Iterator<Item = &str> {
    let after = code.split("crate::").skip(1);
    let name = after.filter_map(|rest| {
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_')?;
        (!rest[end..].starts_with('!')).then(|| &rest[..end])
    });
    name.filter(|name| name.chars().next().is_some_and(char::is_lowercase))
}

#[test]
fn imports_point_down() {
    // The tool is a separate crate above all others.
    let below = |file: &str| file != "lib.rs" && !file.starts_with("bin/");
    for (file, code) in files().iter().filter(|(file, _)| below(file)) {
        let module = file.split(['/', '.']).next().unwrap();
        for import in imports(code).filter(|import| *import != module) {
            assert!(
                layer(import) < layer(module),
                "{file} imports {import}, which is not below it"
            );
        }
    }
}

/// The rooms that a file of the transport names as `crate::transport::room` or in `crate::transport::{...}`; a name with
/// a capital is what the transport's root re-exports.
fn rooms_in(code: &str) -> Vec<String> {
    let after = code.split("crate::transport::").skip(1);
    let names = after.flat_map(|rest| match rest.strip_prefix('{') {
        Some(group) => group.split('}').next().unwrap().split(',').collect(),
        None => vec![rest],
    });
    let first = |name: &str| {
        let letters = |c: &char| c.is_alphanumeric() || *c == '_';
        name.trim().chars().take_while(letters).collect()
    };
    names.map(first).collect()
}

#[test]
fn the_lower_rooms_of_the_transport_import_only_what_is_below() {
    for (room, below) in ROOMS {
        let folder = format!("transport/{room}/");
        let files = files();
        let mut inside = files
            .iter()
            .filter(|(file, _)| file.starts_with(&folder))
            .peekable();
        assert!(inside.peek().is_some(), "{folder} is not there");
        for (file, code) in inside {
            let code = code.split("#[cfg(all(test").next().unwrap();
            for import in rooms_in(code).iter().filter(|import| import != room) {
                assert!(below.contains(&import.as_str()), "{file} imports {import}");
            }
        }
    }
}

#[test]
fn unsafe_code_stays_in_its_files() {
    for (file, code) in files() {
        let allowed = UNSAFE.contains(&file.as_str());
        assert!(
            allowed || file == "lib.rs" || !code.contains("unsafe"),
            "{file} may not allow unsafe code"
        );
    }
}

#[test]
fn every_file_opens_with_its_idea() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for path in sources(&src) {
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("//! "), "{} has no head", path.display());
    }
}
