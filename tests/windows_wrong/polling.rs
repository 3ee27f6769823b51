//! Exposures whose end is tested for.

use rankfold::{Comm, Result, World};

use super::{left, right, run};
use crate::common::{await_signal, signal};
use crate::support::guarded;

/// Puts into the right neighbour's part, and polls the end of the own exposure.
fn polled(comm: &Comm, turns: u64) -> Result<u64> {
    let win = comm.window(vec![0_u64; 2])?;
    for turn in 1..=turns {
        let mut exposure = win.post(&[left(comm)])?;
        let access = win.start(&[right(comm)])?;
        access.put(right(comm), 1, &[turn + comm.rank() as u64])?;
        access.complete()?;
        while !exposure.test()? {}
        assert!(exposure.test()?);
        assert_eq!(win.local_mut()?[1], turn + left(comm) as u64);
    }
    Ok(comm.rank() as u64)
}

#[test]
fn an_exposure_that_is_polled_ends_when_all_origins_are_through() {
    for ranks in (1..=17).chain([33]) {
        let case = || format!("{ranks} ranks");
        guarded(&case, || {
            World::new(ranks).run(|comm| polled(comm, 3)).unwrap()
        });
    }
    for seed in 0..10 {
        let world = || World::new(4).seed(seed);
        guarded(&|| format!("seed {seed}"), || {
            world().run(|comm| polled(comm, 2)).unwrap()
        });
    }
}

#[test]
fn a_test_learns_that_an_origin_has_left_and_the_epoch_is_over_then() {
    let report = run("left", 2, |comm| {
        let win = comm.window(vec![1; 1])?;
        if comm.rank() == 1 {
            return Ok(());
        }
        let mut exposure = win.post(&[1])?;
        let error = loop {
            match exposure.test() {
                Ok(over) => assert!(!over),
                Err(error) => break error,
            }
        };
        assert_eq!(error.culprit(), Some(1), "{error}");
        assert!(exposure.test()?);
        exposure.wait()?;
        drop(win.post(&[])?);
        Err(error)
    });
    assert_eq!(report.culprit, Some(1), "{report:?}");
}

#[test]
fn an_epoch_that_a_test_has_ended_does_not_end_the_next() {
    let report = run("two epochs", 2, |comm| {
        let win = comm.window(vec![0; 1])?;
        if comm.rank() == 1 {
            for value in [3, 4] {
                let access = win.start(&[0])?;
                access.put(0, 0, &[value])?;
                access.complete()?;
                await_signal(comm, 0)?;
            }
            return Ok(0);
        }
        let mut first = win.post(&[1])?;
        while !first.test()? {}
        assert_eq!(win.local_mut()?[0], 3);
        let second = win.post(&[1])?;
        first.wait()?; // it is over: the second is not
        signal(comm, 1)?;
        second.wait()?;
        signal(comm, 1)?;
        Ok(win.local_mut()?[0])
    });
    assert_eq!(report.outcomes[0].value(), Some(&4), "{report:?}");
}
