//! Measured points have right results, and a wrong result is reported: on threads, through the library alone.

use std::sync::atomic::Ordering;

use rankfold::check::{Goal, check};
use rankfold::collective::{Algorithm, Collective};
use rankfold::measure::{
    Control, Effort, Failure, Measured, Number, Op, Point, Subject, Type, Vectors, call, pass,
    prove,
};
use rankfold::op::{self, Operator};
use rankfold::schedule::{FoldAlong, Schedule};
use rankfold::topology::Topology;
use rankfold::{Bind, Comm, Result};

fn point(subject: impl Into<Subject>, ranks: usize, length: usize) -> Point {
    Point {
        bind: Bind::None,
        ..Point::new(subject.into(), ranks, length, Type::I32)
    }
}

fn body<T: Number, O: Operator<T> + Copy + Sync>(
    point: &Point,
    op: O,
) -> impl Fn(&Comm, &mut Vectors<T>) -> Result<()> + Sync {
    move |comm, vectors| call(point, comm, vectors, op)
}

fn reduce(ranks: usize, length: usize) -> impl Schedule + Clone {
    FoldAlong::new(Topology::binomial(ranks).single_port(), length)
}

#[test]
fn a_schedule_that_leaves_most_ranks_without_the_sum_is_told_from_a_right_one() {
    let (ranks, length) = (4, 300);
    let point = point(Collective::AllReduce, ranks, length);
    let goal = Goal::all_reduce(length);
    let run = |schedule: &(dyn Schedule + Sync)| {
        let body = |comm: &Comm, vectors: &mut Vectors<i32>| {
            comm.run_schedule(schedule, &goal, &[], &mut vectors.output, op::Sum)
        };
        let timed = pass(&point, &Effort::samples(2), &Control::default(), &body);
        (prove(&point, &body).map(|_| ()), timed.map(|_| ()))
    };
    let right = reduce(ranks, length).then(reduce(ranks, length).reversed());
    assert!(matches!(run(&right), (Ok(()), Ok(()))));
    let (proved, timed) = run(&reduce(ranks, length));
    for failure in [proved, timed] {
        let Err(Failure::Wrong(wrong)) = failure else {
            panic!("a reduce is no all_reduce: {failure:?}");
        };
        assert_eq!((wrong.rank, wrong.element), (1, 0), "{wrong}");
    }
}

#[test]
fn every_algorithm_of_every_collective_gives_what_is_expected() {
    for ranks in 1..=5 {
        for subject in Subject::all() {
            let Subject::Collective(collective) = subject else {
                continue;
            };
            let by = Algorithm::all(collective).map(Some).chain([None]);
            for algorithm in by {
                let root = if subject.has_root() { ranks / 2 } else { 0 };
                let point = Point {
                    algorithm,
                    root,
                    ..point(subject, ranks, 1300)
                };
                if point.refused().is_none() {
                    let proved = prove(&point, &body::<i32, _>(&point, op::Sum));
                    assert!(proved.is_ok(), "{point:?}: {}", proved.unwrap_err());
                }
            }
        }
    }
}

#[test]
fn as_many_results_count_as_compared_as_there_are() {
    for (subject, length) in Subject::all().flat_map(|one| [(one, 0), (one, 12)]) {
        let point = point(subject, 2, length);
        let body = body::<i32, _>(&point, op::Sum);
        let proved = prove(&point, &body).unwrap();
        let passed = pass(&point, &Effort::samples(2), &Control::default(), &body).unwrap();
        let measured = Measured::new(&point, &proved, &[passed]).unwrap();
        let output: usize = (0..2)
            .map(|rank| Vectors::<i32>::new(&point, rank).output.len())
            .sum();
        assert_eq!(measured.checked, output > 0, "{subject} of {length}");
        let wanted = if output > 0 { 3 } else { 0 };
        assert_eq!(measured.compared, wanted, "{subject} of {length}");
    }
}

#[test]
fn messages_are_counted_as_the_proof_counts_them() {
    for ranks in 1..=6 {
        let point = |algorithm| Point {
            algorithm: Some(algorithm),
            ..point(Collective::AllReduce, ranks, 100)
        };
        let goal = Goal::all_reduce(100);
        for point in Algorithm::all(Collective::AllReduce).map(point) {
            let by = point.algorithm.unwrap();
            // Cells are written and read in place: they involve no messages.
            if by == Algorithm::Cells {
                continue;
            }
            let Ok(schedule) = by.schedule(&point.shape().unwrap()) else {
                continue;
            };
            let certificate = check(&schedule, &goal).unwrap();
            let proved = prove(&point, &body::<i32, _>(&point, op::Sum)).unwrap();
            let wanted = (
                certificate.messages() as u64,
                4 * certificate.elements() as u64,
            );
            assert_eq!(
                (proved.messages, proved.bytes),
                wanted,
                "{by}, {ranks} ranks"
            );
        }
    }
}

/// One type, with all operators that it supports.
fn folds<T: Number>(also: impl Fn(&Point) -> Option<Failure>)
where
    op::Sum: Operator<T>,
    op::Product: Operator<T>,
    op::Min: Operator<T>,
    op::Max: Operator<T>,
{
    for name in [
        Op::Sum,
        Op::Product,
        Op::Min,
        Op::Max,
        Op::And,
        Op::Or,
        Op::Xor,
    ] {
        for collective in [
            Collective::AllReduce,
            Collective::Scan,
            Collective::ExclusiveScan,
        ] {
            let point = Point {
                op: name,
                kind: T::TYPE,
                ..point(collective, 4, 700)
            };
            let failure = match name {
                Op::Sum => prove(&point, &body::<T, _>(&point, op::Sum)).err(),
                Op::Product => prove(&point, &body::<T, _>(&point, op::Product)).err(),
                Op::Min => prove(&point, &body::<T, _>(&point, op::Min)).err(),
                Op::Max => prove(&point, &body::<T, _>(&point, op::Max)).err(),
                _ => also(&point),
            };
            assert!(failure.is_none(), "{point:?}: {}", failure.unwrap());
        }
    }
}

#[test]
fn every_operator_on_a_wide_and_a_narrow_type_gives_what_is_expected() {
    folds::<f32>(|_| None);
    folds::<u8>(|point| match point.op {
        Op::And => prove(point, &body::<u8, _>(point, op::And)).err(),
        Op::Or => prove(point, &body::<u8, _>(point, op::Or)).err(),
        _ => prove(point, &body::<u8, _>(point, op::Xor)).err(),
    });
}

#[test]
fn a_pass_takes_as_many_samples_as_it_is_told_in_every_way_of_timing() {
    for subject in [
        "all_reduce",
        "reduce",
        "barrier",
        "scan",
        "send",
        "all_to_all",
    ] {
        for fresh in [false, true] {
            let point = Point {
                fresh,
                ..point(subject.parse::<Subject>().unwrap(), 3, 60)
            };
            let body = body::<i32, _>(&point, op::Sum);
            let passed = pass(&point, &Effort::samples(4), &Control::default(), &body).unwrap();
            assert_eq!(
                (passed.samples.len(), passed.skews.len()),
                (4, 4),
                "{subject}"
            );
            // In the ping-pong the third rank is idle.
            let active = if subject == "send" { 2 } else { 3 };
            assert_eq!(passed.ranks.len(), active);
            let compared = match subject {
                "barrier" => 0,
                _ if fresh => 6,
                _ => 2,
            };
            assert_eq!(passed.checked, compared, "{subject}");
            let one_by_one = fresh || subject == "reduce" || subject == "scan";
            assert!(
                passed.calls >= 4 && (!one_by_one || passed.calls == 4),
                "{subject}"
            );
            assert!(passed.samples.iter().all(|time| *time > 0.0));
        }
    }
}

#[test]
fn a_run_that_is_stopped_ends_on_all_ranks_after_the_sample_it_is_at() {
    let point = point(Collective::AllReduce, 4, 16);
    let control = Control::default();
    control.stop.store(true, Ordering::Relaxed);
    let body = body::<i32, _>(&point, op::Sum);
    let passed = pass(&point, &Effort::samples(1000), &control, &body).unwrap();
    assert_eq!(passed.samples.len(), 1);
}

#[test]
fn what_came_of_a_point_adds_up() {
    let point = point(Collective::AllReduce, 2, 1000);
    let body = body::<i32, _>(&point, op::Sum);
    let proved = prove(&point, &body).unwrap();
    let one = || pass(&point, &Effort::samples(5), &Control::default(), &body).unwrap();
    let passes: Vec<_> = (0..6).map(|_| one()).collect();
    let measured = Measured::new(&point, &proved, &passes).unwrap();
    let times = measured.time_us;
    assert!(times.min <= times.p50 && times.p50 <= times.p99 && times.p99 <= times.max);
    assert!(measured.median_us.low <= times.p50 && times.p50 <= measured.median_us.high);
    assert_eq!((measured.samples, measured.passes_us.len()), (30, 6));
    assert_eq!((measured.bytes, measured.compared), (4000, 13));
    let bandwidth = 4000.0 / times.p50 / 1000.0;
    assert!((measured.algbw_gbs / bandwidth - 1.0).abs() < 1e-9);
    assert!((measured.busbw_gbs / bandwidth - 1.0).abs() < 1e-9);
    assert!(Measured::new(&point, &proved, &[]).is_none());
}
