//! The buffers of a started call, which lends what it owns: a long message is read where it lies, while the call and its
//! rank go on.
//!
//! # Why this is sound
//!
//! What is lent is a run of the input or the output, in the memory of a vector that [`OwnOperands`] owns.
//!
//! - *It stays there.* The vectors are reached only through [`OwnOperands::free`], which first ends all loans, through
//!   [`OwnOperands::unlent`], while there are none, and in here. If they are dropped before, their memory is left to the loans.
//! - *It is not written.* Only a local copy and a receive write to the vectors, through [`OwnedBuffers`] or, while nothing
//!   is lent, [`OwnOperands::unlent`], each to the region that it names; the loans of elements in this region are ended before. (What a fold has moved to the spare
//!   room comes back in the turn of the call in which it left, and no step of a started call moves anything there.) No
//!   reference to other elements than those is made meanwhile: [`Operands`] are pointers.
//! - *Its receiver may write* what is lent [exclusively](OwnedBuffers::send). Then it is not read here either: the other
//!   loans of these elements are ended before, and this one before any of them is read, by a copy or for a message.
//! - A loan that its receiver reads is waited for. The receiver copies or folds, waits for no rank meanwhile, and settles
//!   the loan also while unwinding. A loan that is not being read is replaced by a copy at once.
#![allow(unsafe_code)]

use std::sync::Arc;

use super::buffers::Buffers;
use crate::Rank;
use crate::engine::workspace::Rooms;
use crate::error::Result;
use crate::op::elements::{Elements, ElementsMut, Info};
use crate::op::folds::{Folds, Operands};
use crate::op::owned::Owned;
use crate::schedule::{Buffer, Combine, LocalCopy, Region, Step};
use crate::transport::memory::head::Head;
use crate::transport::port::{CopyTo, OwnLoan, Port};

/// The vectors of a started call and its operator, and what of the vectors is lent.
#[derive(Default)]
pub(super) struct OwnOperands {
    owned: Option<Box<Owned>>,
    /// Only of the vectors in `owned`.
    loans: Loans,
}

impl OwnOperands {
    /// Them, of which nothing is lent any more.
    #[inline]
    pub(super) fn free(&mut self, port: &Port) -> &mut Option<Box<Owned>> {
        self.loans.end_all(port);
        &mut self.owned
    }

    /// Shows them where no turn is needed; `None` if there are none, or if something of them is lent.
    #[inline]
    pub(super) fn unlent(&mut self) -> Option<Operands<'_>> {
        let owned = self.owned.as_mut().filter(|_| self.loans.0.is_empty());
        owned.map(|owned| owned.operands())
    }

    /// Shows them to a turn of the call; `None` if there are none.
    pub(super) fn turn<R>(
        &mut self,
        rooms: &mut Rooms,
        scratch: usize,
        turn: impl FnOnce(OwnedBuffers<'_, '_>, &dyn Folds) -> R,
    ) -> Option<R> {
        let mut operands = self.owned.as_mut()?.operands();
        let folds = operands.folds;
        let buffers = OwnedBuffers {
            buffers: Buffers::new(&mut operands, rooms, scratch),
            loans: &mut self.loans,
        };
        Some(turn(buffers, folds))
    }
}

impl Drop for OwnOperands {
    fn drop(&mut self) {
        let Some(mut owned) = self.owned.take() else {
            return;
        };
        self.loans.leave(&mut owned);
    }
}

/// The loans of a call, with the regions that are lent.
#[derive(Default)]
struct Loans(Vec<(Region, OwnLoan)>);

impl Loans {
    /// Ends the loans of elements of a region, which is about to be written.
    #[inline]
    fn end_over(&mut self, port: &Port, region: Region) {
        if !self.0.is_empty() {
            self.end_some(port, |lent, _| lent.overlaps(&region));
        }
    }

    /// Ends the loans of elements of a region which their receivers may write: it is about to be read.
    #[inline]
    fn end_exclusive_over(&mut self, port: &Port, region: Region) {
        if !self.0.is_empty() {
            self.end_some(port, |lent, loan| {
                loan.is_exclusive() && lent.overlaps(&region)
            });
        }
    }

    #[inline]
    fn end_all(&mut self, port: &Port) {
        if !self.0.is_empty() {
            self.end_those(port);
        }
    }

    #[cold]
    fn end_those(&mut self, port: &Port) {
        if port.gives_moments() {
            self.await_all(port);
        }
        self.end_some(port, |_, _| true);
    }

    fn end_some(&mut self, port: &Port, which: impl Fn(&Region, &OwnLoan) -> bool) {
        let mut place = 0;
        while let Some((lent, loan)) = self.0.get(place) {
            match which(lent, loan) {
                true => port.end_own(self.0.swap_remove(place).1),
                false => place += 1,
            }
        }
    }

    /// Gives the receivers a moment.
    fn await_all(&self, port: &Port) {
        let open = || {
            self.0
                .iter()
                .map(|(_, loan)| loan)
                .filter(|loan| !loan.is_settled())
        };
        if open().next().is_some() {
            let bytes = open().map(OwnLoan::size).sum();
            port.await_own(bytes, &|| open().next().is_none());
        }
    }

    /// Leaves the memory of the vectors to the loans that are open.
    fn leave(&mut self, owned: &mut Owned) {
        self.0.retain(|(_, loan)| !loan.is_settled());
        if self.0.is_empty() {
            return;
        }
        let memory = Arc::new(owned.take_memory());
        for (_, loan) in self.0.drain(..) {
            loan.leave(memory.clone());
        }
    }
}

/// The buffers of a started call in one of its turns.
pub(super) struct OwnedBuffers<'b, 'o> {
    buffers: Buffers<'b, 'o>,
    loans: &'b mut Loans,
}

impl OwnedBuffers<'_, '_> {
    /// The type of the elements.
    pub(super) fn info(&self) -> &'static Info {
        self.buffers.info()
    }

    /// Makes the local copy or fold of a step.
    pub(super) fn copy(&mut self, port: &Port, copy: LocalCopy, folds: &dyn Folds) -> Result<()> {
        self.loans.end_over(port, copy.to);
        self.loans.end_exclusive_over(port, copy.from);
        self.buffers.copy(copy, folds)
    }

    /// Makes room for what is written next to a region.
    #[inline]
    pub(super) fn make_room(&mut self, port: &Port, region: Region) {
        self.loans.end_over(port, region);
    }

    /// Folds elements that have arrived into their region.
    #[inline]
    pub(super) fn fold_in(
        &mut self,
        port: &Port,
        (region, combine): (Region, Combine),
        data: Elements<'_>,
        folds: &dyn Folds,
    ) -> Result<()> {
        self.loans.end_over(port, region);
        self.buffers.fold_in(region, combine, data, folds)
    }

    /// Folds elements that have arrived with those of a region of one run, and stores the result in both places.
    pub(super) fn fold_both(
        &mut self,
        (region, combine): (Region, Combine),
        theirs: ElementsMut<'_>,
        folds: &dyn Folds,
    ) -> Result<()> {
        self.buffers.fold_both(region, combine, theirs, folds)
    }

    /// Sends the message of a step to world rank `to`: lends it, or a copy. If it `comes_back` as the result, its receiver
    /// may store that in its place. Returns whether the receiver had not ended before.
    pub(super) fn send(
        &mut self,
        port: &Port,
        (step, comes_back): (&Step, bool),
        region: Region,
        (to, head): (Rank, Head),
    ) -> Result<bool> {
        self.loans.end_exclusive_over(port, region);
        let data = self.buffers.outgoing(region)?;
        let is_own = region.count == 1 && region.buffer != Buffer::Scratch;
        let exclusive = comes_back && region.buffer == Buffer::Output;
        let written = step.recv.as_ref().map(|recv| &recv.region);
        let is_written_next = || written.is_some_and(|written| written.overlaps(&region));
        if !(is_own && port.lends_own(to, data.size(), exclusive)) || is_written_next() {
            return Ok(port.send_copy(to, head, data, CopyTo::Kept));
        }
        if exclusive {
            self.loans.end_over(port, region);
        }
        // SAFETY: a run of a vector that the call owns, see the head. That of the output may be written.
        let (loan, there) = unsafe { port.send_own(to, head, data, exclusive) };
        self.loans.0.push((region, loan));
        Ok(there)
    }

    /// Whether the receiver of what was lent has stored the result there. Once for each loan, which is over then.
    #[inline]
    pub(super) fn take_result(&mut self, port: &Port, region: Region) -> bool {
        let mut loans = self.loans.0.iter();
        let place = loans.position(|(lent, loan)| *lent == region && loan.is_stored());
        let stored = place.map(|place| self.loans.0.swap_remove(place).1);
        stored.map(|loan| port.end_own(loan)).is_some()
    }
}
