//! Wrong programs and the report that each must cause: the kind, the ranks, the cycle, the odd rank, and the line of
//! every rank; and random ones, against a sequential model of stuck ranks.

mod again;
mod support;

use std::sync::Mutex;

use rankfold::error::{Deadlock, Mismatch, SourceLine};
use rankfold::{Comm, Error, ErrorKind, Outcome, Rank, Report, Result, World, WorldError};
use support::guarded;

/// The file and the line of each rank's wrong call.
struct Lines(Vec<Mutex<(&'static str, u32)>>);

impl Lines {
    fn new(ranks: usize) -> Self {
        Lines((0..ranks).map(|_| Mutex::default()).collect())
    }

    fn note(&self, comm: &Comm, file: &'static str, line: u32) {
        *self.0[comm.rank()].lock().unwrap() = (file, line);
    }

    /// Returns whether `site` is what `rank` noted.
    fn is(&self, rank: Rank, site: impl Into<SourceLine>) -> bool {
        let site = site.into();
        (site.file(), site.line()) == *self.0[rank].lock().unwrap()
    }
}

/// Notes that the wrong call is on the next line.
macro_rules! here {
    ($lines:expr, $comm:expr) => {
        $lines.note($comm, file!(), line!() + 1)
    };
}

#[path = "wrong_programs/calls.rs"]
mod calls;
#[path = "wrong_programs/knots.rs"]
mod knots;
#[path = "wrong_programs/messages.rs"]
mod messages;
#[path = "wrong_programs/missing.rs"]
mod missing;
#[path = "wrong_programs/random_programs.rs"]
mod random_programs;

type Wrong = fn(&Comm, &Lines) -> Result<()>;

/// Runs `program` from `least` to 8 ranks, with check and without.
fn each(least: usize, program: Wrong, judge: impl Fn(&Run)) {
    for ranks in least..=8 {
        for check in [false, true] {
            let lines = Lines::new(ranks);
            let world = World::new(ranks).check(check);
            let case = format!("{ranks} ranks, check({check})");
            let report = guarded(&|| case.clone(), || world.run_each(|c| program(c, &lines)));
            judge(&Run {
                ranks,
                check,
                case,
                lines,
                report,
            });
        }
    }
}

/// The result of one run.
struct Run {
    ranks: usize,
    check: bool,
    case: String,
    lines: Lines,
    report: Report<()>,
}

impl Run {
    fn error(&self, rank: Rank) -> &Error {
        let outcome = &self.report.outcomes[rank];
        outcome
            .error()
            .unwrap_or_else(|| panic!("{}: rank {rank}: {outcome:?}", self.case))
    }

    fn returned(&self, ranks: impl IntoIterator<Item = Rank>) {
        for rank in ranks {
            let outcome = &self.report.outcomes[rank];
            assert!(
                outcome.value().is_some(),
                "{}: rank {rank}: {outcome:?}",
                self.case
            );
        }
    }

    /// Checks for one knot, which includes these ranks and no rank without a right line, and that all `failed` got it.
    fn knot(&self, core: &[Rank], failed: impl IntoIterator<Item = Rank>) -> &Deadlock {
        assert_eq!(
            self.report.deadlocks.len(),
            1,
            "{}: {:?}",
            self.case,
            self.report.deadlocks
        );
        assert!(self.report.mismatch.is_none() && self.report.culprit.is_none());
        let knot = &*self.report.deadlocks[0];
        for stuck in &knot.stuck {
            assert!(
                self.lines.is(stuck.rank, stuck.site),
                "{}: {knot}",
                self.case
            );
        }
        let stuck: Vec<Rank> = knot.stuck.iter().map(|stuck| stuck.rank).collect();
        assert!(
            core.iter().all(|rank| stuck.contains(rank)),
            "{}: {knot}",
            self.case
        );
        for rank in failed {
            let error = self.error(rank);
            assert!(
                matches!(error.kind(), ErrorKind::Deadlock(_)),
                "{}: {error}",
                self.case
            );
            assert!(
                self.lines.is(rank, error.site().unwrap()),
                "{}: {error}",
                self.case
            );
        }
        knot
    }

    /// Checks for exactly these ranks in the knot, with this cycle; all others returned.
    fn exact_knot(&self, stuck: &[Rank], cycle: &[Rank]) {
        let knot = self.knot(stuck, stuck.iter().copied());
        assert_eq!(knot.stuck.len(), stuck.len(), "{}: {knot}", self.case);
        assert_eq!(knot.cycle, cycle, "{}: {knot}", self.case);
        self.returned((0..self.ranks).filter(|rank| !stuck.contains(rank)));
    }

    /// Checks for a mismatch in which `odd` differs. It may be found before all ranks have arrived: then no rank is
    /// blamed unless most have.
    fn mismatch(&self, odd: &[Rank]) -> &Mismatch {
        let found = self.report.mismatch.as_deref();
        let found = found.unwrap_or_else(|| panic!("{}: {:?}", self.case, self.report.outcomes));
        let odd = if self.ranks > 2 { odd } else { &[] };
        let whole = found.calls.len() == self.ranks;
        assert!(
            found.odd == odd || !whole && found.odd.is_empty(),
            "{}: {found}",
            self.case
        );
        for called in &found.calls {
            assert!(
                called
                    .site
                    .is_some_and(|site| self.lines.is(called.rank, site)),
                "{}: {found}",
                self.case
            );
        }
        let some = self.report.outcomes.iter().filter_map(Outcome::error);
        for error in some {
            assert!(
                matches!(error.kind(), ErrorKind::Mismatch(_)),
                "{}: {error}",
                self.case
            );
        }
        found
    }

    fn world_error(self, is: impl Fn(&WorldError) -> bool) {
        let error = self.report.into_result().unwrap_err();
        assert!(is(&error), "{}: {error}", self.case);
    }
}

fn right(comm: &Comm) -> Rank {
    (comm.rank() + 1) % comm.size()
}

fn left(comm: &Comm) -> Rank {
    (comm.rank() + comm.size() - 1) % comm.size()
}

fn last(comm: &Comm) -> bool {
    comm.rank() + 1 == comm.size()
}

fn all(run: &Run) -> Vec<Rank> {
    (0..run.ranks).collect()
}

/// All ranks are in one collective, the last in another: `theirs`, then its own.
fn differs(theirs: Wrong, own: Wrong) {
    for ranks in 2..=8 {
        for check in [false, true] {
            let lines = Lines::new(ranks);
            let world = World::new(ranks).check(check);
            let case = format!("{ranks} ranks, check({check})");
            let program = |comm: &Comm| match last(comm) {
                true => own(comm, &lines),
                false => theirs(comm, &lines),
            };
            let report = guarded(&|| case.clone(), || world.run_each(program));
            let run = Run {
                ranks,
                check,
                case,
                lines,
                report,
            };
            run.mismatch(&[ranks - 1]);
            assert!(run.report.deadlocks.is_empty(), "{}", run.case);
            run.world_error(|error| matches!(error, WorldError::Mismatch(_)));
        }
    }
}

#[test]
fn all_of_it_holds_over_channels() {
    again::over_channels(&[]);
}
