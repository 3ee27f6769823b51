//! Tasks that `srun` has started without a PMI.

use std::env;
use std::process::Command;

use rankfold::{Spread, World};

use super::text;

/// Marks a process that the next test has started.
const TASK: &str = "SPREAD_TASK";

/// What a world of two ranks in a task of `srun` ends with, with these variables in its environment.
fn in_a_task(variables: &[(&str, &str)]) -> String {
    let output = Command::new(env::current_exe().unwrap())
        .args([
            "--exact",
            "without_pmi::tasks_of_srun_without_pmi_open_no_world",
        ])
        .args(["--nocapture", "--test-threads", "1"])
        .env(TASK, "1")
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    text(&output)
}

#[test]
fn tasks_of_srun_without_pmi_open_no_world() {
    if env::var_os(TASK).is_some() {
        for spread in [Spread::Auto, Spread::Must] {
            let ended = World::new(2).spread(spread).run(|comm| Ok(comm.size()));
            eprintln!("{spread:?}: {ended:?}");
        }
        return;
    }
    let step = [
        ("SLURM_STEP_ID", "0"),
        ("SLURM_PROCID", "1"),
        ("SLURM_STEP_NUM_TASKS", "2"),
    ];
    let said = in_a_task(&step);
    assert_eq!(
        said.matches("srun has started 2 tasks").count(),
        2,
        "{said}"
    );
    let alone = [&step[..2], &[("SLURM_STEP_NUM_TASKS", "1")]].concat();
    let off = [&step[..], &[("RANKFOLD_MPI", "off")]].concat();
    for works in [alone, off] {
        let said = in_a_task(&works);
        assert!(said.contains("Auto: Ok([2, 2])"), "{said}");
    }
}
