//! How ranks wait: spin, yield, park; and what wakes them.

pub(crate) mod cpu_collision;
pub(crate) mod wait;
