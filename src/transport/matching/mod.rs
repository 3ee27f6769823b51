//! Which message a receive takes: the mailbox, posted receives and the order of arrival.

pub(crate) mod by_source;
mod early;
pub(crate) mod in_place;
pub(crate) mod incoming;
pub(crate) mod mailbox;
pub(crate) mod posted_receives;
pub(crate) mod receive_buffer;
pub(crate) mod want;
