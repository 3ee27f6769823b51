//! Steered worlds: a chooser decides which message a receive from any source takes, and only when nothing else can
//! move. A run then depends on the choices alone, and not on which thread was faster.
//!
//! # Why the choices determine the run
//!
//! A rank whose calls name their senders is a function of what it receives, and each pair of ranks keeps its order:
//! such programs end the same however their threads are scheduled (Kahn networks). Only a receive from any source sees
//! which message came first. In a steered world it does not look: it goes to sleep, and records in the registry which
//! senders' messages it could take. When every rank has ended or sleeps, everything that can be sent without another
//! choice has been sent, so the *ways* on, (rank, source), are the same in every run with the same choices before. One
//! is chosen, that rank goes on, and so forth. A call with a deadline times out only when there is no way on.
//!
//! # Which choices were too early
//!
//! Choices of different ranks commute, so a chooser that enumerates all outcomes need not try them in both orders; but
//! a rank that had been left waiting might have got more to choose from. That is so if a message arrives after its
//! choice that (a) its call would have taken, (b) is from a sender of which it had nothing, and (c) does not follow
//! from the choice. The chooser is told; see Flanagan and Godefroid, *Dynamic partial-order reduction for model
//! checking software*, POPL 2005.

use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::Rank;
use crate::error::{Cause, Gone, Site};
use crate::transport::deadlock::registry::Registry;
use crate::transport::matching::mailbox::Want;
use crate::transport::memory::head::Head;
use crate::transport::{Endpoint, Fabric};

/// The messages of one source in one context, in their order; or one of the requests that a call waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Line {
    pub context: u32,
    pub source: Rank,
}

impl Line {
    /// No communicator has this context.
    const REQUESTS: u32 = u32::MAX;

    /// The request with index `place` among those waited for.
    pub(crate) fn request(place: usize) -> Line {
        Line {
            context: Line::REQUESTS,
            source: place,
        }
    }

    pub(crate) fn is_request(self) -> bool {
        self.context == Line::REQUESTS
    }
}

/// A way on: `rank` takes the first message in `line` that it can take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Way {
    pub rank: Rank,
    pub line: Line,
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
        self.one_of || self.wants.iter().any(|want| want.source.is_none())
    }
}

/// A point at which a choice is due.
pub(crate) struct Crossing<'a> {
    /// Number of choices made before.
    pub nth: usize,
    /// Sorted, and not empty.
    pub ways: &'a [Way],
    /// The call of a rank that has a way, as it prints, and its source line.
    pub call: &'a dyn Fn(Rank) -> (String, Site),
}

/// Makes the choices of a steered world. It is called under the registry's lock, and must not touch the world.
pub(crate) trait Chooser: fmt::Debug + Send + Sync {
    /// Returns the index of the way to take.
    fn choose(&self, crossing: &Crossing<'_>) -> usize;

    /// Whether the chooser uses [`too_early`](Self::too_early).
    fn looks_back(&self) -> bool {
        false
    }

    /// Choice number `_nth`, counted from 0, was made before all its ways were there.
    fn too_early(&self, _nth: usize) {}

    /// Something other than a choice took place: a deadline passed, or ranks stopped waiting for one that failed.
    fn passed(&self) {}
}

/// Chooses by a seed: the same seed gives the same run.
#[derive(Debug)]
pub(crate) struct BySeed(pub u64);

impl Chooser for BySeed {
    fn choose(&self, crossing: &Crossing<'_>) -> usize {
        (noise(self.0, crossing.nth as u64) % crossing.ways.len() as u64) as usize
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
    /// The lines that its wait is for; sorted.
    pub lines: Vec<Line>,
    /// The lines that are only for other receives which it has posted.
    pub other: Vec<Line>,
}

impl Eligible {
    pub(in crate::transport) fn is_empty(&self) -> bool {
        self.lines.is_empty() && self.other.is_empty()
    }
}

/// What a rank was told while it slept.
#[derive(Clone, Copy)]
enum Told {
    Take(Line),
    TooLate,
}

/// The additional state of a steered world.
pub(crate) struct Steering {
    chooser: Arc<dyn Chooser>,
    looks_back: bool,
    state: Mutex<State>,
}

struct State {
    told: Vec<Option<Told>>,
    made: Vec<Made>,
    /// For each rank, the choices that what it does certainly follows from; in doubt, a choice is not included.
    past: Vec<Numbers>,
    /// Number of operations that each rank had begun at the last choice.
    begun: Vec<u64>,
    /// The rank from which to look for the next deadline to pass.
    late_from: Rank,
}

/// A choice that was made.
struct Made {
    rank: Rank,
    eligible: Eligible,
    /// The choices that it follows from, itself among them.
    past: Numbers,
}

impl Steering {
    pub(in crate::transport) fn new(chooser: Arc<dyn Chooser>, ranks: usize) -> Self {
        let looks_back = chooser.looks_back();
        let state = State {
            told: vec![None; ranks],
            made: Vec::new(),
            past: vec![Numbers::default(); ranks],
            begun: vec![0; ranks],
            late_from: 0,
        };
        Steering {
            chooser,
            looks_back,
            state: Mutex::new(state),
        }
    }

    /// The line of which `rank` must take the first message; returned once.
    pub(in crate::transport) fn line_for(&self, rank: Rank) -> Option<Line> {
        let told = &mut self.state.lock().told[rank];
        match *told {
            Some(Told::Take(line)) => {
                *told = None;
                Some(line)
            }
            _ => None,
        }
    }

    /// Whether the deadline of `rank` has passed; `true` once.
    pub(in crate::transport) fn is_too_late(&self, rank: Rank) -> bool {
        let told = &mut self.state.lock().told[rank];
        let late = matches!(told, Some(Told::TooLate));
        if late {
            *told = None;
        }
        late
    }

    /// Notes that a message goes to `to`.
    #[cold]
    pub(in crate::transport) fn posted(&self, to: Rank, head: Head) {
        if self.looks_back {
            self.state.lock().posted(to, head, &*self.chooser);
        }
    }
}

impl State {
    fn posted(&mut self, to: Rank, head: Head, chooser: &dyn Chooser) {
        let from = head.source();
        self.moved(from);
        for (nth, made) in self.made.iter().enumerate() {
            let would_take = made.eligible.wants.iter().any(|want| want.accepts(head));
            let line = Line {
                context: head.context(),
                source: from,
            };
            if made.rank == to
                && would_take
                && !made.eligible.lines.contains(&line)
                && !self.past[from].contains(nth)
            {
                chooser.too_early(nth);
            }
        }
    }

    /// A rank that has moved since the last choice follows from it: no rank moved before that choice.
    fn moved(&mut self, rank: Rank) {
        if let Some(last) = self.made.last() {
            self.past[rank].add_all(&last.past);
        }
    }

    fn note_moves(&mut self, endpoints: &[Arc<Endpoint>]) {
        for (rank, endpoint) in endpoints.iter().enumerate() {
            let begun = endpoint.begun();
            if begun != self.begun[rank] {
                self.begun[rank] = begun;
                self.moved(rank);
            }
        }
    }

    /// Tells the next rank with a deadline that it has passed: each in turn, since they may look again.
    fn next_late(&mut self, registry: &Registry) -> Option<Rank> {
        let later = registry
            .with_deadline()
            .find(|&rank| rank >= self.late_from);
        let rank = later.or_else(|| registry.with_deadline().next())?;
        self.late_from = rank + 1;
        self.told[rank] = Some(Told::TooLate);
        Some(rank)
    }

    fn make(&mut self, way: Way, eligible: Eligible) {
        let past = &mut self.past[way.rank];
        past.add(self.made.len());
        self.made.push(Made {
            rank: way.rank,
            eligible,
            past: past.clone(),
        });
    }
}

impl Fabric {
    #[inline]
    pub(in crate::transport) fn is_steered(&self) -> bool {
        self.steering.is_some()
    }

    /// If no rank can move any more, gives one of them a way on, if there is one.
    pub(in crate::transport) fn steer(&self, registry: &mut Registry) {
        let Some(steering) = self.steering.as_ref().filter(|_| self.is_still(registry)) else {
            return;
        };
        if !self.take_a_way(registry, steering)
            && !self.give_up_hope(registry, steering)
            && let Some(rank) = steering.state.lock().next_late(registry)
        {
            steering.chooser.passed();
            self.endpoints[rank].sleeper.rouse();
        }
    }

    fn is_still(&self, registry: &Registry) -> bool {
        let asleep = |rank: Rank| self.endpoints[rank].sleeper.asleep();
        (0..self.endpoints.len()).all(|rank| registry.is_at_rest(rank, || asleep(rank)))
    }

    fn take_a_way(&self, registry: &Registry, steering: &Steering) -> bool {
        let ways = registry.ways();
        if ways.is_empty() {
            return false;
        }
        let state = &mut *steering.state.lock();
        let crossing = Crossing {
            nth: state.made.len(),
            ways: &ways,
            call: &|rank| registry.call_of(rank),
        };
        let chosen = steering.chooser.choose(&crossing);
        let way = ways[chosen.min(ways.len() - 1)];
        if steering.looks_back {
            state.note_moves(&self.endpoints);
        }
        if let Some(eligible) = registry.eligible(way.rank) {
            state.make(way, eligible.clone());
        }
        state.told[way.rank] = Some(Told::Take(way.line));
        self.endpoints[way.rank].sleeper.rouse();
        true
    }

    /// Ranks that wait for any message, and have nothing to take, stop waiting for a rank that has failed.
    fn give_up_hope(&self, registry: &mut Registry, steering: &Steering) -> bool {
        let hopeless: Vec<(Rank, Cause)> = registry.hopeless().collect();
        for (rank, cause) in &hopeless {
            steering.chooser.passed();
            registry.tell(*rank, cause.clone());
            self.endpoints[*rank].sleeper.rouse();
        }
        !hopeless.is_empty()
    }
}

/// Whether a rank's end was a failure.
pub(in crate::transport) fn failed(why: &Gone) -> bool {
    *why != Gone::Returned
}

/// A set of small numbers.
#[derive(Clone, Debug, Default)]
struct Numbers(Vec<u64>);

impl Numbers {
    fn add(&mut self, number: usize) {
        let (word, bit) = (number / 64, number % 64);
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << bit;
    }

    fn add_all(&mut self, others: &Numbers) {
        if self.0.len() < others.0.len() {
            self.0.resize(others.0.len(), 0);
        }
        for (word, more) in self.0.iter_mut().zip(&others.0) {
            *word |= more;
        }
    }

    fn contains(&self, number: usize) -> bool {
        let word = self.0.get(number / 64);
        word.is_some_and(|word| word >> (number % 64) & 1 == 1)
    }
}
