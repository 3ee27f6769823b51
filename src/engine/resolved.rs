//! The steps of a call: those of its rank, computed once if they are few, so that a call that is made again looks them
//! up.

use std::rc::Rc;

use super::exchange::Exchange;
use crate::Rank;
use crate::schedule::{Schedule, Step};

/// Maximum number of steps that are computed in advance.
const FEW: usize = 32;

/// The steps of one rank in a schedule.
#[derive(Clone)]
pub(crate) enum Steps {
    /// All of them.
    Known(Rc<ActiveSteps>),
    /// Those of the rank in this schedule.
    Of(Rc<dyn Schedule>, Rank),
}

/// The active steps of one rank, numbered without gaps.
pub(crate) struct ActiveSteps {
    scratch: usize,
    steps: Vec<Step>,
    /// What the steps are, if they are no more than that.
    exchange: Option<Exchange>,
}

impl Steps {
    /// The steps of rank `me`, computed when they are asked for.
    pub(crate) fn of(schedule: Box<dyn Schedule>, me: Rank) -> Steps {
        Steps::Of(Rc::from(schedule), me)
    }

    /// The same steps, computed now if they are few.
    pub(crate) fn known(self) -> Steps {
        let Steps::Of(schedule, me) = self else {
            return self;
        };
        let mut steps = Vec::new();
        let mut next = schedule.next_active(me, None);
        while let Some(step) = next {
            if steps.len() == FEW {
                return Steps::Of(schedule, me);
            }
            steps.push(schedule.step(me, step));
            next = schedule.next_active(me, Some(step));
        }
        let scratch = schedule.lengths(me).scratch;
        Steps::Known(Rc::new(ActiveSteps {
            exchange: Exchange::of(&steps),
            scratch,
            steps,
        }))
    }

    /// The exchange that the steps are, if they are known to be one.
    #[inline]
    pub(crate) fn exchange(&self) -> Option<Exchange> {
        match self {
            Steps::Known(known) => known.exchange,
            Steps::Of(..) => None,
        }
    }

    /// Length of the scratch buffer.
    pub(crate) fn scratch(&self) -> usize {
        match self {
            Steps::Known(known) => known.scratch,
            Steps::Of(schedule, me) => schedule.lengths(*me).scratch,
        }
    }

    /// The next step after another one, or the first.
    #[inline]
    pub(crate) fn next(&self, after: Option<usize>) -> Option<usize> {
        match self {
            Steps::Known(known) => {
                let next = after.map_or(0, |step| step + 1);
                (next < known.steps.len()).then_some(next)
            }
            Steps::Of(schedule, me) => schedule.next_active(*me, after),
        }
    }

    /// One of the steps; it lies in `place` if it has to be computed.
    #[inline]
    pub(crate) fn step<'s>(&'s self, step: usize, place: &'s mut Option<Step>) -> &'s Step {
        match self {
            Steps::Known(known) => &known.steps[step],
            Steps::Of(schedule, me) => place.insert(schedule.step(*me, step)),
        }
    }

    /// Whether both are the steps that were computed for one call.
    #[inline]
    pub(crate) fn is(&self, other: &Steps) -> bool {
        match (self, other) {
            (Steps::Known(one), Steps::Known(other)) => Rc::ptr_eq(one, other),
            (Steps::Of(one, _), Steps::Of(other, _)) => Rc::ptr_eq(one, other),
            _ => false,
        }
    }
}
