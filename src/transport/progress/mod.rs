//! How ranks wait: spin, yield, park; and who wakes them.

pub(crate) mod cpu_collision;
pub(crate) mod wait;
