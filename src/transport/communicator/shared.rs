//! The state that the members of one communicator share.

use std::any::Any;
use std::ops::Range;
use std::rc::Rc;
use std::sync::{Arc, OnceLock};

use crate::Rank;
use crate::error::Cause;
use crate::transport::communicator::call::Verdict;
use crate::transport::communicator::duplicates::Duplicates;
use crate::transport::communicator::gate::Gate;
use crate::transport::communicator::members::Members;
use crate::transport::communicator::shrink::Shrinking;
use crate::transport::communicator::subsets::Subsets;
use crate::transport::lanes::Books;
use crate::transport::memory::cells::{CellPort, Cells};
use crate::transport::memory::epoch::Epoch;
#[cfg(doc)]
use crate::transport::memory::head;
use crate::transport::memory::part_lock::Rouse;
use crate::transport::trace::origin::Origin;
use crate::transport::wakeup::sleeper::RunNumber;

use crate::transport::endpoint::Endpoint;

/// The state that the members of one communicator share.
pub(crate) struct CommShared {
    /// The context of point-to-point messages, a multiple of [`CONTEXTS`](head::CONTEXTS); collectives use the next
    /// ones.
    pub context: u32,
    pub members: Members,
    pub origin: Arc<Origin>,
    /// Whether some members are in other processes than others.
    #[cfg(feature = "mpi")]
    pub(in crate::transport) spans: bool,
    /// If it spans processes: its parts, once they are needed.
    #[cfg(feature = "mpi")]
    pub(in crate::transport) parts: OnceLock<Box<crate::transport::processes::Parts>>,
    /// Set if it is a part of one that does.
    #[cfg(feature = "mpi")]
    pub(in crate::transport) part: OnceLock<()>,
    /// The members' endpoints, in the same order.
    pub(in crate::transport) endpoints: Arc<[Arc<Endpoint>]>,
    pub gate: Gate,
    pub lanes: Books,
    pub(in crate::transport) epoch: OnceLock<Epoch>,
    /// Created when the first member writes there.
    pub cells: OnceLock<Arc<Cells>>,
    /// The result of examining the current call.
    pub verdict: parking_lot::Mutex<Verdict>,
    /// Why the communicator is broken, once it is: its collectives fail with this cause.
    pub cause: OnceLock<Cause>,
    /// Why every operation fails here, once a member has begun to leave the ended ranks behind.
    pub revoked: OnceLock<Cause>,
    pub shrinking: Shrinking<CommShared>,
    pub subsets: Subsets<CommShared>,
    pub duplicates: Duplicates<CommShared>,
    /// Facts that the layers above have computed about the members, once for all of them.
    pub levels: OnceLock<Box<dyn Any + Send + Sync>>,
}

/// A rank's own handle of what the members share. It is counted by that rank alone: a count that all members write
/// would move its cache line between them at every started call and every request.
pub(crate) type CommHandle = Rc<Arc<CommShared>>;

/// The members and their endpoints. All ranks in their own order need no lists of their own.
fn with_endpoints(members: Members, all: &Arc<[Arc<Endpoint>]>) -> (Members, Arc<[Arc<Endpoint>]>) {
    let ranks = all.len();
    let whole = members.size() == ranks && members.iter().eq(0..ranks);
    match whole {
        true => (Members::All(ranks), all.clone()),
        false => {
            let listed = members.iter().map(|rank| all[rank].clone()).collect();
            (members, listed)
        }
    }
}

impl CommShared {
    pub(in crate::transport) fn new(
        context: u32,
        members: Members,
        origin: Arc<Origin>,
        all: &Arc<[Arc<Endpoint>]>,
        spans: bool,
    ) -> Arc<CommShared> {
        debug_assert!(cfg!(feature = "mpi") || !spans, "there is one process");
        let (members, endpoints) = with_endpoints(members, all);
        Arc::new(CommShared {
            #[cfg(feature = "mpi")]
            spans,
            #[cfg(feature = "mpi")]
            parts: OnceLock::new(),
            #[cfg(feature = "mpi")]
            part: OnceLock::new(),
            context,
            origin,
            endpoints,
            members,
            gate: Gate::new(),
            lanes: Books::default(),
            epoch: OnceLock::new(),
            cells: OnceLock::new(),
            verdict: Default::default(),
            cause: OnceLock::new(),
            revoked: OnceLock::new(),
            shrinking: Shrinking::new(),
            subsets: Subsets::new(),
            duplicates: Duplicates::new(),
            levels: OnceLock::new(),
        })
    }

    /// Its name, unless it is the world.
    pub(crate) fn name(&self) -> Option<Arc<str>> {
        self.origin.name()
    }

    /// The epoch at which its ranks meet to access each other's memory; created by the first to arrive.
    #[inline]
    pub(crate) fn epoch(&self) -> &Epoch {
        self.epoch.get_or_init(|| Epoch::new(self.members.size()))
    }

    /// Whether a member has not ended in `run`, the current run.
    #[inline]
    pub(crate) fn is_there(&self, member: Rank, run: RunNumber) -> bool {
        !self.endpoints[member].sleeper.is_gone(run)
    }

    /// The first of these members that has ended in `run`.
    #[inline]
    pub(crate) fn first_gone(&self, mut members: Range<Rank>, run: RunNumber) -> Option<Rank> {
        let endpoints = &self.endpoints[members.clone()];
        let gone = |endpoint: &Arc<Endpoint>| endpoint.sleeper.is_gone(run);
        let place = endpoints.iter().position(gone)?;
        members.nth(place)
    }

    /// Wakes a member that sleeps, after something was put where it looks.
    #[inline]
    pub(crate) fn rouse(&self, member: Rank) {
        self.endpoints[member].sleeper.rouse();
    }

    /// The same for all members but `me`.
    #[inline]
    pub(crate) fn rouse_others(&self, me: Rank) {
        // One fence for all: pairs with the heavy half in `Sleeper::lie_down`.
        crate::transport::wakeup::fences::light();
        self.rouse_others_fenced(me);
    }

    /// The same, after a fence that followed what they wait for.
    #[inline]
    pub(crate) fn rouse_others_fenced(&self, me: Rank) {
        let others = self.endpoints.iter().enumerate();
        let others = others.filter(|(member, _)| *member != me);
        others.for_each(|(_, endpoint)| endpoint.sleeper.rouse_fenced());
    }

    /// Wakes the ranks that wait for the rank at this port to leave a call, after it has.
    #[inline]
    pub(crate) fn after_leaving(&self, cell_port: &CellPort) {
        // Pairs with the fence in `Sleeper::lie_down`: a rank that sleeps there has announced its wait before.
        crate::transport::wakeup::fences::light();
        if cell_port.is_awaited() {
            self.rouse_others_fenced(cell_port.me());
        }
    }
}

impl Rouse for CommShared {
    fn rouse(&self, rank: Rank) {
        CommShared::rouse(self, rank);
    }
}

impl CommShared {
    /// Creates a rank's end of the cells; once for each rank.
    pub(crate) fn cell_port(&self, me: Rank) -> CellPort {
        let new = || Arc::new(Cells::new(self.members.size()));
        CellPort::new(self.cells.get_or_init(new).clone(), me)
    }

    /// Whether it is known that no cell holds a message that a rank should have read.
    pub(in crate::transport) fn all_was_read(&self) -> bool {
        let agree = |cells: &Arc<Cells>| {
            cells
                .ends()
                .is_some_and(|ends| crate::transport::memory::stamp::agree(&ends))
        };
        self.cells.get().is_none_or(agree)
    }
}
