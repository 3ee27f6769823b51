//! Why a run failed, by what its ranks left behind: the first culprit, or what no rank is to blame for.

use std::fmt;
use std::io;
use std::sync::Arc;

use super::elsewhere::{Elsewhere, FarEnd};
use super::findings::{Findings, Grounds};
use super::left::{Lost, all_lost, all_unfinished};
use super::outcome::{End, Ends};
use crate::Rank;
use crate::environment;
use crate::error::{Cause, Deadlock, Mismatch};
use crate::sort;
use crate::transport::Unfinished;

/// A [`WorldError`](super::WorldError) without the ranks' own errors, whose type depends on the program.
pub(super) enum Verdict {
    /// This rank is to blame: it failed, panicked, or returned while `needed_by` failed without it.
    Blame {
        rank: Rank,
        needed_by: Option<Rank>,
        /// Messages to the rank that needed this one come first.
        lost: Vec<Lost>,
        /// The first rank of this process.
        first: Rank,
        /// How the rank ended, if it is in another process.
        far: Option<FarEnd>,
    },
    Deadlock(Arc<Deadlock>),
    Mismatch(Arc<Mismatch>),
    Lost(Vec<Lost>),
    Unfinished(Vec<Unfinished>),
    Refused(Refused),
}

/// Why a world did not start.
#[derive(Debug)]
pub(super) enum Refused {
    Usage(String),
    Spawn { rank: Rank, error: io::Error },
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::Usage(why) => f.write_str(why),
            Refused::Spawn { rank, error } => write!(f, "no thread for rank {rank}: {error}"),
        }
    }
}

impl From<Refused> for Verdict {
    fn from(refused: Refused) -> Self {
        Verdict::Refused(refused)
    }
}

impl Findings {
    /// Judges the run, and prints what is asked for, and the seed, if it failed.
    pub(super) fn conclude(self, outcomes: &dyn Ends) -> Result<(), Verdict> {
        let (seed, Grounds { recent, .. }) = (self.seed, &self.grounds);
        if !outcomes.are_whole() && recent.is_kept() && environment::is_on("RANKFOLD_RECENT") {
            eprintln!("rankfold: {recent}");
        }
        let result = self.judge(outcomes);
        if let (Some(seed), Err(_)) = (seed, &result) {
            eprintln!("rankfold: seed {seed} repeats this");
        }
        result
    }

    /// Judges the run. Prints only what was left behind by one that did not fail.
    pub(super) fn judge(mut self, outcomes: &dyn Ends) -> Result<(), Verdict> {
        let elsewhere = std::mem::take(&mut self.grounds.elsewhere);
        let result = self.judge_all(&elsewhere.and(outcomes));
        result.map_err(|verdict| verdict.seen_from(&elsewhere))
    }

    fn judge_all(self, outcomes: &dyn Ends) -> Result<(), Verdict> {
        if !outcomes.are_whole() {
            return Err(self.failure(outcomes));
        }
        if let Some(mismatch) = self.mismatch.filter(|_| self.grounds.unnoticed) {
            return Err(Verdict::Mismatch(mismatch));
        }
        let (lost, unfinished) = (self.lost, self.unfinished);
        match self.grounds.strict {
            true if !unfinished.is_empty() => return Err(Verdict::Unfinished(unfinished)),
            true if !lost.is_empty() => return Err(Verdict::Lost(lost)),
            _ => {}
        }
        if !unfinished.is_empty() {
            eprintln!("rankfold: {}", all_unfinished(&unfinished));
        }
        if !lost.is_empty() {
            eprintln!("rankfold: {}", all_lost(&lost));
        }
        Ok(())
    }

    /// Why a run failed in which not every rank returned.
    fn failure(mut self, outcomes: &dyn Ends) -> Verdict {
        match self.grounds.followed.take() {
            Some(Cause::Mismatch(mismatch)) => return Verdict::Mismatch(mismatch),
            Some(Cause::Deadlock(deadlock)) => return self.deadlock(deadlock),
            _ => {}
        }
        let deadlock = self.deadlocks.first().cloned();
        match (self.culprit, deadlock, self.mismatch.take()) {
            (_, _, Some(mismatch)) if self.grounds.unnoticed => Verdict::Mismatch(mismatch),
            (None, Some(deadlock), _) => self.deadlock(deadlock),
            (None, None, Some(mismatch)) => Verdict::Mismatch(mismatch),
            (Some(rank), ..) => self.blame(rank),
            (None, ..) => {
                let failed = outcomes.ends().position(|end| end != End::Returned);
                self.blame(failed.unwrap_or(0))
            }
        }
    }

    /// A deadlock, with the lost messages, some of which its ranks may have been meant to receive.
    fn deadlock(&self, deadlock: Arc<Deadlock>) -> Verdict {
        if self.lost.is_empty() {
            return Verdict::Deadlock(deadlock);
        }
        Verdict::Deadlock(Arc::new(Deadlock {
            unreceived: Some(all_lost(&self.lost).to_string()),
            ..Deadlock::clone(&deadlock)
        }))
    }

    fn blame(mut self, rank: Rank) -> Verdict {
        let needed_by = self.grounds.needed_by;
        // The messages first that the rank in need may have been meant to receive.
        sort::by_numbers(&mut self.lost, |lost| {
            [(Some(lost.to) != needed_by) as usize]
        });
        Verdict::Blame {
            rank,
            needed_by,
            lost: self.lost,
            first: 0,
            far: None,
        }
    }
}

impl Verdict {
    /// The verdict, with what is known of the ranks of other processes.
    fn seen_from(mut self, elsewhere: &Elsewhere) -> Verdict {
        if let Verdict::Blame {
            rank,
            needed_by,
            first,
            far,
            ..
        } = &mut self
        {
            *first = elsewhere.first;
            *far = elsewhere.far(*rank).cloned();
            // The error of a rank of another process is not here.
            *needed_by = needed_by.filter(|rank| elsewhere.far(*rank).is_none());
        }
        self
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::machine::Placement;
    use crate::names::Transport;
    use crate::transport::{Fabric, Settings};
    use crate::world::outcome::Outcome;
    use crate::world::recent::Recent;

    /// Nothing is found.
    fn findings(ranks: usize) -> Findings {
        Findings {
            culprit: None,
            deadlocks: Vec::new(),
            mismatch: None,
            lost: Vec::new(),
            unfinished: Vec::new(),
            placement: Placement {
                cpu: Vec::new(),
                why_unpinned: None,
                refused: Vec::new(),
                caller: None,
            },
            transport: Transport::Memory,
            counts: Vec::new(),
            seed: None,
            wall: Duration::ZERO,
            grounds: Grounds {
                strict: false,
                unnoticed: false,
                followed: None,
                needed_by: None,
                recent: Recent::of(&Fabric::new(ranks, Settings::default())),
                elsewhere: Elsewhere::default(),
            },
        }
    }

    #[test]
    fn the_first_rank_that_did_not_return_is_named_where_nothing_is_known_of_why() {
        let outcomes: Vec<Outcome<(), ()>> = vec![
            Outcome::Returned(()),
            Outcome::Failed(()),
            Outcome::Failed(()),
            Outcome::Returned(()),
        ];
        match findings(outcomes.len()).judge(&outcomes) {
            Err(Verdict::Blame { rank, .. }) => assert_eq!(rank, 1),
            _ => panic!("a rank failed"),
        }
    }
}
