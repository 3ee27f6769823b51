//! Who can never move again, and who is to blame.

pub(crate) mod mismatch;
pub(crate) mod registry;
pub(crate) mod wait_for_graph;
