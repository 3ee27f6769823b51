//! The proximity of ranks: the part of the machine that each rank of a world is in, for each kind of part.

use std::collections::BTreeMap;

use super::place::Placement;
use super::tree::{Machine, ObjectKind};
use crate::sort;

/// The ranks of a world as far as the machine distinguishes them: a pure function of the machine, of the planned
/// placement and of the selected kinds, and therefore the same on all ranks.
#[derive(Clone, Debug)]
pub(crate) enum Near {
    /// The part that each rank is in, one number for each of these kinds, from the outside to the inside.
    Ways {
        kinds: Vec<ObjectKind>,
        of_rank: Vec<Vec<usize>>,
    },
    /// The ranks are not distinguished, for this reason.
    Alike(String),
}

impl Default for Near {
    fn default() -> Near {
        Near::Alike("nothing is known of the machine".into())
    }
}

impl Near {
    /// Whether ranks are in different parts of the machine.
    pub(crate) fn has_bounds(&self) -> bool {
        matches!(self, Near::Ways { .. })
    }

    /// The proximity of ranks placed on this machine, by `kinds` in any order.
    pub(crate) fn of(machine: &Machine, placement: &Placement, kinds: &[ObjectKind]) -> Near {
        let mut kinds = kinds.to_vec();
        sort::by_numbers(&mut kinds, |kind| [*kind as usize]);
        kinds.dedup();
        if kinds.is_empty() {
            return Near::Alike("the world looks at no level of the machine".into());
        }
        if let Some(why) = &placement.why_unpinned {
            return Near::Alike(format!("no rank is pinned: {why}"));
        }
        match ways(machine, placement, &kinds) {
            Some(of_rank) if of_rank.iter().any(|way| *way != of_rank[0]) => {
                Near::Ways { kinds, of_rank }
            }
            _ => Near::Alike(format!("no {} tells the ranks apart", words(&kinds))),
        }
    }
}

/// The kinds in words, as in `package, NUMA node or L3 cache`.
fn words(kinds: &[ObjectKind]) -> String {
    let names: Vec<&str> = kinds.iter().map(|kind| kind.noun()).collect();
    match names.split_last() {
        Some((last, [])) => (*last).into(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => String::new(),
    }
}

/// The part of each kind that each rank is in; `None` if some rank is not pinned. Parts are numbered from 1; 0 means
/// outside all of them.
pub(crate) fn ways(
    machine: &Machine,
    placement: &Placement,
    kinds: &[ObjectKind],
) -> Option<Vec<Vec<usize>>> {
    let parts: Vec<BTreeMap<usize, usize>> =
        kinds.iter().map(|&kind| parts(machine, kind)).collect();
    let way = |cpu: usize| {
        let numbers = parts
            .iter()
            .map(|of| of.get(&cpu).map_or(0, |part| part + 1));
        numbers.collect()
    };
    placement.cpu.iter().map(|cpu| cpu.map(way)).collect()
}

/// The part of a kind that each CPU is in.
fn parts(machine: &Machine, kind: ObjectKind) -> BTreeMap<usize, usize> {
    let mut of_cpu = BTreeMap::new();
    for (i, part) in machine.tree.all(kind).into_iter().enumerate() {
        part.cpus.iter().for_each(|&cpu| _ = of_cpu.insert(cpu, i));
    }
    of_cpu
}
