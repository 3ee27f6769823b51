//! Programs in C of which a rank ends the process, or would: the launcher ends with a report. They need a C compiler.
#![cfg(feature = "exports")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, PoisonError};

/// Compiles the program, once for all tests; `None` if there is no compiler.
fn compiled(optimized: &'static str) -> Option<PathBuf> {
    static PROGRAMS: Mutex<BTreeMap<&str, PathBuf>> = Mutex::new(BTreeMap::new());
    Command::new("cc").arg("--version").output().ok()?;
    let mut programs = PROGRAMS.lock().unwrap_or_else(PoisonError::into_inner);
    let program = programs.entry(optimized);
    Some(program.or_insert_with(|| compile(optimized)).clone())
}

fn compile(optimized: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c/wrong");
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("endings{optimized}"));
    let made = Command::new(env!("CARGO_BIN_EXE_rankfold-mpicc"))
        .args([optimized, "-w", "-pthread"])
        .arg(folder.join("endings.c"))
        .arg("-o")
        .arg(&program)
        .status();
    assert!(made.unwrap().success());
    program
}

/// What is reported of a program whose rank 1 ends in this way, and the code of the launcher.
fn report(how: &str) -> Option<(String, Option<i32>)> {
    report_of(how, "-O0")
}

fn output_of(how: &str, optimized: &'static str) -> Option<Output> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rankfold-mpirun"));
    let program = compiled(optimized)?;
    let output = command.args(["-n", "3"]).arg(program).arg(how).output();
    Some(output.unwrap())
}

fn report_of(how: &str, optimized: &'static str) -> Option<(String, Option<i32>)> {
    let output = output_of(how, optimized)?;
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    Some((errors, output.status.code()))
}

/// The exit code of the launcher.
fn code_of(how: &str) -> i32 {
    match how {
        "quick_exit" => 4,
        "abort" | "assert" | "raise" => 128 + 6,
        _ => 1,
    }
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
        assert_eq!(code, Some(code_of(how)), "{how}");
    }
}

#[test]
fn the_code_of_the_first_rank_to_fail_is_that_of_the_launcher() {
    for (how, expected, told) in [
        ("mpi_abort", 7, "rank 1: MPI_Abort at "),
        // A failure never looks like a success.
        ("mpi_abort_0", 1, "rank 1: MPI_Abort at "),
        ("exit_300", 300 - 256, "rank 1: it called exit(300) at "),
        ("trap", 128 + 5, "rank 1: it was ended by SIGTRAP at "),
        ("return", 5, "rank 1: its main returned the code 5"),
    ] {
        let Some((errors, code)) = report(how) else {
            return;
        };
        assert!(errors.contains(told), "{how}: {errors}");
        assert_eq!(code, Some(expected), "{how}: {errors}");
    }
}

#[test]
fn ranks_that_never_begin_may_call_exit() {
    for (how, expected) in [("early", 0), ("early_3", 3)] {
        let Some((errors, code)) = report(how) else {
            return;
        };
        assert_eq!(code, Some(expected), "{errors}");
        assert_eq!(errors.is_empty(), expected == 0, "{errors}");
    }
}

#[test]
fn a_full_stack_is_reported() {
    let Some((errors, code)) = report("stack") else {
        return;
    };
    let expected = "rank 1: it was ended by SIGSEGV: its stack of 8 MiB is full";
    assert!(errors.contains(expected), "{errors}");
    assert_eq!(code, Some(128 + 11));
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

/// The number of the line of the programs that has this comment.
fn line_of(comment: &str) -> usize {
    let mut lines = include_str!("c/wrong/endings.c").lines();
    lines.position(|line| line.contains(comment)).unwrap() + 1
}

#[test]
fn a_fault_is_reported_with_its_line_at_any_optimization() {
    let line = line_of("/* the fault */");
    for optimized in ["-O0", "-O1", "-O2"] {
        let Some((errors, _)) = report_of("null", optimized) else {
            return;
        };
        let expected =
            format!("rank 1: it was ended by SIGSEGV at tests/c/wrong/endings.c:{line}:");
        assert!(errors.contains(&expected), "{optimized}: {errors}");
    }
}

#[test]
fn a_thread_that_is_no_rank_does_not_end_the_process_silently() {
    let Some((errors, code)) = report("thread") else {
        return;
    };
    let expected = "a thread of the program that is no rank was ended by SIGABRT";
    assert!(errors.contains(expected), "{errors}");
    assert_eq!(code, Some(128 + 6));
}

#[test]
fn a_call_on_a_thread_that_is_no_rank_fails_the_run_though_the_program_goes_on() {
    let Some((errors, code)) = report("stray") else {
        return;
    };
    let line = line_of("/* no rank */");
    let expected = format!("MPI_Ssend at tests/c/wrong/endings.c:{line}:");
    assert!(errors.contains(&expected), "{errors}");
    assert!(
        errors.contains("a thread that is no rank called MPI"),
        "{errors}"
    );
    assert_eq!(code, Some(1), "{errors}");
}

#[test]
fn a_call_that_any_thread_may_make_does_not_fail_the_run() {
    let Some((errors, code)) = report("ask") else {
        return;
    };
    assert_eq!(code, Some(0), "{errors}");
}

#[test]
fn a_fault_in_the_memory_of_a_window_ends_its_rank_and_no_other_waits_for_it() {
    let Some((errors, code)) = report("window") else {
        return;
    };
    assert!(
        errors.contains("rank 1: it was ended by SIGSEGV"),
        "{errors}"
    );
    assert!(errors.contains("rank 0: MPI_Win_fence"), "{errors}");
    assert_eq!(code, Some(128 + 11), "{errors}");
}

#[test]
fn messages_that_this_library_sent_are_not_told_of_as_the_programs() {
    let Some((errors, code)) = report("gather") else {
        return;
    };
    assert!(errors.contains("rank 0: MPI_Allgatherv at "), "{errors}");
    assert!(!errors.contains("never received"), "{errors}");
    assert_eq!(code, Some(1), "{errors}");
}

#[test]
fn an_error_of_the_end_goes_to_the_error_handler_of_the_world() {
    let line = line_of("/* the end */");
    let told = format!(
        "rank 1: MPI_Finalize at tests/c/wrong/endings.c:{line}:16: MPI_ERR_TOPOLOGY: \
         the function that deletes the attribute returned an error"
    );
    for (how, code, is_told, printed) in [
        ("refuse", 1, true, ""),
        ("refuse_returned", 0, true, "returned: MPI_ERR_TOPOLOGY\n"),
        (
            "refuse_handled",
            0,
            false,
            "handled: 1, MPI_ERR_TOPOLOGY\nreturned: MPI_ERR_TOPOLOGY\n",
        ),
    ] {
        let Some(output) = output_of(how, "-O0") else {
            return;
        };
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{how}: {errors}");
        assert_eq!(errors.contains(&told), is_told, "{how}: {errors}");
        assert_eq!(String::from_utf8_lossy(&output.stdout), printed, "{how}");
    }
}

#[test]
fn a_second_end_ends_the_rank() {
    let Some((errors, code)) = report("twice") else {
        return;
    };
    let line = line_of("/* twice */");
    let place = format!("rank 1: MPI_Finalize at tests/c/wrong/endings.c:{line}:");
    assert!(errors.contains(&place), "{errors}");
    assert!(
        errors.contains("it is called after MPI_Finalize"),
        "{errors}"
    );
    assert_eq!(code, Some(1), "{errors}");
}
