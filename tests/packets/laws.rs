//! The laws of a broadcast in packets, checked step by step.

use rankfold::topology::{Hop, Packets};

/// Returns when each packet reaches each rank, after checking every law.
pub fn lawful(broadcast: &dyn Packets, k: usize, name: &str) -> Vec<Vec<Option<usize>>> {
    let p = broadcast.ranks();
    let mut run = Run {
        broadcast,
        k,
        name,
        came: vec![vec![None; k]; p],
        left: vec![vec![None; k]; p],
    };
    for step in 0..broadcast.steps(k) + 3 {
        let expected = run.departures(step);
        run.arrivals(step, expected);
    }
    run.has_reached_all();
    run.came
}

/// A broadcast of `k` packets up to some step.
struct Run<'a> {
    broadcast: &'a dyn Packets,
    k: usize,
    name: &'a str,
    /// When each packet reached each rank.
    came: Vec<Vec<Option<usize>>>,
    /// When each rank first passed each packet on.
    left: Vec<Vec<Option<usize>>>,
}

impl Run<'_> {
    fn ranks(&self) -> usize {
        self.broadcast.ranks()
    }

    /// Returns what each rank must receive in this step.
    fn departures(&mut self, step: usize) -> Vec<Option<Hop>> {
        let mut expected = vec![None; self.ranks()];
        for rank in 0..self.ranks() {
            let Some(hop) = self.broadcast.departure(self.k, rank, step) else {
                continue;
            };
            self.leaves(rank, hop, step);
            let Hop { peer, packet } = hop;
            assert_eq!(
                expected[peer].replace(Hop { peer: rank, packet }),
                None,
                "{}",
                self.passing(rank, packet, step)
            );
        }
        expected
    }

    fn passing(&self, rank: usize, packet: usize, step: usize) -> String {
        let (name, p, k) = (self.name, self.ranks(), self.k);
        format!("{name} {p} {k}: {rank} passes {packet} on in step {step}")
    }

    /// Checks that the rank has the packet, and not for longer than it may linger.
    fn leaves(&mut self, rank: usize, Hop { peer, packet }: Hop, step: usize) {
        let (broadcast, k) = (self.broadcast, self.k);
        let place = || self.passing(rank, packet, step);
        assert!(
            step < broadcast.steps(k) && peer < self.ranks() && packet < k,
            "{}",
            place()
        );
        let has: Option<usize> = self.came[rank][packet];
        assert!(
            rank == broadcast.root() || has.is_some_and(|had| had < step),
            "{}",
            place()
        );
        let left = self.left[rank][packet];
        let since = has.or(left).unwrap_or(step);
        assert!(
            step - since <= broadcast.linger(),
            "{}, and has it from {since}",
            place()
        );
        self.left[rank][packet] = left.or(Some(step));
    }

    /// Checks that each rank receives what was sent to it, and no packet twice.
    fn arrivals(&mut self, step: usize, expected: Vec<Option<Hop>>) {
        let (name, p, k) = (self.name, self.ranks(), self.k);
        for (rank, expected) in expected.into_iter().enumerate() {
            let place = || format!("{name} {p} {k}: {rank} in step {step}");
            let arrival = self.broadcast.arrival(k, rank, step);
            assert_eq!(arrival, expected, "{}", place());
            if let Some(hop) = expected {
                assert_eq!(
                    self.came[rank][hop.packet].replace(step),
                    None,
                    "{}: {hop:?} again",
                    place()
                );
            }
        }
    }

    /// Checks that all ranks but the root have received every packet, and the root none.
    fn has_reached_all(&self) {
        let (name, p, k, root) = (self.name, self.ranks(), self.k, self.broadcast.root());
        for (rank, came) in self.came.iter().enumerate() {
            let all = came.iter().all(Option::is_some);
            assert!(
                p == 1 || (rank != root) == all,
                "{name} {p} {k}: {rank} has {came:?}"
            );
            assert!(rank != root || came.iter().all(Option::is_none));
        }
    }
}
