//! Which field of a packet's body is initialised.

#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub(super) struct Kind(u32);

impl Kind {
    pub(super) const EAGER: Kind = Kind(0);
    pub(super) const LENT: Kind = Kind(1);
    pub(super) const COPIED: Kind = Kind(2);
    pub(super) const VALUE: Kind = Kind(3);
    /// What it owned has been taken out.
    pub(super) const EMPTY: Kind = Kind(4);
    /// The bytes of a short message that is longer than an eager one, copied to memory that its receiver keeps.
    pub(super) const LANDED: Kind = Kind(5);

    /// The kind that is left after everything owned was taken out.
    pub(super) fn emptied(self) -> Kind {
        match self {
            Kind::COPIED | Kind::VALUE => Kind::EMPTY,
            other => other,
        }
    }
}
