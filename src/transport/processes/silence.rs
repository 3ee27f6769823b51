//! The silence of all processes: whether every rank of every process sleeps, and no message is on its way, so that no
//! rank can ever move.
//!
//! A process is *at rest* at a moment at which each of its ranks has ended, or sleeps and was not woken, which is known
//! under the lock of the registry. It then tells process 0 how many messages it has sent and received so far: its count.
//! Once the counts of all processes say that as many were received as were sent, process 0 asks all of them again. If
//! each is at rest again with the same count, then nothing has happened in between, and nothing is on its way: a process
//! at rest moves only when it receives a message (Mattern, *Algorithms for distributed termination detection*, 1987: four
//! counters). The messages of this file are not counted.

/// The number of messages that a process has sent, and received.
pub(super) type Count = (u64, u64);

/// What a process has to tell another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Say {
    /// To process 0: this process is at rest, with this count; in answer to this question, or to none (0).
    Rest { question: u32, count: Count },
    /// To all: whether they are still at rest.
    Ask(u32),
    /// To all: no rank can move.
    Stuck,
}

/// Where one process stands.
#[derive(Default)]
pub(super) struct Silence {
    /// The count that process 0 knows of.
    told: Option<Count>,
    /// The question that has not been answered.
    asked: Option<u32>,
    /// Whether it is proved that no rank can move.
    pub stuck: bool,
    /// Whether the ranks of this process were told so.
    pub told_ranks: bool,
    /// In process 0: what it knows of all.
    known: Option<Known>,
}

/// What process 0 knows.
struct Known {
    counts: Vec<Option<Count>>,
    /// The number of the last question, the counts for which it was asked, and the answers.
    question: u32,
    before: Vec<Option<Count>>,
    answers: Vec<Option<Count>>,
}

impl Silence {
    /// For process `me` of `processes`.
    pub(super) fn new(me: usize, processes: usize) -> Silence {
        let none = || vec![None; processes];
        let known = || Known {
            counts: none(),
            question: 0,
            before: none(),
            answers: none(),
        };
        Silence {
            known: (me == 0).then(known),
            ..Silence::default()
        }
    }

    /// Hears what a process says.
    pub(super) fn hear(&mut self, from: usize, say: Say) {
        match (say, &mut self.known) {
            (Say::Rest { question: 0, count }, Some(known)) => known.counts[from] = Some(count),
            (Say::Rest { question, count }, Some(known)) if question == known.question => {
                known.answers[from] = Some(count);
            }
            (Say::Rest { .. }, _) => {}
            (Say::Ask(question), _) => self.asked = Some(question),
            (Say::Stuck, _) => self.stuck = true,
        }
    }

    /// The process is at rest with this count. What it says to process 0, and as process 0 to all.
    pub(super) fn rest(&mut self, count: Count) -> (Vec<Say>, Option<Say>) {
        let mut says = Vec::new();
        if self.told.replace(count) != Some(count) {
            says.push(Say::Rest { question: 0, count });
        }
        if let Some(question) = self.asked.take() {
            says.push(Say::Rest { question, count });
        }
        (says, self.known.as_mut().and_then(Known::conclude))
    }
}

impl Known {
    /// The next question, or the proof, once there is reason for it.
    fn conclude(&mut self) -> Option<Say> {
        if self.question > 0 && self.before == self.counts {
            let proved = self.answers == self.before;
            return proved.then_some(Say::Stuck);
        }
        let all: Option<Vec<Count>> = self.counts.iter().copied().collect();
        let all = all?;
        let (sent, received) = all
            .iter()
            .fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        if sent != received {
            return None;
        }
        self.question += 1;
        self.before = self.counts.clone();
        self.answers = vec![None; self.counts.len()];
        Some(Say::Ask(self.question))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Hands everything that is said on at once, as long as each process rests with its count when it is its turn.
    fn is_silent(rounds: &[[Count; 2]]) -> bool {
        let mut processes = [0, 1].map(|me| Silence::new(me, 2));
        for counts in rounds {
            for me in [0, 1] {
                let (to_first, to_all) = processes[me].rest(counts[me]);
                to_first
                    .into_iter()
                    .for_each(|say| processes[0].hear(me, say));
                if let Some(say) = to_all {
                    processes.iter_mut().for_each(|other| other.hear(me, say));
                }
            }
        }
        processes.iter().all(|one| one.stuck)
    }

    #[test]
    fn processes_at_rest_are_silent_if_nothing_happens_between_two_looks() {
        assert!(is_silent(&[[(3, 2), (2, 3)]; 5]));
        assert!(is_silent(&[[(0, 0), (0, 0)]; 5]));
    }

    #[test]
    fn a_message_on_its_way_is_no_silence() {
        assert!(!is_silent(&[[(3, 2), (2, 2)]; 9]));
        let moving: Vec<_> = (0..9).map(|i| [(i, i), (i, i)]).collect();
        assert!(!is_silent(&moving));
        // As many received as sent when both told, by chance: one has moved in between.
        assert!(!is_silent(&[
            [(1, 0), (0, 1)],
            [(2, 1), (0, 1)],
            [(2, 1), (0, 1)]
        ]));
    }

    #[test]
    fn silence_after_a_movement_is_found() {
        let mut rounds = vec![[(1, 0), (0, 1)], [(1, 0), (0, 1)], [(2, 1), (0, 1)]];
        rounds.extend([[(2, 1), (1, 2)]; 6]);
        assert!(is_silent(&rounds));
    }
}
