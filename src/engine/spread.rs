//! What a call needs whose ranks are in several processes: the carrier of its messages, and the refusal of what cannot
//! leave the process. Everything is refused before anything is sent.

#[cfg(feature = "mpi")]
use std::sync::Arc;

use super::Comm;
use crate::Rank;
use crate::error::{Error, ErrorKind, Result};
use crate::names::Transport;
use crate::op::Element;
use crate::op::elements::Info;
#[cfg(feature = "mpi")]
use crate::transport::CommShared;
use crate::transport::communicator::call::{Call, Verb};

/// A rank's ends of the parts of a communicator whose ranks are in several processes.
#[cfg(feature = "mpi")]
pub(crate) struct OwnParts {
    /// The ranks in this process.
    pub near: Comm,
    /// Those with this rank's place in the other processes.
    pub column: Comm,
}

#[cfg(feature = "mpi")]
impl Comm {
    /// This rank's ends of the parts of a communicator whose ranks are in several processes.
    #[inline]
    pub(crate) fn own_parts(&self) -> &OwnParts {
        self.parts.get_or_init(|| Box::new(self.make_own_parts()))
    }

    #[cold]
    fn make_own_parts(&self) -> OwnParts {
        let (parts, me) = (self.fabric().parts(&self.shared), self.core.port.me);
        let of = |shared: &Arc<CommShared>| {
            let member = shared
                .members
                .member(me)
                .expect("this rank is in its parts");
            Comm::of(self.core.clone(), shared.clone(), member)
        };
        let near = of(&parts.near);
        OwnParts {
            column: of(&parts.columns[near.me]),
            near,
        }
    }
}

impl Comm {
    /// What carries the messages of collectives: packets alone, if some ranks are in other processes.
    #[inline]
    pub(crate) fn carrier(&self) -> Transport {
        match self.shared.spans() {
            true => Transport::Channels,
            false => self.fabric().settings.transport,
        }
    }

    /// Whether collectives go over packets alone.
    #[inline]
    pub(crate) fn is_over_channels(&self) -> bool {
        self.carrier() == Transport::Channels
    }

    /// Whether there are more ranks than CPUs, as far as that matters to the choice of an algorithm, which must be the
    /// same in all processes.
    #[inline]
    pub(crate) fn is_crowded(&self) -> bool {
        !self.shared.spans() && self.fabric().is_crowded()
    }

    /// Refuses a collective that ranks of several processes cannot make together.
    #[inline]
    pub(crate) fn check_spread(&self, call: &Call) -> Result<()> {
        match self.shared.spans() {
            true => self.check_spread_call(call),
            false => Ok(()),
        }
    }

    #[cold]
    fn check_spread_call(&self, call: &Call) -> Result<()> {
        use Verb::{
            Cartesian, Collective, Dup, Graph, GraphFromEdges, NeighborAllGather,
            NeighborAllGatherV, NeighborAllToAll, NeighborAllToAllV, ReduceOver, RunSchedule,
            Split, Started, StartedNeighborAllGather, StartedNeighborAllGatherV,
            StartedNeighborAllToAll, StartedNeighborAllToAllV,
        };
        let goes = match call.verb {
            Collective(_) | Started(_) | RunSchedule | Dup | Split => true,
            Cartesian | Graph | GraphFromEdges => true,
            // Where ranks may be missing, it moves vectors and lists.
            ReduceOver => !call.tolerant,
            NeighborAllGather | NeighborAllGatherV | NeighborAllToAll | NeighborAllToAllV => true,
            StartedNeighborAllGather | StartedNeighborAllGatherV => true,
            StartedNeighborAllToAll | StartedNeighborAllToAllV => true,
            _ => false,
        };
        if !goes {
            return Err(self.only_within("this call"));
        }
        call.info.map_or(Ok(()), |info| self.check_plain(info))
    }

    /// Checks that there is a rank `to`, and that elements of this type can be sent to it.
    #[inline]
    pub(crate) fn check_receiver<T: Element>(&self, to: Rank) -> Result<()> {
        self.check_peer("the receiver", to)?;
        match self.is_elsewhere(to) {
            true => self.check_plain(Info::of::<T>()),
            false => Ok(()),
        }
    }

    /// Checks that there is a rank `to` in this process, as `what` needs.
    #[inline]
    pub(crate) fn check_near_receiver(&self, what: &str, to: Rank) -> Result<()> {
        self.check_peer("the receiver", to)?;
        match self.is_elsewhere(to) {
            true => Err(self.only_within(what)),
            false => Ok(()),
        }
    }

    /// Refuses `what` if some ranks are in other processes.
    pub(crate) fn check_within(&self, what: &str) -> Result<()> {
        match self.shared.spans() {
            true => Err(self.only_within(what)),
            false => Ok(()),
        }
    }

    /// Whether a rank of this communicator is in another process.
    #[inline]
    pub(crate) fn is_elsewhere(&self, rank: Rank) -> bool {
        self.shared.spans() && self.fabric().is_far(self.to_world(rank))
    }

    #[cold]
    fn check_plain(&self, info: &'static Info) -> Result<()> {
        match self.fabric().may_leave(info) {
            true => Ok(()),
            false => Err(Error::new(ErrorKind::NotPlain {
                type_name: info.name(),
            })),
        }
    }

    #[cold]
    fn only_within(&self, what: &str) -> Error {
        Error::usage(format!(
            "{what} is for ranks of one process, and here are ranks of others"
        ))
    }
}
