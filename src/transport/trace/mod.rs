//! The records of ranks: flight recorder, trace, clock.

pub(crate) mod call_event;
pub(crate) mod clock;
pub(crate) mod course;
pub(crate) mod event_ring;
pub(crate) mod operation;
pub(crate) mod origin;
pub(crate) mod part;
pub(crate) mod record;
pub(crate) mod recorder;
pub(crate) mod words;
