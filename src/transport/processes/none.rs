//! Without the feature `mpi` no rank is in another process: what this costs is nothing.

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use crate::Rank;
use crate::error::{Cause, Deadlock, Error, Gone, Mismatch};
use crate::op::elements::{Elements, Info};
use crate::transport::communicator::members::Members;
use crate::transport::deadlock::record::CallRecord;
use crate::transport::deadlock::wait_for_graph::Needs;
use crate::transport::matching::receive_buffer::ReceiveBuffer;
use crate::transport::matching::want::Want;
use crate::transport::memory::head::Head;
use crate::transport::memory::packet::Packet;
use crate::transport::port::Port;
use crate::transport::trace::origin::Origin;
use crate::transport::trace::part::WorldPart;
use crate::transport::{CommShared, Fabric};

impl Fabric {
    pub(crate) fn near(&self) -> Range<Rank> {
        0..self.endpoints.len()
    }

    #[inline(always)]
    pub(crate) fn is_far(&self, _: Rank) -> bool {
        false
    }

    pub(crate) fn has_far(&self) -> bool {
        false
    }

    pub(crate) fn part(&self) -> Option<WorldPart> {
        None
    }

    pub(crate) fn process_of(&self, _: Rank) -> usize {
        0
    }

    pub(crate) fn may_leave(&self, _: &'static Info) -> bool {
        true
    }

    #[inline(always)]
    pub(in crate::transport) fn note_deadlock(&self, _: &Arc<Deadlock>) {}

    #[inline(always)]
    pub(in crate::transport) fn silenced(&self, _: Option<Rank>) -> Option<Error> {
        None
    }

    #[inline(always)]
    pub(in crate::transport) fn knows_calls_of(&self, _: Rank) -> bool {
        true
    }

    #[inline(always)]
    pub(in crate::transport) fn is_over(&self, rank: Rank) -> bool {
        !self.is_there(rank)
    }

    pub(crate) fn naming_the_odd(&self, found: &Mismatch) -> Option<Mismatch> {
        self.naming_the_odd_here(found)
    }

    pub(crate) fn found_anywhere(&self, found: Option<Arc<Mismatch>>) -> Option<Arc<Mismatch>> {
        found
    }

    pub(in crate::transport) fn far_records(&self, _: Rank, _: u32) -> Vec<(u32, CallRecord)> {
        Vec::new()
    }

    pub(in crate::transport) fn far_numbers(&self, _: Rank, _: u32) -> Vec<u32> {
        Vec::new()
    }

    pub(in crate::transport) fn knows_all_far_calls(&self, _: Rank, _: u32) -> bool {
        false
    }

    pub(in crate::transport) fn far_needs(&self) -> Vec<(Rank, Needs)> {
        Vec::new()
    }

    #[inline(always)]
    pub(in crate::transport) fn post_far(&self, _: Rank, _: Packet) -> bool {
        false
    }

    #[inline(always)]
    pub(in crate::transport) fn settled_far(&self) {}

    #[inline(always)]
    pub(crate) fn tell_revoked(&self) {}

    #[inline(always)]
    pub(in crate::transport) fn post_elements_far(
        &self,
        _: Rank,
        _: Head,
        _: Elements<'_>,
    ) -> bool {
        false
    }

    #[inline(always)]
    pub(in crate::transport) fn tell_end(
        &self,
        _: Rank,
        _: &Gone,
        _: Option<&Arc<str>>,
        _: Option<&Cause>,
    ) {
    }

    #[inline(always)]
    pub(in crate::transport) fn tell_broken(&self, _: &CommShared, _: &Error, _: Rank) {}

    pub(crate) fn adopt_comm(
        &self,
        context: u32,
        members: Members,
        origin: Arc<Origin>,
    ) -> Arc<CommShared> {
        self.comm_of(context, members, origin)
    }

    pub(in crate::transport) fn spans(&self, _: &Members) -> bool {
        false
    }

    pub(in crate::transport) fn left_by_far(&self) -> Vec<(Rank, Packet)> {
        Vec::new()
    }

    pub(crate) fn close_far(&self) {}

    #[inline(always)]
    pub(crate) fn leaves_early(&self, _: Rank) {}

    pub(crate) fn left_early(&self) -> Vec<Rank> {
        Vec::new()
    }

    pub(crate) fn far_ends(&self) -> Vec<Option<(Gone, Option<Arc<str>>)>> {
        Vec::new()
    }
}

impl CommShared {
    #[inline(always)]
    pub(crate) fn spans(&self) -> bool {
        false
    }

    pub(crate) fn is_part(&self) -> bool {
        false
    }
}

impl Port {
    #[inline(always)]
    pub(crate) fn has_far(&self) -> bool {
        false
    }

    #[inline(always)]
    pub(in crate::transport) fn send_far_at_once(
        &self,
        _: Rank,
        _: Head,
        _: Elements<'_>,
        _: u64,
    ) -> bool {
        false
    }

    #[inline(always)]
    pub(crate) fn pump(&self) {}

    #[inline(always)]
    pub(crate) fn pump_one(&self) {}

    #[inline(always)]
    pub(in crate::transport) fn pump_into(&self, _: &Want, _: &mut ReceiveBuffer<'_>) -> bool {
        false
    }

    #[inline(always)]
    pub(crate) fn ask_far(&self) {}

    #[inline(always)]
    pub(crate) fn spin_for_far(&self, _: &mut dyn FnMut() -> bool) -> bool {
        false
    }

    #[inline(always)]
    pub(in crate::transport) fn nap(&self, _: u32) -> Option<Instant> {
        None
    }
}
