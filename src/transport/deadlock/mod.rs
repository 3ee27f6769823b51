//! Who can never move again, and who is to blame.

pub(crate) mod detector;
pub(crate) mod mismatch;
pub(crate) mod picture;
pub(crate) mod registry;
pub(crate) mod scheduler;
pub(crate) mod wait_for_graph;
