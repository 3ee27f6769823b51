//! Which memory, other than channels, has carried data of a world: none in a world whose transport is channels.

use crate::transport::communicator::shared::CommShared;
use crate::transport::endpoint::Endpoint;
use crate::transport::fabric::Fabric;

impl Fabric {
    /// The kinds of shared memory that have carried data, each once. Everything but channels is made when it is first
    /// used, so what was never made has carried nothing.
    pub(crate) fn carried_by_memory(&self) -> Vec<&'static str> {
        let comms = self.comms.lock();
        let by_comms = comms.iter().flat_map(|comm| comm.carried_by_memory());
        let by_ranks = self
            .endpoints
            .iter()
            .flat_map(|end| end.carried_by_memory());
        let mut all: Vec<_> = by_comms.chain(by_ranks).collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}

impl CommShared {
    pub(in crate::transport) fn carried_by_memory(&self) -> impl Iterator<Item = &'static str> {
        let cells = self.cells.get().map(|_| "cells");
        let vectors = self.epoch.get().map(|_| "shared vectors");
        let slots = self.lanes.have_slots().then_some("slots");
        [cells, vectors, slots].into_iter().flatten()
    }
}

impl Endpoint {
    fn carried_by_memory(&self) -> impl Iterator<Item = &'static str> {
        let fast_box = self.fast_box.was_taken().then_some("fast box");
        let loan = self.loan.was_offered().then_some("loan");
        [fast_box, loan].into_iter().flatten()
    }
}
