//! The state that the members of a communicator share.

pub(crate) mod call;
pub(crate) mod call_log;
pub(crate) mod duplicates;
pub(crate) mod exposure;
pub(crate) mod gate;
pub(crate) mod members;
mod past_calls;
pub(crate) mod puts_in;
pub(crate) mod shared;
pub(crate) mod shrink;
pub(crate) mod subsets;
