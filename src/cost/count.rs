//! What a closed form counts: along the way of a whole run, and at one rank.

use std::ops::Add;

/// What one message, one element and one fold take, in seconds.
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

/// The length of the longest way through a run.
///
/// Steps follow each other, so a run lasts as long as the largest message of every step, all added up.
/// Here a block has `N/P` elements and a segment `N/k`, also where these are no whole numbers: what the
/// cuts make of it is in the [loads](Load).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// The number of steps, those included in which ranks only copy.
    pub steps: usize,
    /// Steps in which there are messages: what `α` is paid for.
    pub messages: usize,
    /// Elements moved along the way: what `β` is paid for.
    pub moved: f64,
    /// Elements folded along the way: what `γ` is paid for.
    pub folded: f64,
}

impl Cost {
    /// So many steps, in each a message of `moved` elements that are moved on.
    pub(super) fn moving(steps: usize, moved: f64) -> Cost {
        Cost {
            steps,
            messages: steps,
            moved: super::times(moved, steps),
            folded: 0.0,
        }
    }

    /// The same, and all that is moved is folded.
    pub(super) fn and_folding(self) -> Cost {
        Cost {
            folded: self.moved,
            ..self
        }
    }

    /// The time that it takes, in seconds.
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

/// What one rank sends, receives and folds: exact counts, from the cuts of [`span`](crate::span).
///
/// More than a `usize` can count is the largest number that it holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Load {
    /// Messages sent, empty ones included.
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
    /// So many messages of so many elements in all, out and in.
    pub(super) fn moving(sent: (usize, usize), received: (usize, usize)) -> Load {
        Load {
            messages_out: sent.0,
            elements_out: sent.1,
            messages_in: received.0,
            elements_in: received.1,
            folded: 0,
        }
    }

    /// The same, and all that comes in is folded.
    pub(super) fn and_folding(self) -> Load {
        Load {
            folded: self.elements_in,
            ..self
        }
    }

    /// Receives become sends, and nothing is folded.
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
