//! Subcommands of the tool that are programs of their own.
#![cfg(all(feature = "cli", unix))]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

fn rankfold(arguments: &[&str], path: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rankfold"));
    command.args(arguments).env("PATH", path).output().unwrap()
}

#[test]
fn a_program_in_the_path_is_a_subcommand_unless_the_tool_has_it() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("other-subcommands");
    fs::create_dir_all(&folder).unwrap();
    for name in ["rankfold-greet", "rankfold-cost"] {
        let program = folder.join(name);
        fs::write(&program, "#!/bin/sh\necho \"greet $*\"\nexit 3\n").unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let greeted = rankfold(&["greet", "-n", "4", "./prog"], &folder);
    assert_eq!(greeted.stdout, b"greet -n 4 ./prog\n");
    assert_eq!(greeted.status.code(), Some(3));
    assert!(
        !rankfold(&["cost", "--help"], &folder)
            .stdout
            .starts_with(b"greet")
    );
}

#[test]
fn a_command_that_is_missing_is_told_of_with_what_to_do() {
    let empty = Path::new(env!("CARGO_TARGET_TMPDIR")).join("no-subcommands");
    fs::create_dir_all(&empty).unwrap();
    let nowhere = |name: &str| {
        format!(
            "error: no command is called '{name}', and there is no rankfold-{name} beside rankfold or in PATH; "
        )
    };
    // A link in an empty folder: no program is beside it.
    let tool = empty.join("tool");
    let _ = fs::remove_file(&tool);
    fs::hard_link(env!("CARGO_BIN_EXE_rankfold"), &tool).unwrap();
    for (name, advice) in [
        ("hymn", "`rankfold --help` lists the commands"),
        ("topolgy", "did you mean 'topology'?"),
        (
            "mpirun",
            "install it from the repository: cargo install --path crates/rankfold-mpi",
        ),
    ] {
        let mut command = Command::new(&tool);
        let none = command.args([name, "-n", "2"]).env("PATH", &empty);
        let none = none.output().unwrap();
        assert_eq!(none.status.code(), Some(2));
        let said = String::from_utf8(none.stderr).unwrap();
        assert_eq!(said, format!("{}{advice}\n", nowhere(name)));
    }
}

#[test]
fn a_program_that_cannot_be_run_is_wrong_input() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("no-program");
    fs::create_dir_all(&folder).unwrap();
    let program = folder.join("rankfold-plain");
    fs::write(&program, "no program").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o644)).unwrap();
    let refused = rankfold(&["plain"], &folder);
    assert_eq!(refused.status.code(), Some(2));
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(
        said.starts_with(&format!("error: {}: ", program.display())),
        "{said}"
    );
}
