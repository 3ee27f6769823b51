//! Waiting: spin, yield, park; and waking.

pub(crate) mod cpu_collision;
pub(crate) mod idle;
pub(crate) mod live;
pub(crate) mod reason;
pub(crate) mod started;
pub(crate) mod wait;
pub(in crate::transport) mod yielding;
