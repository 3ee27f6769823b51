//! Real pinning in processes with less than the whole machine: under `taskset`, in a cpuset, under a quota.
//!
//! Each test runs this binary again, as a process of that kind, for `the_probe` alone. What a machine does not let us
//! set up is reported and skipped; the same with made-up machines and control groups is in `machine_spread` and
//! `machine_cgroup`.
#![cfg(target_os = "linux")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use rankfold::machine::{Bind, Cpus, Machine, ObjectKind, Unpinned, vec_here};
use rankfold::{Report, World, op};

/// Set if the probe should run.
const PROBE: &str = "RANKFOLD_PROBE";

/// Returns the CPU that the calling thread runs on, according to the kernel.
fn running_on() -> usize {
    let stat = fs::read_to_string("/proc/thread-self/stat").unwrap();
    let after_name = stat.rsplit(')').next().unwrap();
    after_name
        .split_whitespace()
        .nth(36)
        .unwrap()
        .parse()
        .unwrap()
}

/// Runs a world in which every rank communicates; returns each rank's affinity and CPU.
fn run(ranks: usize, bind: &Bind) -> (Report<()>, Vec<(Vec<usize>, usize)>) {
    let seen = std::sync::Mutex::new(vec![(Vec::new(), 0); ranks]);
    let report = World::new(ranks).bind(bind.clone()).run_each(|comm| {
        let mut v = vec_here(1000, |i| i as u64);
        comm.all_reduce(&mut v, op::Sum)?;
        assert!(
            v.iter()
                .enumerate()
                .all(|(i, sum)| *sum == (ranks * i) as u64)
        );
        seen.lock().unwrap()[comm.rank()] = (Cpus::here().mask, running_on());
        Ok(())
    });
    (report, seen.into_inner().unwrap())
}

/// Checks that a world follows its placement, and the placement the machine's description.
fn truthful(ranks: usize, bind: &Bind, machine: &Machine) {
    let (report, seen) = run(ranks, bind);
    let placement = report.placement.clone();
    assert!(report.into_result().is_ok(), "{bind:?}");
    assert_eq!(
        placement,
        machine.place(ranks, bind, true).unwrap(),
        "{bind:?}"
    );
    assert!(placement.refused.is_empty(), "{placement}");
    for (cpu, (mask, on)) in placement.cpu.iter().zip(seen) {
        match cpu {
            Some(cpu) => assert_eq!((mask, on), (vec![*cpu], *cpu), "{bind:?}"),
            None => assert_eq!(mask, machine.usable.mask, "{bind:?}"),
        }
    }
}

/// Checks that the tree is that of the whole machine, of which a cpuset lets us use a part.
fn agrees_with_the_files(machine: &Machine) {
    let Some(files) = Machine::from_files(Path::new("/"), machine.usable.clone()) else {
        return;
    };
    for kind in [
        ObjectKind::Package,
        ObjectKind::L3,
        ObjectKind::L2,
        ObjectKind::Core,
        ObjectKind::Cpu,
    ] {
        let sets = |machine: &Machine| {
            let objects = machine.tree.all(kind);
            let sets = objects
                .iter()
                .map(|object| object.cpus.iter().copied().collect());
            sets.collect::<BTreeSet<BTreeSet<usize>>>()
        };
        assert_eq!(sets(machine), sets(&files), "{kind}");
    }
}

/// Checks that CPUs that exist but are not ours are refused with a message.
fn refuses_other_cpus(machine: &Machine) {
    let mask = &machine.usable.mask;
    for other in machine.tree.cpus.iter().filter(|cpu| !mask.contains(cpu)) {
        let refused = World::new(1)
            .bind(Bind::Cpus(vec![*other]))
            .run(|_| Ok(()))
            .unwrap_err();
        assert!(
            refused
                .to_string()
                .starts_with(&format!("cannot bind to CPU {other}: the mask is"))
        );
    }
}

#[test]
fn the_probe() {
    if std::env::var_os(PROBE).is_none() {
        return;
    }
    let machine = Machine::here();
    let mask = machine.usable.mask.clone();
    let wishes = [
        Bind::Auto,
        Bind::None,
        Bind::Compact,
        Bind::Scatter,
        Bind::Numa,
        Bind::L3,
        Bind::Core,
    ];
    for ranks in [1, mask.len(), mask.len() + 1] {
        for bind in wishes.iter().cloned().chain([Bind::Cpus(mask.clone())]) {
            truthful(ranks, &bind, &machine);
        }
    }
    let team = World::new(mask.len()).bind(Bind::Compact).start().unwrap();
    let masks = team.run(|_| Ok(Cpus::here().mask)).unwrap();
    assert_eq!(masks.concat(), machine.usable_tree().unwrap().cpus);
    drop(team);
    agrees_with_the_files(&machine);
    refuses_other_cpus(&machine);
    let why = World::new(1).run_each(|_| Ok(())).placement.why_unpinned;
    println!(
        "probe: mask {mask:?} quota {:?} why {why:?}",
        machine.usable.quota
    );
}

/// Returns the output of this binary running the probe alone, as an argument of another command or by itself.
fn probe(mut command: Command) -> Output {
    command.env(PROBE, "1");
    command.output().unwrap()
}

fn arguments() -> [PathBuf; 4] {
    let own = std::env::current_exe().unwrap();
    [
        own,
        "--exact".into(),
        "the_probe".into(),
        "--nocapture".into(),
    ]
}

/// Returns the output of a successful probe.
#[track_caller]
fn said(output: Output) -> String {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{text}\n{errors}");
    let line = text.lines().find_map(|line| line.split_once("probe: "));
    line.unwrap_or_else(|| panic!("{text}")).1.to_owned()
}

/// Returns masks: one CPU, the first and the last; every second; all.
fn masks() -> Vec<Vec<usize>> {
    let all = Cpus::here().mask;
    let second: Vec<usize> = all.iter().copied().step_by(2).collect();
    vec![vec![all[0]], vec![all[all.len() - 1]], second, all]
}

#[test]
fn under_taskset_ranks_stay_in_the_mask_that_it_gives() {
    if Command::new("taskset").arg("-V").output().is_err() {
        return println!("left out: there is no taskset here");
    }
    for mask in masks() {
        let words: Vec<String> = mask.iter().map(usize::to_string).collect();
        let mut command = Command::new("taskset");
        command.args(["-c", &words.join(",")]).args(arguments());
        let line = said(probe(command));
        assert!(line.starts_with(&format!("mask {mask:?} ")), "{line}");
    }
}

/// A control group of our own, removed at the end.
struct Group(PathBuf);

impl Group {
    /// Creates a group with these files; `None` if the machine does not permit it.
    fn make(parent: &str, files: &[(&str, &str)]) -> Option<Group> {
        let path = Path::new(parent).join(format!("rankfold-test-{}", std::process::id()));
        fs::create_dir(&path).ok()?;
        let group = Group(path);
        for (name, value) in files {
            fs::write(group.0.join(name), value).ok()?;
        }
        Some(group)
    }

    /// Runs the probe as a process of the group; `None` if it cannot be put there.
    fn probe(&self) -> Option<String> {
        let mut command = Command::new("sh");
        let script = "echo $$ > \"$0\" || exit 77; exec \"$@\"";
        command
            .args(["-c", script])
            .arg(self.0.join("cgroup.procs"))
            .args(arguments());
        let output = probe(command);
        (output.status.code() != Some(77)).then(|| said(output))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // It is empty again; otherwise the next start of the machine removes it.
        let _ = fs::remove_dir(&self.0);
    }
}

#[test]
fn under_a_quota_of_half_a_cpu_nobody_is_pinned_by_itself_and_the_report_says_why() {
    let v1 = || {
        let files = [
            ("cpu.cfs_period_us", "100000"),
            ("cpu.cfs_quota_us", "50000"),
        ];
        Group::make("/sys/fs/cgroup/cpu", &files)
    };
    let v2 = || Group::make("/sys/fs/cgroup", &[("cpu.max", "50000 100000")]);
    let Some(line) = v1().or_else(v2).and_then(|group| group.probe()) else {
        return println!("left out: no control group can be made here");
    };
    let cpus = Cpus::here().mask.len();
    let why = Unpinned::Quota { quota: 0.5, cpus };
    assert!(
        line.ends_with(&format!("quota Some(0.5) why Some({why:?})")),
        "{line}"
    );
}

#[test]
fn in_a_cpuset_ranks_are_pinned_inside_it() {
    let mask = Cpus::here().mask;
    let last = mask[mask.len() - 1];
    let v1 = || {
        let cpu = last.to_string();
        Group::make(
            "/sys/fs/cgroup/cpuset",
            &[("cpuset.mems", "0"), ("cpuset.cpus", &cpu)],
        )
    };
    let v2 = || Group::make("/sys/fs/cgroup", &[("cpuset.cpus", &last.to_string())]);
    let Some(line) = v1().or_else(v2).and_then(|group| group.probe()) else {
        return println!("left out: no cpuset can be made here");
    };
    assert!(line.starts_with(&format!("mask {:?} ", [last])), "{line}");
}

#[test]
fn machines_that_stand_in_are_never_pinned_on() {
    // The probe compares placements with the real machine, and ranks with their CPUs.
    let mut command = Command::new(&arguments()[0]);
    command
        .args(&arguments()[1..])
        .env("HWLOC_SYNTHETIC", "package:2 core:8 cpu:2");
    let line = said(probe(command));
    assert!(
        line.starts_with(&format!("mask {:?} ", Cpus::here().mask)),
        "{line}"
    );
}
