//! Fences: all ranks together open and end an epoch in which each of them reads all parts and puts into them (active
//! target).

use std::cell::OnceCell;
use std::fmt;
use std::panic::Location;

use super::Window;
use super::outbox::Outbox;
use super::waiting::Shown;
use crate::Rank;
use crate::engine::call::InCall;
use crate::error::{Result, Site};
use crate::op::{Element, Operator};
use crate::transport::communicator::call::Verb;
use crate::transport::memory::puts::EpochEnd;
use crate::transport::memory::window::SharedElements;

/// An epoch between two fences: all parts can be read, and put into; see [`Window::fence`].
///
/// Every rank reads the parts as they were when the epoch began. What is put is written when it ends, in the order of
/// ranks, and of each rank's calls.
///
/// If it is dropped and not closed, what this rank has put is lost, and the other ranks wait in their fence for one
/// that this rank does not call: they get an error that names it.
#[must_use = "nothing is put until it is closed"]
pub struct FenceEpoch<'w, T: Element> {
    window: &'w Window<T>,
    /// The parts that were read, each from then on.
    reads: Box<[OnceCell<SharedElements<'w, T>>]>,
    outbox: Outbox<T>,
}

impl<T: Element> fmt::Debug for FenceEpoch<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.window.comm.show(f, "FenceEpoch")
    }
}

impl<T: Element> Window<T> {
    /// Opens an epoch in which all ranks read all parts and put into them. All ranks call it together.
    ///
    /// It borrows the window, so every access that this rank had ends before.
    ///
    /// # Errors
    ///
    /// As [`barrier`](crate::Comm::barrier). After a fence that failed, all later ones of this window fail. What was
    /// put for it may or may not be written.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::{World, op};
    ///
    /// let sums = World::new(3).run(|comm| {
    ///     let mut win = comm.window(vec![comm.rank(); 1])?;
    ///     let mut epoch = win.fence()?;
    ///     epoch.accumulate(2, 0, &[10], op::Sum)?;
    ///     let before = epoch.read(2)?[0];
    ///     epoch.fence()?; // the next epoch
    ///     let after = epoch.read(2)?[0];
    ///     epoch.close()?;
    ///     Ok((before, after))
    /// })?;
    /// assert_eq!(sums, [(2, 32); 3]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[doc(alias = "MPI_Win_fence")]
    #[track_caller]
    pub fn fence(&mut self) -> Result<FenceEpoch<'_, T>> {
        let (window, outbox) = (&*self, Outbox::new());
        window.meet(Verb::Fence, &outbox, Location::caller())?;
        Ok(FenceEpoch {
            window,
            reads: window.table.parts.iter().map(|_| OnceCell::new()).collect(),
            outbox,
        })
    }

    /// All ranks meet; then each writes what was put into its part, and they meet again if there was anything.
    fn meet(&self, verb: Verb, outbox: &Outbox<T>, site: Site) -> Result<()> {
        let puts_in = &self.table.puts_in;
        let call = self.comm.call(verb, site);
        self.comm.collective(
            call,
            || Ok(()),
            |inside| {
                if !outbox.is_empty() {
                    outbox.deliver(self, |_| EpochEnd::Fence(inside.number));
                    puts_in.note(inside.number);
                }
                inside.pass_gate()?;
                match puts_in.is(inside.number) {
                    true => self.write_puts_in(inside).and_then(|()| inside.pass_gate()),
                    false => Ok(()),
                }
            },
        )
    }

    fn write_puts_in(&self, inside: &InCall<'_>) -> Result<()> {
        let show = &|| inside.call.to_string();
        let site = inside.call.site;
        self.write_puts(EpochEnd::Fence(inside.number), Shown { show, site })
    }

    /// Writes into the own part what was put there in the epoch that ends so.
    pub(super) fn write_puts(&self, end: EpochEnd, call: Shown<'_>) -> Result<()> {
        let me = self.rank();
        if !self.part(me)?.inbox.is_empty(end) {
            self.exclusive(me, call)?.write_puts(end);
        }
        Ok(())
    }
}

impl<T: Element> FenceEpoch<'_, T> {
    /// Returns the part of a rank, as it was when the epoch began. It locks the part to read it until the epoch ends.
    ///
    /// # Errors
    ///
    /// As [`lock_shared`](Window::lock_shared). If the rank exists, they come of locks whose results were forgotten, or of
    /// ranks that have dropped the epoch and lock parts: all other locks end before the fence that opens it.
    #[doc(alias = "MPI_Get")]
    #[track_caller]
    pub fn read(&self, rank: Rank) -> Result<&[T]> {
        if let Some(read) = self.reads.get(rank).and_then(OnceCell::get) {
            return Ok(read.elements());
        }
        let (show, site) = (&|| format!("read(part {rank})"), Location::caller());
        let window = self.window;
        let call = Shown { show, site };
        let read = window.comm.op(site, show, || window.shared(rank, call))?;
        Ok(self.reads[rank].get_or_init(|| read).elements())
    }

    /// Puts elements into the part of rank `target`, from its element `at` on. They are written when the epoch ends.
    ///
    /// # Errors
    ///
    /// [`Usage`](crate::ErrorKind::Usage) if there is no such rank, or if the elements do not fit there.
    #[doc(alias = "MPI_Put")]
    #[track_caller]
    pub fn put(&self, target: Rank, at: usize, elements: &[T]) -> Result<()> {
        let place = (target, at);
        self.outbox
            .put(self.window, place, elements, Location::caller())
    }

    /// Folds elements into the part of rank `target`, from its element `at` on: each of these becomes `part[at + i] ⊕
    /// elements[i]`. They are folded when the epoch ends, on the thread of the target. The operator need not commute:
    /// elements of lower ranks are folded first.
    ///
    /// # Errors
    ///
    /// As [`put`](Self::put), and [`Usage`](crate::ErrorKind::Usage) for [`op::SumExact`](crate::op::SumExact), which
    /// adds the numbers of all ranks at once.
    #[doc(alias = "MPI_Accumulate")]
    #[track_caller]
    pub fn accumulate(
        &self,
        target: Rank,
        at: usize,
        elements: &[T],
        op: impl Operator<T> + Send + 'static,
    ) -> Result<()> {
        let place = (target, at);
        self.outbox
            .accumulate(self.window, place, elements, op, Location::caller())
    }

    /// Ends the epoch and opens the next one. All ranks call it together.
    ///
    /// # Errors
    ///
    /// As [`Window::fence`].
    #[track_caller]
    pub fn fence(&mut self) -> Result<()> {
        self.end(Verb::NextFence, Location::caller())
    }

    /// Ends the epoch. All ranks call it together.
    ///
    /// # Errors
    ///
    /// As [`Window::fence`].
    #[track_caller]
    pub fn close(mut self) -> Result<()> {
        self.end(Verb::CloseFence, Location::caller())
    }

    fn end(&mut self, verb: Verb, site: Site) -> Result<()> {
        for read in &mut self.reads {
            read.take();
        }
        self.window.meet(verb, &self.outbox, site)
    }
}
