//! Accesses to lent memory that must not be possible: a receiver that comes too late, a rank that leaks its
//! communicator, values that call it while they are cloned or dropped; and elements of odd types.

mod support;

use std::cell::RefCell;
use std::fmt::Debug;
use std::mem;
use std::num::NonZeroU8;
use std::rc::Rc;
use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use rankfold::check::Goal;
use rankfold::op::{self, Element, Operator};
use rankfold::schedule::{FoldAlong, Schedule};
use rankfold::topology::Topology;
use rankfold::{Comm, ErrorKind, Outcome, Result, World};
use support::{Spoiled, guarded};

const N: usize = 1 << 10;

/// A maximum that notices elements that no rank has passed.
struct Max;

impl Operator<u64> for Max {
    fn combine(&self, left: u64, right: u64) -> u64 {
        assert!(left < 10 && right < 10, "memory that its lender has back");
        left.max(right)
    }
    fn commutes(&self) -> bool {
        true
    }
}

type Play = fn(&Comm, &mut [u64]) -> Result<()>;

/// Calls in which rank 0 of two lends its elements to rank 1.
const LENDING: [(&str, Play); 8] = [
    ("broadcast", |comm, v| comm.broadcast(0, v)),
    ("reduce", |comm, v| comm.reduce(1, v, Max)),
    ("all_reduce", |comm, v| comm.all_reduce(v, Max)),
    ("scan", |comm, v| comm.scan(v, Max)),
    ("all_gather", |comm, v| {
        let mine = Spoiled::new(v[..N / 2].to_vec());
        comm.all_gather(&mine, v)
    }),
    ("reduce_scatter", |comm, v| {
        let input = Spoiled::new(v.to_vec());
        comm.reduce_scatter(&input, &mut v[..N / 2], Max)
    }),
    ("all_to_all", |comm, v| {
        let input = Spoiled::new(v.to_vec());
        comm.all_to_all(&input, v)
    }),
    ("run_schedule", |comm, v| {
        let down = FoldAlong::new(Topology::chain(2).single_port(), N).reversed();
        comm.run_schedule(&down, &Goal::broadcast(0, N), &[], v, Max)
    }),
];

/// Rank 0 gives up, has its buffer back and writes to it; only then does rank 1 arrive.
#[test]
fn who_comes_after_the_lender_gave_up_finds_nothing_to_read() {
    for (name, play) in LENDING {
        let gave_up = Barrier::new(2);
        let world = World::new(2)
            .check(false)
            .timeout(Duration::from_millis(20));
        let report = guarded(&|| name.to_string(), || {
            world.run_each(|comm| {
                if comm.rank() == 1 {
                    gave_up.wait();
                }
                let mut v = Spoiled::new(vec![comm.rank() as u64 + 1; N]);
                let done = play(comm, &mut v);
                if comm.rank() == 0 {
                    v.fill(u64::MAX);
                    gave_up.wait();
                } else {
                    assert!(v.iter().all(|x| *x == 2), "{v:?}", v = &v[..]);
                }
                done
            })
        });
        let of = |rank: usize| report.outcomes[rank].error();
        let first = of(0).unwrap_or_else(|| panic!("{name}: {report:?}"));
        assert!(
            matches!(first.kind(), ErrorKind::TimedOut { .. }),
            "{name}: {first}"
        );
        let then = of(1).unwrap_or_else(|| panic!("{name}: {report:?}"));
        assert_eq!(then.culprit(), Some(0), "{name}: {then}");
    }
}

/// The receiver gives up before the lender has arrived.
#[test]
fn who_comes_after_the_receiver_gave_up_gets_its_error() {
    for (name, play) in LENDING {
        let gave_up = Barrier::new(2);
        let world = World::new(2)
            .check(false)
            .timeout(Duration::from_millis(20));
        let report = guarded(&|| name.to_string(), || {
            world.run_each(|comm| {
                if comm.rank() == 0 {
                    gave_up.wait();
                }
                let mut v = Spoiled::new(vec![comm.rank() as u64 + 1; N]);
                let done = play(comm, &mut v);
                if comm.rank() == 1 {
                    gave_up.wait();
                }
                done
            })
        });
        let failed = |outcome: &Outcome<()>| outcome.error().is_some();
        assert!(report.outcomes.iter().all(failed), "{name}: {report:?}");
    }
}

#[test]
fn a_rank_that_forgets_its_communicator_ends_with_its_thread() {
    let run = || {
        let seats = World::connect(3);
        thread::scope(|scope| {
            let spawn = |rank: usize| {
                let seats = &seats;
                scope.spawn(move || {
                    let comm = seats.take(rank).unwrap().enter();
                    let mut v = Spoiled::new(vec![1; N]);
                    comm.all_reduce(&mut v, op::Sum).unwrap();
                    assert!(v.iter().all(|x| *x == 3));
                    if rank == 1 {
                        let long = Spoiled::new(vec![7; N]);
                        comm.send(0, 1, &long).unwrap();
                        return mem::forget(comm);
                    }
                    if rank == 0 {
                        let (got, _) = comm.recv::<u64>(1, 1).unwrap();
                        assert_eq!(got, [7; N]);
                    }
                    let gone = comm.all_reduce(&mut v, op::Sum).unwrap_err();
                    assert_eq!(gone.culprit(), Some(1), "{gone}");
                })
            };
            let ranks = [0, 1, 2].map(spawn);
            ranks.into_iter().for_each(|rank| rank.join().unwrap());
        });
    };
    guarded(&|| "a forgotten communicator".into(), run);
}

thread_local! {
    /// The communicator of this thread, for values to call.
    static COMM: RefCell<Option<Rc<Comm>>> = const { RefCell::new(None) };
}

fn call_from_a_value() {
    let comm = COMM.with_borrow(Option::clone);
    if let Some(comm) = comm {
        let _ = comm.all_reduce(&mut [1u64; N], op::Sum);
    }
}

#[derive(Debug)]
struct Caller {
    when_cloned: bool,
    when_dropped: bool,
}

impl Clone for Caller {
    fn clone(&self) -> Self {
        if self.when_cloned {
            call_from_a_value();
        }
        Caller { ..*self }
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        if self.when_dropped {
            call_from_a_value();
        }
    }
}

/// All ranks use a value that calls the communicator at odd times. Most of these calls are wrong, and every result is
/// an error or a value.
fn with_callers(ranks: usize, when_cloned: bool, when_dropped: bool) {
    let seats = World::connect(ranks);
    thread::scope(|scope| {
        let spawn = |rank: usize| {
            let seats = &seats;
            scope.spawn(move || {
                let comm = Rc::new(seats.take(rank).unwrap().enter());
                COMM.set(Some(comm.clone()));
                let caller = || Caller {
                    when_cloned,
                    when_dropped,
                };
                let _ = comm.values().all_reduce(caller(), |a, _| a);
                let _ = comm.values().gather(0, caller());
                let _ = comm.send_value((rank + 1) % ranks, 1, caller());
                let _ = comm.recv_value::<Caller>((rank + ranks - 1) % ranks, 1);
                let _ = comm.values().broadcast(0, (rank == 0).then(caller));
                COMM.set(None);
            })
        };
        let all: Vec<_> = (0..ranks).map(spawn).collect();
        all.into_iter().for_each(|rank| rank.join().unwrap());
    });
}

#[test]
fn values_that_call_the_communicator_hold_nobody_up() {
    for ranks in [1, 2, 3, 4, 7] {
        for (when_cloned, when_dropped) in [(true, false), (false, true), (true, true)] {
            let case = || format!("{ranks} ranks, {when_cloned}, {when_dropped}");
            guarded(&case, || with_callers(ranks, when_cloned, when_dropped));
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(align(64))]
struct Wide(u8);

#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(align(32))]
struct Aligned(u16);

/// Elements of any kind arrive unchanged, in their packet or lent.
fn travels<T: Element + PartialEq + Debug>(make: fn(usize) -> T) {
    for ranks in 1..=4 {
        for n in [0, 1, 2, 3, 33] {
            let done = World::new(ranks).run(|comm| {
                let of = |rank: usize| (0..n).map(|i| make(rank * 50 + i)).collect::<Vec<_>>();
                let mine = of(comm.rank());
                let mut v = mine.clone();
                comm.broadcast(ranks - 1, &mut v)?;
                assert_eq!(v, of(ranks - 1));
                let mut v = mine.clone();
                comm.all_reduce(&mut v, |left, _| left)?;
                assert_eq!(v, of(0));
                let mut v = mine.clone();
                comm.scan(&mut v, |_, right| right)?;
                assert_eq!(v, mine);
                let all = comm.gather(0, &mine)?;
                let right: Vec<T> = (0..ranks).flat_map(of).collect();
                assert!(all.is_none_or(|all| all == right));
                let mut all = right.clone();
                all.reverse();
                comm.all_gather(&mine, &mut all)?;
                assert_eq!(all, right);
                let mut all = right.clone();
                comm.all_to_all(&right, &mut all)?;
                assert!(all.chunks(n.max(1)).all(|piece| piece == mine));
                Ok(())
            });
            done.unwrap();
        }
    }
}

#[test]
fn elements_of_odd_types_travel_whole() {
    travels(|_| ());
    travels(|i| i as u8);
    travels(|i| (i as u8, i as u64));
    travels(|i| NonZeroU8::new(i as u8));
    travels(|i| ["", "a", "word", "a longer word"][i % 4]);
    travels(|i| i as u128 * (1 << 100));
    travels(|i| Wide(i as u8));
    travels(|i| Aligned(i as u16));
    travels(|i| [i as f64; 20]);
    travels(|_| [0u64; 0]);
}
