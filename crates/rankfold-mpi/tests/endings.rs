//! Programs in C of which a rank ends the process, or would: the launcher ends with a report. They need a C compiler.
#![cfg(feature = "exports")]

use std::path::{Path, PathBuf};
use std::process::Command;

/// Compiles the program; `None` if there is no compiler.
fn compiled(name: &str) -> Option<PathBuf> {
    Command::new("cc").arg("--version").output().ok()?;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c/wrong");
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("endings-{name}"));
    let made = Command::new(env!("CARGO_BIN_EXE_rankfold-mpicc"))
        .args(["-O0", "-w"])
        .arg(folder.join("endings.c"))
        .arg("-o")
        .arg(&program)
        .status();
    assert!(made.unwrap().success());
    Some(program)
}

/// What is reported of a program whose rank 1 ends in this way, and the code of the launcher.
fn report(how: &str) -> Option<(String, Option<i32>)> {
    let output = Command::new(env!("CARGO_BIN_EXE_rankfold-mpirun"))
        .args(["-n", "3"])
        .arg(compiled(how)?)
        .arg(how)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    Some((errors, output.status.code()))
}

#[test]
fn a_rank_that_ends_the_process_is_reported_with_its_line() {
    for (how, expected) in [
        (
            "exit",
            "rank 1: it called exit(0) without MPI_Finalize at tests/c/wrong/endings.c:",
        ),
        (
            "_exit",
            "rank 1: it called _exit(0) without MPI_Finalize at ",
        ),
        (
            "_Exit",
            "rank 1: it called _Exit(0) without MPI_Finalize at ",
        ),
        (
            "quick_exit",
            "rank 1: it called quick_exit(4) at tests/c/wrong/endings.c:",
        ),
        (
            "abort",
            "rank 1: it called abort at tests/c/wrong/endings.c:",
        ),
        (
            "assert",
            "rank 1: it was ended by SIGABRT at tests/c/wrong/endings.c:",
        ),
        (
            "raise",
            "rank 1: it was ended by SIGABRT at tests/c/wrong/endings.c:",
        ),
    ] {
        let Some((errors, code)) = report(how) else {
            return;
        };
        assert!(errors.contains(expected), "{how}: {errors}");
        assert!(errors.contains("the first culprit is rank 1"), "{errors}");
        assert_eq!(code, Some(1), "{how}");
    }
}

#[test]
fn a_full_stack_is_reported() {
    let Some((errors, code)) = report("stack") else {
        return;
    };
    let expected = "rank 1: it was ended by SIGSEGV: its stack of 8 MiB is full";
    assert!(errors.contains(expected), "{errors}");
    assert_eq!(code, Some(1));
}

#[test]
fn ranks_that_wait_for_a_lock_of_one_that_a_signal_ended_do_not_hang() {
    let Some((errors, code)) = report("stdio") else {
        return;
    };
    assert!(
        errors.contains("rank 1: it was ended by SIGSEGV"),
        "{errors}"
    );
    assert!(errors.contains("the other ranks did not end"), "{errors}");
    assert_eq!(code, Some(128 + 11));
}

#[test]
fn ranks_that_compute_for_ever_after_another_has_failed_are_ended() {
    let Some((errors, code)) = report("compute") else {
        return;
    };
    assert!(
        errors.contains("rank 1: it called exit(0) without MPI_Finalize"),
        "{errors}"
    );
    assert!(errors.contains("the other ranks did not end"), "{errors}");
    assert_eq!(code, Some(1));
}
