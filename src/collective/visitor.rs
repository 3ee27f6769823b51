//! Visitors of schedules: code that is compiled for the type of each.

#[cfg(doc)]
use super::Algorithm;
use super::Refusal;
use crate::schedule::Schedule;

/// A visitor that receives a schedule of any type from [`Algorithm::visit`].
///
/// Schedules are passed by value and with their type, so code that runs them can be compiled for each.
///
/// # Examples
///
/// ```
/// use rankfold::collective::{Algorithm, Call, Collective, WithSchedule};
/// use rankfold::schedule::Schedule;
///
/// struct Steps;
/// impl WithSchedule for Steps {
///     type Out = usize;
///     fn with<S: Schedule + 'static>(self, schedule: S) -> usize {
///         schedule.steps()
///     }
/// }
/// let call = Call::new(Collective::AllReduce, 8, 100);
/// assert_eq!(Algorithm::Halving.visit(&call, Steps), Ok(6));
/// ```
pub trait WithSchedule {
    /// The result of the visit.
    type Out;

    /// Visits the schedule.
    fn with<S: Schedule + 'static>(self, schedule: S) -> Self::Out;
}

/// Puts a schedule on the heap.
pub(super) struct Boxed;

impl WithSchedule for Boxed {
    type Out = Box<dyn Schedule>;

    fn with<S: Schedule + 'static>(self, schedule: S) -> Box<dyn Schedule> {
        Box::new(schedule)
    }
}

/// Passes a schedule on without its type.
pub(super) struct Behind<'a>(pub(super) &'a mut dyn FnMut(&dyn Schedule));

impl WithSchedule for Behind<'_> {
    type Out = ();

    fn with<S: Schedule + 'static>(self, schedule: S) {
        (self.0)(&schedule)
    }
}

/// The result of a visit, or the reason why there is no schedule.
pub(super) type Built<V> = Result<<V as WithSchedule>::Out, Refusal>;
