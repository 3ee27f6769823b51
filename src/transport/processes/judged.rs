//! What all processes find by the local states of all, judged once a round.

use std::collections::BTreeMap;
use std::time::Instant;

use super::judgement::{Case, Judgement};
use super::local_state::LocalState;
use crate::Rank;

/// What the local states of all processes say.
pub(super) struct Judged {
    pub round: u32,
    /// Whether no process had moved.
    none_moved: bool,
    pub verdicts: Vec<Judgement>,
    /// Since when each rank waits.
    pub since: BTreeMap<Rank, Instant>,
}

impl Judged {
    /// By all local states of a round; `None` if a process had moved.
    pub(super) fn new(round: u32, ranks: usize, local_states: Option<Vec<LocalState>>) -> Judged {
        let none_moved = local_states.is_some();
        let local_states = local_states.unwrap_or_default();
        let rows = local_states.iter().flat_map(|state| &state.rows);
        Judged {
            round,
            none_moved,
            verdicts: Case::new(ranks, &local_states).judge(),
            since: rows
                .filter_map(|row| Some((row.rank, row.since?)))
                .collect(),
        }
    }

    /// Whether no process had moved, and there is nothing to tell.
    pub(super) fn finds_nothing(&self) -> bool {
        self.none_moved && self.verdicts.is_empty()
    }
}
