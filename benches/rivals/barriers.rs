//! Two barriers: the standard library's, and a bare counter.

use std::sync::Barrier;
use std::time::Duration;

use super::clock::{Figures, Member};
use super::op::{Kind, Op};
use super::place::Place;
use super::threads::{self, Counter};

pub fn offers(op: Op) -> bool {
    op.kind == Kind::Barrier && op.sensible()
}

struct Meet<F>(F);

impl<F: FnMut()> Member for Meet<F> {
    #[inline]
    fn call(&mut self) {
        (self.0)();
    }
}

/// `std::sync::Barrier`.
pub fn standard(place: &Place, op: Op, _bytes: usize, budget: Duration) -> Option<Figures> {
    let barrier = Barrier::new(place.ranks);
    let wait = || {
        barrier.wait();
    };
    threads::point(place, op, budget, |_| Meet(wait))
}

/// A counter that all threads increment.
pub fn spinning(place: &Place, op: Op, _bytes: usize, budget: Duration) -> Option<Figures> {
    let counter = Counter::new(place);
    threads::point(place, op, budget, |_| Meet(|| counter.meet()))
}
