//! Persistent calls are started again and again.

use rankfold::{Buffering, Comm, ErrorKind, Persistent, Rank, Result, Source, World, op};

use crate::support::guarded;

/// A persistent call of each collective with results.
struct Calls<'c> {
    sum: Persistent<'c, u64>,
    passed: Persistent<'c, u64>,
    least: Persistent<'c, u64>,
    share: Persistent<'c, u64>,
    collected: Persistent<'c, u64>,
    dealt: Persistent<'c, u64>,
    all: Persistent<'c, u64>,
    swapped: Persistent<'c, u64>,
    scanned: Persistent<'c, u64>,
    before: Persistent<'c, u64>,
}

impl<'c> Calls<'c> {
    fn new(comm: &'c Comm) -> Result<Calls<'c>> {
        let p = comm.size();
        let at_root = |n: usize| vec![0; if comm.rank() == 0 { n } else { 0 }];
        Ok(Calls {
            sum: comm.all_reduce_init(vec![0u64; 4], op::Sum)?,
            passed: comm.broadcast_init(p - 1, vec![0u64; 3])?,
            least: comm.reduce_init(0, vec![0u64; 2], op::Min)?,
            share: comm.reduce_scatter_init(vec![0u64; p], vec![0], op::Sum)?,
            collected: comm.gather_init(0, vec![0u64], at_root(p))?,
            dealt: comm.scatter_init(0, at_root(p), vec![0u64])?,
            all: comm.all_gather_init(vec![0u64; 2], vec![0; 2 * p])?,
            swapped: comm.all_to_all_init(vec![0u64; p], vec![0; p])?,
            scanned: comm.scan_init(vec![0u64], op::Sum)?,
            before: comm.exclusive_scan_init(vec![0u64], 7, op::Sum)?,
        })
    }

    fn each(&mut self) -> [&mut Persistent<'c, u64>; 10] {
        [
            &mut self.sum,
            &mut self.passed,
            &mut self.least,
            &mut self.share,
            &mut self.collected,
            &mut self.dealt,
            &mut self.all,
            &mut self.swapped,
            &mut self.scanned,
            &mut self.before,
        ]
    }

    /// Checks the results of `me`; `each` are the numbers that the ranks have filled their inputs with.
    fn check(&mut self, me: Rank, each: &[u64]) -> Result<()> {
        let total: u64 = each.iter().sum();
        assert_eq!(self.sum.output()?, vec![total; 4]);
        assert_eq!(self.passed.output()?, vec![each[each.len() - 1]; 3]);
        assert_eq!(self.share.output()?, [total]);
        assert_eq!(self.swapped.output()?, each);
        let pairs = self.all.output()?.chunks(2);
        assert_eq!(pairs.map(|two| two[0]).collect::<Vec<_>>(), each);
        assert_eq!(self.scanned.output()?, [each[..=me].iter().sum::<u64>()]);
        let sums_before = each[..me].iter().sum::<u64>();
        assert_eq!(
            self.before.output()?,
            [if me == 0 { 7 } else { sums_before }]
        );
        assert_eq!(self.dealt.output()?, [each[0]]);
        if me == 0 {
            assert_eq!(self.least.output()?, vec![each[0]; 2]);
            assert_eq!(self.collected.output()?, each);
        }
        Ok(())
    }
}

#[test]
fn persistent_collectives_give_the_same_as_blocking_ones_turn_after_turn() {
    for p in [1, 2, 3, 5, 8, 13] {
        let run = |comm: &Comm| {
            let me = comm.rank();
            let mut calls = Calls::new(comm)?;
            let mut here = comm.barrier_init()?;
            for turn in 0..6 {
                let mine = |rank: Rank| turn * 100 + rank as u64;
                for call in calls.each() {
                    call.input_mut()?.fill(mine(me));
                    call.start()?;
                    assert!(call.is_active() && call.input_mut().is_err());
                }
                here.start()?;
                here.wait()?;
                for call in calls.each().into_iter().rev() {
                    while turn % 2 == 1 && !call.test()? {}
                    call.wait()?;
                }
                calls.check(me, &(0..p).map(mine).collect::<Vec<_>>())?;
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
