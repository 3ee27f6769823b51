//! A choice of the controlled scheduler: what a rank could take, and who chooses.

use std::fmt;

use crate::Rank;
use crate::error::Site;
use crate::transport::matching::want::{QueueId, Want};

/// A transition: `rank` takes the first message in `queue` that it can take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Transition {
    pub rank: Rank,
    pub queue: QueueId,
}

/// What a wait may receive.
#[derive(Default)]
pub(crate) struct Sought {
    pub wants: Vec<Want>,
    /// The indices of the requests that are complete, if the wait is for one of several.
    pub ready: Vec<usize>,
    /// Whether the wait is for one of several requests.
    pub one_of: bool,
}

impl Sought {
    /// Whether it matters which message comes first.
    pub(in crate::transport) fn is_open(&self) -> bool {
        self.one_of || self.wants.iter().any(|want| want.source().is_none())
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

    /// Choice number `_nth`, counted from 0, was made before all its transitions were there.
    fn too_early(&self, _nth: usize) {}

    /// Something other than a choice took place: a deadline passed, or ranks stopped waiting for one that failed.
    fn passed(&self) {}
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
    /// The queues that its wait is for; sorted.
    pub queues: Vec<QueueId>,
    /// The queues that are only for other receives which it has posted.
    pub other: Vec<QueueId>,
}

impl Eligible {
    pub(in crate::transport) fn is_empty(&self) -> bool {
        self.queues.is_empty() && self.other.is_empty()
    }
}
