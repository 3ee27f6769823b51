//! Programs in C that no other MPI runs print what is in `tests/c/expected`: all others are compared with what other MPIs
//! print, elsewhere. They need a C compiler.
#![cfg(feature = "exports")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c")
}

/// The programs that are compared with no other MPI: the first line of each says so.
fn alone() -> Vec<String> {
    let files = fs::read_dir(sources()).unwrap();
    let paths = files.map(|file| file.unwrap().path());
    let is_alone = |path: &PathBuf| {
        let is_program = path.extension().is_some_and(|ending| ending == "c");
        let text = is_program.then(|| fs::read_to_string(path).unwrap());
        let head = text.as_ref().and_then(|text| text.lines().next());
        head.is_some_and(|head| head.contains("not on openmpi") && head.contains("not on mpich"))
    };
    let name = |path: PathBuf| path.file_stem().unwrap().to_str().unwrap().to_owned();
    paths.filter(is_alone).map(name).collect()
}

/// Compiles the program; `None` if there is no compiler.
fn compiled(name: &str) -> Option<PathBuf> {
    Command::new("cc").arg("--version").output().ok()?;
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("expected-{name}"));
    let made = Command::new(env!("CARGO_BIN_EXE_rankfold-mpicc"))
        .args(["-O1", "-w"])
        .arg(sources().join(name).with_extension("c"))
        .arg("-o")
        .arg(&program)
        .arg("-lm")
        .status();
    assert!(made.unwrap().success());
    Some(program)
}

/// The sorted lines of a run on two ranks, which must end well and in silence.
fn lines(program: &Path, option: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rankfold-mpirun"));
    command.args(option).args(["-n", "2"]).arg(program);
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && errors.is_empty(), "{errors}");
    let text = String::from_utf8(output.stdout).unwrap();
    let mut lines: Vec<_> = text.lines().collect();
    lines.sort_unstable();
    lines.iter().map(|line| format!("{line}\n")).collect()
}

#[test]
fn a_program_that_no_other_mpi_runs_prints_what_is_expected() {
    let names = alone();
    assert!(names.contains(&"statuses_errors".to_owned()));
    for name in names {
        let expected = fs::read_to_string(sources().join("expected").join(&name));
        let expected =
            expected.unwrap_or_else(|why| panic!("no output is expected of {name}: {why}"));
        let Some(program) = compiled(&name) else {
            return;
        };
        for option in [&[][..], &["--check"], &["--zero-buffering"]] {
            assert_eq!(lines(&program, option), expected, "{name} {option:?}");
        }
    }
}
