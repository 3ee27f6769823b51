//! The CPUs on which the ranks of a world run. The last answers are remembered: a program that starts one world after the
//! other starts the same few, and reading a machine's tree for one takes longer than starting a thread.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;

use super::node::Share;
use super::verdict::Refused;
use super::{World, stand_in};
use crate::machine::{Bind, CAN_PIN, Cpus, Machine, Near, ObjectKind, Placement, Unpinned};

/// Where the ranks of a world run.
pub(super) struct Placed {
    pub placement: Placement,
    pub near: Arc<Near>,
    /// The number of ranks that can spin without taking time from each other.
    pub room: usize,
    /// The same on the machine to plan for.
    pub planned: usize,
    /// The same for threads that may run on any CPU of the process.
    pub whole: usize,
    /// The CPUs that the process may use.
    pub cpus: Arc<Cpus>,
}

/// All that [`Placed`] follows from, where the ranks are those of a whole world on the machine that is here.
#[derive(PartialEq)]
struct Asked {
    ranks: usize,
    bind: Bind,
    levels: Vec<ObjectKind>,
    caller: bool,
    alone: bool,
    cpus: Cpus,
}

/// The number of questions that are remembered.
const REMEMBERED: usize = 4;

static LAST: Mutex<Answers<Asked, Arc<Placed>>> = Mutex::new(Answers(VecDeque::new()));

/// The last different questions and their answers, the oldest first.
struct Answers<Q, A>(VecDeque<(Q, A)>);

impl<Q: PartialEq, A: Clone> Answers<Q, A> {
    fn of(&self, asked: &Q) -> Option<A> {
        let found = self.0.iter().find(|(other, _)| other == asked);
        found.map(|(_, answer)| answer.clone())
    }

    /// Returns what is forgotten instead.
    fn keep(&mut self, asked: Q, answer: A) -> Option<(Q, A)> {
        self.0.push_back((asked, answer));
        let is_full = self.0.len() > REMEMBERED;
        is_full.then(|| self.0.pop_front()).flatten()
    }
}

impl Placed {
    /// Places the ranks of a world. With `caller`, the thread that calls a run is one of them; `alone` states that no
    /// other ranks live in this process.
    pub(super) fn of(
        world: &World,
        caller: bool,
        alone: bool,
        share: &Share,
    ) -> Result<Arc<Placed>, Refused> {
        let placed = || Placed::new(world, caller, alone, share).map(Arc::new);
        // Without a mask the system is asked each time how many CPUs there are.
        if stand_in::of(world).is_some() || share.crowd.is_some() || share.cpus.mask.is_empty() {
            return placed();
        }
        let asked = Asked {
            ranks: world.ranks,
            bind: world.bind.clone(),
            levels: world.levels.clone(),
            caller,
            alone,
            cpus: share.cpus.clone(),
        };
        let known = LAST.lock().of(&asked);
        if let Some(placed) = known {
            return Ok(placed);
        }
        let placed = placed()?;
        let forgotten = LAST.lock().keep(asked, placed.clone());
        drop(forgotten);
        Ok(placed)
    }

    fn new(world: &World, caller: bool, alone: bool, share: &Share) -> Result<Placed, Refused> {
        let machine = machine_for(world.ranks, share.cpus.clone());
        let (placement, near, planned) = place(world, &machine, caller, alone, share)?;
        let room = room_to_spin(&machine, &placement);
        Ok(Placed {
            room,
            planned: planned.unwrap_or(room),
            whole: cores_of(&machine, &machine.usable.mask),
            placement,
            near: Arc::new(near),
            cpus: Arc::new(machine.usable.clone()),
        })
    }
}

/// The CPUs to which ranks are pinned on this machine, the groups of near ranks on the machine to plan for, and the number
/// of ranks that can spin there, if it is another one.
fn place(
    world: &World,
    machine: &Machine,
    caller: bool,
    alone: bool,
    share: &Share,
) -> Result<(Placement, Near, Option<usize>), Refused> {
    let (ranks, levels) = (world.ranks, &world.levels);
    let place = |machine: &Machine, alone| {
        let placed = machine.place(ranks, &world.bind, alone);
        placed.map_err(|error| Refused::Usage(error.to_string()))
    };
    if let Some(other) = stand_in::of(world) {
        let there = place(other, true)?;
        let near = Near::of(other, &there, levels);
        let here = Placement::unpinned(ranks, Unpinned::StandIn);
        return Ok((here, near, Some(room_to_spin(other, &there))));
    }
    let placement = match (world.bind == Bind::Auto, share.crowd) {
        (true, _) if caller => Placement::unpinned(ranks, Unpinned::Caller),
        (true, Some((ranks_there, cpus))) => {
            let ranks_there = Unpinned::Crowded {
                ranks: ranks_there,
                cpus,
            };
            Placement::unpinned(ranks, ranks_there)
        }
        _ => where_possible(place(machine, alone)?, CAN_PIN),
    };
    let near = Near::of(machine, &placement, levels);
    Ok((placement, near, None))
}

/// This placement, where threads can be pinned. Elsewhere nothing is known of where the ranks run.
fn where_possible(placement: Placement, can_pin: bool) -> Placement {
    match placement.why_unpinned {
        None if !can_pin => Placement::unpinned(placement.cpu.len(), Unpinned::Unsupported),
        _ => placement,
    }
}

/// The machine as far as it matters to `ranks` ranks: where they do not fit, its tree is ignored.
fn machine_for(ranks: usize, cpus: Cpus) -> Arc<Machine> {
    if ranks > cpus.mask.len() {
        Arc::new(Machine::flat(cpus))
    } else {
        Machine::remembered(cpus)
    }
}

/// The number of ranks that can spin without taking time from each other: one on each core where they are, or can be.
/// The SMT threads of one core share the resources that a spinning one uses.
fn room_to_spin(machine: &Machine, placement: &Placement) -> usize {
    let pinned: Vec<usize> = placement.cpu.iter().flatten().copied().collect();
    let taken = if pinned.is_empty() {
        &machine.usable.mask
    } else {
        &pinned
    };
    cores_of(machine, taken)
}

/// The number of cores of these CPUs; as many as there may be if none is known.
fn cores_of(machine: &Machine, cpus: &[usize]) -> usize {
    let cores = match cpus.len() {
        0 => usize::MAX,
        _ => machine.distinct_cores(cpus),
    };
    cores.min(machine.usable.places())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::progress::live::are_crowded;

    /// The number of ranks that may spin, of `ranks` ranks on a machine.
    fn room(text: &str, ranks: usize, bind: &Bind) -> usize {
        let machine = Machine::from_text(text).unwrap();
        let placement = machine.place(ranks, bind, true).unwrap();
        room_to_spin(&machine, &placement)
    }

    #[test]
    fn as_many_ranks_may_spin_as_there_are_cores_for_them() {
        let smt = "package:2 core:2 cpu:2";
        assert_eq!(room(smt, 4, &Bind::Core), 4, "one on each core");
        assert_eq!(room(smt, 4, &Bind::Compact), 2, "two on each of two cores");
        assert_eq!(room(smt, 8, &Bind::Auto), 4);
        assert_eq!(
            room(smt, 2, &Bind::None),
            4,
            "wherever they run, there are four cores"
        );
        assert_eq!(room("core:4", 4, &Bind::Compact), 4);
    }

    #[test]
    fn ranks_spin_only_where_none_of_them_shares_a_core_or_a_cpu_with_another() {
        let smt = "package:2 core:2 cpu:2";
        for (machine, ranks, bind, spin) in [
            (smt, 4, Bind::Core, true),
            (smt, 4, Bind::Scatter, true),
            (smt, 2, Bind::Compact, false), // two SMT threads of one core
            (smt, 5, Bind::Auto, false),
            (smt, 4, Bind::None, true),
            (smt, 9, Bind::Auto, false), // more than CPUs
            (smt, 4, Bind::Cpus(vec![0, 2, 4, 6]), true),
            (smt, 4, Bind::Cpus(vec![0, 1, 2, 4]), false),
            ("core:4", 4, Bind::Cpus(vec![0, 1, 2]), false),
            ("core:4", 4, Bind::Auto, true),
            ("core:4", 5, Bind::Auto, false),
            ("core:4 quota=3.9", 4, Bind::Compact, true),
            ("core:4 quota=4", 4, Bind::Auto, true),
            ("core:4 quota=0.5", 2, Bind::Auto, true),
            ("core:4 quota=0.5", 5, Bind::Auto, false),
            ("core:4 mask=3", 2, Bind::Auto, false),
            (
                "{ core:2(kind=1) cpu:2 + core:4(kind=0) }",
                6,
                Bind::Auto,
                true,
            ),
            (
                "{ core:2(kind=1) cpu:2 + core:4(kind=0) }",
                3,
                Bind::Compact,
                false,
            ),
        ] {
            let crowded = are_crowded(ranks, room(machine, ranks, &bind));
            assert_eq!(!crowded, spin, "{ranks} ranks on {machine}, {bind:?}");
        }
    }

    #[test]
    fn no_world_is_placed_where_threads_cannot_be_pinned() {
        let machine = Machine::from_text("core:4").unwrap();
        let placed = |bind: Bind, can_pin| {
            let placement = machine.place(2, &bind, true).unwrap();
            let placement = where_possible(placement, can_pin);
            (room_to_spin(&machine, &placement), placement.why_unpinned)
        };
        assert_eq!(placed(Bind::Cpus(vec![1]), true), (1, None));
        let unsupported = (4, Some(Unpinned::Unsupported));
        assert_eq!(placed(Bind::Cpus(vec![1]), false), unsupported);
        assert_eq!(placed(Bind::Auto, false), unsupported);
        assert_eq!(placed(Bind::None, false), (4, Some(Unpinned::NotAsked)));
    }

    #[test]
    fn shared_cpus_leave_less_room_and_a_quota_does_not() {
        assert_eq!(room("core:4", 4, &Bind::Cpus(vec![0, 1])), 2);
        assert_eq!(room("core:4 quota=2.5", 4, &Bind::Compact), 4);
        assert_eq!(room("core:4 quota=0.5", 1, &Bind::Compact), 1);
        assert_eq!(
            room("core:4 mask=1-2", 3, &Bind::Auto),
            2,
            "unpinned, as there are too few"
        );
    }

    #[test]
    fn a_few_questions_in_turn_are_remembered_and_the_oldest_is_forgotten() {
        let mut answers = Answers(VecDeque::new());
        for number in 0..REMEMBERED {
            assert_eq!(answers.of(&number), None);
            assert_eq!(answers.keep(number, -1), None);
        }
        assert!((0..REMEMBERED).all(|number| answers.of(&number) == Some(-1)));
        assert_eq!(answers.keep(REMEMBERED, -2), Some((0, -1)));
        assert_eq!((answers.of(&0), answers.of(&REMEMBERED)), (None, Some(-2)));
    }

    #[test]
    fn worlds_that_differ_are_placed_anew_and_equal_ones_are_not() {
        let cpus = |mask: &[usize]| Cpus {
            mask: mask.to_vec(),
            quota: None,
        };
        let placed = |world: &World, alone, mask: &[usize]| {
            let placed = Placed::of(world, false, alone, &Share::whole(cpus(mask)));
            placed.unwrap_or_else(|_| panic!("it can be placed"))
        };
        let world = World::new(2).bind(Bind::Compact);
        let first = placed(&world, true, &[0, 1]);
        let pinned = |placed: &Placed| placed.placement.cpu.clone();
        assert_eq!(pinned(&first), [Some(0), Some(1)]);
        for _ in 0..2 {
            let narrow = placed(&world, true, &[0]);
            assert_eq!(pinned(&narrow), [None, None]);
            let list = world.clone().bind(Bind::Cpus(vec![1]));
            assert_eq!(pinned(&placed(&list, true, &[0, 1])), [Some(1), Some(1)]);
            assert_eq!(pinned(&placed(&world, true, &[0, 1])), pinned(&first));
            let unbound = world.clone().bind(Bind::Auto);
            assert_eq!(pinned(&placed(&unbound, false, &[0, 1])), [None, None]);
        }
    }
}
