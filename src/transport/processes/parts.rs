//! The parts of a communicator whose members are in several processes: the members in this process (*near*), who share
//! its memory, and for each of these those who have its place in the other processes (its *column*).
//!
//! ```text
//! process    0        1        2
//!            0 1 2    3 4 5    6 7        near: one of these rows of ranks
//! columns    0 3 6    1 4 7    2 5        the first ranks of the processes are their leaders
//! ```
//!
//! They are made without a message, as every process knows where all members are. All columns of a communicator have one
//! context, which follows those of the communicator: a rank is in one of them.

use std::sync::Arc;

use crate::Rank;
use crate::error::Cause;
use crate::transport::communicator::members::Members;
use crate::transport::memory::head::CONTEXTS;
use crate::transport::{CommShared, Fabric};

/// The parts that have members in this process.
pub(crate) struct Parts {
    pub near: Arc<CommShared>,
    /// By place in the process.
    pub columns: Vec<Arc<CommShared>>,
    /// The members in each process, the process of the lowest first.
    pub groups: Vec<Vec<Rank>>,
    /// Whether the members in each process are neighbours.
    pub are_runs: bool,
    /// Whether each process has as many members as any other.
    pub are_even: bool,
    /// Whether some process has several members.
    pub are_wide: bool,
}

impl Parts {
    pub(super) fn all(&self) -> impl Iterator<Item = &Arc<CommShared>> {
        self.columns.iter().chain([&self.near])
    }
}

impl Fabric {
    /// The parts of a communicator that spans processes, made by the first near member that asks.
    pub(crate) fn parts<'c>(&self, comm: &'c CommShared) -> &'c Parts {
        let parts = comm.parts.get_or_init(|| Box::new(self.make_parts(comm)));
        // Looked at after they can be found: what breaks the communicator now breaks them, or is here.
        if let Some(cause) = comm.cause.get() {
            self.break_parts(comm, cause);
        }
        parts
    }

    fn make_parts(&self, comm: &CommShared) -> Parts {
        let groups = self.groups(comm);
        let world = |member: &Rank| comm.members.world(*member);
        let is_here = |group: &&Vec<Rank>| !self.is_far(world(&group[0]));
        let here = groups.iter().find(is_here).map_or(&[][..], |group| group);
        let origin = || comm.origin.clone();
        let column = |place: usize| {
            let ranks = groups.iter().filter_map(|group| group.get(place));
            let members = Members::of(ranks.map(world).collect());
            let column = self.comm_of(comm.context + CONTEXTS, members, origin());
            if let Some(cause) = self.broken_before(column.context) {
                column.cause.get_or_init(|| cause);
            }
            column
        };
        let is_run = |group: &Vec<Rank>| group.windows(2).all(|pair| pair[0] + 1 == pair[1]);
        let parts = Parts {
            are_runs: groups.iter().all(is_run),
            are_even: groups.iter().all(|group| group.len() == groups[0].len()),
            are_wide: groups.iter().any(|group| group.len() > 1),
            near: self.new_comm(Members::of(here.iter().map(world).collect()), origin()),
            columns: (0..here.len()).map(column).collect(),
            groups,
        };
        parts.all().for_each(|part| _ = part.part.set(()));
        parts
    }

    /// The members in each process, in their order; the process of the lowest first.
    fn groups(&self, comm: &CommShared) -> Vec<Vec<Rank>> {
        let mut groups: Vec<(usize, Vec<Rank>)> = Vec::new();
        for (member, rank) in comm.members.iter().enumerate() {
            let process = self.process_of(rank);
            match groups.iter_mut().find(|(other, _)| *other == process) {
                Some((_, group)) => group.push(member),
                None => groups.push((process, vec![member])),
            }
        }
        groups.into_iter().map(|(_, group)| group).collect()
    }

    /// Breaks the parts of a communicator that is broken, and wakes who waits in them.
    pub(in crate::transport) fn break_parts(&self, comm: &CommShared, cause: &Cause) {
        let Some(parts) = comm.parts.get() else {
            return;
        };
        for part in parts.all() {
            part.cause.get_or_init(|| cause.clone());
            self.wake_if(&self.open_registry(), |wait| wait.is_in(part));
        }
    }

    /// Why the communicator with this context has broken in another process before it was made here.
    fn broken_before(&self, context: u32) -> Option<Cause> {
        let far = self.far.as_ref()?;
        far.broken.lock().get(&context).cloned()
    }
}
