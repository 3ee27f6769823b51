//! The silence of all processes: whether every rank of every process sleeps, and no message is on its way, so that no
//! rank moves but one whose call has a deadline.
//!
//! A process is *at rest* at a moment at which each of its ranks has ended, or sleeps and was not woken, which is known
//! under the lock of the registry. It then tells the first process how many messages it has sent and received so far: its
//! count. Once the counts of all processes say that as many were received as were sent, the first process asks all of
//! them again. If each is at rest again with the same count, then nothing is on its way (Mattern, *Algorithms for
//! distributed termination detection*, 1987: four counters). The messages of this file are not counted. A process that has
//! left is out of it: no message to it or from it counts, and two counts are of one look only if they know the same
//! processes to have left.
//!
//! Then each process tells all others its [local state](super::local_state), if it is still at rest with the count of its
//! answer, and each judges by all local states. These are one state of all ranks, with nothing on its way. A process
//! whose count has changed since its answer, because a rank's time was over or a message came from such a rank, tells no
//! local state, and nobody is judged. What moves after that is a rank with a deadline, or one that can be freed by such a
//! rank: no verdict is about these. What the ranks of a process do once they are told follows from the verdict: before
//! that, the process says so, and its messages wait where the ranks are still to be told ([held](super::held)).
//!
//! A judgement ends a *round*. If it found nothing, because ranks have deadlines, the next one begins when a process
//! comes to rest in another state.

use std::sync::Arc;

use super::local_state::LocalState;
use crate::error::Mismatch;

/// What a process at rest has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Count {
    /// The numbers of messages sent and received.
    pub sent: u64,
    pub received: u64,
    /// Which processes have left, as a hash.
    pub left: u64,
}

/// A process at rest: its count, and the states of its ranks as a hash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Rest {
    pub count: Count,
    pub waits: u64,
}

/// What a process has to tell another one.
#[derive(Clone, Debug)]
pub(super) enum Say {
    /// To the first process: this process is at rest, with this count; in answer to this question, or to none (0).
    Rest {
        round: u32,
        question: u32,
        count: Count,
    },
    /// To all: whether they are still at rest.
    Ask { round: u32, question: u32 },
    /// To all: no rank can move.
    Stuck { round: u32 },
    /// To all: the local state of this process; `None` if one of its ranks has moved.
    LocalState {
        round: u32,
        local_state: Option<LocalState>,
    },
    /// To all: the ranks of this process are told, and go on or end by that.
    Told { round: u32 },
    /// To all: they shall tell what they know of their ranks, in answer to this question.
    Look(u32),
    /// The answer.
    Seen {
        question: u32,
        local_state: LocalState,
    },
    /// To all: the mismatch that no rank had noticed, if there is one by what the ranks have left behind.
    Found(Option<Arc<Mismatch>>),
}

/// To whom it is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum To {
    One(usize),
    All,
}

/// Whether something was said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Said {
    #[default]
    No,
    /// A rank is about to say it.
    Begun,
    Yes,
}

/// Where one process stands.
#[derive(Default)]
pub(super) struct Silence {
    me: usize,
    round: u32,
    /// The state that was told, and to which process.
    told: Option<(usize, Rest)>,
    /// The process that asks, its question, and the round of that.
    asked: Option<(usize, u32, u32)>,
    /// The count in the last answer of this round.
    answered: Option<Count>,
    /// Whether it is proved that no rank can move.
    proved: bool,
    /// The local states of this round.
    local_states: Vec<Option<Option<LocalState>>>,
    /// Whether the other processes know that the ranks here are told.
    said: Said,
    /// Whether the local state of this process is being told, or was, in this round.
    turned: bool,
    /// Whether the ranks here are being told.
    pub concluding: bool,
    /// What the first process knows.
    known: Known,
}

/// What the first process knows.
#[derive(Default)]
struct Known {
    /// The last counts, and the rounds that they are of.
    counts: Vec<Option<(u32, Count)>>,
    /// The number of the last question, the counts for which it was asked, and the answers.
    question: u32,
    before: Vec<Option<Count>>,
    answers: Vec<Option<Count>>,
    /// Whether a process has come to rest since the last round.
    fresh: bool,
}

impl Silence {
    /// For process `me` of `processes`.
    pub(super) fn new(me: usize, processes: usize) -> Silence {
        Silence {
            me,
            local_states: vec![None; processes],
            known: Known {
                counts: vec![None; processes],
                ..Known::default()
            },
            ..Silence::default()
        }
    }

    /// Hears what a process says.
    pub(super) fn hear(&mut self, from: usize, say: Say) {
        match say {
            Say::Rest {
                round,
                question: 0,
                count,
            } => self.known.hear(from, round, count),
            Say::Rest {
                round,
                question,
                count,
            } if round == self.round => self.known.answer(from, question, count),
            // The first process may be in the next round already.
            Say::Ask { round, question } if [self.round, self.round + 1].contains(&round) => {
                self.asked = Some((from, question, round));
            }
            Say::Stuck { round } if round == self.round => self.proved = true,
            Say::LocalState { round, local_state } if round == self.round => {
                self.proved = true;
                self.local_states[from] = Some(local_state);
            }
            _ => {}
        }
    }

    /// The process is at rest, and those that are `live` have not left. What it says.
    pub(super) fn rest(&mut self, rest: Rest, live: &[bool]) -> Vec<(To, Say)> {
        if self.proved || self.concluding {
            return Vec::new();
        }
        let (round, count) = (self.round, rest.count);
        let mut says = Vec::new();
        let mut tell = |to, question| {
            let say = Say::Rest {
                round,
                question,
                count,
            };
            says.push((To::One(to), say));
        };
        let first = live.iter().position(|live| *live).unwrap_or(self.me);
        if self.told.replace((first, rest)) != Some((first, rest)) {
            tell(first, 0);
        }
        if let Some((asker, question, _)) = self.asked.take_if(|(.., of)| *of == round) {
            tell(asker, question);
            self.answered = Some(count);
        }
        if first == self.me {
            let say = self.known.conclude(round, live);
            says.extend(say.map(|say| (To::All, say)));
        }
        says
    }

    /// Whether silence is proved, and this process has not told its local state. Returns the
    /// count of its answer: with another one it is in another state.
    pub(super) fn wants_local_state(&self) -> Option<Option<Count>> {
        let wanted = self.proved && !self.concluding && !self.turned;
        wanted.then_some(self.answered)
    }

    /// The local state of this process, to be told to all, also to this one, at most once a round.
    pub(super) fn turn(&mut self, local_state: Option<LocalState>) -> Option<Say> {
        self.wants_local_state()?;
        self.turned = true;
        Some(Say::LocalState {
            round: self.round,
            local_state,
        })
    }

    /// What this process says before its ranks are told, once, if this is still to be done in this round.
    pub(super) fn tells(&mut self, round: u32) -> Option<Say> {
        let says = self.is_to_tell(round) && self.said == Said::No;
        says.then(|| {
            self.said = Said::Begun;
            Say::Told { round }
        })
    }

    /// The others have been told that.
    pub(super) fn has_told(&mut self, round: u32) {
        if self.round == round {
            self.said = Said::Yes;
        }
    }

    /// Whether they have been, in this round.
    pub(super) fn is_told(&self, round: u32) -> bool {
        self.round == round && self.said == Said::Yes
    }

    /// Whether the ranks here are still to be told in this round.
    pub(super) fn is_to_tell(&self, round: u32) -> bool {
        self.round == round && !self.concluding
    }

    /// The number of this round.
    pub(super) fn round(&self) -> u32 {
        self.round
    }

    /// The local states of all processes that have not left, once they are here; `Some(None)` if one of them had moved.
    pub(super) fn local_states(&self, live: &[bool]) -> Option<Option<Vec<LocalState>>> {
        let mut here = self.local_states.iter().zip(live);
        let all = here.all(|(local_state, live)| local_state.is_some() || !live);
        let states = self.local_states.iter().flatten().cloned();
        (self.proved && !self.concluding && all).then(|| states.collect())
    }

    /// The ranks here are told now, and then the round [ends](Self::next_round).
    pub(super) fn begins_to_tell(&mut self) {
        self.concluding = true;
        self.local_states.fill(None);
    }

    /// The ranks here have been told. If all processes found `nothing` to tell, what they had told of their states is still
    /// so.
    pub(super) fn next_round(&mut self, nothing: bool) {
        self.round += 1;
        (self.answered, self.proved) = (None, false);
        (self.said, self.turned) = (Said::No, false);
        self.asked.take_if(|(.., of)| *of != self.round);
        if !nothing {
            self.told = None;
        }
        self.known.next_round(self.round, nothing);
    }
}

impl Known {
    fn hear(&mut self, from: usize, round: u32, count: Count) {
        self.counts[from] = Some((round, count));
        self.fresh = true;
    }

    /// The rounds of two processes differ by one at most, so a count of another round is of the one that begins.
    fn next_round(&mut self, round: u32, nothing: bool) {
        self.before.clear();
        self.fresh = self.counts.iter().flatten().any(|(of, _)| *of == round);
        if nothing {
            self.counts
                .iter_mut()
                .flatten()
                .for_each(|(of, _)| *of = round);
        }
    }

    fn answer(&mut self, from: usize, question: u32, count: Count) {
        if question == self.question
            && let Some(place) = self.answers.get_mut(from)
        {
            *place = Some(count);
        }
    }

    /// The next question, or the proof, once there is reason for it.
    fn conclude(&mut self, round: u32, live: &[bool]) -> Option<Say> {
        let of_round = |known: &Option<(u32, Count)>| {
            known.filter(|(of, _)| *of == round).map(|(_, count)| count)
        };
        let counts: Vec<Option<Count>> = self.counts.iter().map(of_round).collect();
        let lives = |counts: &[Option<Count>]| -> Option<Vec<Count>> {
            let live = counts.iter().zip(live).filter(|(_, live)| **live);
            live.map(|(count, _)| *count).collect()
        };
        let all = lives(&counts)?;
        if self.before == counts {
            let proved = lives(&self.answers).as_ref() == Some(&all);
            return proved.then_some(Say::Stuck { round });
        }
        if !self.fresh || !balance(&all) {
            return None;
        }
        self.fresh = false;
        self.question += 1;
        self.before = counts;
        self.answers = vec![None; self.counts.len()];
        Some(Say::Ask {
            round,
            question: self.question,
        })
    }
}

/// Whether as many messages were received as were sent, by processes that know the same ones to have left.
fn balance(counts: &[Count]) -> bool {
    // What other processes tell need not be true.
    let sum = |of: fn(&Count) -> u64| counts.iter().map(of).fold(0, u64::wrapping_add);
    let same = counts.windows(2).all(|pair| pair[0].left == pair[1].left);
    same && sum(|count| count.sent) == sum(|count| count.received)
}

#[cfg(all(test, not(loom)))]
mod tests;
