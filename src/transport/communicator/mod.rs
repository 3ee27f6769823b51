//! What the members of a communicator share.

pub(crate) mod board;
pub(crate) mod members;
pub(crate) mod origin;
pub(crate) mod shrink;
