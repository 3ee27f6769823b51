//! A cache of collective calls, so that whatever follows from their arguments is computed once.
//!
//! A program makes the same few calls over and over. Each is described for reports, checked, and given an algorithm
//! when it is first made. The same call with the same arguments at the same line then skips all of that.

use std::cell::{OnceCell, RefCell};
use std::hash::Hasher;
use std::panic::Location;
use std::ptr;
use std::rc::Rc;

use super::Comm;
use super::call::Described;
use super::combine::commutes;
use super::messages::Messages;
use super::resolved::Steps;
use super::set_associative::SetAssociative;
use crate::Rank;
use crate::collective::{Algorithm, Call as Shape, Collective};
use crate::error::{Error, Result, Site};
use crate::hash::Mix;
use crate::names::Transport;
use crate::op::elements::Info;
use crate::op::signature::Signature;
use crate::op::{Element, Operator, OperatorKind};
use crate::schedule::Schedule;

/// The arguments of a call besides its data, its type and its operator.
#[derive(Clone, Copy)]
pub(crate) struct Ask {
    pub site: Site,
    pub collective: Collective,
    /// The length of the whole vector, in elements.
    pub length: usize,
    pub root: Rank,
    pub commutes: bool,
    pub from_input: bool,
    /// `None` for the automatic choice.
    pub algorithm: Option<Algorithm>,
    /// The vectors that the elements hold, which are blocks then.
    pub fused: Option<&'static Signature>,
    /// Whether it is a vector of a fused call that is reduced by itself.
    pub alone: bool,
}

impl Ask {
    #[inline]
    pub(crate) fn to_root(self, root: Rank) -> Ask {
        Ask { root, ..self }
    }

    #[inline(always)]
    pub(crate) fn by(self, algorithm: Option<Algorithm>) -> Ask {
        Ask { algorithm, ..self }
    }

    /// The same call with a fold.
    #[inline]
    pub(crate) fn folding<T: Element>(self, op: &impl Operator<T>) -> Ask {
        Ask {
            commutes: commutes(op),
            ..self
        }
    }

    /// The index by line. Calls at neighbouring lines do not collide.
    #[inline(always)]
    fn place(&self) -> usize {
        // Locations lie 24 bytes apart.
        ptr::from_ref(self.site).addr() / 8 % RECENT
    }

    /// A hash of what differs between the calls that a program makes in turn: line, length, kind of communicator, root; and
    /// the collective, as parts of a call have its line.
    fn hash(&self, length: usize, alike: u64) -> u64 {
        let which = self.root << 6 | self.collective as usize;
        Mix::of(&(ptr::from_ref(self.site).addr(), length, alike, which)).finish()
    }

    /// Whether both ask for the same algorithm.
    #[inline(always)]
    fn by_same(&self, other: &Ask) -> bool {
        match (&self.algorithm, &other.algorithm) {
            // The usual case, without comparing the contents of algorithms.
            (None, None) => true,
            (one, other) => one == other,
        }
    }

    /// Whether both calls ask for the same. Lines are compared by address.
    #[inline(always)]
    fn is(&self, other: &Ask) -> bool {
        let what = |ask: &Ask| {
            (
                ask.collective,
                ask.length,
                ask.root,
                ask.commutes,
                ask.from_input,
                ask.alone,
            )
        };
        ptr::eq(self.site, other.site) && what(self) == what(other) && self.by_same(other)
    }
}

/// A call at the caller's line.
#[inline]
#[track_caller]
pub(crate) fn ask(collective: Collective, length: usize) -> Ask {
    Ask {
        site: Location::caller(),
        collective,
        length,
        root: 0,
        commutes: false,
        from_input: false,
        algorithm: None,
        fused: None,
        alone: false,
    }
}

/// The operator, lengths, type and kind of communicator of a call, besides its arguments.
#[derive(Clone, Copy)]
pub(crate) struct With {
    pub op: OperatorKind,
    /// The lengths of input and output.
    pub lengths: (usize, usize),
    pub info: &'static Info,
    /// What communicators with the same plans have in common; above its 32 bits, if this call is a part of another one,
    /// the number of that collective (6 bits) and its root.
    alike: u64,
}

/// The bits of [`With::alike`] below the number of a collective, and below a root.
const OF_WHOLE: u32 = 32;
const OF_ROOT: u32 = 38;

impl With {
    #[inline]
    pub(crate) fn new<T: Element>(comm: &Comm, op: OperatorKind, lengths: (usize, usize)) -> With {
        With::of(comm, op, lengths, Info::of::<T>())
    }

    #[inline]
    pub(crate) fn of(
        comm: &Comm,
        op: OperatorKind,
        lengths: (usize, usize),
        info: &'static Info,
    ) -> With {
        With {
            op,
            lengths,
            info,
            alike: comm.alike.into(),
        }
    }

    /// The same on this communicator alone, for calls that hold on to it.
    pub(crate) fn only_on(self, comm: &Comm) -> With {
        With {
            alike: comm.shared.context.into(),
            ..self
        }
    }

    /// The same for a part of this collective of this root, by which the part is named.
    #[cfg(feature = "mpi")]
    pub(crate) fn part_of(self, whole: Collective, root: Rank) -> With {
        let number = whole as u64 + 1;
        With {
            alike: self.alike | number << OF_WHOLE | (root as u64) << OF_ROOT,
            ..self
        }
    }

    /// The collective that the call is a part of, and its root.
    pub(crate) fn whole(&self) -> Option<(Collective, Rank)> {
        let number = (self.alike >> OF_WHOLE) as usize % (1 << (OF_ROOT - OF_WHOLE));
        let whole = number.checked_sub(1)?;
        let root = (self.alike >> OF_ROOT) as Rank;
        Some((Collective::all().nth(whole)?, root))
    }

    #[inline]
    fn is(&self, other: &With) -> bool {
        let what = |with: &With| (with.lengths, with.alike, with.op);
        what(self) == what(other) && self.info.is(other.info)
    }
}

/// A call that was described, checked and given an algorithm, all of which follows from `ask` and `with`.
pub(crate) struct Kept {
    pub ask: Ask,
    pub with: With,
    pub plan: Plan,
    pub described: Described,
}

impl Kept {
    /// Whether it is the call with these arguments.
    #[inline(always)]
    fn is(&self, ask: &Ask, with: &With) -> bool {
        self.ask.is(ask) && self.with.is(with)
    }

    /// Whether it is a fused call of vectors of this signature.
    #[inline(always)]
    pub(crate) fn is_of(&self, signature: &'static Signature) -> bool {
        self.ask.fused.is_some_and(|of| ptr::eq(of, signature))
    }

    /// Whether it is a fused call at this line, of this communicator and with this algorithm.
    #[inline(always)]
    fn is_fused(&self, ask: &Ask, alike: u64) -> bool {
        let same = ptr::eq(self.ask.site, ask.site) && self.with.alike == alike;
        same && self.ask.fused.is_some() && self.ask.by_same(ask)
    }
}

/// What a call executes.
pub(crate) struct Plan {
    pub shape: Shape,
    pub path: CallPath,
    /// Whether the root of a reduce or a broadcast accesses the vectors of all, and the others none.
    pub is_by_root: bool,
    /// This rank's messages in the schedule, if the ranks access each other's vectors; computed when they first do.
    pub messages: OnceCell<Messages>,
    /// The steps of a call by steps.
    pub steps: Option<Steps>,
}

impl Plan {
    /// The plan of a call of rank `me` by an algorithm.
    ///
    /// # Errors
    ///
    /// If the algorithm refuses the call.
    pub(crate) fn new(algorithm: Algorithm, shape: Shape, me: Rank) -> Result<Plan> {
        let path = CallPath::of(algorithm, &shape);
        match path {
            CallPath::Steps(algorithm) => Plan::by_steps(algorithm, shape, me),
            _ => Ok(Plan::of(path, shape)),
        }
    }

    /// The plan of a call of rank `me` that executes the schedule of the algorithm.
    ///
    /// # Errors
    ///
    /// If the algorithm refuses the call.
    pub(crate) fn by_steps(algorithm: Algorithm, shape: Shape, me: Rank) -> Result<Plan> {
        let schedule = scheduled(algorithm, &shape)?;
        Ok(Plan {
            steps: Some(Steps::of(schedule, me)),
            ..Plan::of(CallPath::Steps(algorithm), shape)
        })
    }

    /// The plan of a started call of rank `me`, which always executes the schedule of the algorithm.
    ///
    /// # Errors
    ///
    /// If the algorithm refuses the call.
    pub(crate) fn started(algorithm: Algorithm, shape: Shape, me: Rank) -> Result<Plan> {
        Plan::by_steps(algorithm, shape, me).map(Plan::for_later)
    }

    /// The same plan, in which the root does all work of the others, if `is_by_root`.
    pub(crate) fn by_root(self, is_by_root: bool) -> Plan {
        Plan { is_by_root, ..self }
    }

    /// The same plan for a call that may be made again: its steps are looked up then.
    pub(crate) fn for_later(self) -> Plan {
        Plan {
            steps: self.steps.map(Steps::known),
            ..self
        }
    }

    fn of(path: CallPath, shape: Shape) -> Plan {
        Plan {
            shape,
            path,
            is_by_root: false,
            messages: OnceCell::new(),
            steps: None,
        }
    }
}

fn scheduled(algorithm: Algorithm, shape: &Shape) -> Result<Box<dyn Schedule>> {
    let schedule = algorithm.schedule(shape);
    schedule.map_err(|refusal| Error::usage(refusal.to_string()))
}

/// The path by which the ranks of a call compute its result.
#[derive(Clone, Copy)]
pub(crate) enum CallPath {
    /// Each rank writes its cell and reads the cells of others.
    Cells,
    /// The ranks meet at one atomic word and send nothing.
    Gate,
    /// The ranks access each other's vectors.
    Direct,
    /// By the messages of this algorithm's schedule; it does not refuse the call.
    Steps(Algorithm),
}

impl CallPath {
    /// The path of an algorithm. Over channels every algorithm is executed by the messages of its schedule.
    fn of(algorithm: Algorithm, shape: &Shape) -> CallPath {
        match algorithm {
            _ if shape.transport == Transport::Channels => CallPath::Steps(algorithm),
            Algorithm::Cells => CallPath::Cells,
            Algorithm::Gate => CallPath::Gate,
            Algorithm::Direct if shape.ranks() > 1 => CallPath::Direct,
            _ => CallPath::Steps(algorithm),
        }
    }
}

/// In the hash of a fused call, instead of its length, which is not known when it is looked up.
const OF_FUSED: usize = 0;

/// The number of calls that are found by their line alone.
const RECENT: usize = 16;

/// The cache: all calls of a program, unless they are thousands. The last call at a line is found first, without a
/// hash.
#[derive(Default)]
pub(crate) struct KeptCalls {
    recent: RefCell<[Option<Rc<Kept>>; RECENT]>,
    all: RefCell<SetAssociative<Rc<Kept>>>,
    /// The same as `recent` for the parts of calls, of which several have one line.
    #[cfg(feature = "mpi")]
    parts: RefCell<[Option<Rc<Kept>>; RECENT]>,
}

impl KeptCalls {
    /// Looks up a call.
    #[inline(always)]
    pub(crate) fn find(&self, ask: &Ask, with: &With) -> Option<Rc<Kept>> {
        match &self.recent.borrow()[ask.place()] {
            Some(kept) if kept.is(ask, with) => return Some(kept.clone()),
            _ => (),
        }
        self.seek(ask, with)
    }

    /// Looks up a part of a call.
    #[cfg(feature = "mpi")]
    pub(crate) fn find_part(&self, ask: &Ask, with: &With) -> Option<Rc<Kept>> {
        let of_line = 2 * ask.collective as usize + ask.root % 2;
        let place = &mut self.parts.borrow_mut()[(ask.place() + of_line) % RECENT];
        if place.as_ref().is_none_or(|kept| !kept.is(ask, with)) {
            *place = Some(self.seek(ask, with)?);
        }
        place.clone()
    }

    /// The same among all calls.
    #[inline(never)]
    fn seek(&self, ask: &Ask, with: &With) -> Option<Rc<Kept>> {
        let hash = ask.hash(ask.length, with.alike);
        self.seek_where(ask, hash, &|kept| kept.is(ask, with))
    }

    /// The last fused call at a line, if it was one of such communicators with the same algorithm.
    #[inline]
    pub(crate) fn last_fused(&self, ask: &Ask, alike: u64) -> Option<Rc<Kept>> {
        let is = |kept: &&Rc<Kept>| kept.is_fused(ask, alike);
        self.recent.borrow()[ask.place()]
            .as_ref()
            .filter(is)
            .cloned()
    }

    /// Looks up a fused call of such communicators whose vectors are the right ones.
    #[inline]
    pub(crate) fn find_fused(
        &self,
        ask: &Ask,
        alike: u64,
        is_of: impl Fn(&'static Signature) -> bool,
    ) -> Option<Rc<Kept>> {
        let is = |kept: &Kept| kept.is_fused(ask, alike) && kept.ask.fused.is_some_and(&is_of);
        match &self.recent.borrow()[ask.place()] {
            Some(kept) if is(kept) => return Some(kept.clone()),
            _ => (),
        }
        self.seek_where(ask, ask.hash(OF_FUSED, alike), &is)
    }

    fn seek_where(&self, ask: &Ask, hash: u64, is: &dyn Fn(&Kept) -> bool) -> Option<Rc<Kept>> {
        let all = self.all.borrow();
        let mut calls = all.set(hash)?.0.iter().flatten();
        let found = calls.find(|call| call.hash == hash && is(&call.value));
        let kept = found.map(|call| call.value.clone())?;
        self.recent.borrow_mut()[ask.place()] = Some(kept.clone());
        Some(kept)
    }

    /// Stores a call, reusing the memory of an evicted one if possible.
    pub(crate) fn put(&self, call: Kept) -> Rc<Kept> {
        let length = call.ask.fused.map_or(call.ask.length, |_| OF_FUSED);
        let hash = call.ask.hash(length, call.with.alike);
        let recent = &mut self.recent.borrow_mut()[call.ask.place()];
        *recent = None;
        let put = |mut evicted: Option<Rc<Kept>>| {
            match evicted.as_mut().and_then(Rc::get_mut) {
                Some(place) => *place = call,
                None => return Rc::new(call),
            }
            evicted.expect("its memory was reused")
        };
        let kept = self.all.borrow_mut().put(hash, put).clone();
        recent.insert(kept).clone()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn hashes_of_calls_that_differ_in_one_thing_spread() {
        const SETS: usize = 256;
        let call = ask(Collective::AllReduce, 0);
        let by_length = |i: usize| call.hash(i, 0);
        // Contexts are multiples of a small number.
        let by_kind = |i: usize| call.hash(1, 8 * i as u64);
        let by_both = |i: usize| call.hash(i / 32, 8 * (i % 32) as u64);
        let all: [&dyn Fn(usize) -> u64; 3] = [&by_length, &by_kind, &by_both];
        for hash in all {
            let mut sets = [0; SETS];
            (0..4 * SETS).for_each(|i| sets[hash(i) as usize % SETS] += 1);
            // Random ones, four a set, are at most this many with a probability of nearly one.
            assert!(sets.iter().all(|&of| of <= 16), "{sets:?}");
        }
    }

    #[cfg(feature = "mpi")]
    fn part(comm: &Comm, ask: Ask, length: usize, whole: (Collective, Rank)) -> (Ask, With) {
        let ask = Ask { length, ..ask };
        let with = With::new::<u64>(comm, OperatorKind::First, (0, length));
        (ask, with.part_of(whole.0, whole.1))
    }

    /// Parts of calls at one line, more than there are places: each is found as what was kept, and none that was not.
    #[cfg(feature = "mpi")]
    #[test]
    fn a_part_is_found_by_all_that_tells_it_from_others_of_its_line() {
        let found = crate::World::new(2).run(|comm| {
            let (here, elsewhere) = (ask(Collective::Barrier, 0), ask(Collective::Barrier, 0));
            let mut parts = Vec::new();
            for line in [here, elsewhere] {
                let broadcasts =
                    [(0, 1), (1, 1), (0, 2), (1, 5)].map(|of| (Collective::Broadcast, of));
                let all_reduces = [1, 2].map(|length| (Collective::AllReduce, (0, length)));
                for (collective, (root, length)) in broadcasts.into_iter().chain(all_reduces) {
                    let asked = Ask { collective, ..line }.to_root(root);
                    for whole in [(Collective::AllReduce, 0), (Collective::Broadcast, 1)] {
                        parts.push(part(comm, asked, length, whole));
                    }
                }
            }
            let kept = &comm.core.kept;
            for round in 0..8 {
                for (asked, with) in &parts {
                    if kept.find_part(asked, with).is_none() {
                        assert!(round < 7, "each call evicts another one of its line");
                        comm.keep(*asked, *with)?;
                    }
                    // Also with another part in its place.
                    for (asked, with) in parts.iter().chain(parts.iter().rev()) {
                        let found = kept.find_part(asked, with);
                        assert!(found.is_none_or(|found| found.is(asked, with)));
                    }
                    assert!(kept.find_part(asked, with).is_some(), "it was kept");
                }
            }
            Ok(())
        });
        found.unwrap();
    }
}
