//! The packet: a kind, and the field of a union that the kind names.
//!
//! # Why this is sound
//!
//! - *Eager* bytes are `MaybeUninit`, copied in and out as bytes of the same type, so padding and pointers inside
//!   elements survive. They are read only as the type they were written as: every reader compares the type first
//!   ([`Info`]).
//! - *Lent* memory is borrowed by [`lend`](crate::transport::memory::lend::lend), whose frame ends only after the loan
//!   was revoked or settled (its guard ensures this also while unwinding, and never leaves the frame, so it cannot be
//!   forgotten). A reader dereferences the pointer only between its claim and its settling (`open`), see
//!   [`loan`](crate::transport::memory::loan). Elements are `Sync`, so two threads may read them at once.
//! - *Both ends of a long loan may copy it* ([`open_into`](Packet::open_into)):
//!   [`cooperative_copy`](crate::transport::memory::cooperative_copy) explains why they may.
//! - *Standing* loans are claimed and settled in the same way, by a word of their own. Those of a scope are borrowed by
//!   [`with_loans`](crate::transport::port::Port::with_loans), whose frame ends only after each was settled or replaced
//!   by a copy; those of a started call are of memory that the call owns, or has left to them
//!   ([`send_own`](crate::transport::port::Port::send_own)).
//! - *Shared* elements are in a `Vec` behind an `Arc`: nothing writes them while a packet has a share.
//! - Only this file reads or writes a body, and sets the kind. The rest of the packet's folder sees it through views
//!   that name the count and the type of what they show (`as_eager`, `as_landed`, `as_copied`, `as_shared`, `as_lent`,
//!   `as_standing`).
//! - A packet has no destructor that matters: one that stays queued for ever leaks at most memory.
#![allow(unsafe_code)]

use std::any::Any;
use std::mem::{self, ManuallyDrop, MaybeUninit, size_of};
use std::ptr;
use std::sync::Arc;

use super::kind::PacketKind;
use super::label::{EAGER_BYTES, Label};
use crate::Rank;
use crate::op::Element;
use crate::op::elements::{Elements, Info, SharedVec, copy_bytes};
use crate::op::vectors::{shown, vector_of_copies};
use crate::transport::memory::blocks::{Block, Piece};
use crate::transport::memory::bytes::{Octet, copied_bytes};
use crate::transport::memory::head::Head;
use crate::transport::memory::lenders::Lenders;
use crate::transport::memory::loan::Ticket;
use crate::transport::memory::receipt::Receipt;
use crate::transport::memory::standing_loan::StandingLoan;

/// A message on its way.
///
/// It consists of plain words and is not an `enum`: it is moved several times on its way through the channel, and a
/// type with a discriminant or padding is moved in pieces at odd offsets, each move stalling on the one before. No word
/// has a niche either: an `Option` or `Result` of a packet would keep its tag there, and that word would be moved
/// separately from the rest.
#[repr(C)]
pub(crate) struct Packet {
    /// `None`: it never held anything.
    info: Option<&'static Info>,
    /// The initialised field of `body`.
    kind: PacketKind,
    /// Number of elements of an eager or landed message.
    count: u32,
    pub(crate) head: Head,
    body: Body,
}

/// `repr(C)`: every field begins where the body does, so bytes may be written there before the kind is.
#[repr(C)]
pub(in crate::transport) union Body {
    eager: MaybeUninit<[u8; EAGER_BYTES]>,
    lent: Lent,
    owned: ManuallyDrop<Owned>,
    landed: ManuallyDrop<Block>,
    shared: ManuallyDrop<Shared>,
    standing: ManuallyDrop<Standing>,
}

/// The alignment of a body, and so of the elements of an eager message.
pub(in crate::transport) const BODY_ALIGN: usize = align_of::<Body>();

impl Body {
    /// An uninitialised body.
    #[inline]
    fn new() -> Body {
        Body {
            eager: MaybeUninit::uninit(),
        }
    }
}

#[derive(Clone, Copy)]
pub(super) struct Lent {
    pub(super) data: *const u8,
    pub(super) count: usize,
    pub(super) ticket: Ticket,
}

/// Elements in a `Vec` that more than this packet may read.
struct Shared {
    /// Number of elements.
    count: usize,
    what: SharedVec,
}

/// What is lent by a loan of its own.
pub(super) struct Standing {
    pub(super) lent: Lent,
    pub(super) loan: Arc<StandingLoan>,
}

/// Elements in a `Vec`, or one value.
struct Owned {
    /// Number of elements; 1 for a value.
    count: usize,
    what: Box<dyn Any + Send>,
    /// The receiver records the receipt here, if a sender waits for it or buffer space was charged.
    receipt: Option<Arc<Receipt>>,
}

// It fits into one cache line, and fills it where pointers have 64 bits.
const _: () = assert!(size_of::<Packet>() <= 64);
const _: () = assert!(size_of::<Packet>() == 64 || size_of::<usize>() < 8);
const _: () = assert!(size_of::<Option<Packet>>() > size_of::<Packet>());

// SAFETY: an eager packet holds elements of a type that is `Send` (`Element`). `data` points to elements that are
// `Sync`, is dereferenced only under a claim, and the lender keeps them borrowed until then (see the head).
unsafe impl Send for Packet {}

impl Drop for Packet {
    #[inline]
    fn drop(&mut self) {
        self.clear();
    }
}

impl Packet {
    #[inline]
    fn new(head: Head, info: &'static Info, kind: PacketKind, count: u32, body: Body) -> Packet {
        Packet {
            body,
            info: Some(info),
            head,
            kind,
            count,
        }
    }

    /// A packet that holds nothing: the place for one that is about to be received.
    #[inline]
    pub(crate) fn empty() -> Packet {
        Packet {
            body: Body::new(),
            info: None,
            head: Head::default(),
            kind: PacketKind::EMPTY,
            count: 0,
        }
    }

    /// Whether a message is short enough for [`eager`](Self::eager).
    #[inline]
    pub(crate) fn fits(data: Elements<'_>) -> bool {
        data.size() <= EAGER_BYTES && u32::try_from(data.len()).is_ok()
    }

    /// A short message, copied into the packet, where it stays until it is posted.
    ///
    /// # Panics
    ///
    /// If it does not [fit](Self::fits).
    #[inline]
    pub(crate) fn eager(head: Head, data: Elements<'_>) -> Packet {
        assert!(Self::fits(data), "a long message in a short packet");
        let (info, count) = (data.info(), data.len() as u32);
        let mut packet = Self::new(head, info, PacketKind::EAGER, count, Body::new());
        if Octet::fits(data) {
            let mut octet = Octet::new();
            // SAFETY: the octet is ours, and the body of this new packet is larger and aligned for one. It is written
            // whole, as it will be moved.
            unsafe {
                Octet::write(&mut octet, data);
                (&raw mut packet.body).cast::<Octet>().write(octet);
            }
        } else {
            let to = (&raw mut packet.body).cast();
            // SAFETY: the body of this new packet has space for `data`, as checked above.
            unsafe { copy_bytes(to, data.first(), data.size()) };
        }
        packet
    }

    #[inline]
    pub(in crate::transport) fn lent(head: Head, data: Elements<'_>, ticket: Ticket) -> Packet {
        let lent = Lent {
            data: data.first(),
            count: data.len(),
            ticket,
        };
        Self::new(head, data.info(), PacketKind::LENT, 0, Body { lent })
    }

    /// A message that owns its elements.
    pub(crate) fn copied<T: Element>(head: Head, elements: Vec<T>) -> Packet {
        let count = elements.len();
        let body = Self::owned(count, Box::new(elements));
        Self::new(head, Info::of::<T>(), PacketKind::COPIED, 0, body)
    }

    /// A message that owns a copy of elements.
    pub(crate) fn copy_of(head: Head, elements: Elements<'_>) -> Packet {
        let body = Self::owned(elements.len(), vector_of_copies(elements));
        Self::new(head, elements.info(), PacketKind::COPIED, 0, body)
    }

    /// A message whose elements, of the type `info`, are in the memory of `what`, which its sender may keep too.
    ///
    /// # Panics
    ///
    /// If they are of another type.
    pub(crate) fn shared(head: Head, info: &'static Info, what: SharedVec) -> Packet {
        let count = shown(info, &*what).map(|elements| elements.len());
        let count = count.expect("a vector of elements of this type");
        let shared = ManuallyDrop::new(Shared { count, what });
        Self::new(head, info, PacketKind::SHARED, 0, Body { shared })
    }

    /// A message whose elements are lent until `loan` is settled or replaced by a copy.
    pub(in crate::transport) fn standing(
        head: Head,
        data: Elements<'_>,
        ticket: Ticket,
        loan: Arc<StandingLoan>,
    ) -> Packet {
        let lent = Lent {
            data: data.first(),
            count: data.len(),
            ticket,
        };
        let standing = ManuallyDrop::new(Standing { lent, loan });
        let body = Body { standing };
        Self::new(head, data.info(), PacketKind::STANDING, 0, body)
    }

    /// A message that is one owned value, moved.
    pub(crate) fn value<V: Send + 'static>(head: Head, value: V) -> Packet {
        let (info, body) = (Info::of_value::<V>(), Self::owned(1, Box::new(value)));
        Self::new(head, info, PacketKind::VALUE, 0, body)
    }

    fn owned(count: usize, what: Box<dyn Any + Send>) -> Body {
        let owned = ManuallyDrop::new(Owned {
            count,
            what,
            receipt: None,
        });
        Body { owned }
    }

    /// Attaches a receipt, which its receiver accepts. Only for messages that own what they hold.
    pub(crate) fn with_receipt(mut self, receipt: Arc<Receipt>) -> Packet {
        assert!(self.is_owned(), "a receipt for what is not owned");
        // SAFETY: the kind says that this field was written.
        let owned = unsafe { &mut *self.body.owned };
        owned.receipt = Some(receipt);
        self
    }

    #[inline]
    pub(super) fn kind(&self) -> PacketKind {
        self.kind
    }

    /// Whether the elements are lent by a blocking send.
    #[inline]
    pub(in crate::transport) fn is_lent(&self) -> bool {
        self.kind == PacketKind::LENT
    }

    /// Whether it owns what it holds, so that dropping it has an effect.
    #[inline]
    pub(in crate::transport) fn is_owned(&self) -> bool {
        self.kind == PacketKind::COPIED || self.kind == PacketKind::VALUE
    }

    pub(super) fn receipt(&self) -> Option<&Receipt> {
        if !self.is_owned() {
            return None;
        }
        // SAFETY: the kind says that this field was written.
        unsafe { &self.body.owned }.receipt.as_deref()
    }

    /// Detaches the receipt, if there is one.
    pub(in crate::transport) fn take_receipt(&mut self) -> Option<Arc<Receipt>> {
        let is_owned = self.is_owned();
        // SAFETY: the kind says that this field was written.
        is_owned.then(|| unsafe { &mut *self.body.owned }.receipt.take())?
    }

    /// Accepts the receipt of an owned message, and tells its sender; `false`: the sender has revoked the message. Only
    /// once for each message.
    pub(super) fn accept(&self, lenders: &(impl Lenders + ?Sized)) -> bool {
        let Some(receipt) = self.receipt() else {
            return true;
        };
        let ours = receipt.accept();
        if ours {
            lenders.settled(self.source());
        }
        ours
    }

    /// The bytes of an eager message. They hold [`count`](Self::count) elements of the type [`info`](Self::info), and
    /// begin where the body does, at a multiple of `BODY_ALIGN`.
    #[inline]
    pub(super) fn as_eager(&self) -> Option<&MaybeUninit<[u8; EAGER_BYTES]>> {
        if self.kind != PacketKind::EAGER {
            return None;
        }
        // SAFETY: the kind says that this field was written.
        Some(unsafe { &self.body.eager })
    }

    /// The bytes of a landed message, as of an eager one. The elements need no stricter alignment than a piece.
    #[inline]
    pub(super) fn as_landed(&self) -> Option<&[Piece]> {
        // SAFETY: the kind says that this field was written.
        (self.kind == PacketKind::LANDED).then(|| unsafe { self.body.landed.pieces() })
    }

    /// The copied elements, in a `Vec`.
    #[inline]
    pub(super) fn as_copied(&self) -> Option<&dyn Any> {
        // SAFETY: the kind says that this field was written.
        (self.kind == PacketKind::COPIED).then(|| unsafe { &*self.body.owned.what as &dyn Any })
    }

    /// The `Vec` of a shared message.
    #[inline]
    pub(super) fn as_shared(&self) -> Option<&SharedVec> {
        // SAFETY: the kind says that this field was written.
        (self.kind == PacketKind::SHARED).then(|| unsafe { &self.body.shared.what })
    }

    /// Takes out the `Vec` of a shared message.
    pub(super) fn take_shared(&mut self) -> Option<SharedVec> {
        if self.kind != PacketKind::SHARED {
            return None;
        }
        self.kind = PacketKind::EMPTY;
        // SAFETY: the kind said that this field was written, and no longer says so.
        Some(unsafe { ManuallyDrop::take(&mut self.body.shared) }.what)
    }

    /// What a standing loan lends, as [`as_lent`](Self::as_lent).
    #[inline]
    pub(super) fn as_standing(&self) -> Option<&Standing> {
        // SAFETY: the kind says that this field was written.
        (self.kind == PacketKind::STANDING).then(|| unsafe { &*self.body.standing })
    }

    /// What is lent: [`count`](Self::count) elements of the type [`info`](Self::info), borrowed as the head says.
    #[inline]
    pub(super) fn as_lent(&self) -> Option<Lent> {
        if self.kind != PacketKind::LENT {
            return None;
        }
        // SAFETY: the kind says that this field was written.
        Some(unsafe { self.body.lent })
    }

    /// Takes out what the packet owns, if anything.
    pub(super) fn take_owned(&mut self) -> Option<Box<dyn Any + Send>> {
        let emptied = self.kind.emptied();
        match mem::replace(&mut self.kind, emptied) {
            PacketKind::COPIED | PacketKind::VALUE => {
                // SAFETY: the kind said that this field was written, and says `EMPTY` from here on, so that nothing is
                // taken twice.
                let owned = unsafe { ManuallyDrop::take(&mut self.body.owned) };
                Some(owned.what)
            }
            _ => None,
        }
    }

    /// Drops what it owns.
    #[inline]
    fn clear(&mut self) {
        if self.kind.owns_something() {
            self.clear_owned();
        }
    }

    fn clear_owned(&mut self) {
        if self.is_owned() {
            drop(self.take_owned());
        } else if self.kind == PacketKind::LANDED {
            self.kind = PacketKind::EMPTY;
            // SAFETY: the kind said that this field was written, and no longer says so.
            unsafe { ManuallyDrop::drop(&mut self.body.landed) };
        } else if self.kind == PacketKind::SHARED {
            drop(self.take_shared());
        } else if self.kind == PacketKind::STANDING {
            self.kind = PacketKind::EMPTY;
            // SAFETY: the kind said that this field was written, and no longer says so.
            unsafe { ManuallyDrop::drop(&mut self.body.standing) };
        }
    }

    /// Drops what it owns, and holds nothing from then on. Writes nothing else, so that it can be moved at once.
    #[inline]
    pub(in crate::transport) fn empty_in_place(&mut self) {
        self.clear();
        self.kind = PacketKind::EMPTY;
    }

    /// Number of elements; `None` for a moved value.
    #[inline]
    pub(crate) fn count(&self) -> Option<usize> {
        match self.kind {
            PacketKind::EAGER | PacketKind::LANDED => Some(self.count as usize),
            // SAFETY: the kind says that this field was written.
            PacketKind::COPIED => Some(unsafe { &self.body.owned }.count),
            PacketKind::LENT => self.as_lent().map(|lent| lent.count),
            PacketKind::STANDING => self.as_standing().map(|standing| standing.lent.count),
            // SAFETY: the kind says that this field was written.
            PacketKind::SHARED => Some(unsafe { &self.body.shared }.count),
            _ => None,
        }
    }

    /// Number of elements of an eager or landed message.
    #[inline]
    pub(super) fn short_count(&self) -> usize {
        self.count as usize
    }

    /// Whether it consists of elements of this type.
    #[inline]
    pub(crate) fn holds_elements(&self, info: &'static Info) -> bool {
        self.count().is_some() && self.info().is(info)
    }

    /// Splits off its body, for a cell of a ring.
    ///
    /// # Panics
    ///
    /// If it has landed: such a packet stays with its receiver.
    #[inline]
    pub(in crate::transport) fn into_body(self) -> (Label, Body) {
        assert!(
            self.kind != PacketKind::LANDED,
            "a landed message is not sent on"
        );
        let packet = ManuallyDrop::new(self);
        // SAFETY: moved out once, of a packet that is never touched or dropped again.
        let body = unsafe { ptr::read(&packet.body) };
        (Label::new(packet.kind, packet.count), body)
    }

    /// Moves the content of a cell into this packet, word by word: a move of the whole would stall. A short message
    /// that is longer than an eager one is copied to a buffer of its own.
    ///
    /// # Safety
    ///
    /// The label is that of [`into_body`](Self::into_body), `body` points to the body that came with it, and that is
    /// never read again. Or it is [`Label::of`] a message of elements of the type `info`, `body` points to their bytes
    /// in memory that is as large as a body at least, and elements of more than [`EAGER_BYTES`] bytes need no stricter
    /// alignment than [`PIECE`](crate::transport::memory::blocks::PIECE). In both cases `body` is aligned to
    /// [`BODY_ALIGN`], and no thread writes there meanwhile.
    #[inline]
    pub(in crate::transport) unsafe fn load(
        &mut self,
        head: Head,
        info: &'static Info,
        label: Label,
        body: *const u8,
    ) {
        self.clear();
        self.info = Some(info);
        self.count = label.count();
        self.head = head;
        // SAFETY: the caller's promise; only short messages in cells are labelled as landed.
        unsafe {
            if label.kind() == PacketKind::LANDED {
                self.body.landed = ManuallyDrop::new(copied_bytes(body, label.landed_bytes(info)));
            } else {
                self.body = ptr::read(body.cast());
            }
        }
        // Last, so that nothing is there unless all of it is.
        self.kind = label.kind();
    }

    /// The type that it holds.
    #[inline]
    pub(crate) fn info(&self) -> &'static Info {
        self.info.unwrap_or(Info::of_value::<()>())
    }

    #[inline]
    pub(crate) fn source(&self) -> Rank {
        self.head.source()
    }
}
