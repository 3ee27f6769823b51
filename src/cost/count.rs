//! The counts of a closed form: along the critical path of a run, and at one rank.

use std::ops::Add;

/// The times of one message, one moved element and one folded element, in seconds.
///
/// In one step a rank sends at most one message and receives at most one.
///
/// # Examples
///
/// ```
/// use rankfold::cost::{Cost, Model};
///
/// let model = Model { alpha: 2.0, beta: 0.5, gamma: 0.25 };
/// let step = Cost { steps: 1, messages: 1, moved: 8.0, folded: 8.0 };
/// assert_eq!(step.time(&model), 2.0 + 8.0 * 0.5 + 8.0 * 0.25);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Model {
    /// The start-up time of a message.
    pub alpha: f64,
    /// The time to move one element.
    pub beta: f64,
    /// The time to fold one element into another.
    pub gamma: f64,
}

/// The length of the critical path of a run.
///
/// Steps are sequential, so a run takes the sum over all steps of the largest message of each. Here a block has `N/P`
/// elements and a segment `N/k`, even if these are not integers; the [loads](Load) account for the actual cuts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// The number of steps, including steps with only local copies.
    pub steps: usize,
    /// The number of steps with messages, each of which costs `α`.
    pub messages: usize,
    /// The number of elements moved along the path, each of which costs `β`.
    pub moved: f64,
    /// The number of elements folded along the path, each of which costs `γ`.
    pub folded: f64,
}

impl Cost {
    /// The cost of `steps` steps, each with a message of `moved` elements.
    pub(super) fn moving(steps: usize, moved: f64) -> Cost {
        Cost {
            steps,
            messages: steps,
            moved: super::times(moved, steps),
            folded: 0.0,
        }
    }

    /// The same cost, with all moved elements folded.
    pub(super) fn and_folding(self) -> Cost {
        Cost {
            folded: self.moved,
            ..self
        }
    }

    /// The time of the run, in seconds.
    pub fn time(&self, model: &Model) -> f64 {
        self.messages as f64 * model.alpha + self.moved * model.beta + self.folded * model.gamma
    }
}

impl Add for Cost {
    type Output = Cost;

    fn add(self, next: Cost) -> Cost {
        Cost {
            steps: self.steps.saturating_add(next.steps),
            messages: self.messages.saturating_add(next.messages),
            moved: self.moved + next.moved,
            folded: self.folded + next.folded,
        }
    }
}

/// The elements and messages that one rank sends, receives and folds: exact counts, from the cuts of
/// [`span`](crate::span).
///
/// Counts saturate at `usize::MAX`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Load {
    /// Messages sent, including empty ones.
    pub messages_out: usize,
    /// Elements sent.
    pub elements_out: usize,
    /// Messages received.
    pub messages_in: usize,
    /// Elements received.
    pub elements_in: usize,
    /// Elements received that are folded into held ones.
    pub folded: usize,
}

impl Load {
    /// The load of messages sent and received, each given as their number and their total number of elements.
    pub(super) fn moving(sent: (usize, usize), received: (usize, usize)) -> Load {
        Load {
            messages_out: sent.0,
            elements_out: sent.1,
            messages_in: received.0,
            elements_in: received.1,
            folded: 0,
        }
    }

    /// The same load, with all received elements folded.
    pub(super) fn and_folding(self) -> Load {
        Load {
            folded: self.elements_in,
            ..self
        }
    }

    /// The load of the reversed run: receives become sends, and nothing is folded.
    pub(super) fn reversed(self) -> Load {
        Load::moving(
            (self.messages_in, self.elements_in),
            (self.messages_out, self.elements_out),
        )
    }
}

impl Add for Load {
    type Output = Load;

    fn add(self, next: Load) -> Load {
        Load {
            messages_out: self.messages_out.saturating_add(next.messages_out),
            elements_out: self.elements_out.saturating_add(next.elements_out),
            messages_in: self.messages_in.saturating_add(next.messages_in),
            elements_in: self.elements_in.saturating_add(next.elements_in),
            folded: self.folded.saturating_add(next.folded),
        }
    }
}
