//! Worlds over several processes: this test starts itself under the launchers of Open MPI and MPICH, where those are
//! installed, with several numbers of processes and of ranks in each. `RANKFOLD_NEED_LAUNCHERS` makes a missing one a failure.
#![cfg(feature = "mpi")]

#[path = "spread/compiled.rs"]
mod compiled;
#[path = "spread/corrupt.rs"]
mod corrupt;
#[path = "spread/ends.rs"]
mod ends;
#[path = "spread/leaders.rs"]
mod leaders;
#[path = "spread/left.rs"]
mod left;
#[path = "spread/needed.rs"]
mod needed;
#[path = "spread/programs.rs"]
mod programs;
#[path = "spread/random_programs.rs"]
mod random_programs;
#[path = "spread/reports.rs"]
mod reports;
#[path = "spread/straight.rs"]
mod straight;
mod support;
#[path = "spread/traces.rs"]
mod traces;
#[path = "spread/without_pmi.rs"]
mod without_pmi;

use std::env;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use programs::PROGRAMS;

/// The variables that make a process of this test run a program, and say how many ranks it has.
const PROGRAM: &str = "SPREAD_PROGRAM";
const RANKS: &str = "SPREAD_RANKS";
/// Marks all processes of one launch.
const MARK: &str = "SPREAD_MARK";

/// A launcher, the MPI library that belongs to it, and the most processes for which it is started.
struct Launcher {
    command: &'static str,
    library: &'static str,
    most: usize,
}

/// MPICH takes turns badly: it gets no more processes than there are CPUs.
fn launchers() -> Vec<Launcher> {
    let cpus = thread::available_parallelism().map_or(1, |cpus| cpus.get());
    let all = [
        ("mpirun.openmpi", "libmpi.so.40", 3),
        ("mpirun.mpich", "libmpich.so.12", cpus.min(3)),
    ];
    let there = |command: &'static str| {
        let found = Command::new(command).arg("--version").output();
        let found = found.is_ok_and(|output| output.status.success());
        if !found {
            needed::misses(command);
        }
        found
    };
    let all = all.into_iter().filter(|(command, ..)| there(command));
    all.map(|(command, library, most)| Launcher {
        command,
        library,
        most,
    })
    .collect()
}

impl Launcher {
    /// Runs a program in `processes` processes of `ranks` ranks, and checks that none of them is left.
    fn run(&self, program: &str, processes: usize, ranks: usize) -> Output {
        self.run_with(program, processes, ranks, &[])
    }

    /// The same with these variables in the environment.
    fn run_with(
        &self,
        program: &str,
        processes: usize,
        ranks: usize,
        more: &[(&str, &str)],
    ) -> Output {
        // Several tests launch the same program at once.
        static LAUNCHES: AtomicU32 = AtomicU32::new(0);
        let launch = LAUNCHES.fetch_add(1, Ordering::Relaxed);
        let mark = format!("{}-{launch}", std::process::id());
        let output = Command::new("timeout")
            .args(["60", self.command, "-n", &processes.to_string()])
            .arg(env::current_exe().unwrap())
            .args(["--exact", "a_process", "--nocapture", "--test-threads", "1"])
            .env(PROGRAM, program)
            .env(RANKS, ranks.to_string())
            .env(MARK, &mark)
            .envs(more.iter().copied())
            .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
            .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
            .env("OMPI_MCA_rmaps_base_oversubscribe", "1")
            .env("OMPI_MCA_btl_vader_single_copy_mechanism", "none")
            .output()
            .unwrap();
        let left = left::by_mark(MARK, &mark);
        let said = text(&output);
        assert!(left.is_empty(), "{program} is left: {left:#?}\n{said}");
        output
    }

    fn check(&self, program: &str, processes: usize, ranks: usize) {
        self.check_with(program, processes, ranks, &[]);
    }

    fn check_with(
        &self,
        program: &str,
        processes: usize,
        ranks: usize,
        more: &[(&str, &str)],
    ) -> Output {
        let output = self.run_with(program, processes, ranks, more);
        let case = format!(
            "{program}, {} -n {processes}, {ranks} ranks each",
            self.command
        );
        assert!(
            output.status.success(),
            "{case}, {more:?}: {}",
            text(&output)
        );
        output
    }
}

fn text(output: &Output) -> String {
    let both = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    format!("{}\n{}\n{}", output.status, both[0], both[1])
}

/// What each process of a launch runs; without a launcher nothing.
#[test]
fn a_process() {
    let Ok(name) = env::var(PROGRAM) else {
        return;
    };
    let ranks = env::var(RANKS).unwrap().parse().unwrap();
    let (_, program) = PROGRAMS.iter().find(|(known, _)| *known == name).unwrap();
    program(ranks);
}

fn everywhere(program: &str, sizes: &[(usize, usize)]) {
    for launcher in launchers() {
        for (processes, ranks) in sizes
            .iter()
            .filter(|(processes, _)| *processes <= launcher.most)
        {
            launcher.check(program, *processes, *ranks);
        }
    }
}

const SIZES: [(usize, usize); 6] = [(1, 1), (1, 2), (2, 1), (2, 2), (3, 1), (3, 2)];

#[test]
fn messages_go_between_processes_as_between_threads() {
    everywhere("point_to_point", &SIZES);
}

#[test]
fn collectives_are_plain_folds_over_processes() {
    everywhere("collectives", &SIZES);
}

#[test]
fn long_vectors_are_reduced_in_order_whoever_folds() {
    everywhere("long_sums", &[(2, 1), (2, 2), (2, 3), (3, 2)]);
}

#[test]
fn every_algorithm_runs_over_processes() {
    everywhere("algorithms", &[(2, 2), (3, 1), (3, 2)]);
}

#[test]
fn new_communicators_span_processes() {
    everywhere("communicators", &SIZES);
}

#[test]
fn what_cannot_leave_the_process_is_refused() {
    everywhere("refusals", &[(2, 1), (2, 2)]);
}

#[test]
fn a_rank_that_ends_fails_those_that_need_it_in_every_process() {
    everywhere("deaths", &[(2, 1), (2, 2), (3, 1)]);
}

#[test]
fn a_deadlock_of_ranks_in_several_processes_is_found() {
    everywhere("deadlocks", &[(2, 1), (2, 2), (3, 1)]);
}

#[test]
fn a_deadlock_is_one_report_with_all_ranks_in_every_process() {
    everywhere("reports_of_deadlocks", &[(2, 1), (2, 2), (3, 1), (3, 2)]);
}

#[test]
fn a_mismatch_names_the_odd_rank_in_every_process() {
    everywhere("reports_of_mismatches", &[(2, 1), (2, 2), (3, 1)]);
}

#[test]
fn every_process_names_the_same_odd_ranks_and_no_other() {
    everywhere("odd_ranks", &[(2, 2), (3, 1), (2, 3), (3, 2)]);
}

#[test]
fn the_sender_of_an_unknown_type_is_to_blame_in_every_process() {
    everywhere("unknown_types", &[(2, 2), (3, 1)]);
}

#[test]
fn messages_that_go_straight_are_received_like_any_other() {
    everywhere("straight", &[(2, 1), (2, 2), (3, 1), (3, 2)]);
}

#[test]
fn a_rank_that_fails_in_an_all_reduce_in_levels_is_named_soon_in_every_process() {
    everywhere("leaders_that_fail", &[(2, 2), (3, 2)]);
}

#[test]
fn a_far_rank_that_fails_ends_broadcasts_without_end() {
    everywhere("broadcasts_without_end", &[(2, 1), (2, 2), (3, 2)]);
}

#[test]
fn lengths_by_which_ranks_go_different_ways_are_a_mismatch() {
    everywhere("lengths_across_a_bound", &[(2, 2), (3, 2)]);
}

#[test]
fn ranks_of_a_process_lead_by_the_calls_of_the_communicator() {
    everywhere("leaders_by_number", &[(2, 2), (2, 3), (3, 2)]);
}

#[test]
fn random_right_programs_end_without_a_report() {
    everywhere("random_right", &[(2, 2), (3, 1)]);
}

#[test]
fn random_wrong_programs_end_as_the_model_says() {
    everywhere("random_wrong", &[(2, 2), (3, 1)]);
}

#[test]
fn a_library_with_the_standard_abi_is_used_like_any_other() {
    for launcher in launchers() {
        let Some(library) = compiled::library("standard_abi", &launcher) else {
            return;
        };
        let more = [("RANKFOLD_MPI", library.to_str().unwrap())];
        for program in ["point_to_point", "collectives", "deaths", "cannot_start"] {
            let output = launcher.check_with(program, 2.min(launcher.most), 2, &more);
            assert!(text(&output).contains("initialized with the standard ABI"));
        }
    }
}

#[test]
fn processes_share_the_cpus_of_their_machine() {
    everywhere("shares", &[(2, 2)]);
}

/// Runs a program that fails, and checks what is said.
fn fails(program: &str, said: &str) {
    for launcher in launchers().iter().filter(|launcher| launcher.most > 1) {
        let output = launcher.run(program, 2, 1);
        assert!(!output.status.success(), "{program}: {}", text(&output));
        assert_ne!(
            output.status.code(),
            Some(124),
            "{program} hangs: {}",
            text(&output)
        );
        assert!(text(&output).contains(said), "{program}: {}", text(&output));
    }
}

#[test]
fn the_launcher_reports_a_rank_that_panics() {
    fails("panics", "rank 1 panicked");
}

#[test]
fn a_process_that_exits_in_the_middle_is_missed() {
    fails("exits", "rank 1 is gone");
}

#[test]
fn a_process_that_does_not_open_the_world_is_missed() {
    fails("stays_away", "process 1 has exited without this world");
}

#[test]
fn a_panic_before_the_exit_of_its_process_is_told() {
    everywhere("exits_after_a_verdict", &[(2, 1), (2, 2)]);
}

#[test]
fn a_process_whose_rank_sends_until_its_end_exits() {
    everywhere("exits_while_a_rank_sends", &[(2, 2), (3, 2)]);
}

#[test]
fn the_next_world_of_another_thread_takes_nothing_of_one_that_ends() {
    everywhere(
        "another_thread_opens_the_next_world",
        &[(2, 1), (2, 2), (3, 1)],
    );
}

#[test]
fn a_process_that_cannot_start_tells_all_why() {
    everywhere("cannot_start", &[(2, 1), (2, 2), (3, 1)]);
}

#[test]
fn an_environment_that_says_nonsense_of_memory_is_told_to_all() {
    for launcher in launchers().iter().filter(|launcher| launcher.most > 1) {
        let variable = ("RANKFOLD_SHARED_MEMORY", "nonsense");
        launcher.check_with("nonsense_of_memory", 2, 1, &[variable]);
    }
}

#[test]
fn each_process_traces_its_ranks() {
    everywhere("traces", &[(2, 1), (2, 2), (3, 2)]);
}

#[test]
fn the_trace_of_a_revoked_message_has_no_other_end() {
    everywhere("revoked", &[(2, 1), (2, 2)]);
}

#[test]
fn a_body_that_never_comes_behind_letters_through_memory_is_recalled() {
    let body = [("CORRUPT_BODY", "1".into())];
    corrupt::spoil_by("waits_for_a_long_body", &[(2, 1)], &body);
}

#[test]
fn a_process_that_another_one_cannot_believe_is_excluded_by_all() {
    let mail = corrupt::Spoiled {
        kind: 0,
        nth: 0,
        at: 8,
        bytes: 0,
        value: -1,
    };
    corrupt::spoil("excluded", &[(2, 1), (2, 2), (3, 1), (3, 2)], mail);
}

/// The length of the body.
const NO_LETTER: corrupt::Spoiled = corrupt::Spoiled {
    kind: 0,
    nth: 0,
    at: 49,
    bytes: 0,
    value: -1,
};

#[test]
fn a_process_that_exits_while_another_one_reads_nothing_of_it_does_not_hang() {
    corrupt::spoil("exits_unread", &[(2, 1), (2, 2), (3, 1)], NO_LETTER);
}

#[test]
fn a_process_that_exits_without_a_body_that_it_has_promised_is_excluded() {
    let goodbye = corrupt::Spoiled {
        kind: 6,
        at: 48,
        value: 1 << 20,
        ..NO_LETTER
    };
    corrupt::spoil("exits_without_a_body", &[(2, 1), (2, 2), (3, 1)], goodbye);
}

#[test]
fn a_process_that_waits_for_the_exit_tells_another_one_that_it_reads_nothing_of_it() {
    let end = corrupt::Spoiled {
        kind: 3,
        at: 48,
        bytes: 56,
        ..NO_LETTER
    };
    corrupt::spoil("ends_unread", &[(2, 200), (3, 200)], end);
}

#[test]
fn whatever_letter_is_spoiled_every_process_ends_and_blames_no_other() {
    for letter in corrupt::letters() {
        corrupt::spoil("spoiled", &[(2, 2), (3, 1)], letter);
    }
}

#[test]
fn a_body_that_is_announced_and_never_comes_is_recalled() {
    let behind_a_short_one = corrupt::Spoiled {
        nth: 1,
        ..corrupt::OF_ANOTHER
    };
    corrupt::spoil("spoiled", &[(2, 1)], behind_a_short_one);
    corrupt::spoil("waits_for_another_body", &[(2, 1)], corrupt::OF_ANOTHER);
}

#[test]
fn an_announcement_that_is_spoiled_holds_up_no_process() {
    for letter in corrupt::announcements() {
        corrupt::spoil("spoiled", &[(2, 1), (3, 1)], letter);
    }
}

/// The tool joins the traces of the processes: no message is received before it was sent.
#[cfg(feature = "cli")]
#[test]
fn the_traces_of_all_processes_are_merged() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("traces");
    for launcher in launchers().iter().filter(|launcher| launcher.most > 1) {
        std::fs::create_dir_all(&folder).unwrap();
        launcher.check_with(
            "traces",
            2,
            2,
            &[(traces::FOLDER, folder.to_str().unwrap())],
        );
        let files = [0, 1].map(|process| folder.join(format!("4-2-{process}.json")));
        let mut tool = Command::new(env!("CARGO_BIN_EXE_rankfold"));
        let output = tool.args(["trace", "merge"]).args(&files).output().unwrap();
        assert!(output.status.success(), "{}", text(&output));
        traces::is_whole(&String::from_utf8(output.stdout).unwrap());
    }
}

#[test]
fn without_a_launcher_a_world_is_not_spread() {
    use rankfold::{Spread, World, WorldError};

    if env::var_os(PROGRAM).is_some() {
        return;
    }
    let alone = World::new(2).spread(Spread::Auto);
    assert_eq!(alone.run(|comm| Ok(comm.processes())).unwrap(), [1, 1]);
    let error = World::new(2)
        .spread(Spread::Must)
        .run(|_| Ok(()))
        .unwrap_err();
    assert!(
        matches!(&error, WorldError::Usage(why) if why.contains("mpirun")),
        "{error}"
    );
}
