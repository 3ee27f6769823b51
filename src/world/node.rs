//! The CPUs that a process uses: all that it may, or its share where processes of one world share a machine.

use crate::machine::Cpus;

/// What one process brings: its machine, the number of its ranks, the CPUs that it may use.
#[cfg(feature = "mpi")]
#[derive(PartialEq)]
pub(super) struct OnNode {
    pub machine: u64,
    pub ranks: usize,
    pub cpus: Vec<usize>,
}

/// The CPUs of the ranks of one process.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Share {
    /// The CPUs to which ranks may be pinned.
    pub cpus: Cpus,
    /// Number of ranks of the process that can run at once; `None`: whatever the CPUs have room for.
    pub room: Option<usize>,
    /// The ranks and the CPUs of all processes among which no CPU belongs to one of them alone: then no rank is pinned.
    pub crowd: Option<(usize, usize)>,
    /// Whether the ranks of every process take turns on one CPU, whatever quotas there are: all processes agree on that.
    pub in_turns: bool,
}

impl Share {
    /// All CPUs.
    pub(super) fn whole(cpus: Cpus) -> Share {
        Share {
            cpus,
            room: None,
            crowd: None,
            in_turns: false,
        }
    }

    /// The share of process `me`, which may use `cpus`. Processes of one machine whose CPUs overlap share them in
    /// proportion to their ranks: if there is a CPU for each rank, each process gets some of its own.
    #[cfg(feature = "mpi")]
    pub(super) fn of(processes: &[OnNode], me: usize, cpus: Cpus) -> Share {
        let mine = &processes[me];
        let overlaps = |other: &OnNode| {
            let same = other.machine == mine.machine;
            same && other.cpus.iter().any(|cpu| mine.cpus.contains(cpu))
        };
        let sharing = || {
            processes
                .iter()
                .enumerate()
                .filter(|(_, other)| overlaps(other))
        };
        if sharing().all(|(process, _)| process == me) {
            return Share::whole(cpus);
        }
        let mut all: Vec<usize> = sharing()
            .flat_map(|(_, other)| other.cpus.clone())
            .collect();
        all.sort_unstable();
        all.dedup();
        let ranks: usize = sharing().map(|(_, other)| other.ranks).sum();
        let before = sharing().take_while(|(process, _)| *process < me);
        let before: usize = before.map(|(_, other)| other.ranks).sum();
        let cut = |rank| rank * all.len() / ranks;
        let own = &all[cut(before)..cut(before + mine.ranks)];
        // The cast rounds down and saturates.
        let usable = cpus
            .quota
            .map_or(usize::MAX, |quota| quota as usize)
            .min(all.len());
        let is_own = ranks <= usable && own.iter().all(|cpu| mine.cpus.contains(cpu));
        let mask = if is_own { own } else { &mine.cpus }.to_vec();
        Share {
            room: Some(usable * mine.ranks / ranks),
            crowd: (!is_own).then_some((ranks, all.len())),
            cpus: Cpus { mask, ..cpus },
            in_turns: false,
        }
    }

    /// The same share, which also says whether the ranks of every process take turns on one CPU.
    #[cfg(feature = "mpi")]
    pub(super) fn among(self, processes: &[OnNode]) -> Share {
        let is_one = |(process, one): (usize, &OnNode)| {
            // What brings the same has the same room.
            if processes[..process].iter().any(|before| before == one) {
                return true;
            }
            let (mask, quota) = (one.cpus.clone(), None);
            let share = Share::of(processes, process, Cpus { mask, quota });
            one.ranks > 1 && share.room.unwrap_or(share.cpus.mask.len()) <= 1
        };
        let in_turns = processes.iter().enumerate().all(is_one);
        Share { in_turns, ..self }
    }
}

#[cfg(all(test, feature = "mpi"))]
mod tests {
    use super::*;

    /// Processes on one machine, each with a number of ranks and the CPUs that it may use.
    fn on_one_machine(processes: &[(usize, &[usize])]) -> Vec<OnNode> {
        let process = |(ranks, cpus): &(usize, &[usize])| OnNode {
            machine: 7,
            ranks: *ranks,
            cpus: cpus.to_vec(),
        };
        processes.iter().map(process).collect()
    }

    /// The shares of processes on one machine, each with a number of ranks and the CPUs that it may use: the CPUs, the
    /// room, and whether its ranks may be pinned.
    fn shares(processes: &[(usize, &[usize])]) -> Vec<(Vec<usize>, Option<usize>, bool)> {
        let all = on_one_machine(processes);
        let share = |me: usize| {
            let mask = all[me].cpus.clone();
            let share = Share::of(&all, me, Cpus { mask, quota: None });
            (share.cpus.mask, share.room, share.crowd.is_none())
        };
        (0..all.len()).map(share).collect()
    }

    #[test]
    fn processes_that_may_use_the_same_cpus_share_them() {
        let two: &[usize] = &[0, 1];
        let crowded = (vec![0, 1], Some(1), false);
        assert_eq!(shares(&[(2, two), (2, two)]), [crowded.clone(), crowded]);
        let own = |cpu| (vec![cpu], Some(1), true);
        assert_eq!(shares(&[(1, two), (1, two)]), [own(0), own(1)]);
        let none = (vec![0, 1], Some(0), false);
        assert_eq!(
            shares(&[(1, two), (1, two), (1, two)]),
            [none.clone(), none.clone(), none]
        );
        let four: &[usize] = &[0, 2, 4, 6];
        let (first, second) = ((vec![0], Some(1), true), (vec![2, 4, 6], Some(3), true));
        assert_eq!(shares(&[(1, four), (3, four)]), [first, second]);
    }

    #[test]
    fn processes_that_are_bound_apart_or_run_elsewhere_share_nothing() {
        let own = |cpus: &[usize]| (cpus.to_vec(), None, true);
        assert_eq!(shares(&[(2, &[0]), (2, &[1])]), [own(&[0]), own(&[1])]);
        let elsewhere = [1, 2].map(|machine| OnNode {
            machine,
            ranks: 2,
            cpus: vec![0, 1],
        });
        let cpus = Cpus {
            mask: vec![0, 1],
            quota: None,
        };
        assert_eq!(Share::of(&elsewhere, 0, cpus.clone()), Share::whole(cpus));
    }

    #[test]
    fn ranks_take_turns_where_each_process_has_several_and_one_cpu() {
        let in_turns = |processes: &[(usize, &[usize])]| {
            let all = on_one_machine(processes);
            let mask = all[0].cpus.clone();
            let share = Share::of(&all, 0, Cpus { mask, quota: None });
            share.among(&all).in_turns
        };
        let two: &[usize] = &[0, 1];
        assert!(in_turns(&[(2, two), (2, two)]));
        assert!(in_turns(&[(2, &[0]), (3, &[1])]));
        assert!(!in_turns(&[(2, &[0]), (2, &[1, 2])]), "one has two");
        assert!(!in_turns(&[(1, two), (1, two)]), "they have one rank");
        assert!(!in_turns(&[(2, &[0, 1, 2, 3]), (2, &[0, 1, 2, 3])]));
    }
}
