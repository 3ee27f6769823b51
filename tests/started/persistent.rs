//! Persistent calls are started again and again.

use rankfold::{Buffering, Comm, ErrorKind, Rank, Source, World, op};

use crate::support::guarded;

#[test]
fn persistent_collectives_give_the_same_as_blocking_ones_turn_after_turn() {
    for p in [1, 2, 3, 5, 8, 13] {
        let run = |comm: &Comm| {
            let me = comm.rank();
            let at_root = |n: usize| vec![0; if me == 0 { n } else { 0 }];
            let mut sum = comm.all_reduce_init(vec![0u64; 4], op::Sum)?;
            let mut passed = comm.broadcast_init(p - 1, vec![0u64; 3])?;
            let mut least = comm.reduce_init(0, vec![0u64; 2], op::Min)?;
            let mut share = comm.reduce_scatter_init(vec![0u64; p], vec![0], op::Sum)?;
            let mut collected = comm.gather_init(0, vec![0u64], at_root(p))?;
            let mut dealt = comm.scatter_init(0, at_root(p), vec![0u64])?;
            let mut all = comm.all_gather_init(vec![0u64; 2], vec![0; 2 * p])?;
            let mut swapped = comm.all_to_all_init(vec![0u64; p], vec![0; p])?;
            let mut scanned = comm.scan_init(vec![0u64], op::Sum)?;
            let mut before = comm.exclusive_scan_init(vec![0u64], 7, op::Sum)?;
            let mut here = comm.barrier_init()?;
            for turn in 0..6 {
                let mine = |rank: Rank| turn * 100 + rank as u64;
                let mut calls = [
                    &mut sum,
                    &mut passed,
                    &mut least,
                    &mut share,
                    &mut collected,
                    &mut dealt,
                    &mut all,
                    &mut swapped,
                    &mut scanned,
                    &mut before,
                ];
                for call in &mut calls {
                    call.input_mut()?.fill(mine(me));
                    call.start()?;
                    assert!(call.is_active() && call.input_mut().is_err());
                }
                here.start()?;
                here.wait()?;
                for call in calls.iter_mut().rev() {
                    while turn % 2 == 1 && !call.test()? {}
                    call.wait()?;
                }
                let each: Vec<u64> = (0..p).map(mine).collect();
                let total: u64 = each.iter().sum();
                assert_eq!(sum.output()?, vec![total; 4]);
                assert_eq!(passed.output()?, vec![mine(p - 1); 3]);
                assert_eq!(share.output()?, [total]);
                assert_eq!(swapped.output()?, each);
                assert_eq!(
                    all.output()?
                        .chunks(2)
                        .map(|two| two[0])
                        .collect::<Vec<_>>(),
                    each
                );
                assert_eq!(scanned.output()?, [each[..=me].iter().sum::<u64>()]);
                let sums_before = each[..me].iter().sum::<u64>();
                assert_eq!(before.output()?, [if me == 0 { 7 } else { sums_before }]);
                assert_eq!(dealt.output()?, [mine(0)]);
                if me == 0 {
                    assert_eq!(least.output()?, vec![mine(0); 2]);
                    assert_eq!(collected.output()?, each);
                }
            }
            Ok(())
        };
        guarded(&|| format!("{p} ranks"), || World::new(p).strict().run(run)).unwrap();
    }
}

#[test]
fn a_persistent_call_is_started_once_at_a_time_and_meets_the_plain_one() {
    let run = |comm: &Comm| {
        if comm.rank() == 1 {
            assert_eq!(comm.iall_reduce(vec![1], op::Sum)?.wait()?, [3]);
            return Ok(());
        }
        let mut sum = comm.all_reduce_init(vec![1], op::Sum)?;
        sum.start()?;
        let again = sum.start().unwrap_err();
        assert!(matches!(again.kind(), ErrorKind::Usage(_)), "{again}");
        sum.wait()?;
        sum.wait()?;
        assert_eq!(sum.output()?, [3]);
        Ok(())
    };
    guarded(&|| "once".into(), || World::new(3).strict().run(run)).unwrap();
}

#[test]
fn persistent_messages_carry_what_their_buffers_hold_at_each_start() {
    for buffering in [Buffering::Unbounded, Buffering::Bytes(64), Buffering::Zero] {
        let run = |comm: &Comm| {
            let (me, p) = (comm.rank(), comm.size());
            let (right, left) = ((me + 1) % p, (me + p - 1) % p);
            let mut sent = comm.send_init(right, 1, vec![0; 300])?;
            let mut asked = comm.ssend_init(right, 2, vec![me])?;
            let mut received = comm.recv_init(left, 1, vec![9; 301])?;
            let mut any = comm.recv_init(Source::Any, 2, vec![p])?;
            for turn in 0..20 {
                sent.input_mut()?.fill(turn * p + me);
                any.start()?;
                received.start()?;
                asked.start()?;
                sent.start()?;
                sent.wait()?;
                received.wait()?;
                asked.wait()?;
                any.wait()?;
                assert_eq!(received.output()?[..300], vec![turn * p + left; 300]);
                assert_eq!((received.output()?[300], any.output()?[0]), (9, left));
            }
            Ok(())
        };
        for p in [1, 2, 5] {
            let world = World::new(p).buffering(buffering).strict();
            guarded(&|| format!("{p} ranks, {buffering:?}"), || world.run(run)).unwrap();
        }
    }
}

#[test]
fn a_persistent_call_that_failed_says_so_when_it_is_started_again() {
    let run = |comm: &Comm| {
        let mut sum = comm.all_reduce_init(vec![1], op::Sum)?;
        if comm.rank() == 0 {
            return Ok(());
        }
        let error = sum.start().and_then(|()| sum.wait()).unwrap_err();
        assert_eq!(error.culprit(), Some(0), "{error}");
        assert!(sum.start().is_err());
        Ok(())
    };
    let report = guarded(&|| "failed".into(), || World::new(3).run_each(run));
    assert!(
        report.outcomes.iter().all(|one| one.value().is_some()),
        "{report}"
    );
}

#[test]
fn a_persistent_call_whose_start_is_refused_can_still_be_started() {
    let run = |comm: &Comm| {
        let sum = std::cell::RefCell::new(comm.all_reduce_init(vec![1], op::Sum)?);
        comm.all_reduce(&mut [1], |a: i32, b: i32| {
            let refused = sum.borrow_mut().start().unwrap_err();
            assert!(matches!(refused.kind(), ErrorKind::Usage(_)), "{refused}");
            a + b
        })?;
        sum.borrow_mut().start()?;
        sum.borrow_mut().wait()?;
        assert_eq!(sum.borrow_mut().output()?, [2]);
        Ok(())
    };
    guarded(&|| "refused".into(), || World::new(2).run(run)).unwrap();
}
