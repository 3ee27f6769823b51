//! One message on its way: 64 bytes that hold short messages whole (*eager*), point into the sender's buffer (*lent*),
//! or own a copy or a moved value.
//!
//! # Why this is sound
//!
//! - *Eager* bytes are `MaybeUninit`, copied in and out as bytes of the same type, so padding and pointers inside
//!   elements survive. They are read only as the type they were written as: every reader compares the type first
//!   ([`Info`]).
//! - *Lent* memory is borrowed by [`lend`](crate::transport::memory::lend::lend), whose frame ends only after the loan
//!   was revoked or settled (its guard ensures this also while unwinding, and never leaves the frame, so it cannot be
//!   forgotten). A reader dereferences the pointer only between its claim and its settling, see
//!   [`loan`](crate::transport::memory::loan). Elements are `Sync`, so two threads may read them at once.
//! - *Both ends of a long loan may copy it* ([`open_into`](Packet::open_into)):
//!   [`cooperative_copy`](crate::transport::memory::cooperative_copy) explains why they may.
//! - A packet has no destructor that matters: one that stays queued for ever leaks at most memory.
#![allow(unsafe_code)]

use std::any::Any;
use std::mem::{self, ManuallyDrop, MaybeUninit, size_of};
use std::ptr;
use std::slice;
use std::sync::Arc;

use crate::Rank;
use crate::op::{Element, copied};
use crate::transport::memory::cooperative_copy::{self, Taker, bytes};
use crate::transport::memory::copy_claims::JOINT;
use crate::transport::memory::head::{Head, Info};
use crate::transport::memory::lend::{Lenders, Settle};
use crate::transport::memory::loan::Ticket;
use crate::transport::memory::receipt::Receipt;

/// The longest message, in bytes, that travels inside its packet.
pub const EAGER_BYTES: usize = 32;

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
    kind: Kind,
    /// Number of elements of an eager or landed message.
    count: u32,
    pub(crate) head: Head,
    body: Body,
}

#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
struct Kind(u32);

impl Kind {
    const EAGER: Kind = Kind(0);
    const LENT: Kind = Kind(1);
    const COPIED: Kind = Kind(2);
    const VALUE: Kind = Kind(3);
    /// What it owned has been taken out.
    const EMPTY: Kind = Kind(4);
    /// The bytes of a short message that is longer than an eager one, copied to memory that its receiver keeps.
    const LANDED: Kind = Kind(5);

    /// The kind that is left after everything owned was taken out.
    fn emptied(self) -> Kind {
        match self {
            Kind::COPIED | Kind::VALUE => Kind::EMPTY,
            other => other,
        }
    }
}

/// `repr(C)`: every field begins where the body does, so bytes may be written there before the kind is.
#[repr(C)]
union Body {
    eager: MaybeUninit<[u8; EAGER_BYTES]>,
    lent: Lent,
    owned: ManuallyDrop<Owned>,
    landed: ManuallyDrop<Box<[Piece]>>,
}

/// A 16-byte piece of the buffer for a landed message, which consists of several.
#[repr(C, align(16))]
struct Piece([MaybeUninit<u8>; PIECE]);

/// The strictest alignment that the elements of a landed message may have.
pub(in crate::transport) const PIECE: usize = 16;

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
struct Lent {
    data: *const u8,
    count: usize,
    ticket: Ticket,
    /// Makes a copy of the elements, whose type is known only here.
    copy: fn(&Packet, &dyn Lenders) -> Option<Packet>,
}

/// Elements in a `Vec`, or one value.
struct Owned {
    /// Number of elements; 1 for a value.
    count: usize,
    what: Box<dyn Any + Send>,
    /// The receiver records the receipt here, if a sender waits for it or buffer space was charged.
    receipt: Option<Arc<Receipt>>,
}

/// A packet without the line of its head, which a lane knows: the content of a ring cell.
#[repr(C)]
pub(in crate::transport) struct Cargo {
    info: Option<&'static Info>,
    kind: Kind,
    count: u32,
    call: u64,
    body: Body,
}

/// The bytes of a message of at most eight bytes, with padding and pointers in them preserved.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
pub(in crate::transport) struct Octet(MaybeUninit<[u8; OCTET]>);

const OCTET: usize = 8;

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

/// Space for the largest eager message, aligned for any element that fits into it: an element that is not zero-sized is
/// at least as large as its alignment.
#[repr(align(32))]
struct Landing(MaybeUninit<[u8; EAGER_BYTES]>);

impl Packet {
    #[inline]
    fn new<T: 'static>(head: Head, kind: Kind, count: u32, body: Body) -> Packet {
        Packet {
            body,
            info: Some(Info::of::<T>()),
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
            kind: Kind::EMPTY,
            count: 0,
        }
    }

    /// Whether a message is short enough for [`eager`](Self::eager).
    #[inline]
    pub(crate) fn fits<T: Element>(data: &[T]) -> bool {
        size_of_val(data) <= EAGER_BYTES && u32::try_from(data.len()).is_ok()
    }

    /// A short message, copied into the packet, where it stays until it is posted.
    ///
    /// # Panics
    ///
    /// If it does not [fit](Self::fits).
    #[inline]
    pub(crate) fn eager<T: Element>(head: Head, data: &[T]) -> Packet {
        assert!(Self::fits(data), "a long message in a short packet");
        let mut packet = Self::new::<T>(head, Kind::EAGER, data.len() as u32, Body::new());
        if Octet::fits(data) {
            let mut octet = Octet(MaybeUninit::uninit());
            // SAFETY: the octet is ours, and the body of this new packet is larger and aligned for one. It is written
            // whole, as it will be moved.
            unsafe {
                Octet::write(&mut octet, data);
                (&raw mut packet.body).cast::<Octet>().write(octet);
            }
        } else {
            let to = (&raw mut packet.body).cast();
            // SAFETY: the body of this new packet has space for `data`, as checked above.
            unsafe { copy_out(data, to) };
        }
        packet
    }

    pub(in crate::transport) fn lent<T: Element>(head: Head, data: &[T], ticket: Ticket) -> Packet {
        let lent = Lent {
            data: data.as_ptr().cast(),
            count: data.len(),
            ticket,
            copy: copy_lent::<T>,
        };
        Self::new::<T>(head, Kind::LENT, 0, Body { lent })
    }

    /// A message that owns its elements.
    pub(crate) fn copied<T: Element>(head: Head, elements: Vec<T>) -> Packet {
        let count = elements.len();
        let body = Self::owned(count, Box::new(elements));
        Self::new::<T>(head, Kind::COPIED, 0, body)
    }

    /// A message that is one owned value, moved.
    pub(crate) fn value<V: Send + 'static>(head: Head, value: V) -> Packet {
        Self::new::<V>(head, Kind::VALUE, 0, Self::owned(1, Box::new(value)))
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

    /// Whether it holds nothing, or nothing any more.
    pub(crate) fn is_empty(&self) -> bool {
        self.kind == Kind::EMPTY
    }

    /// Whether it owns what it holds, so that dropping it has an effect.
    #[inline]
    pub(in crate::transport) fn is_owned(&self) -> bool {
        self.kind == Kind::COPIED || self.kind == Kind::VALUE
    }

    fn receipt(&self) -> Option<&Receipt> {
        if !self.is_owned() {
            return None;
        }
        // SAFETY: the kind says that this field was written.
        unsafe { &self.body.owned }.receipt.as_deref()
    }

    /// Accepts the receipt of an owned message, and tells its sender; `false`: the sender has revoked the message. Only
    /// once for each message.
    fn accept(&self, lenders: &(impl Lenders + ?Sized)) -> bool {
        let Some(receipt) = self.receipt() else {
            return true;
        };
        let ours = receipt.accept();
        if ours {
            lenders.settled(self.source());
        }
        ours
    }

    /// Receives the message for a caller that will open it later: from here on it stays where it is, its sender is
    /// free, and it cannot be revoked. `false`: it has been revoked.
    pub(crate) fn make_own(&mut self, lenders: &dyn Lenders) -> bool {
        if let Some(lent) = self.as_lent() {
            let copy = (lent.copy)(self, lenders);
            return copy.map(|copy| *self = copy).is_some();
        }
        let ours = self.accept(lenders);
        if ours && self.is_owned() {
            // SAFETY: the kind says that this field was written.
            unsafe { &mut *self.body.owned }.receipt = None;
        }
        ours
    }

    fn as_lent(&self) -> Option<Lent> {
        if self.kind != Kind::LENT {
            return None;
        }
        // SAFETY: the kind says that this field was written.
        Some(unsafe { self.body.lent })
    }

    /// Takes out what the packet owns, if anything.
    fn take_owned(&mut self) -> Option<Box<dyn Any + Send>> {
        let emptied = self.kind.emptied();
        match mem::replace(&mut self.kind, emptied) {
            Kind::COPIED | Kind::VALUE => {
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
        if self.is_owned() {
            drop(self.take_owned());
        } else if self.kind == Kind::LANDED {
            self.kind = Kind::EMPTY;
            // SAFETY: the kind said that this field was written, and no longer says so.
            unsafe { ManuallyDrop::drop(&mut self.body.landed) };
        }
    }

    /// Number of elements; `None` for a moved value.
    #[inline]
    pub(crate) fn count(&self) -> Option<usize> {
        match self.kind {
            Kind::EAGER | Kind::LANDED => Some(self.count as usize),
            // SAFETY: the kind says that this field was written.
            Kind::COPIED => Some(unsafe { &self.body.owned }.count),
            Kind::LENT => self.as_lent().map(|lent| lent.count),
            _ => None,
        }
    }

    /// Whether it consists of elements of type `T`.
    #[inline]
    pub(crate) fn holds_elements<T: 'static>(&self) -> bool {
        self.count().is_some() && self.info().is(Info::of::<T>())
    }

    /// Whether it is one moved value of type `V`.
    pub(crate) fn holds_value<V: 'static>(&self) -> bool {
        self.kind == Kind::VALUE && self.info().is(Info::of::<V>())
    }

    /// What it holds, for reports: `4 x f64` or `a value of alloc::string::String`.
    pub(crate) fn contents(&self) -> String {
        match self.count() {
            Some(count) => format!("{count} x {}", self.info().name()),
            None => format!("a value of {}", self.info().name()),
        }
    }

    /// Splits it into the line of its head, and the rest.
    #[inline]
    pub(in crate::transport) fn into_cargo(self) -> (u64, Cargo) {
        let packet = ManuallyDrop::new(self);
        let cargo = Cargo {
            info: packet.info,
            kind: packet.kind,
            count: packet.count,
            call: packet.head.call(),
            // SAFETY: moved out once, of a packet that is never touched or dropped again.
            body: unsafe { ptr::read(&packet.body) },
        };
        (packet.head.line(), cargo)
    }

    /// Moves the content of a cell into this packet, word by word: a move of the whole would stall.
    ///
    /// # Safety
    ///
    /// `cargo` points to an initialised cargo that no thread writes meanwhile and that is never read again.
    #[inline]
    pub(in crate::transport) unsafe fn load(&mut self, line: u64, cargo: *const Cargo) {
        self.clear();
        // SAFETY: the caller lets us move it out, and it is read only here.
        unsafe {
            self.info = (*cargo).info;
            self.count = (*cargo).count;
            self.head = Head::of(line, (*cargo).call);
            self.body = ptr::read(&raw const (*cargo).body);
            // Last, so that nothing is there unless all of it is.
            self.kind = (*cargo).kind;
        }
    }

    /// Puts a short message whose elements are in an octet into this packet.
    ///
    /// # Safety
    ///
    /// [`Octet::write`] has been called for the octet with `count` elements of the type `info`, and no thread writes it
    /// meanwhile.
    #[inline]
    pub(in crate::transport) unsafe fn load_octet(
        &mut self,
        head: Head,
        info: &'static Info,
        count: u32,
        octet: *const Octet,
    ) {
        self.clear();
        self.info = Some(info);
        self.kind = Kind::EAGER;
        self.count = count;
        self.head = head;
        // SAFETY: the body is larger than an octet, and begins at a multiple of eight.
        unsafe { (&raw mut self.body).cast::<Octet>().write(*octet) };
    }

    /// Puts a short message into this packet; one that is longer than an eager one is copied to a buffer of its own.
    ///
    /// # Safety
    ///
    /// `bytes` points to `count` elements of the type `info`, in memory that has space for at least an eager message
    /// and that no thread writes meanwhile. If the message is longer than an eager one, its elements need no stricter
    /// alignment than [`PIECE`].
    #[inline]
    pub(in crate::transport) unsafe fn load_short(
        &mut self,
        head: Head,
        info: &'static Info,
        count: u32,
        bytes: *const u8,
    ) {
        self.clear();
        self.info = Some(info);
        self.count = count;
        self.head = head;
        let length = count as usize * info.size();
        // SAFETY: the caller's promise.
        unsafe {
            if length <= EAGER_BYTES {
                self.body.eager = bytes
                    .cast::<MaybeUninit<[u8; EAGER_BYTES]>>()
                    .read_unaligned();
                self.kind = Kind::EAGER;
            } else {
                self.body.landed = ManuallyDrop::new(copied_bytes(bytes, length));
                self.kind = Kind::LANDED;
            }
        }
    }

    /// The type that it holds.
    #[inline]
    pub(crate) fn info(&self) -> &'static Info {
        self.info.unwrap_or(Info::of::<()>())
    }

    /// Whether its sender has revoked it, or the loan behind it: it must not be read any more.
    #[inline]
    pub(crate) fn is_dead(&self, lenders: &impl Lenders) -> bool {
        self.kind != Kind::EAGER && self.is_taken_back(lenders)
    }

    fn is_taken_back(&self, lenders: &impl Lenders) -> bool {
        match self.as_lent() {
            Some(lent) => !lenders.word(self.source()).is_offered(lent.ticket),
            None => self.receipt().is_some_and(|receipt| !receipt.is_open()),
        }
    }

    #[inline]
    pub(crate) fn source(&self) -> Rank {
        self.head.source()
    }

    /// Takes out the moved value; `None`: it holds something else, or its sender has revoked it.
    pub(crate) fn take_value<V: 'static>(&mut self, lenders: &impl Lenders) -> Option<V> {
        if !self.holds_value::<V>() || !self.accept(lenders) {
            return None;
        }
        let value = self.take_owned()?.downcast().ok()?;
        Some(*value)
    }

    /// Shows the elements to `arrived`, and settles the loan if they are lent. `None`: the sender has revoked the
    /// message; if it was lent, it arrives again in another packet.
    ///
    /// # Panics
    ///
    /// If the packet does not hold elements of type `T`: check with [`holds_elements`](Self::holds_elements) first.
    #[inline]
    pub(crate) fn open<T: Element, R>(
        &self,
        lenders: &(impl Lenders + ?Sized),
        arrived: impl FnOnce(&[T]) -> R,
    ) -> Option<R> {
        assert!(
            self.holds_elements::<T>(),
            "a message opened as another type"
        );
        if self.kind == Kind::EAGER {
            return Some(self.land(arrived));
        }
        if let Some(lent) = self.as_lent() {
            return self.borrow(lent, lenders, arrived);
        }
        if self.kind == Kind::LANDED {
            return Some(arrived(self.landed()));
        }
        if !self.accept(lenders) {
            return None;
        }
        // SAFETY: of the kinds that hold elements only this one is left.
        let copied = unsafe { &self.body.owned };
        copied
            .what
            .downcast_ref::<Vec<T>>()
            .map(|elements| arrived(elements))
    }

    /// Shows the elements inside the packet: in place if they are aligned there, otherwise in an aligned copy.
    #[inline]
    fn land<T: Element, R>(&self, arrived: impl FnOnce(&[T]) -> R) -> R {
        // SAFETY: `open` has seen that this field was written.
        let eager = unsafe { &self.body.eager };
        if align_of::<T>() <= align_of::<Body>() {
            return arrived(landed(eager, self.count as usize));
        }
        let landing = Landing(*eager);
        arrived(landed(&landing.0, self.count as usize))
    }

    /// The elements of a landed message. Only if the packet is one, and they are of this type.
    fn landed<T: Element>(&self) -> &[T] {
        // SAFETY: `open` has seen that this field was written, by `load_short` with `count` elements of this type,
        // whose alignment is at most that of a piece.
        unsafe {
            let pad = &*self.body.landed;
            slice::from_raw_parts(pad.as_ptr().cast(), self.count as usize)
        }
    }

    /// Claims what is lent, shows it and settles.
    fn borrow<T: Element, R>(
        &self,
        lent: Lent,
        lenders: &(impl Lenders + ?Sized),
        arrived: impl FnOnce(&[T]) -> R,
    ) -> Option<R> {
        let source = self.source();
        let word = lenders.word(source);
        if !word.claim(lent.ticket) {
            return None;
        }
        let _settle = Settle {
            word,
            ticket: lent.ticket,
            wake: || lenders.settled(source),
        };
        // SAFETY: the claim succeeded, so the lender keeps `count` elements of type `T` (`open` has compared the types)
        // at `data` borrowed until `_settle` drops, which is after `arrived`.
        Some(arrived(unsafe {
            slice::from_raw_parts(lent.data.cast::<T>(), lent.count)
        }))
    }

    /// Copies the elements to the front of `to`, a long loan together with its lender. Otherwise like
    /// [`open`](Self::open).
    ///
    /// # Panics
    ///
    /// If it holds more elements than `to` has, or elements of another type.
    pub(crate) fn open_into<T: Element>(
        &self,
        lenders: &(impl Lenders + ?Sized),
        taker: &impl Taker,
        to: &mut [T],
    ) -> Option<()> {
        self.open(lenders, |data: &[T]| {
            let to = &mut to[..data.len()];
            if self.kind != Kind::LENT || size_of_val(data) < JOINT {
                return taker.copies().copy(to, data);
            }
            let (source, to): (_, *mut [T]) = (self.source(), to);
            let claims = lenders.claims(source);
            // SAFETY: `to` is as long as `data`, which is a loan that was claimed and is not yet settled; the borrow of
            // `to` lasts as long as this call, and no other reference is made from it meanwhile.
            unsafe { cooperative_copy::copy_jointly(claims, source, taker, to.cast(), bytes(data)) }
        })
    }

    /// Settles the message unread, and returns what it owned, to be dropped by the caller. `None` as in
    /// [`open`](Self::open).
    pub(crate) fn refuse(&mut self, lenders: &impl Lenders) -> Option<Option<Box<dyn Any + Send>>> {
        let Some(lent) = self.as_lent() else {
            return self.accept(lenders).then(|| self.take_owned());
        };
        let word = lenders.word(self.source());
        if !word.claim(lent.ticket) {
            return None;
        }
        word.settle(lent.ticket);
        lenders.settled(self.source());
        Some(None)
    }

    /// Takes out the elements as a vector, without a copy if the packet owns them. `None` as in [`open`](Self::open).
    pub(crate) fn take_vec<T: Element>(&mut self, lenders: &impl Lenders) -> Option<Vec<T>> {
        match self.kind {
            Kind::COPIED if !self.accept(lenders) => None,
            Kind::COPIED => self
                .take_owned()
                .and_then(|elements| elements.downcast().ok())
                .map(|elements| *elements),
            _ => self.open(lenders, copied),
        }
    }
}

/// Copies elements to the memory in which they travel.
///
/// # Safety
///
/// `to` is valid for writes of the bytes of `data`, and does not overlap `data`.
#[inline]
pub(in crate::transport) unsafe fn copy_out<T: Element>(data: &[T], to: *mut u8) {
    let from = data.as_ptr().cast::<u8>();
    // SAFETY: each size is that of `data`, for which the caller has made space.
    unsafe {
        match data {
            // The most frequent messages have a size known here and need no call of `memcpy`.
            [_] => ptr::copy_nonoverlapping(from, to, size_of::<T>()),
            _ if size_of_val(data) == OCTET => ptr::copy_nonoverlapping(from, to, OCTET),
            _ => ptr::copy_nonoverlapping(from, to, size_of_val(data)),
        }
    }
}

impl Cargo {
    /// Creates a short message where it will be read, word by word: created elsewhere and moved here, it would stall on
    /// its own words.
    ///
    /// # Safety
    ///
    /// `place` must be valid for a write.
    ///
    /// # Panics
    ///
    /// If it does not [fit](Packet::fits).
    #[inline]
    pub(in crate::transport) unsafe fn write_eager<T: Element>(
        place: *mut Cargo,
        head: Head,
        data: &[T],
    ) {
        assert!(Packet::fits(data), "a long message in a short packet");
        // SAFETY: the caller lets us write a cargo there, and its body has space for `data`, as just checked.
        unsafe {
            (&raw mut (*place).info).write(Some(Info::of::<T>()));
            (&raw mut (*place).kind).write(Kind::EAGER);
            (&raw mut (*place).count).write(data.len() as u32);
            (&raw mut (*place).call).write(head.call());
            copy_out(data, (&raw mut (*place).body).cast());
        }
    }
}

/// A copy of the `length` bytes at `bytes`.
///
/// # Safety
///
/// `bytes` must be valid for reads of `length` bytes.
unsafe fn copied_bytes(bytes: *const u8, length: usize) -> Box<[Piece]> {
    let mut pad = Box::<[Piece]>::new_uninit_slice(length.div_ceil(PIECE));
    // SAFETY: the caller's promise; there is space, and a piece needs no initialised bytes.
    unsafe {
        ptr::copy_nonoverlapping(bytes, pad.as_mut_ptr().cast(), length);
        pad.assume_init()
    }
}

impl Octet {
    /// Whether a message is short enough for an octet.
    #[inline]
    pub(in crate::transport) fn fits<T: Element>(data: &[T]) -> bool {
        size_of_val(data) <= OCTET
    }

    /// Copies a message into an octet.
    ///
    /// # Safety
    ///
    /// `place` must be valid for a write.
    ///
    /// # Panics
    ///
    /// If it does not [fit](Self::fits).
    #[inline]
    pub(in crate::transport) unsafe fn write<T: Element>(place: *mut Octet, data: &[T]) {
        assert!(
            Octet::fits(data),
            "a message of more than eight bytes in eight"
        );
        // SAFETY: the caller lets us write an octet there, which has space for `data`, as just checked.
        unsafe { copy_out(data, place.cast()) };
    }
}

/// A packet that owns a copy of what is lent by this one; `None` as in [`Packet::open`].
fn copy_lent<T: Element>(packet: &Packet, lenders: &dyn Lenders) -> Option<Packet> {
    let copy = |data: &[T]| Packet::copied(packet.head, copied(data));
    packet.open(lenders, copy)
}

/// The first `count` elements in the place where they have landed.
#[inline]
fn landed<T: Element>(place: &MaybeUninit<[u8; EAGER_BYTES]>, count: usize) -> &[T] {
    // An empty message may be of a type that neither fits nor is aligned here.
    let first = if size_of::<T>() == 0 || count == 0 {
        ptr::NonNull::dangling().as_ptr()
    } else {
        place.as_ptr().cast::<T>()
    };
    // SAFETY: either the slice has no bytes and any aligned pointer is valid, or the place is aligned for its elements:
    // `land` checks that for a body, and the alignment of a `Landing` is `EAGER_BYTES`, which is at least the size of
    // an element that fitted, hence its alignment. `eager` put `count` elements of this type there: the caller of
    // `land`, `open`, has compared the types.
    unsafe { slice::from_raw_parts(first, count) }
}
