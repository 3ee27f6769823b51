//! Boxed schedules: boxed before they are combined, each combinator is compiled once, and not again for every schedule
//! inside it.

use crate::schedule::Schedule;

/// Boxes any schedule.
pub(super) trait Boxed: Schedule + Sized + 'static {
    fn boxed(self) -> Box<dyn Schedule> {
        Box::new(self)
    }

    /// The schedule reversed.
    fn backwards(self) -> Box<dyn Schedule> {
        Box::new(self.boxed().reversed())
    }
}

impl<S: Schedule + 'static> Boxed for S {}
