//! A choice of the controlled scheduler: what a rank could take, and who chooses.

use std::fmt;

use crate::Rank;
use crate::error::Site;
use crate::transport::matching::want::{QueueId, Want};
use crate::transport::memory::part_lock::Mode;

/// What a rank can do next that another rank may have forestalled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Pick {
    /// Take the first message in this queue that it can take.
    Message(QueueId),
    /// End the request at this index among those waited for.
    Request(usize),
    /// Enter its request for a lock.
    Lock(LockTurn),
}

/// A place in the queue of requests for the lock of a window's part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct LockTurn {
    /// The context of the window.
    pub context: u32,
    pub part: Rank,
    pub mode: Mode,
}

impl LockTurn {
    pub(crate) fn is_for_same(self, other: LockTurn) -> bool {
        (self.context, self.part) == (other.context, other.part)
    }

    /// Whether it matters which of both comes first.
    fn excludes(self, other: LockTurn) -> bool {
        self.is_for_same(other) && (self.mode == Mode::Exclusive || other.mode == Mode::Exclusive)
    }
}

/// A transition: `rank` does what it `pick`s.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Transition {
    pub rank: Rank,
    pub pick: Pick,
}

impl Transition {
    /// Whether two ranks ask for one lock, so that it matters which of them comes first.
    pub(crate) fn competes(self, other: Transition) -> bool {
        match (self.pick, other.pick) {
            (Pick::Lock(mine), Pick::Lock(theirs)) => mine.excludes(theirs),
            _ => false,
        }
    }

    /// Whether both lead to the same state in either order.
    pub(crate) fn commutes(self, other: Transition) -> bool {
        self.rank != other.rank && !self.competes(other)
    }
}

/// What a wait may receive.
#[derive(Default)]
pub(crate) struct Sought {
    pub wants: Vec<Want>,
    /// The indices of the requests that are complete, if the wait is for one of several.
    pub ready: Vec<usize>,
    /// Whether the wait is for one of several requests.
    pub one_of: bool,
    /// Whether one of these, which is not complete, is for something else than a message.
    pub also_others: bool,
    /// The lock for which the rank is about to ask.
    pub lock: Option<LockTurn>,
}

impl Sought {
    /// Whether it matters which message, or which rank, comes first.
    pub(in crate::transport) fn is_open(&self) -> bool {
        self.one_of || self.lock.is_some() || self.wants.iter().any(|want| want.source().is_none())
    }
}

/// A point at which a choice is due.
pub(crate) struct ChoicePoint<'a> {
    /// Number of choices made before.
    pub nth: usize,
    /// Sorted, and not empty.
    pub transitions: &'a [Transition],
    /// The call of a rank that has a transition, as it prints, and its source line.
    pub call: &'a dyn Fn(Rank) -> (String, Site),
}

/// Makes the choices of a controlled world. It is called under the registry's lock, and must not touch the world.
pub(crate) trait Chooser: fmt::Debug + Send + Sync {
    /// Returns the index of the transition to take.
    fn choose(&self, point: &ChoicePoint<'_>) -> usize;

    /// Whether the chooser uses [`too_early`](Self::too_early).
    fn looks_back(&self) -> bool {
        false
    }

    /// Choice number `_nth`, counted from 0, was made too early: before all its transitions were there, or before that of
    /// another rank which does not commute with it. To try the other order, one of `_firsts` must go first; any
    /// transition, if none of these was there.
    fn too_early(&self, _nth: usize, _firsts: &[Transition]) {}

    /// Something other than a choice took place: a deadline passed, or ranks stopped waiting for one that failed.
    fn passed(&self) {}

    /// A rank looks without waiting, or waits with a deadline, whether or not it finds something.
    fn looked(&self) {}
}

/// Chooses by a seed: the same seed gives the same run.
#[derive(Debug)]
pub(crate) struct BySeed(pub u64);

impl Chooser for BySeed {
    fn choose(&self, point: &ChoicePoint<'_>) -> usize {
        (noise(self.0, point.nth as u64) % point.transitions.len() as u64) as usize
    }
}

/// Number `i` of the sequence that `seed` begins (SplitMix64).
pub(crate) fn noise(seed: u64, i: u64) -> u64 {
    let x = seed.wrapping_add(i.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// What a rank that waits could get.
#[derive(Clone, Debug)]
pub(crate) struct Eligible {
    pub wants: Vec<Want>,
    /// What its wait is for; sorted.
    pub picks: Vec<Pick>,
    /// The messages that are only for other receives which it has posted.
    pub other: Vec<Pick>,
    /// Whether there may be more picks for its wait once other ranks have moved, of which no message tells.
    pub may_grow: bool,
}

impl Eligible {
    pub(in crate::transport) fn is_empty(&self) -> bool {
        self.picks.is_empty() && self.other.is_empty()
    }
}
