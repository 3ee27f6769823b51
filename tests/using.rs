//! Collectives with an algorithm of the caller's choice: the algorithm runs, refusals and errors name the caller's line.

use rankfold::collective::Algorithm;
use rankfold::{Error, ErrorKind, World, op};

mod again;

/// The line of the caller as an error names it.
fn line(error: &Error) -> u32 {
    error.site().expect("a call has a line").line()
}

#[test]
fn a_view_serves_many_calls() {
    let results = World::new(5).run(|comm| {
        let ring = comm.using(Algorithm::Ring);
        let copy = ring;
        let mut v = [comm.rank() as u64; 7];
        ring.all_reduce(&mut v, op::Sum)?;
        let mut out = [0; 7];
        copy.all_reduce_into(&v, &mut out, op::commutative(|a, b| a + b))?;
        let mut all = [0; 5];
        copy.all_gather(&[out[6]], &mut all)?;
        Ok(all)
    });
    assert_eq!(results.unwrap(), [[50; 5]; 5]);
}

#[test]
fn a_refusal_is_an_error_at_the_line_of_the_call() {
    let (here, lines) = World::new(3)
        .run(|comm| {
            let mut v = [1u8; 3];
            let only_barriers = comm.using(Algorithm::Dissemination);
            let here = line!() + 1;
            let first = only_barriers.all_reduce(&mut v, op::Sum).unwrap_err();
            let second = only_barriers.scan(&mut v, |a, _| a).unwrap_err();
            assert!(matches!(first.kind(), ErrorKind::Usage { .. }), "{first}");
            assert!(first.site().unwrap().file().ends_with("using.rs"));
            Ok((here, [line(&first), line(&second)]))
        })
        .unwrap()[0];
    assert_eq!(lines, [here, here + 1]);
}

#[test]
fn calls_of_one_line_that_differ_only_in_their_algorithm_are_kept_apart() {
    let run = |algorithms: [Algorithm; 2]| {
        World::new(4).run(|comm| {
            let mut v = [comm.rank() as u32; 8];
            for round in 0..6 {
                let algorithm = algorithms[round % 2];
                comm.using(algorithm).all_reduce(&mut v, op::Max)?;
            }
            Ok(v[7])
        })
    };
    assert_eq!(run([Algorithm::Ring, Algorithm::Exchange]).unwrap(), [3; 4]);
    assert!(run([Algorithm::Ring, Algorithm::Dissemination]).is_err());
}

#[test]
fn ranks_that_use_different_algorithms_mismatch() {
    let report = World::new(2).check(true).run_each(|comm| {
        let by = [Algorithm::Ring, Algorithm::Exchange][comm.rank()];
        comm.using(by).all_reduce(&mut [1u64; 8], op::Sum)
    });
    for outcome in &report.outcomes {
        let error = outcome.error().unwrap();
        assert!(matches!(error.kind(), ErrorKind::Mismatch(..)), "{error}");
    }
}

#[test]
fn all_of_it_holds_over_channels() {
    again::over_channels(&[]);
}
