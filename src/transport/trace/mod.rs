//! What ranks record about what they do.

pub(crate) mod clock;
pub(crate) mod event_ring;
pub(crate) mod origin;
pub(crate) mod record;
pub(crate) mod recorder;
