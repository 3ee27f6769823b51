//! What a rank brings to a call over shared memory.

use crate::op::elements::Info;

/// What a rank brings: the fingerprint of its call, what it is about to do with memory, and its vectors.
#[derive(Clone, Copy)]
pub(crate) struct Brought {
    pub print: u32,
    pub job: u32,
    pub info: *const Info,
    pub input: (*const u8, usize),
    pub output: (*mut u8, usize),
    /// Whether whole vectors are to be folded instead of shares: both of two ranks do what rank 0 brings.
    pub whole: bool,
    /// Whether two ranks report out in a line of its own: as rank 0 brings it.
    pub outs: Outs,
}

/// Where the ranks of a call report out: in the lines in which they arrive, or two in a line of its own. If a line comes
/// fast, either rank finds more often what it waits for while each of the two lines is written once a call; if it comes
/// slowly, one line has to come less often than two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outs {
    WithArrivals,
    Apart,
}

impl Outs {
    /// The other place.
    pub(super) fn other(self) -> Outs {
        match self {
            Outs::WithArrivals => Outs::Apart,
            Outs::Apart => Outs::WithArrivals,
        }
    }
}
