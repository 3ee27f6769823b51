//! Attributes of communicators: what each rank gets, what duplicates get, when values are destroyed, and values that panic,
//! communicate, or own their communicator.

mod support;

use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
use std::rc::Rc;
use std::sync::Mutex;
use std::thread::{self, ThreadId};

use rankfold::attribute::Key;
use rankfold::{Cartesian, Comm, Outcome, Report, Result, World, op};
use support::guarded;
use support::sweep::sweep;

fn run<R: Send>(case: &str, ranks: usize, f: impl Fn(&Comm) -> Result<R> + Sync) -> Report<R> {
    guarded(&|| case.into(), || World::new(ranks).run_each(f))
}

/// Notes its name when it is destroyed.
struct Noted<'l>(&'static str, &'l Mutex<Vec<&'static str>>);

impl Drop for Noted<'_> {
    fn drop(&mut self) {
        self.1.lock().unwrap().push(self.0);
    }
}

/// A list that lives as long as attributes must.
fn list() -> &'static Mutex<Vec<&'static str>> {
    Box::leak(Box::default())
}

#[test]
fn each_rank_gets_what_it_has_set_last_under_that_key() {
    for ranks in (1..=17).chain([33, 64]) {
        let key = Key::kept(); // one key for all ranks
        let report = run(&format!("{ranks} ranks"), ranks, |comm| {
            let (me, other) = (comm.rank(), Key::<usize>::kept());
            assert_eq!((key.get(comm), other.get(comm)), (None, None));
            assert_eq!(key.set(comm, me), None);
            assert_eq!(other.set(comm, 1000), None);
            assert_eq!(key.set(comm, me + 1).as_deref(), Some(&me));
            assert_eq!(key.clone().get(comm).as_deref(), Some(&(me + 1)));
            assert_eq!(other.get(comm).as_deref(), Some(&1000));
            comm.barrier()?;
            assert_eq!(key.delete(comm).as_deref(), Some(&(me + 1)));
            assert_eq!((key.get(comm), key.delete(comm)), (None, None));
            assert_eq!(other.get(comm).as_deref(), Some(&1000));
            Ok(())
        });
        report.into_result().unwrap();
    }
}

#[test]
fn a_new_key_never_finds_what_was_set_under_a_key_that_is_gone() {
    let report = run("new keys", 1, |comm| {
        for value in 0..100 {
            let key = Key::kept();
            assert_eq!(key.get(comm), None::<Rc<i32>>);
            key.set(comm, value);
        }
        Ok(())
    });
    report.into_result().unwrap();
}

#[test]
fn a_duplicate_gets_what_the_rules_of_the_keys_say() {
    for ranks in 1..=17 {
        let report = run(&format!("{ranks} ranks"), ranks, |comm| {
            let (kept, same) = (Key::kept(), Key::copied());
            let next = Key::copied_by(|value: &i32| (*value < 2).then_some(value + 1));
            kept.set(comm, 'k');
            same.set(comm, Cell::new(5));
            next.set(comm, 0);
            let first = comm.dup()?;
            let second = first.dup()?;
            let third = second.dup()?;
            for duplicate in [&first, &second, &third] {
                assert_eq!(kept.get(duplicate), None);
                assert!(Rc::ptr_eq(
                    &same.get(duplicate).unwrap(),
                    &same.get(comm).unwrap()
                ));
            }
            let numbers =
                [comm, &first, &second, &third].map(|comm| next.get(comm).as_deref().copied());
            assert_eq!(numbers, [Some(0), Some(1), Some(2), None]);
            // Set anew, the others keep theirs.
            same.set(&second, Cell::new(6));
            assert_eq!(same.get(&third).unwrap().get(), 5);
            same.delete(comm);
            assert_eq!(same.get(&first).unwrap().get(), 5);
            Ok(())
        });
        report.into_result().unwrap();
    }
}

#[test]
fn only_duplicates_get_copies() {
    let report = run("other communicators", 4, |comm| {
        let key = Key::copied();
        key.set(comm, 1);
        assert_eq!(key.get(&comm.split(0, 0)?), None);
        assert_eq!(key.get(&comm.subset(&[0, 1, 2, 3])?), None);
        let grid = Cartesian::new(comm, &[2, 2], &[true, false])?;
        assert_eq!(key.get(&grid), None);
        key.set(&grid, 2);
        assert_eq!(key.get(&grid.dup()?).as_deref(), Some(&2));
        Ok(())
    });
    report.into_result().unwrap();
}

#[test]
fn attributes_are_deleted_the_last_first_when_their_communicator_is_dropped_or_the_rank_ends() {
    let (early, late) = (list(), list());
    let report = run("order", 1, |comm| {
        let keys = [Key::copied(), Key::kept(), Key::copied()];
        let [a, b, c] = &keys;
        a.set(comm, Noted("a", late));
        b.set(comm, Noted("b", late));
        c.set(comm, Noted("c", late));
        a.set(comm, Noted("a again", late)); // the first is destroyed here
        let duplicate = comm.dup()?;
        b.set(&duplicate, Noted("b", early));
        c.set(&duplicate, Noted("c", early));
        drop(duplicate);
        assert_eq!(*early.lock().unwrap(), ["c", "b"]);
        assert_eq!(*late.lock().unwrap(), ["a"]);
        Ok(())
    });
    report.into_result().unwrap();
    assert_eq!(*late.lock().unwrap(), ["a", "a again", "c", "b"]);
}

#[test]
fn a_value_that_was_got_outlives_its_communicator() {
    let report = run("outlives", 2, |comm| {
        let key = Key::kept();
        let duplicate = comm.dup()?;
        key.set(&duplicate, vec![comm.rank()]);
        let value = key.get(&duplicate);
        drop(duplicate);
        assert_eq!(value.as_deref(), Some(&vec![comm.rank()]));
        Ok(())
    });
    report.into_result().unwrap();
}

/// Notes whether it is destroyed on the thread that made it. It is not `Send`.
struct OfThread(
    ThreadId,
    PhantomData<Rc<()>>,
    &'static Mutex<Vec<&'static str>>,
);

impl Drop for OfThread {
    fn drop(&mut self) {
        let here = thread::current().id() == self.0;
        self.2
            .lock()
            .unwrap()
            .push(if here { "here" } else { "elsewhere" });
    }
}

#[test]
fn no_attribute_is_left_to_the_next_run_of_a_team_and_values_stay_on_their_thread() {
    let (noted, key) = (list(), Key::kept());
    let mut team = World::new(4).start().unwrap();
    for turn in 1..=20 {
        // The caller's thread is a rank: another one each time.
        let team = &mut team;
        let body = || {
            guarded(&|| "a team".into(), || {
                team.run(|comm| {
                    assert!(key.get(comm).is_none());
                    key.set(comm, OfThread(thread::current().id(), PhantomData, noted));
                    comm.barrier()
                })
            })
        };
        let result = thread::scope(|threads| threads.spawn(body).join().unwrap());
        result.unwrap();
        assert_eq!(*noted.lock().unwrap(), vec!["here"; 4 * turn]);
    }
}

#[test]
fn seats_have_attributes_until_they_are_left() {
    let noted = list();
    let seats = World::connect(2);
    guarded(&|| "seats".into(), || {
        thread::scope(|threads| {
            for seat in seats {
                threads.spawn(|| {
                    let comm = seat.enter();
                    let key = Key::kept();
                    key.set(&comm, OfThread(thread::current().id(), PhantomData, noted));
                    comm.barrier().unwrap();
                });
            }
        });
    });
    assert_eq!(*noted.lock().unwrap(), ["here"; 2]);
}

// ── values that communicate ──

/// Meets the other ranks when it is destroyed.
struct Meets(Comm, &'static Mutex<Vec<&'static str>>);

impl Drop for Meets {
    fn drop(&mut self) {
        let met = self.0.barrier();
        self.1
            .lock()
            .unwrap()
            .push(if met.is_ok() { "met" } else { "failed" });
    }
}

#[test]
fn a_destructor_may_use_a_communicator_that_its_value_owns() {
    for ranks in [1, 2, 5] {
        let noted = list();
        let report = run("meets", ranks, |comm| {
            let key = Key::kept();
            let duplicate = comm.dup()?;
            key.set(&duplicate, Meets(comm.dup()?, noted));
            key.set(comm, Meets(comm.dup()?, noted));
            Ok(())
        });
        report.into_result().unwrap();
        assert_eq!(*noted.lock().unwrap(), vec!["met"; 2 * ranks]);
    }
}

#[test]
fn destructors_that_communicate_get_an_error_if_a_rank_panics_and_none_waits_for_ever() {
    let noted = list();
    let report = run("one panics", 3, |comm| {
        let key = Key::kept();
        key.set(comm, Meets(comm.dup()?, noted));
        assert_ne!(comm.rank(), 1, "rank 1 fails");
        Ok(())
    });
    assert_eq!(report.culprit, Some(1), "{report:?}");
    assert_eq!(*noted.lock().unwrap(), ["failed"; 3]);
}

#[test]
fn a_rank_dies_with_a_library_that_keeps_its_communicator() {
    sweep("a kept duplicate", 2..=4, 1.0, |comm| {
        let key = Key::copied();
        key.set(comm, comm.dup()?);
        let own = comm.dup()?;
        let private = key.get(&own).expect("it was copied");
        let mut sum = [private.rank() as u64];
        private.all_reduce(&mut sum, op::Sum)?;
        Ok(sum[0] - sum[0] + comm.rank() as u64)
    });
}

// ── values and rules that panic ──

struct Panics(&'static str);

impl Drop for Panics {
    fn drop(&mut self) {
        panic!("{}", self.0);
    }
}

#[test]
fn a_destructor_that_panics_at_the_end_of_its_rank_is_the_panic_of_that_rank() {
    let noted = list();
    let report = run("panics", 3, |comm| {
        let keys = (Key::kept(), Key::kept());
        keys.0.set(comm, Noted("destroyed", noted));
        if comm.rank() == 2 {
            keys.1.set(comm, Panics("no end"));
        }
        Ok(comm.rank())
    });
    let Outcome::Panicked { message, .. } = &report.outcomes[2] else {
        panic!("{report:?}");
    };
    assert!(message.contains("no end"), "{message}");
    assert_eq!(report.culprit, Some(2));
    assert_eq!(report.outcomes[0].value(), Some(&0));
    assert_eq!(*noted.lock().unwrap(), ["destroyed"; 3]);
}

#[test]
fn of_several_destructors_that_panic_the_first_is_the_panic_of_the_rank() {
    for team in [false, true] {
        let program = |comm: &Comm| {
            if comm.rank() == 0 {
                for name in ["third", "second", "first"] {
                    Key::kept().set(comm, Panics(name));
                }
            }
            Ok::<_, rankfold::Error>(comm.rank())
        };
        let report: Report<usize> = guarded(&|| format!("team: {team}"), || match team {
            true => World::new(2)
                .start()
                .unwrap()
                .try_run_each(program)
                .unwrap(),
            false => World::new(2).try_run_each(program).unwrap(),
        });
        let Outcome::Panicked { message, site } = &report.outcomes[0] else {
            panic!("{report:?}");
        };
        assert!(message.contains("first") && site.is_some(), "{report:?}");
        assert_eq!(report.culprit, Some(0));
        assert_eq!(report.outcomes[1].value(), Some(&1));
    }
}

#[test]
fn a_rule_that_panics_ends_its_rank_and_the_others_learn_of_it() {
    let report = run("a rule panics", 3, |comm| {
        let me = comm.rank();
        let key = Key::copied_by(move |_: &i32| if me == 1 { panic!("no copy") } else { Some(1) });
        key.set(comm, 0);
        let duplicate = comm.dup()?;
        assert_eq!(key.get(&duplicate).as_deref(), Some(&1));
        duplicate.barrier()
    });
    assert_eq!(report.culprit, Some(1), "{report:?}");
    for rank in [0, 2] {
        let error = report.outcomes[rank].error().expect("the barrier fails");
        assert_eq!(error.culprit(), Some(1), "{error}");
    }
}

// ── values that reach their own communicator ──

thread_local! {
    static REACHED: RefCell<Option<Rc<Comm>>> = const { RefCell::new(None) };
}

#[test]
fn a_rule_and_a_destructor_may_set_attributes_of_the_same_communicator() {
    struct Sets(Key<i32>);
    impl Drop for Sets {
        fn drop(&mut self) {
            let reached = REACHED.take().unwrap();
            assert_eq!(self.0.set(&reached, 2).as_deref(), Some(&1));
            REACHED.set(Some(reached));
        }
    }
    let report = run("reaches", 2, |comm| {
        let comm = Rc::new(comm.dup()?);
        REACHED.set(Some(comm.clone()));
        let seen = Key::kept();
        let sets = seen.clone();
        let rule = Key::copied_by(move |_: &()| {
            let reached = REACHED.take().unwrap();
            sets.set(&reached, 1);
            REACHED.set(Some(reached));
            None
        });
        rule.set(&comm, ());
        let duplicate = comm.dup()?;
        assert_eq!(
            (rule.get(&duplicate), seen.get(&comm).as_deref()),
            (None, Some(&1))
        );
        let late = Key::kept();
        late.set(&comm, Sets(seen.clone()));
        drop(late.delete(&comm));
        assert_eq!(seen.get(&comm).as_deref(), Some(&2));
        REACHED.take();
        Ok(())
    });
    report.into_result().unwrap();
}

#[test]
fn a_value_that_owns_its_own_communicator_is_leaked_and_the_run_ends() {
    let noted = list();
    let report = run("a cycle", 3, |comm| {
        let key = Key::kept();
        let own = Rc::new(comm.dup()?);
        key.set(&own, (own.clone(), Noted("destroyed", noted)));
        own.barrier()?;
        Ok(Rc::strong_count(&own))
    });
    assert_eq!(report.into_result().unwrap(), [2; 3]);
    assert!(noted.lock().unwrap().is_empty());
}
