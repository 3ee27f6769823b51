//! Waking a sleeping rank: the flag that every poster looks at, and the fence that orders it.

pub(crate) mod fences;
pub(crate) mod sleeper;
