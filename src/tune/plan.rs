//! The points that are measured: collectives, numbers of ranks, numbers of bytes, algorithms.

use std::time::Duration;

use super::{Candidate, Element, TuningPoint, untuned};
use crate::collective::{Algorithm, Call, Collective};
use crate::machine::{Bind, Machine};
use crate::measure::{Point, Type};
use crate::sort;
use crate::topology::{Levels, TreeName};

/// The points to measure, and the time for each.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The machine, which must be this one.
    pub machine: Machine,
    /// The binding of the ranks: the table is valid for worlds that are bound the same way.
    pub bind: Bind,
    /// The collectives.
    pub collectives: Vec<Collective>,
    /// The numbers of ranks; a single rank needs no tuning.
    pub ranks: Vec<usize>,
    /// The bytes of the whole vectors.
    pub bytes: Vec<usize>,
    /// Time limit of the whole tuning.
    pub time: Duration,
}

/// The measured numbers of bytes: close together where the best algorithm changes.
const BYTES: [usize; 9] = [
    8,
    64,
    512,
    4 << 10,
    16 << 10,
    64 << 10,
    256 << 10,
    1 << 20,
    4 << 20,
];

/// Maximum memory of all ranks' vectors together, in bytes.
const MOST_MEMORY: usize = 64 << 20;

impl Plan {
    /// Creates the default plan: all collectives, among powers of two and their neighbours up to one rank per core, and
    /// among twice as many ranks; from 8 bytes to 4 MiB, in a minute.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::machine::Machine;
    /// use rankfold::tune::Plan;
    ///
    /// let plan = Plan::of(&Machine::from_text("core:16")?);
    /// assert_eq!(plan.ranks, [2, 3, 4, 5, 7, 8, 9, 15, 16, 32]);
    /// # Ok::<(), rankfold::machine::MachineError>(())
    /// ```
    pub fn of(machine: &Machine) -> Plan {
        Plan {
            machine: machine.clone(),
            bind: Bind::Auto,
            collectives: Collective::all().collect(),
            ranks: ranks(machine.room()),
            bytes: BYTES.to_vec(),
            time: Duration::from_secs(60),
        }
    }

    /// Returns all places: the most common numbers of ranks first, each with all numbers of bytes.
    pub(super) fn places(&self) -> Vec<TuningPoint> {
        let mut ranks = self.ranks.clone();
        ranks.retain(|&ranks| ranks > 1);
        ranks.sort_unstable();
        ranks.dedup();
        let room = self.machine.room();
        sort::by_numbers(&mut ranks, |&ranks| {
            [(ranks > room) as usize, !ranks.is_power_of_two() as usize]
        });
        let mut places = Vec::new();
        for ranks in ranks {
            for &collective in &self.collectives {
                places.extend(self.of_entry(collective, ranks));
            }
        }
        places
    }

    fn of_entry(&self, collective: Collective, ranks: usize) -> Vec<TuningPoint> {
        let point = |bytes: &usize| {
            let length = bytes.div_ceil(size_of::<Element>());
            Point {
                bind: self.bind.clone(),
                ..Point::new(collective.into(), ranks, length, Type::F32)
            }
        };
        let mut points: Vec<Point> = self.bytes.iter().map(point).collect();
        points.retain(|point| point.memory() <= MOST_MEMORY);
        sort::by_numbers(&mut points, |point| [point.bytes()]);
        points.dedup_by_key(|point| point.bytes());
        points
            .into_iter()
            .filter_map(|point| self.place(point))
            .collect()
    }

    /// Returns a place with its candidates, the choice without a table first.
    fn place(&self, point: Point) -> Option<TuningPoint> {
        let call = in_groups(point.shape()?, &point, &self.machine);
        let first = untuned(&point, &self.machine)?;
        let mut algorithms = vec![first];
        for algorithm in candidates(&call, point.bytes()) {
            let asked = Point {
                algorithm: Some(algorithm),
                ..point.clone()
            };
            let usable = asked.refused().is_none() && algorithm.refused(&call).is_none();
            if usable && !algorithms.contains(&algorithm) {
                algorithms.push(algorithm);
            }
        }
        let candidates = algorithms.into_iter();
        let candidates = candidates.map(|algorithm| Candidate::new(algorithm, 0));
        Some(TuningPoint {
            point,
            candidates: candidates.collect(),
        })
    }
}

/// Returns powers of two and their neighbours up to one rank per core, and a number that oversubscribes the cores.
fn ranks(room: usize) -> Vec<usize> {
    let powers = (1..usize::BITS).map(|power| 1usize << power);
    let powers = powers.take_while(|power| power - 1 <= room);
    let mut ranks = Vec::new();
    for power in powers {
        ranks.extend([power - 1, power, power + 1]);
    }
    ranks.retain(|&ranks| ranks <= room);
    ranks.extend([room, 2 * room.max(2)]);
    ranks.retain(|&ranks| ranks > 1);
    ranks.sort_unstable();
    ranks.dedup();
    ranks
}

/// Returns the call with the groups that its ranks will be in, and marked as crowded if they will be.
pub(super) fn in_groups(call: Call, point: &Point, machine: &Machine) -> Call {
    let crowded = point.ranks > machine.room();
    let call = if crowded { call.crowded() } else { call };
    let placement = machine.place(point.ranks, &point.bind, true);
    match placement.map(|placement| Levels::of(machine, &placement)) {
        Ok(levels) if levels.depth() > 1 => call.on(levels),
        _ => call,
    }
}

/// Segments are tried from this many bytes on.
const SEGMENTED: usize = 64 << 10;

/// Returns the algorithms that may be fastest somewhere.
fn candidates(call: &Call, bytes: usize) -> Vec<Algorithm> {
    use Algorithm::*;
    const BINOMIAL: Algorithm = Algorithm::tree(TreeName::BINOMIAL);
    const FLAT: Algorithm = Algorithm::tree(TreeName::Flat);
    const CHAIN: Algorithm = Algorithm::pipelined(TreeName::Chain, 8);
    const HYBRID: Algorithm = Hybrid { stages: 1 };
    let usual: &[Algorithm] = match call.collective {
        Collective::Barrier => &[Cells, Dissemination, Exchange, BINOMIAL, FLAT],
        Collective::Broadcast => &[Cells, BINOMIAL, FLAT, ScatterDoubling, ScatterRing],
        Collective::Reduce => &[Cells, BINOMIAL, FLAT, Halving],
        Collective::AllReduce => &[Cells, Exchange, Halving, HYBRID, Ring, BINOMIAL],
        Collective::ReduceScatter => &[Cells, FarHalving, Halving, Ring, Pairwise],
        Collective::AllGather => &[Cells, Bruck, Ring, Doubling, Pairwise],
        Collective::Gather | Collective::Scatter => &[Cells, BINOMIAL, FLAT],
        Collective::AllToAll => &[Cells, Pairwise, Bruck],
        Collective::Scan | Collective::ExclusiveScan => {
            &[Cells, Doubling, Exchange, Algorithm::tree(TreeName::Chain)]
        }
    };
    let grouped = matches!(&call.levels, Some(levels) if levels.have_groups());
    let follows = grouped.then_some(Algorithm::HIERARCHICAL);
    let whole = matches!(call.collective, Collective::Broadcast | Collective::Reduce);
    let segmented = (whole && bytes >= SEGMENTED && call.ranks() > 2).then_some(CHAIN);
    usual
        .iter()
        .copied()
        .chain([Direct])
        .chain(follows)
        .chain(segmented)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_has_the_untuned_choice_and_nobody_who_refuses() {
        for text in ["core:2", "core:5", "package:2 core:3"] {
            let machine = Machine::from_text(text).unwrap();
            let plan = Plan::of(&machine);
            let places = plan.places();
            assert!(plan.ranks.iter().all(|&ranks| ranks > 1));
            assert!(plan.ranks.contains(&(2 * machine.room())));
            for place in &places {
                let call = in_groups(place.point.shape().unwrap(), &place.point, &machine);
                let algorithms = place.candidates.iter().map(|one| one.algorithm);
                assert_eq!(algorithms.clone().next(), untuned(&place.point, &machine));
                for algorithm in algorithms {
                    assert_eq!(algorithm.refused(&call), None);
                }
                assert!(place.point.memory() <= MOST_MEMORY);
            }
            for collective in Collective::all() {
                let here = |place: &&TuningPoint| place.point.subject == collective.into();
                assert!(places.iter().filter(here).count() >= plan.ranks.len());
            }
        }
    }

    #[test]
    fn a_machine_of_one_core_is_tuned_for_ranks_that_share_it() {
        assert_eq!(ranks(1), [4]);
        assert_eq!(ranks(2), [2, 4]);
        assert_eq!(ranks(6), [2, 3, 4, 5, 6, 12]);
    }
}
