//! Started collectives go on while their rank is elsewhere.

use std::sync::atomic::{AtomicUsize, Ordering};

use rankfold::{Buffering, Comm, Rank, Request, Result, Source, Tag, World, op};

use crate::support::guarded;

/// Starts all in one scope, and waits for the first of them only.
fn all_in_a_scope(comm: &Comm) -> Result<()> {
    let (me, p) = (comm.rank(), comm.size());
    let (mut sum, mut first, mut all) = ([me; 3], [me], vec![0; 2 * p]);
    let (mut block, mut swapped, mut scanned) = ([9], vec![0; p], [1]);
    let (mut root, mut collected) = ([me], vec![0; if me == 0 { p } else { 0 }]);
    let mut share = [0];
    let dealt = (me == 0).then(|| vec![me + 5; p]);
    comm.scope(|s| {
        let sum = s.iall_reduce(&mut sum, op::Sum)?;
        s.ibroadcast(p - 1, &mut first)?;
        s.iall_gather(&[me, me + 1], &mut all)?;
        s.iscatter(0, dealt.as_deref(), &mut block)?;
        s.iall_to_all(&vec![me; p], &mut swapped)?;
        s.iscan(&mut scanned, op::Sum)?;
        s.ireduce(0, &mut root, op::Max)?;
        s.igather(0, &[me], &mut collected)?;
        s.ireduce_scatter(&vec![1; p], &mut share, op::Sum)?;
        assert_eq!(sum.wait()?, [p * (p - 1) / 2; 3]);
        Ok(())
    })?;
    let ranks: Vec<Rank> = (0..p).collect();
    assert_eq!(
        (first, block, scanned, share),
        ([p - 1], [5], [me + 1], [p])
    );
    let pairs: Vec<Rank> = ranks.iter().flat_map(|r| [*r, r + 1]).collect();
    assert_eq!((all, &swapped), (pairs, &ranks));
    assert_eq!(root, [if me == 0 { p - 1 } else { me }]);
    assert_eq!(collected, if me == 0 { ranks } else { vec![] });
    Ok(())
}

#[test]
fn a_scope_ends_those_that_were_not_waited_for() {
    for p in [1, 2, 3, 8] {
        let run = || World::new(p).strict().run(all_in_a_scope);
        guarded(&|| format!("{p} ranks"), run).unwrap();
    }
}

#[test]
fn no_rank_ends_a_barrier_before_all_have_started_it() {
    for p in [2, 3, 5, 8, 9, 17, 33] {
        for algorithm in [
            None,
            Some("dissemination"),
            Some("exchange"),
            Some("binomial"),
        ] {
            let started = AtomicUsize::new(0);
            let run = |comm: &Comm| {
                for turn in 1..20 {
                    started.fetch_add(1, Ordering::SeqCst);
                    let all_here = match algorithm {
                        None => comm.ibarrier()?,
                        Some(name) => comm.using(name.parse().unwrap()).ibarrier()?,
                    };
                    all_here.wait()?;
                    assert!(started.load(Ordering::SeqCst) >= turn * p);
                }
                Ok(())
            };
            let case = || format!("{p} ranks, {algorithm:?}");
            guarded(&case, || World::new(p).strict().run(run)).unwrap();
        }
    }
}

/// Every rank but the first and the last is in another call when its part of the pipeline has to be played.
fn goes_on_in_other_calls(comm: &Comm) -> Result<()> {
    let (me, p) = (comm.rank(), comm.size());
    let chain = comm.using("chain".parse().expect("an algorithm"));
    let passed = chain.ibroadcast(0, vec![me; 500])?;
    if me + 1 == p {
        assert_eq!(passed.wait()?, vec![0; 500]);
        (0..p - 1).try_for_each(|to| comm.send(to, 1, &[me]))?;
        return comm.barrier();
    }
    match me % 4 {
        0 => _ = comm.recv::<Rank>(p - 1, 1)?,
        1 => _ = comm.irecv::<Rank>(Source::Any, Tag::Any)?.wait()?,
        2 => {
            comm.probe(Source::Any, 1)?;
            comm.recv_into(p - 1, 1, &mut [0usize])?;
        }
        _ => {
            let mut coming = comm.irecv::<Rank>(p - 1, 1)?;
            while coming.test()?.is_none() {}
        }
    }
    comm.barrier()?;
    assert_eq!(passed.wait()?, vec![0; 500]);
    Ok(())
}

#[test]
fn they_go_on_while_their_rank_is_in_any_other_call() {
    for p in [2, 3, 4, 5, 9, 16] {
        for buffering in [Buffering::Unbounded, Buffering::Bytes(64), Buffering::Zero] {
            for check in [false, true] {
                let world = World::new(p).check(check).buffering(buffering).strict();
                let case = || format!("{p} ranks, {buffering:?}, check({check})");
                guarded(&case, || world.run(goes_on_in_other_calls)).unwrap();
            }
        }
    }
}

#[test]
fn they_go_on_in_blocking_collectives_on_other_communicators() {
    for p in [3, 6, 12] {
        let run = |comm: &Comm| {
            let other = comm.dup()?;
            let sums = comm.using("chain".parse().expect("an algorithm"));
            let sum = sums.iall_reduce(vec![1u64; 400], op::Sum)?;
            // The last rank enters the barrier only after the sum, which all others carry on inside it.
            if comm.rank() + 1 == p {
                assert_eq!(sum.wait()?, vec![p as u64; 400]);
                return other.barrier();
            }
            other.barrier()?;
            assert_eq!(sum.wait()?, vec![p as u64; 400]);
            Ok(())
        };
        guarded(&|| format!("{p} ranks"), || World::new(p).strict().run(run)).unwrap();
    }
}

#[test]
fn progress_carries_them_on() {
    let run = |comm: &Comm| {
        let mut sum = comm.iall_reduce(vec![1u64; 3000], op::Sum)?;
        while !sum.is_done() {
            comm.progress()?;
        }
        assert_eq!(sum.test()?, Some(vec![3; 3000]));
        Ok(())
    };
    guarded(&|| "progress".into(), || World::new(3).strict().run(run)).unwrap();
}

// ── requests ──

#[test]
fn requests_of_messages_and_collectives_are_waited_for_together() {
    enum Done {
        Sum(Vec<Rank>),
        Got(Vec<Rank>),
        Sent,
        AllHere,
    }
    let run = |comm: &Comm| {
        let (me, p) = (comm.rank(), comm.size());
        let mut open = vec![
            comm.irecv::<Rank>((me + p - 1) % p, 0)?
                .map(|(got, _)| Done::Got(got)),
            comm.iall_reduce(vec![me], op::Sum)?.map(Done::Sum),
            comm.ibarrier()?.map(|()| Done::AllHere),
            comm.isend((me + 1) % p, 0, vec![me])?.map(|_| Done::Sent),
        ];
        let mut seen = 0;
        while let Some((_, done)) = Request::wait_any(&mut open)? {
            match done {
                Done::Sum(sum) => assert_eq!(sum, [p * (p - 1) / 2]),
                Done::Got(got) => assert_eq!(got, [(me + p - 1) % p]),
                Done::Sent | Done::AllHere => {}
            }
            seen += 1;
        }
        assert_eq!(seen, 4);
        Ok(())
    };
    for p in [1, 2, 5, 9] {
        guarded(&|| format!("{p} ranks"), || World::new(p).strict().run(run)).unwrap();
        for seed in 0..20 {
            let world = World::new(p).seed(seed).strict();
            guarded(&|| format!("{p} ranks, seed {seed}"), || world.run(run)).unwrap();
        }
    }
}
