//! The trace of a run as a space-time diagram.

use std::time::Duration;

use super::{Trace, TracedCall, TracedMessage};
use crate::draw::timeline::{Arrow, Bar, Scale, Timeline};
use crate::draw::{self, TooLarge};

impl Trace {
    /// Draws a space-time diagram: a line for each rank from top to bottom, time from left to right, a bar for each
    /// call and an arrow for each message.
    ///
    /// # Errors
    ///
    /// If there are more than 128 ranks, or more than 4096 calls or messages.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// let report = World::new(4).trace(true).run_each(|comm| comm.broadcast(0, &mut [comm.rank()]));
    /// let picture = report.trace().unwrap().logical().svg()?; // the same picture in every run
    /// assert_eq!(picture.matches("class=\"message\"").count(), 3);
    /// # Ok::<(), rankfold::draw::TooLarge>(())
    /// ```
    pub fn svg(&self) -> Result<String, TooLarge> {
        let end = self.end();
        let seconds = Duration::as_secs_f64;
        let bar = |call: &TracedCall| Bar {
            rank: call.rank,
            begin: seconds(&call.begin),
            end: call.end.as_ref().map(seconds),
            label: call.call.clone(),
            failed: call.failed,
        };
        let arrow = |message: &TracedMessage| Arrow {
            from: message.from,
            to: message.to,
            sent: seconds(&message.sent),
            received: message.received.as_ref().map(seconds),
            collective: message.tag.is_none(),
        };
        draw::timeline(&Timeline {
            ranks: self.ranks,
            end: seconds(&end),
            scale: match self.logical {
                true => Scale::Events(1e-6),
                false => Scale::Time,
            },
            bars: self.calls.iter().map(bar).collect(),
            arrows: self.messages.iter().map(arrow).collect(),
        })
    }
}
