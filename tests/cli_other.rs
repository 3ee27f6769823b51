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
    // What is neither is refused as before.
    let none = rankfold(&["gret"], &folder);
    assert_eq!(none.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&none.stderr).contains("gret"));
}
