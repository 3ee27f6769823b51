//! Reuse by the next run: worker threads and the fabric.

pub(crate) mod count_down;
pub(crate) mod fabric_reuse;
pub(crate) mod job_slot;
