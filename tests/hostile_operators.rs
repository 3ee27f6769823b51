//! Operators that panic or call the communicator, in every reduction and by every algorithm: no rank hangs, the rank
//! that ran the operator is the culprit, and no rank reads memory that its lender has taken back.

mod again;
mod support;

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};

use rankfold::check::Goal;
use rankfold::collective::{Algorithm, Call, Collective};
use rankfold::op::{Operator, OperatorKind};
use rankfold::schedule::{FoldAlong, Schedule};
use rankfold::topology::{Hypercube, Topology};
use rankfold::{Comm, Error, ErrorKind, Outcome, Rank, Report, Result, World, hypercube};
use support::{Spoiled, guarded, scale};

/// Numbers of elements per rank: the shorter vectors travel in their packet, the longer ones are lent.
const LENGTHS: [usize; 2] = [1, 200];

/// Any function as a commutative operator.
struct With<'a>(&'a dyn Fn(u64, u64) -> u64);

impl Operator<u64> for With<'_> {
    fn combine(&self, left: u64, right: u64) -> u64 {
        (self.0)(left, right)
    }
    fn commutes(&self) -> bool {
        true
    }
}

type Run = fn(&Comm, Option<Algorithm>, &mut [u64], With<'_>) -> Result<()>;

/// A reduction of vectors whose length is a multiple of the number of ranks.
#[derive(Clone, Copy)]
struct Reduction {
    name: &'static str,
    /// The collective whose algorithms it takes.
    collective: Option<Collective>,
    run: Run,
}

impl Reduction {
    /// Returns the automatic choice and all algorithms that serve the call.
    fn ways(&self, ranks: usize, n: usize) -> Vec<Option<Algorithm>> {
        let mut ways = vec![None];
        let Some(collective) = self.collective else {
            return ways;
        };
        let call = Call::new(collective, ranks, n).commuting();
        // Vectors of `u64`, of which a cell holds 512.
        let fits = |algorithm: &Algorithm| *algorithm != Algorithm::Cells || n <= 512;
        let serves = |algorithm: &Algorithm| fits(algorithm) && algorithm.refused(&call).is_none();
        ways.extend(Algorithm::all(collective).filter(serves).map(Some));
        ways
    }
}

const fn reduction(name: &'static str, collective: Option<Collective>, run: Run) -> Reduction {
    Reduction {
        name,
        collective,
        run,
    }
}

const REDUCTIONS: [Reduction; 10] = [
    reduction(
        "reduce",
        Some(Collective::Reduce),
        |comm, by, v, op| match by {
            None => comm.reduce(0, v, op),
            Some(by) => comm.using(by).reduce(0, v, op),
        },
    ),
    reduction(
        "all_reduce",
        Some(Collective::AllReduce),
        |comm, by, v, op| match by {
            None => comm.all_reduce(v, op),
            Some(by) => comm.using(by).all_reduce(v, op),
        },
    ),
    reduction(
        "all_reduce_into",
        Some(Collective::AllReduce),
        |comm, by, v, op| {
            let input = Spoiled::new(v.to_vec());
            match by {
                None => comm.all_reduce_into(&input, v, op),
                Some(by) => comm.using(by).all_reduce_into(&input, v, op),
            }
        },
    ),
    reduction(
        "reduce_scatter",
        Some(Collective::ReduceScatter),
        |comm, by, v, op| {
            let input = Spoiled::new(v.to_vec());
            let mine = &mut v[..input.len() / comm.size()];
            match by {
                None => comm.reduce_scatter(&input, mine, op),
                Some(by) => comm.using(by).reduce_scatter(&input, mine, op),
            }
        },
    ),
    reduction("scan", Some(Collective::Scan), |comm, by, v, op| match by {
        None => comm.scan(v, op),
        Some(by) => comm.using(by).scan(v, op),
    }),
    reduction(
        "exclusive_scan",
        Some(Collective::ExclusiveScan),
        |comm, by, v, op| match by {
            None => comm.exclusive_scan(v, 0, op),
            Some(by) => comm.using(by).exclusive_scan(v, 0, op),
        },
    ),
    reduction("reduce_over", None, |comm, _, v, op| {
        let tree = Topology::fibonacci(comm.size());
        comm.reduce_over(&tree, v, op).run()
    }),
    reduction("run_schedule", None, |comm, _, v, op| {
        let n = v.len();
        if comm.size().is_power_of_two() {
            let cube = FoldAlong::new(Hypercube::new(comm.size().ilog2()), n);
            return comm.run_schedule(&cube, &Goal::all_reduce(n), &[], v, op);
        }
        let chain = FoldAlong::new(Topology::chain(comm.size()).single_port(), n);
        comm.run_schedule(&chain, &Goal::reduce(0, n), &[], v, op)
    }),
    reduction("all_reduce_value", None, |comm, _, v, op| {
        let fold = |a: Vec<u64>, b: Vec<u64>| {
            let both = a.into_iter().zip(b);
            both.map(|(a, b)| op.combine(a, b)).collect()
        };
        comm.values().all_reduce(v.to_vec(), fold).map(|_| ())
    }),
    reduction("hypercube", None, |comm, _, v, op| {
        if !comm.size().is_power_of_two() {
            return comm.all_reduce(v, op);
        }
        hypercube(comm, v[0], |a, b, _| op.combine(a, b)).map(|_| ())
    }),
];

/// Runs every reduction and every algorithm, eager and lent, with the check and without.
fn everywhere(part: usize, case: impl Fn(&str, usize, bool, Run, Option<Algorithm>, usize)) {
    let stride = part.max((part as f64 / scale()) as usize);
    let mut number = 0;
    for ranks in [2, 3, 4, 5] {
        for reduction in REDUCTIONS {
            for by in reduction.ways(ranks, ranks * LENGTHS[1]) {
                for (check, n) in [(false, 0), (true, 0), (false, 1), (true, 1)] {
                    number += 1;
                    if number % stride == 0 {
                        let n = LENGTHS[n] * ranks;
                        let by_name = by.map_or("choice".to_string(), |by| by.to_string());
                        let name = format!(
                            "{} by {by_name}, {n} elements, {ranks} ranks, check({check})",
                            reduction.name
                        );
                        case(&name, ranks, check, reduction.run, by, n);
                    }
                }
            }
        }
    }
}

/// Elements below this are the ranks' own; spoiled ones are above.
const BOUND: u64 = 1 << 40;

fn panicked(outcome: &Outcome<()>) -> bool {
    matches!(outcome, Outcome::Panicked { message, .. } if &**message == "not this one")
}

/// Ranks that panicked did so in the operator; all others name one of them, or succeeded.
fn judge(name: &str, report: &Report<()>) {
    for outcome in &report.outcomes {
        let names_one = |error: &Error| {
            let culprit = error.culprit();
            culprit.is_some_and(|rank: Rank| panicked(&report.outcomes[rank]))
        };
        let fine = outcome.value().is_some()
            || outcome.error().is_some_and(names_one)
            || panicked(outcome);
        assert!(fine, "{name}: {outcome:?}, of {:?}", report.outcomes);
    }
    let some = report.outcomes.iter().any(panicked);
    assert_eq!(report.culprit.is_some(), some, "{name}");
}

/// The operator of one rank panics after a given number of runs.
fn panics_after(
    name: &str,
    ranks: usize,
    check: bool,
    run: impl Fn(&Comm, With<'_>) -> Result<()> + Sync,
    times: usize,
) {
    let report = guarded(&|| name.to_string(), || {
        World::new(ranks).check(check).run_each(|comm| {
            let runs = AtomicUsize::new(0);
            let fold = |a: u64, b: u64| {
                assert!(a < BOUND && b < BOUND, "memory that was given back");
                let run = runs.fetch_add(1, Ordering::Relaxed);
                assert!(comm.rank() != ranks / 2 || run < times, "not this one");
                a + b
            };
            run(comm, With(&fold))
        })
    });
    judge(name, &report);
}

#[test]
fn an_operator_that_panics_at_any_time_is_its_ranks_failure() {
    everywhere(2, |name, ranks, check, run, by, n| {
        for times in [0, 1, n / 2, n] {
            let call = |comm: &Comm, op: With<'_>| {
                let mut v = Spoiled::new(vec![comm.rank() as u64 + 1; n]);
                run(comm, by, &mut v, op)
            };
            panics_after(name, ranks, check, call, times);
        }
    });
}

/// A rank that catches its panic and goes on writes to its buffer at once: a rank that has borrowed from it must be
/// done by then, or find nothing.
#[test]
fn a_rank_that_catches_the_panic_has_its_memory_to_itself() {
    everywhere(3, |name, ranks, check, run, by, n| {
        let call = |comm: &Comm, op: With<'_>| {
            let mut v = vec![comm.rank() as u64 + 1; n];
            let done = catch_unwind(AssertUnwindSafe(|| run(comm, by, &mut v, op)));
            v.fill(u64::MAX);
            std::hint::black_box(&mut v);
            done.unwrap_or_else(|panic| {
                let again = comm.barrier().expect_err("the rank has ended");
                assert!(
                    matches!(again.kind(), ErrorKind::RankGone { .. }),
                    "{again}"
                );
                std::panic::resume_unwind(panic)
            })
        };
        panics_after(name, ranks, check, call, n / 2);
    });
}

#[test]
fn an_operator_that_calls_the_communicator_is_refused_and_the_call_goes_on() {
    everywhere(2, |name, ranks, check, run, by, n| {
        let refused = AtomicUsize::new(0);
        let report = guarded(&|| name.to_string(), || {
            World::new(ranks).check(check).run_each(|comm| {
                let fold = |a: u64, b: u64| {
                    // An error names where the call is made, which takes its time.
                    if refused.load(Ordering::Relaxed) > 100 {
                        return a + b;
                    }
                    let inner = [
                        comm.barrier(),
                        comm.send(0, 1, &[1u8; 100]),
                        comm.all_reduce(&mut [1u64; 100], rankfold::op::Sum),
                        comm.values().all_reduce(1, |a: i32, b| a + b).map(|_| ()),
                    ];
                    for refusal in inner {
                        let error = refusal.expect_err("an operator may not call");
                        assert!(matches!(error.kind(), ErrorKind::Usage(_)), "{error}");
                    }
                    refused.fetch_add(1, Ordering::Relaxed);
                    a + b
                };
                let mut v = vec![1u64; n];
                run(comm, by, &mut v, With(&fold))?;
                comm.barrier()
            })
        });
        let folds = ranks > 2 || !name.starts_with("exclusive"); // otherwise there is nothing to fold
        assert!(!folds || refused.load(Ordering::Relaxed) > 0, "{name}");
        report
            .into_result()
            .unwrap_or_else(|error| panic!("{name}: {error}"));
    });
}

thread_local! {
    /// The communicator that user code calls.
    static CALLED: RefCell<Option<Comm>> = const { RefCell::new(None) };
}

/// How often a call was refused.
static REFUSED: AtomicUsize = AtomicUsize::new(0);

/// Calls the communicator, which must refuse.
fn call() {
    CALLED.with_borrow(|comm| {
        let Some(comm) = comm else {
            return;
        };
        for refusal in [comm.barrier(), comm.send(0, 1, &[1u8])] {
            let error = refusal.expect_err("it runs inside a call");
            assert!(matches!(error.kind(), ErrorKind::Usage(_)), "{error}");
            REFUSED.fetch_add(1, Ordering::Relaxed);
        }
    });
}

type Program = (&'static str, fn(&Comm) -> Result<()>);

/// Runs programs in which user code [calls](call) the communicator: each is refused somewhere, and ends well.
fn are_refused(programs: &[Program]) {
    for (name, program) in programs {
        for ranks in [2, 3, 4] {
            let before = REFUSED.load(Ordering::Relaxed);
            let world = World::new(ranks).strict();
            let ended = guarded(&|| format!("{name}, {ranks} ranks"), || {
                world.run(|comm| {
                    CALLED.set(Some(comm.dup()?));
                    let done = program(comm);
                    CALLED.take();
                    done?;
                    comm.barrier()
                })
            });
            ended.unwrap_or_else(|error| panic!("{name}, {ranks} ranks: {error}"));
            assert!(REFUSED.load(Ordering::Relaxed) > before, "{name}");
        }
    }
}

struct CallsInClone;

impl Clone for CallsInClone {
    fn clone(&self) -> Self {
        call();
        CallsInClone
    }
}

struct CallsInNames;

impl Operator<u64> for CallsInNames {
    fn combine(&self, left: u64, right: u64) -> u64 {
        left + right
    }

    fn commutes(&self) -> bool {
        call();
        true
    }

    fn kind(&self) -> OperatorKind {
        call();
        OperatorKind::Own
    }
}

#[test]
fn a_clone_that_calls_the_communicator_is_refused() {
    are_refused(&[
        ("broadcast", |comm| {
            let value = (comm.rank() == 0).then_some(CallsInClone);
            comm.values().broadcast(0, value).map(drop)
        }),
        ("all_reduce of values", |comm| {
            comm.values()
                .all_reduce(CallsInClone, |left, _| left)
                .map(drop)
        }),
        ("all_gather", |comm| {
            comm.values().all_gather(CallsInClone).map(drop)
        }),
        ("scan of values", |comm| {
            comm.values().scan(CallsInClone, |left, _| left).map(drop)
        }),
        ("hypercube", |comm| match comm.size() {
            3 => comm.values().all_gather(CallsInClone).map(drop),
            _ => hypercube(comm, CallsInClone, |left, _, _| left).map(drop),
        }),
    ]);
}

#[test]
fn the_name_of_an_operator_that_calls_the_communicator_is_refused() {
    are_refused(&[
        ("all_reduce", |comm| {
            [1, 100, 700, 5000]
                .iter()
                .try_for_each(|n| comm.all_reduce(&mut vec![1; *n], CallsInNames))
        }),
        ("scan", |comm| comm.scan(&mut [1; 700], CallsInNames)),
        ("iall_reduce", |comm| {
            comm.iall_reduce(vec![1; 700], CallsInNames)?
                .wait()
                .map(drop)
        }),
        ("fused", |comm| {
            let (mut one, mut many) = ([1], [1; 700]);
            comm.fused(|f| {
                f.all_reduce(&mut one, CallsInNames);
                f.all_reduce(&mut many, CallsInNames);
            })
        }),
    ]);
}

#[test]
fn over_a_topology_and_by_a_schedule_the_name_of_an_operator_that_calls_is_refused() {
    are_refused(&[
        ("reduce_over", |comm| {
            let topology = Topology::binomial(comm.size());
            comm.reduce_over(&topology, &mut [1], CallsInNames).run()
        }),
        ("run_schedule", |comm| {
            let reduce = FoldAlong::new(Topology::binomial(comm.size()).single_port(), 2);
            let all_reduce = reduce.clone().then(reduce.reversed());
            let goal = Goal::all_reduce(2);
            comm.run_schedule(&all_reduce, &goal, &[], &mut [1; 2], CallsInNames)
        }),
    ]);
}

#[test]
fn all_of_it_holds_over_channels() {
    again::over_channels(&[]);
}
