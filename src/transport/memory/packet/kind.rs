//! Which field of a packet's body is initialised.

#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub(super) struct PacketKind(u32);

impl PacketKind {
    pub(super) const EAGER: PacketKind = PacketKind(0);
    pub(super) const LENT: PacketKind = PacketKind(1);
    pub(super) const COPIED: PacketKind = PacketKind(2);
    pub(super) const VALUE: PacketKind = PacketKind(3);
    /// What it owned has been taken out.
    pub(super) const EMPTY: PacketKind = PacketKind(4);
    /// The bytes of a short message that is longer than an eager one, copied to memory that its receiver keeps.
    pub(super) const LANDED: PacketKind = PacketKind(5);
    /// Elements in a `Vec` that their sender may keep too.
    pub(super) const SHARED: PacketKind = PacketKind(6);
    /// Elements that their sender has lent, until it leaves a copy of them.
    pub(super) const STANDING: PacketKind = PacketKind(7);

    /// Whether the field has to be dropped.
    #[inline]
    pub(super) fn owns_something(self) -> bool {
        !matches!(
            self,
            PacketKind::EAGER | PacketKind::LENT | PacketKind::EMPTY
        )
    }

    #[inline]
    pub(super) fn bits(self) -> u64 {
        self.0.into()
    }

    #[inline]
    pub(super) fn from_bits(bits: u64) -> PacketKind {
        PacketKind(bits as u32)
    }

    /// The kind that is left after everything owned was taken out.
    #[inline]
    pub(super) fn emptied(self) -> PacketKind {
        match self {
            PacketKind::COPIED | PacketKind::VALUE => PacketKind::EMPTY,
            other => other,
        }
    }
}
