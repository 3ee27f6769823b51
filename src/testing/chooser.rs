//! The chooser of an exploration: it follows a search, or one order, and records the choices.

use std::mem;

use parking_lot::Mutex;

use super::order::{MessageOrder, ReceiveChoice};
use super::search::Search;
use crate::transport::deadlock::choice::{ChoicePoint, Chooser, Transition};

/// The chooser of a run.
#[derive(Debug)]
enum Policy {
    Search(Search),
    Order(MessageOrder),
}

/// The chooser of an exploration: follows the plan, and records the choices.
#[derive(Debug, Default)]
pub(super) struct Guide(Mutex<Log>);

#[derive(Debug)]
struct Log {
    plan: Policy,
    places: Vec<usize>,
    choices: Vec<ReceiveChoice>,
    /// Whether any run had an event that is not a choice: a deadline that passed, or a wait given up because a rank
    /// failed.
    passed: bool,
    /// Whether any run had a look without waiting or a wait with a deadline.
    looked: bool,
}

impl Default for Log {
    fn default() -> Self {
        Log {
            plan: Policy::Search(Search::default()),
            places: Vec::new(),
            choices: Vec::new(),
            passed: false,
            looked: false,
        }
    }
}

impl Guide {
    /// Prepares a run: of an order, or the next one of the search.
    pub(super) fn begin(&self, order: Option<MessageOrder>) {
        let log = &mut *self.0.lock();
        if let Some(order) = order {
            log.plan = Policy::Order(order);
        }
        log.places.clear();
        log.choices.clear();
    }

    /// Whether any run had an event that is not a choice.
    pub(super) fn has_passed(&self) -> bool {
        self.0.lock().passed
    }

    /// Whether any run had a call whose result depends on when it is made.
    pub(super) fn has_looked(&self) -> bool {
        self.0.lock().looked
    }

    /// The order of the run that has ended.
    pub(super) fn end(&self) -> (MessageOrder, Vec<ReceiveChoice>) {
        let log = &mut *self.0.lock();
        let order = match &log.plan {
            Policy::Order(order @ MessageOrder::Seed(_)) => order.clone(),
            _ => MessageOrder::Choices(without_zeros(&log.places)),
        };
        (order, mem::take(&mut log.choices))
    }

    /// Prepares the next run. Returns whether the last run was new, and whether there are more.
    pub(super) fn advance(&self) -> (bool, bool) {
        let log = &mut *self.0.lock();
        let Policy::Search(search) = &mut log.plan else {
            return (true, false);
        };
        assert!(
            !search.strayed(),
            "the same choices led to other ones when they were repeated: the program depends on more than \
             its messages, say on a clock, on random numbers without a seed, or on memory that its ranks \
             share or that outlives a run"
        );
        (search.is_new(), search.advance())
    }
}

/// The list without its trailing zeros, which are implied.
fn without_zeros(places: &[usize]) -> Vec<usize> {
    let last = places.iter().rposition(|place| *place != 0);
    places[..last.map_or(0, |last| last + 1)].to_vec()
}

impl Chooser for Guide {
    fn choose(&self, point: &ChoicePoint<'_>) -> usize {
        let log = &mut *self.0.lock();
        let place = match &mut log.plan {
            Policy::Search(search) => search.choose(point.nth, point.transitions),
            Policy::Order(order) => order
                .chooser()
                .choose(point)
                .min(point.transitions.len() - 1),
        };
        log.places.push(place);
        log.choices.push(ReceiveChoice::of(point, place));
        place
    }

    fn looks_back(&self) -> bool {
        true
    }

    fn too_early(&self, nth: usize, firsts: &[Transition]) {
        if let Policy::Search(search) = &mut self.0.lock().plan {
            search.too_early(nth, firsts);
        }
    }

    fn passed(&self) {
        self.0.lock().passed = true;
    }

    fn looked(&self) {
        self.0.lock().looked = true;
    }
}
