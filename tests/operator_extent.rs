//! Nothing that an operator calls, by any route, reaches a communicator of a rank that its thread already was. The call
//! is refused with a typed error, and the collective in which the operator runs goes on.
//!
//! The routes: a thread-local, a run of a team, a nested operator, a seat of another world, a scope, a request that was
//! started before, a destructor, a destructor during unwinding, and the panic hook.

mod again;
mod support;

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, Once};
use std::time::Duration;

use rankfold::check::Goal;
use rankfold::collective::Algorithm;
use rankfold::schedule::{FoldAlong, Lengths, Schedule, Step};
use rankfold::topology::Topology;
use rankfold::{Comm, Error, ErrorKind, Rank, Result, Seat, World, op};
use support::guarded;

thread_local! {
    /// A communicator of the world whose collective runs the operator.
    static OUTER: RefCell<Option<Rc<Comm>>> = const { RefCell::new(None) };
    /// The action of this thread's panic hook.
    static IN_HOOK: RefCell<Option<Box<dyn Fn()>>> = const { RefCell::new(None) };
}

fn outer() -> Rc<Comm> {
    let held = OUTER.with_borrow(Clone::clone);
    held.expect("every rank has put its communicator there")
}

/// A call that an operator tries on the outer communicator.
type Probe = fn(&Comm) -> Result<()>;

const PROBES: [(&str, Probe); 8] = [
    ("barrier", |comm| comm.barrier()),
    ("short all_reduce", |comm| {
        comm.all_reduce(&mut [1u64], op::Sum)
    }),
    ("long all_reduce of bytes", |comm| {
        comm.using(Algorithm::Direct)
            .all_reduce(&mut vec![1u8; 4096], op::Max)
    }),
    ("send", |comm| {
        comm.send((comm.rank() + 1) % comm.size(), 9, &[1u64; 300])
    }),
    ("recv", |comm| {
        comm.recv::<u8>((comm.rank() + 1) % comm.size(), 9)
            .map(drop)
    }),
    ("broadcast", |comm| comm.broadcast(0, &mut [1u8; 5000])),
    ("dup", |comm| comm.dup().map(drop)),
    ("split", |comm| comm.split(0, 0).map(drop)),
];

/// A route from an operator to a probe, which it calls.
type Way = fn(&dyn Fn());

struct OnDrop<'a>(&'a dyn Fn());
impl Drop for OnDrop<'_> {
    fn drop(&mut self) {
        (self.0)();
    }
}

thread_local! {
    /// The probe of the running operator, for closures that must be `Sync`.
    static PROBE: RefCell<Option<Rc<dyn Fn()>>> = const { RefCell::new(None) };
}

/// Calls the probe of this thread's operator, if the thread has one.
fn call_probe() {
    let probe = PROBE.with_borrow(Clone::clone);
    probe.iter().for_each(|probe| probe());
}

const WAYS: [(&str, Way); 8] = [
    ("a thread-local", |probe| probe()),
    ("a team of one", |_| {
        let team = World::new(1).start().unwrap();
        team.run(|_| {
            call_probe();
            Ok(())
        })
        .unwrap();
    }),
    ("a team of two", |_| {
        let team = World::new(2).start().unwrap();
        team.run(|comm| {
            call_probe();
            comm.barrier()
        })
        .unwrap();
    }),
    ("an operator of a team", |_| {
        let team = World::new(2).start().unwrap();
        let inner = |a: u64, b: u64| {
            call_probe();
            a + b
        };
        team.run(|comm| comm.all_reduce(&mut [1u64; 300], inner))
            .unwrap();
    }),
    ("an operator of a seat", |probe| {
        let inner = |a: u64, b: u64| {
            probe();
            a + b
        };
        let mut seats = World::connect(2).into_iter();
        let (mine, other) = (seats.next().unwrap(), seats.next().unwrap());
        std::thread::scope(|scope| {
            scope.spawn(move || other.enter().all_reduce(&mut [1u64], |a, b| a + b));
            mine.enter().all_reduce(&mut [1u64], inner).unwrap();
        });
    }),
    ("a scope", |probe| {
        let scoped = outer().scope(|_| {
            probe();
            Ok(())
        });
        drop(scoped);
    }),
    ("a destructor", |probe| drop(OnDrop(probe))),
    ("a caught panic elsewhere", |probe| {
        let caught = catch_unwind(|| panic!("caught in the operator"));
        assert!(caught.is_err());
        probe();
    }),
];

/// Runs a collective whose operator calls `probe` by `way`, once on every rank, and checks the results of the probes.
fn run(ranks: usize, length: usize, by: Option<Algorithm>, way: Way, probe: Probe) {
    let report = World::new(ranks).check(false).run_each(|comm| {
        OUTER.set(Some(Rc::new(comm.dup()?)));
        let seen: Rc<RefCell<Vec<Result<()>>>> = Rc::default();
        let first = Cell::new(true);
        let results = seen.clone();
        let tried: Rc<dyn Fn()> = Rc::new(move || results.borrow_mut().push(probe(&outer())));
        PROBE.set(Some(tried.clone()));
        let fold = |a: u64, b: u64| {
            if first.replace(false) {
                way(&*tried);
            }
            a + b
        };
        let mut v = vec![1u64; length];
        let outer = outer();
        match by {
            Some(by) => outer.using(by).all_reduce(&mut v, op::commutative(fold))?,
            None => outer.all_reduce(&mut v, fold)?,
        }
        PROBE.set(None);
        OUTER.set(None);
        assert!(v.iter().all(|sum| *sum == ranks as u64));
        for result in seen.borrow().iter() {
            let error = result
                .as_ref()
                .expect_err("an operator reached the communicator");
            assert!(matches!(error.kind(), ErrorKind::Usage(_)), "{error}");
        }
        assert!(first.get() || !seen.borrow().is_empty());
        outer.barrier()?;
        Ok(!first.get())
    });
    let folded = report
        .into_result()
        .unwrap_or_else(|error| panic!("{error}"));
    assert!(folded.contains(&true), "no operator ran");
}

#[test]
fn no_way_leads_from_an_operator_to_a_communicator_of_its_rank() {
    let lengths = [
        (1, None),
        (300, Some(Algorithm::Ring)),
        (5000, Some(Algorithm::Direct)),
    ];
    for (name, way) in WAYS {
        for (probed, probe) in PROBES {
            for (length, by) in lengths {
                for ranks in [2, 3] {
                    let case =
                        || format!("{probed} by {name}, {length} elements, {ranks} ranks, {by:?}");
                    guarded(&case, || run(ranks, length, by, way, probe));
                }
            }
        }
    }
}

/// A rank that is entered inside an operator, and kept, is an outer one as soon as that operator has ended.
#[test]
fn a_seat_entered_in_an_operator_cannot_be_called_from_its_own_later() {
    guarded(&|| "a kept seat".into(), || {
        let seat: Mutex<Option<Seat>> = Mutex::new(World::connect(1).into_iter().next());
        World::new(2)
            .run(|comm| {
                let enter = |a: u64, b: u64| {
                    if let Some(seat) = seat.lock().unwrap().take() {
                        OUTER.set(Some(Rc::new(seat.enter())));
                    }
                    a + b
                };
                comm.all_reduce(&mut [1u64], enter)?;
                let Some(kept) = OUTER.take() else {
                    return Ok(());
                };
                kept.barrier()?;
                OUTER.set(Some(kept.clone()));
                let mut v = vec![1u64; 5000];
                World::new(2).run(|_| Ok(())).unwrap();
                let nested = |a: u64, b: u64| {
                    let error = outer().barrier().expect_err("its own operator");
                    assert!(matches!(error.kind(), ErrorKind::Usage(_)), "{error}");
                    a + b
                };
                let inner = World::connect(1).into_iter().next().unwrap().enter();
                inner.all_reduce(&mut v, nested)?;
                kept.all_reduce(&mut v, nested)?;
                OUTER.set(None);
                Ok(())
            })
            .unwrap();
    });
}

/// An empty schedule whose every answer first tries to call the communicator.
struct Calling<S>(S);

impl<S> Calling<S> {
    fn call(&self) {
        if let Some(outer) = OUTER.with_borrow(Clone::clone) {
            for (probed, probe) in PROBES {
                let error = probe(&outer).expect_err(probed);
                assert!(matches!(error.kind(), ErrorKind::Usage(_)), "{error}");
            }
        }
    }
}

impl<S: Schedule> Schedule for Calling<S> {
    fn ranks(&self) -> usize {
        self.call();
        self.0.ranks()
    }
    fn steps(&self) -> usize {
        self.call();
        self.0.steps()
    }
    fn step(&self, rank: Rank, step: usize) -> Step {
        self.call();
        self.0.step(rank, step)
    }
    fn lengths(&self, rank: Rank) -> Lengths {
        self.call();
        self.0.lengths(rank)
    }
}

#[test]
fn a_schedule_that_calls_the_communicator_is_refused_and_the_call_goes_on() {
    for check in [false, true] {
        guarded(&|| format!("a schedule, check({check})"), || {
            let sums = World::new(3).check(check).run(|comm| {
                let schedule = Calling(FoldAlong::new(Topology::fibonacci(3).single_port(), 300));
                OUTER.set(Some(Rc::new(comm.dup()?)));
                let mut v = vec![1u64; 300];
                comm.run_schedule(&schedule, &Goal::reduce(0, 300), &[], &mut v, op::Sum)?;
                OUTER.set(None);
                Ok(v[299])
            });
            assert_eq!(sums.unwrap()[0], 3);
        });
    }
}

/// A call while the rank unwinds ends the rank for the others, although it is refused.
fn dies(ranks: usize, length: usize, fold: impl Fn(u64, u64) -> u64 + Sync) {
    let report = World::new(ranks).check(false).run_each(|comm| {
        OUTER.set(Some(Rc::new(comm.dup()?)));
        let fold = |a, b| match comm.rank() {
            0 => fold(a, b),
            _ => a + b,
        };
        let result = comm
            .using(Algorithm::Direct)
            .all_reduce(&mut vec![1u64; length], op::commutative(fold));
        OUTER.set(None);
        result
    });
    let innocent = |error: &Error| error.culprit().is_some_and(|rank| rank != 0);
    let errors = report.outcomes.iter().filter_map(|outcome| outcome.error());
    assert!(errors.into_iter().all(|error| !innocent(error)), "{report}");
}

fn probe_all() {
    for (probed, probe) in PROBES {
        assert!(
            probe(&outer()).is_err(),
            "{probed} reached the communicator"
        );
    }
}

#[test]
fn no_destructor_reaches_it_while_an_operator_unwinds() {
    for ranks in [2, 3] {
        guarded(&|| format!("a destructor, {ranks} ranks"), || {
            dies(ranks, 5000, |_, _| {
                let _probe = OnDrop(&probe_all);
                panic!("out of the operator");
            });
        });
    }
}

#[test]
fn no_panic_hook_reaches_it_from_an_operator() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            IN_HOOK.with_borrow(|hook| hook.iter().for_each(|hook| hook()));
            before(info);
        }));
    });
    for ranks in [2, 3] {
        guarded(&|| format!("the hook, {ranks} ranks"), || {
            dies(ranks, 5000, |a, b| {
                IN_HOOK.set(Some(Box::new(probe_all)));
                let caught = catch_unwind(AssertUnwindSafe(|| panic!("caught in the operator")));
                IN_HOOK.set(None);
                assert!(caught.is_err());
                a + b
            });
        });
    }
}

/// What a report says of rank 1 below.
const BOUND: &str = "until ranks [0] no longer use its memory";

/// Rank 0 is in an operator that waits, outside the library, for rank 2. Rank 2 waits for rank 1, and rank 1 is bound
/// to wait for rank 0. Only the watchdog can end this.
#[test]
fn the_watchdog_shows_who_is_bound_to_wait_for_an_operator() {
    guarded(&|| "an operator that waits outside".into(), || {
        let (done, ended) = channel::<()>();
        let (done, ended) = (Mutex::new(Some(done)), Mutex::new(ended));
        let world = World::new(3)
            .check(false)
            .timeout(Duration::from_millis(100));
        let report = world.run_each(|comm| {
            let two = comm.split((comm.rank() == 2).into(), 0)?;
            if comm.rank() == 2 {
                // Rank 1's watchdog rings at about the same time: rank 1 may be awake then, to print.
                let mut told = String::new();
                for _ in 0..20 {
                    let error = comm.recv::<u8>(1, 0).expect_err("rank 1 never sends");
                    told = error.to_string();
                    if told.contains(BOUND) {
                        break;
                    }
                }
                done.lock().unwrap().take();
                return Ok(Some(told));
            }
            let wait = |a: u64, b: u64| {
                if comm.rank() == 0 {
                    let _ = ended.lock().unwrap().recv();
                }
                a + b
            };
            let wait = op::commutative(wait);
            two.using(Algorithm::Direct)
                .all_reduce(&mut vec![1u64; 5000], wait)?;
            Ok(None)
        });
        let told = report.into_result().unwrap();
        let told = told[2].as_deref().unwrap();
        assert!(told.contains(BOUND), "{told}");
    });
}

#[test]
fn all_of_it_holds_over_channels() {
    again::over_channels(&["the_watchdog_shows_who_is_bound"]);
}

/// A sum whose destructor calls the outer communicator, and sends what came of it.
struct CallsWhenDropped(Option<Sender<Result<()>>>);

impl op::Operator<u64> for CallsWhenDropped {
    fn combine(&self, a: u64, b: u64) -> u64 {
        a + b
    }
}

impl Drop for CallsWhenDropped {
    fn drop(&mut self) {
        if let Some(tried) = &self.0 {
            let result = outer().all_reduce(&mut [1u64], op::Sum);
            tried.send(result).unwrap();
        }
    }
}

#[test]
fn the_operator_of_an_abandoned_call_is_dropped_in_another_call_as_an_operator() {
    let sums = guarded(&|| "an abandoned call".into(), || {
        let (given_up, is_given_up) = channel();
        let (tried, was_tried) = channel();
        let from_rank_0 = Mutex::new((is_given_up, was_tried));
        World::new(2).check(false).run(|world| {
            let comm = Rc::new(world.dup()?);
            OUTER.set(Some(comm.clone()));
            let start = |op| comm.iall_reduce(vec![1; 9], op).map(drop);
            if comm.rank() == 0 {
                start(CallsWhenDropped(Some(tried.clone())))?;
                given_up.send(()).unwrap();
            } else {
                // The call ends while rank 0 waits in the next one.
                let from_rank_0 = from_rank_0.lock().unwrap();
                from_rank_0.0.recv().unwrap();
                start(CallsWhenDropped(None))?;
                let error = from_rank_0.1.recv().unwrap().unwrap_err();
                assert!(matches!(error.kind(), ErrorKind::Usage(_)), "{error}");
            }
            let mut sum = [2u64];
            comm.all_reduce(&mut sum, op::Sum)?;
            OUTER.set(None);
            Ok(sum)
        })
    });
    assert_eq!(sums.unwrap(), [[4], [4]]);
}
