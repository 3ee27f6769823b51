//! Which call a message belongs to.

use crate::op::elements::Info;

/// The collective of the communicator that a message belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stamp {
    /// The fingerprint of the collective and of all before it.
    pub print: u32,
    /// The number of the collective.
    pub number: u32,
}

/// What is known of a message in a cell before it is opened.
#[derive(Clone, Copy)]
pub(crate) struct Label {
    pub stamp: Stamp,
    pub count: usize,
    pub info: &'static Info,
}

/// Whether ranks with these last calls took part in the same calls.
pub(crate) fn agree(ends: &[Option<Stamp>]) -> bool {
    ends.windows(2).all(|two| two[0] == two[1])
}
