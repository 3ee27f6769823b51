//! The buffer of a blocking receive, to which a short message is copied straight from the fast box or from MPI.

use crate::op::elements::ElementsMut;
use crate::transport::memory::head::Head;

/// What a receive into a buffer has found.
#[derive(Clone, Copy)]
pub(crate) enum Arrived {
    /// A message whose elements are in the buffer.
    Copied,
    /// A message that is still to be opened.
    Packet,
}

/// The buffer of a receive, and what is known of the message that is in it. That is written where it stays: results of
/// several words are moved in larger ones, which stalls after they were just written.
pub(crate) struct ReceiveBuffer<'a> {
    pub elements: ElementsMut<'a>,
    pub head: Head,
    pub count: usize,
}
