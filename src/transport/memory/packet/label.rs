//! What a ring says of a packet beside its number: which field of the body is there, and how many elements.

use super::kind::PacketKind;
use crate::op::elements::{Elements, Info};

/// The longest message, in bytes, that travels inside its packet.
pub const EAGER_BYTES: usize = 32;

/// Kind and count of a packet, in the low bits of a word.
#[derive(Clone, Copy)]
pub(in crate::transport) struct Label(u64);

impl Label {
    /// Number of bits that a label takes.
    pub(in crate::transport) const BITS: u32 = 40;

    #[inline]
    pub(super) fn new(kind: PacketKind, count: u32) -> Label {
        Label(kind.bits() << 32 | u64::from(count))
    }

    /// The label of a short message that lies in a cell.
    #[inline]
    pub(in crate::transport) fn of(data: Elements<'_>) -> Label {
        let kind = match data.size() <= EAGER_BYTES {
            true => PacketKind::EAGER,
            false => PacketKind::LANDED,
        };
        Label::new(kind, data.len() as u32)
    }

    #[inline]
    pub(in crate::transport) fn bits(self) -> u64 {
        self.0
    }

    /// The label in the low bits of a word.
    #[inline]
    pub(in crate::transport) fn from_bits(word: u64) -> Label {
        Label(word & ((1 << Label::BITS) - 1))
    }

    /// Number of bytes of a message that does not fit into a packet and lies in a cell; 0 for any other.
    #[inline]
    pub(in crate::transport) fn landed_bytes(self, info: &'static Info) -> usize {
        match self.kind() == PacketKind::LANDED {
            true => self.count() as usize * info.size(),
            false => 0,
        }
    }

    /// Number of elements of a message that was copied to the ring; `None` for any other packet.
    #[inline]
    pub(in crate::transport) fn copied_elements(self) -> Option<usize> {
        let copied = matches!(self.kind(), PacketKind::EAGER | PacketKind::LANDED);
        copied.then_some(self.count() as usize)
    }

    #[inline]
    pub(super) fn kind(self) -> PacketKind {
        PacketKind::from_bits(self.0 >> 32)
    }

    #[inline]
    pub(super) fn count(self) -> u32 {
        self.0 as u32
    }
}
