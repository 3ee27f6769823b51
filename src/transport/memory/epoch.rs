//! The words of a call in which ranks access each other's memory: which ranks are here and what they bring, whether the
//! call goes ahead, and which ranks are done with it.
//!
//! # One call
//!
//! ```text
//! each rank     publishes what it brings;  here ← k;  light();  looks until all are here
//!               light();  word = contested, aborted?  no: go        accesses memory;  out ← k
//!               looks until all are out                             leaves
//! a rank that   word ← contested(k);  heavy();  looks once more
//! wants to      some are not here:  word ← aborted, leaves
//! leave early   all are here:       word ← go(k), reports out as failed, and leaves when all are out
//! ```
//!
//! *Gathering → go | aborted* is decided once. As long as no rank wants to leave early there is nothing to write: that
//! all are here *is* the decision, and a call costs two exchanges of cache lines, one at each end. A rank that wants to
//! leave writes so into the word before it checks which ranks are here, and every other rank reads the word after it
//! has seen that all are here. One of the two [fences](crate::transport::wakeup::fences) comes first. If it is that of
//! a rank that goes ahead, the leaving rank finds all ranks here and does not abort. If it is the leaving rank's, the
//! other finds the word contested, and compare-and-swap decides for all.
//!
//! After *go* no rank leaves before all have reported out, so nothing that a rank brought is accessed after it has
//! left. Between *go* and *out* a rank does not wait. After an abort nothing is done here any more: the call has
//! failed, and its communicator is broken with it.
//!
//! `k` counts the calls that a rank has made here. Every word but the shared `word` has one writer.
//!
//! # One call at a time
//!
//! What a rank has brought is *out* from its arrival until it [takes it back](Epoch::take_back), which it may when all
//! have reported out, or when no rank will ever go ahead. While it is out, a second arrival of the same rank is refused
//! before anything is written: others may have compared the lengths already, and will read the pointers again. So no
//! rank's words change between *go* and the last *out*, whatever the rank calls meanwhile, and nothing outside this
//! file is relied on for it.
//!
//! # Where two ranks report out
//!
//! Rank 0 brings it, and each rank looks once, after *go*: so both look for one call in the same place. In the other place
//! there are *out* values of calls before; [now and then](SELDOM) they are written there, too, since numbers of calls wrap.

mod brought;
#[cfg(all(test, not(loom)))]
mod tests;

pub(crate) use brought::{Brought, Outs};
use crossbeam_utils::CachePadded;

use crate::Rank;
use crate::op::elements::Info;
use crate::sync::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use crate::transport::memory::distance::Distance;
use crate::transport::wakeup::fences;

/// The number of a rank's call, which identifies it here.
pub(crate) type Ticket = u64;

/// The value of the word after an abort, instead of `k` and a state: nothing is done here any more.
const ABORTED: u64 = u64::MAX;
const STATES: u64 = 2;
const CONTESTED: u64 = 0;
const GO: u64 = 1;

/// The flag of an *out* value whose rank has not done its part.
const FAILED: u32 = 1 << 31;

/// The *out* value of a call. Only those of the [`SELDOM`] calls before can be found in its place.
fn out_of(ticket: Ticket) -> u32 {
    ticket as u32 & !FAILED
}

/// Where the ranks of a communicator meet.
pub(crate) struct Epoch {
    word: CachePadded<AtomicU64>,
    hot: Box<[CachePadded<[Hot; 2]>]>,
    /// Where two ranks report out that are [near](Outs) each other.
    outs: CachePadded<[AtomicU32; 2]>,
    cold: Box<[CachePadded<Cold>]>,
    /// Twice the number of calls that each rank has made here, plus one while what it has brought is out. Only the rank
    /// itself reads it, so it need not fetch its hot line to write there.
    calls: Box<[CachePadded<AtomicU64>]>,
    /// What rank 0 of two knows of its distance to rank 1.
    distance: CachePadded<Distance>,
}

/// What one rank writes in every call, but for where it reports out. It is the only writer.
///
/// It is half a line. Each rank has a line of its own, except that two ranks share one: handing one line back and forth
/// between two writers takes half the time of two lines, one for each direction.
struct Hot {
    here: AtomicU64,
    out: AtomicU32,
    print: AtomicU32,
    input: AtomicPtr<u8>,
    output: AtomicPtr<u8>,
}

/// What is the same in most calls of a rank. It is written only if it differs, so the other ranks need not fetch it
/// again. (Pointers are always written. A pointer to the same address would not be the same pointer.)
struct Cold {
    job: AtomicU32,
    info: AtomicPtr<Info>,
    input_length: AtomicUsize,
    output_length: AtomicUsize,
    whole: AtomicU32,
    /// Whether to report [`Outs::Apart`].
    apart: AtomicU32,
    /// Written in some calls, so that the line is fetched there.
    timed: AtomicU32,
}

/// One of this many calls is timed, and the first few. And in one of them two ranks write their *out* values in both places,
/// so it is far less than 2^31.
const SELDOM: u64 = 256;
const FIRST: u64 = 8;

/// Why an arrival is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turned {
    /// The epoch was aborted: nothing is done here any more.
    Aborted,
    /// What the rank brought to its last call is still out.
    Inside,
}

/// How a call continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// The ranks report out there.
    Go(Outs),
    Aborted,
}

impl Epoch {
    pub(crate) fn new(ranks: usize) -> Epoch {
        let lines = if ranks == 2 { 1 } else { ranks };
        Epoch {
            word: CachePadded::new(AtomicU64::new(0)),
            hot: (0..lines).map(|_| CachePadded::default()).collect(),
            outs: CachePadded::default(),
            cold: (0..ranks).map(|_| CachePadded::default()).collect(),
            calls: (0..ranks)
                .map(|_| CachePadded::new(AtomicU64::new(0)))
                .collect(),
            distance: CachePadded::default(),
        }
    }

    pub(crate) fn ranks(&self) -> usize {
        self.cold.len()
    }

    #[inline]
    fn hot(&self, rank: Rank) -> &Hot {
        if self.ranks() == 2 {
            &self.hot[0][rank]
        } else {
            &self.hot[rank][0]
        }
    }

    /// Where a rank reports out.
    #[inline]
    fn out(&self, rank: Rank, outs: Outs) -> &AtomicU32 {
        match outs {
            Outs::Apart => &self.outs[rank],
            Outs::WithArrivals => &self.hot(rank).out,
        }
    }

    /// Where a rank, which must be here, would have two report out.
    #[inline]
    fn outs_of(&self, rank: Rank) -> Outs {
        // Relaxed: published by the store to `here` that was seen before.
        match self.ranks() == 2 && self.cold[rank].apart.load(Ordering::Relaxed) == 1 {
            true => Outs::Apart,
            false => Outs::WithArrivals,
        }
    }

    /// Where the ranks of a call report out, once all are here: until all are out, rank 0 does not bring anything else.
    #[inline]
    fn go_on(&self) -> Decision {
        Decision::Go(self.outs_of(0))
    }

    /// What this rank brings to say where two report out, as far as rank 0 knows how far they are apart.
    #[inline]
    pub(crate) fn outs(&self, me: Rank) -> Outs {
        match me == 0 && !self.is_far() {
            true => Outs::Apart,
            false => Outs::WithArrivals,
        }
    }

    /// Registers a rank for its next call, with what it brings.
    ///
    /// A rank that then sees that [all are here](Self::all_here) wakes the sleepers: if a sleeper has missed some
    /// rank's arrival, that rank sees it asleep.
    pub(crate) fn arrive(&self, me: Rank, brought: &Brought) -> Result<Ticket, Turned> {
        // Relaxed: an early check only; a later abort is noticed later.
        if self.word.load(Ordering::Relaxed) == ABORTED {
            return Err(Turned::Aborted);
        }
        let hot = self.hot(me);
        // Relaxed: only this rank reads or writes it.
        let calls = self.calls[me].load(Ordering::Relaxed);
        if calls % 2 == 1 {
            return Err(Turned::Inside);
        }
        let ticket = calls / 2 + 1;
        self.calls[me].store(calls + 3, Ordering::Relaxed);
        // Relaxed: the store that follows publishes all of it.
        self.cold[me].write(brought);
        if me == 1 && self.is_timed(ticket) {
            self.cold[me].timed.store(ticket as u32, Ordering::Relaxed);
        }
        hot.print.store(brought.print, Ordering::Relaxed);
        hot.input
            .store(brought.input.0.cast_mut(), Ordering::Relaxed);
        hot.output.store(brought.output.0, Ordering::Relaxed);
        // Release: pairs with the acquire in `is_here`.
        hot.here.store(ticket, Ordering::Release);
        // Pairs with the heavy halves of a sleeper and of a rank that contests.
        fences::light();
        Ok(ticket)
    }

    #[inline]
    fn is_here(&self, rank: Rank, ticket: Ticket) -> bool {
        // Acquire: pairs with the release in `arrive`; what the rank brings, and what it wrote before it came, is
        // visible.
        self.hot(rank).here.load(Ordering::Acquire) == ticket
    }

    /// Whether all ranks from `next` on are here; advances `next` past those that are.
    #[inline]
    pub(crate) fn all_here_from(&self, next: &mut Rank, ticket: Ticket) -> bool {
        while *next < self.ranks() && self.is_here(*next, ticket) {
            *next += 1;
        }
        *next == self.ranks()
    }

    /// Whether all ranks have come to the call.
    pub(crate) fn all_here(&self, ticket: Ticket) -> bool {
        self.all_here_from(&mut 0, ticket)
    }

    /// What a rank brings. The rank must be here.
    #[inline]
    pub(crate) fn brought(&self, rank: Rank) -> Brought {
        let cold = &self.cold[rank];
        Brought {
            print: self.print(rank),
            // Relaxed: published by the store to `here` that was seen before.
            job: cold.job.load(Ordering::Relaxed),
            info: cold.info.load(Ordering::Relaxed),
            input: self.input(rank),
            output: self.output(rank),
            whole: cold.whole.load(Ordering::Relaxed) == 1,
            outs: self.outs_of(rank),
        }
    }

    /// Whether a call is one of those in which rank 0 of two times a line of rank 1.
    #[inline]
    fn is_timed(&self, ticket: Ticket) -> bool {
        self.ranks() == 2 && (ticket.is_multiple_of(SELDOM) || ticket < FIRST)
    }

    /// Times, in some calls, the line with what rank 1 of two brings, which that rank has then written. For ranks that have
    /// seen that all are here, and have not read what they bring.
    #[inline]
    pub(crate) fn time_line(&self, me: Rank, ticket: Ticket) {
        if me == 0 && self.is_timed(ticket) {
            // Relaxed: for the time that it takes.
            let look = || _ = self.cold[1].timed.load(Ordering::Relaxed);
            self.distance.look(look);
        }
    }

    /// Whether the two ranks are far apart, as far as rank 0 knows, which alone may ask.
    #[inline]
    pub(crate) fn is_far(&self) -> bool {
        self.distance.is_far()
    }

    /// Sets the answer of [`is_far`](Self::is_far).
    #[cfg(all(test, not(loom)))]
    pub(crate) fn insist_on_far(&self, far: bool) {
        self.distance.insist(far);
    }

    /// What a rank brings to be read, and its length.
    #[inline]
    pub(crate) fn input(&self, rank: Rank) -> (*const u8, usize) {
        // Relaxed, both: published by the store to `here` that was seen before.
        let length = self.cold[rank].input_length.load(Ordering::Relaxed);
        (self.hot(rank).input.load(Ordering::Relaxed), length)
    }

    /// What a rank brings to be written, and its length.
    #[inline]
    pub(crate) fn output(&self, rank: Rank) -> (*mut u8, usize) {
        // Relaxed, both: published by the store to `here` that was seen before.
        let length = self.cold[rank].output_length.load(Ordering::Relaxed);
        (self.hot(rank).output.load(Ordering::Relaxed), length)
    }

    #[inline]
    fn print(&self, rank: Rank) -> u32 {
        // Relaxed: published by the store to `here` that was seen before.
        self.hot(rank).print.load(Ordering::Relaxed)
    }

    /// A rank that has come to the call with another fingerprint.
    #[cold]
    pub(crate) fn stranger(&self, ticket: Ticket, print: u32) -> Option<Rank> {
        let strange = |rank: &Rank| self.is_here(*rank, ticket) && self.print(*rank) != print;
        (0..self.ranks()).find(strange)
    }

    /// For a rank that has seen that all are here: it goes ahead, unless another rank has aborted the call before.
    #[inline]
    pub(crate) fn go(&self, ticket: Ticket) -> Decision {
        // Pairs with the heavy half in `leave_early`: the leaving rank has seen that all are here, or we see that it
        // asked.
        fences::light();
        // Relaxed: the fence orders it.
        let word = self.word.load(Ordering::Relaxed);
        if word == ABORTED || word / STATES == ticket {
            return self.settle(ticket, GO);
        }
        self.go_on()
    }

    /// For a rank that wants to leave before all are here. After [`Decision::Go`] it may not: all were here.
    #[cold]
    pub(crate) fn leave_early(&self, ticket: Ticket) -> Decision {
        self.settle(ticket, CONTESTED);
        // Pairs with the light half in `go`.
        fences::heavy();
        let state = if self.all_here(ticket) { GO } else { ABORTED };
        self.settle(ticket, state)
    }

    /// Sets the word of a call to a state, unless the call is decided.
    #[cold]
    fn settle(&self, ticket: Ticket, state: u64) -> Decision {
        let word_of = |state| ticket * STATES + state;
        let next = if state == ABORTED {
            ABORTED
        } else {
            word_of(state)
        };
        // Acquire: the rank that decided has seen what the decision says.
        let mut word = self.word.load(Ordering::Acquire);
        loop {
            let decided = word == ABORTED || word == word_of(GO) || word == next;
            if decided {
                return if word == ABORTED {
                    Decision::Aborted
                } else {
                    self.go_on()
                };
            }
            // AcqRel: decisions are ordered like the observations that they follow from.
            let swap = self
                .word
                .compare_exchange(word, next, Ordering::AcqRel, Ordering::Acquire);
            word = match swap {
                Ok(_) => next,
                Err(now) => now,
            };
        }
    }

    /// Reports that a rank is done: it no longer accesses other ranks' memory. `well` says whether it has done its
    /// part.
    ///
    /// A rank that then sees that [all are out](Self::all_out_from) wakes the sleepers.
    #[inline]
    pub(crate) fn report_out(&self, me: Rank, ticket: Ticket, outs: Outs, well: bool) {
        let failed = if well { 0 } else { FAILED };
        if self.ranks() == 2 && ticket.is_multiple_of(SELDOM) {
            // Relaxed: the store that follows publishes it, and it is read in a later call, if at all.
            self.out(me, outs.other())
                .store(out_of(ticket), Ordering::Relaxed);
        }
        // Release: all ranks see what it wrote, and its reads come before.
        self.out(me, outs)
            .store(out_of(ticket) | failed, Ordering::Release);
        // Pairs with the heavy half of a sleeper.
        fences::light();
    }

    /// Whether all ranks from `next` on are out; advances `next` past those that are.
    #[inline]
    pub(crate) fn all_out_from(&self, next: &mut Rank, ticket: Ticket, outs: Outs) -> bool {
        // Acquire: pairs with the release in `report_out`.
        let out = |rank| self.out(rank, outs).load(Ordering::Acquire) & !FAILED == out_of(ticket);
        while *next < self.ranks() && out(*next) {
            *next += 1;
        }
        *next == self.ranks()
    }

    /// Whether all ranks are out.
    #[cfg(all(test, loom))]
    pub(crate) fn all_out(&self, ticket: Ticket, outs: Outs) -> bool {
        self.all_out_from(&mut 0, ticket, outs)
    }

    /// Takes back what a rank has brought to its call, if no rank can access it any more: all are out, those before `next`
    /// as it has [seen](Self::all_out_from), or none ever went ahead.
    #[inline]
    pub(crate) fn take_back(&self, me: Rank, ticket: Ticket, outs: Outs, mut next: Rank) -> bool {
        // Acquire: a rank that aborted a later call has seen the end of this one.
        let over = self.all_out_from(&mut next, ticket, outs)
            || self.word.load(Ordering::Acquire) == ABORTED;
        if over {
            // Relaxed: only this rank reads or writes it.
            self.calls[me].store(2 * ticket, Ordering::Relaxed);
        }
        over
    }

    /// The ranks that are not out yet.
    #[cold]
    pub(crate) fn not_out(&self, ticket: Ticket, outs: Outs) -> impl Iterator<Item = Rank> {
        // Relaxed: for reports, and for the ranks that must act before all are out.
        let out = move |rank: &Rank| {
            self.out(*rank, outs).load(Ordering::Relaxed) & !FAILED == out_of(ticket)
        };
        (0..self.ranks()).filter(move |rank| !out(rank))
    }

    /// The first rank that has not done its part, when all are out. Until this rank arrives again, no other rank can
    /// report out of another call.
    #[inline]
    pub(crate) fn failed(&self, outs: Outs) -> Option<Rank> {
        // Relaxed: all were seen to be out before.
        let failed = |rank: &Rank| self.out(*rank, outs).load(Ordering::Relaxed) & FAILED != 0;
        (0..self.ranks()).find(failed)
    }
}

impl Default for Hot {
    fn default() -> Hot {
        Hot {
            here: AtomicU64::new(0),
            out: AtomicU32::new(0),
            print: AtomicU32::new(0),
            input: AtomicPtr::default(),
            output: AtomicPtr::default(),
        }
    }
}

impl Default for Cold {
    fn default() -> Cold {
        Cold {
            job: AtomicU32::new(0),
            info: AtomicPtr::default(),
            input_length: AtomicUsize::new(0),
            output_length: AtomicUsize::new(0),
            whole: AtomicU32::new(0),
            apart: AtomicU32::new(0),
            timed: AtomicU32::new(0),
        }
    }
}

impl Cold {
    #[inline]
    fn write(&self, brought: &Brought) {
        let Brought { job, info, .. } = *brought;
        let whole = u32::from(brought.whole);
        let apart = u32::from(brought.outs == Outs::Apart);
        let (input, output) = (brought.input.1, brought.output.1);
        // Relaxed: only this rank writes it, and the store to `here` publishes it.
        let held = self.job.load(Ordering::Relaxed) == job
            && std::ptr::eq(self.info.load(Ordering::Relaxed), info)
            && self.input_length.load(Ordering::Relaxed) == input
            && self.output_length.load(Ordering::Relaxed) == output
            && self.whole.load(Ordering::Relaxed) == whole
            && self.apart.load(Ordering::Relaxed) == apart;
        if !held {
            self.job.store(job, Ordering::Relaxed);
            self.info.store(info.cast_mut(), Ordering::Relaxed);
            self.input_length.store(input, Ordering::Relaxed);
            self.output_length.store(output, Ordering::Relaxed);
            self.whole.store(whole, Ordering::Relaxed);
            self.apart.store(apart, Ordering::Relaxed);
        }
    }
}
