//! Exploring message orders: finds every order exactly once, every bug that occurs in one of them, and each bug again
//! by its order.

mod support;

use std::collections::HashSet;
use std::sync::Mutex;

use rankfold::testing::{Explore, Explored, Found, MessageOrder, Random, explore, random};
use rankfold::{
    Buffering, Comm, ErrorKind, Fault, Order as Fold, Rank, Request, Result, Source, Tag, World,
    WorldError, op,
};
use std::time::Duration;
use support::guarded;

fn factorial(k: usize) -> u64 {
    (1..=k as u64).product()
}

/// Returns the ranks in the order in which their messages are received from any source.
fn arrivals(comm: &Comm, count: usize) -> Result<Vec<Rank>> {
    let one = |_| Ok(comm.recv::<Rank>(Source::Any, Tag::Any)?.1.source);
    (0..count).map(one).collect()
}

/// Rank 0 receives one message from every other rank.
fn gather(comm: &Comm) -> Result<Vec<Rank>> {
    match comm.rank() {
        0 => arrivals(comm, comm.size() - 1),
        me => comm.send(0, me as u32, &[me]).map(|()| Vec::new()),
    }
}

/// Explores, and collects the ranks' results: each order, and all distinct results.
fn outcomes<R: Send + Clone + Default + Eq + std::hash::Hash>(
    ranks: usize,
    f: impl Fn(&Comm) -> Result<R> + Sync,
) -> (Explored, HashSet<Vec<R>>) {
    let seen = Mutex::new(HashSet::new());
    let now = Mutex::new(vec![R::default(); ranks]);
    let body = |comm: &Comm| {
        let got = f(comm)?;
        now.lock().unwrap()[comm.rank()] = got;
        comm.barrier()?;
        if comm.rank() == 0 {
            seen.lock().unwrap().insert(now.lock().unwrap().clone());
        }
        comm.barrier()
    };
    let explored = guarded(&|| format!("{ranks} ranks"), || explore(ranks, body));
    (explored, seen.into_inner().unwrap())
}

#[test]
fn k_messages_to_one_rank_have_k_factorial_orders() {
    for k in 1..=5 {
        let (explored, seen) = outcomes(k + 1, gather);
        assert_eq!(explored.orders, factorial(k), "{k} senders");
        assert!(explored.complete);
        assert_eq!(explored.runs, explored.orders);
        assert_eq!(seen.len() as u64, factorial(k));
    }
}

#[test]
fn a_program_without_a_choice_has_one_order() {
    let ring = |comm: &Comm| {
        let (me, n) = (comm.rank(), comm.size());
        let mut v = [me];
        for _ in 0..n {
            v = [comm.sendrecv((me + 1) % n, 0, &v, (me + n - 1) % n, 0)?.0[0]];
        }
        comm.all_reduce(&mut v, op::Sum)?;
        // Nor does a wildcard receive with only one possible source.
        comm.send((me + 1) % n, 1, &[me; 100])?;
        comm.send((me + 1) % n, 1, &[me])?;
        assert_eq!(comm.recv::<Rank>(Source::Any, 1)?.0.len(), 100);
        assert_eq!(comm.recv::<Rank>(Source::Any, 1)?.0.len(), 1);
        Ok(())
    };
    for ranks in 1..=8 {
        let explored = guarded(&|| format!("{ranks} ranks"), || explore(ranks, ring));
        assert_eq!(
            (explored.orders, explored.complete, explored.runs),
            (1, true, 1),
            "{ranks} ranks"
        );
    }
}

#[test]
fn two_receivers_have_the_product_of_their_orders() {
    let (explored, seen) = outcomes(5, |comm| match comm.rank() {
        me @ (0 | 1) => arrivals(comm, 3 - me),
        me => {
            comm.send(0, 0, &[me])?;
            if me < 4 {
                comm.send(1, 0, &[me])?;
            }
            Ok(Vec::new())
        }
    });
    assert_eq!((explored.orders, explored.complete), (6 * 2, true));
    assert_eq!(seen.len(), 12);
    assert_eq!(
        explored.runs, explored.orders,
        "they do not depend on each other"
    );
}

#[test]
fn the_order_of_one_sender_is_no_choice() {
    let (explored, seen) = outcomes(3, |comm| match comm.rank() {
        0 => arrivals(comm, 4),
        me => {
            comm.send(0, 0, &[me])?;
            comm.send(0, 1, &[me])?;
            Ok(Vec::new())
        }
    });
    assert_eq!((explored.orders, explored.complete), (6, true)); // 4 over 2
    assert_eq!(seen.len(), 6);
}

/// Rank 1 hears from rank 2, and then sends to rank 0, to which rank 2 has sent as well.
fn late_message(comm: &Comm) -> Result<Vec<Rank>> {
    match comm.rank() {
        0 => arrivals(comm, 2),
        1 => {
            let heard = arrivals(comm, 1)?;
            comm.send(0, 0, &[1usize]).map(|()| heard)
        }
        _ => {
            comm.send(0, 0, &[2usize])?;
            comm.send(1, 0, &[2usize]).map(|()| Vec::new())
        }
    }
}

#[test]
fn a_message_that_comes_only_after_another_choice_is_not_missed() {
    let (explored, seen) = outcomes(3, late_message);
    assert_eq!((explored.orders, explored.complete), (2, true));
    assert_eq!(seen.len(), 2);
}

#[test]
fn a_message_that_follows_from_the_choice_is_no_alternative_to_it() {
    // A manager and two workers that answer the rank they hear from, while rank 3 has a choice of its own.
    let (explored, seen) = outcomes(4, |comm| match comm.rank() {
        0 => {
            comm.send(1, 0, &[0usize])?;
            let first = arrivals(comm, 1)?;
            comm.send(2, 0, &[0usize])?;
            let second = arrivals(comm, 1)?;
            comm.send(3, 0, &[0usize])?;
            Ok([first, second].concat())
        }
        3 => arrivals(comm, 1),
        me => {
            let heard = arrivals(comm, 1)?;
            comm.send(0, 0, &[me]).map(|()| heard)
        }
    });
    assert_eq!(
        (explored.orders, explored.complete, explored.runs),
        (1, true, 1)
    );
    assert_eq!(seen.len(), 1);
}

/// Every outcome of random programs, by the plainest search: all interleavings of acts and arrivals, over a model of
/// queues.
mod model {
    use super::*;

    /// An act of one rank: sends, receives, posts a receive, or waits for the posted receive of this number.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub enum Act {
        Send(Rank),
        Receive(Option<Rank>),
        Post(Option<Rank>),
        Wait(usize),
    }

    pub type Program = Vec<Vec<Act>>;

    /// Any acts, most of which wait forever; or messages, each sent and received.
    pub fn random(n: usize, random: &mut Random) -> Program {
        if random.below(3) == 0 {
            return (0..n).map(|_| acts(n, random)).collect();
        }
        let mut program = vec![Vec::new(); n];
        let mut posted = vec![0; n];
        for _ in 0..2 + random.below(4) {
            let (from, to) = (random.below(n), random.below(n));
            let of = (random.below(4) == 0).then_some(from);
            program[from].push(Act::Send(to));
            program[to].push(match random.below(4) {
                0 => Act::Post(of),
                _ => Act::Receive(of),
            });
            posted[to] += usize::from(matches!(program[to].last(), Some(Act::Post(_))));
        }
        for (acts, posted) in program.iter_mut().zip(posted) {
            acts.extend((0..posted).map(Act::Wait));
        }
        program
    }

    fn acts(n: usize, random: &mut Random) -> Vec<Act> {
        let (mut acts, mut posted, mut slots) = (Vec::new(), Vec::new(), 0);
        for _ in 0..random.below(5) {
            let source = |random: &mut Random| (random.below(3) == 0).then(|| random.below(n));
            acts.push(match random.below(8) {
                0 | 1 => Act::Receive(source(random)),
                2 | 3 => {
                    posted.push(slots);
                    slots += 1;
                    Act::Post(source(random))
                }
                4 if !posted.is_empty() && posted.len() < 3 => Act::Wait(posted.remove(0)),
                _ => Act::Send(random.below(n)),
            });
        }
        random.shuffle(&mut posted);
        acts.extend(posted.into_iter().map(Act::Wait));
        acts
    }

    /// A posted receive: the source it accepts, and the source it was matched with.
    type Slot = (Option<Rank>, Option<Rank>);

    /// The state of a run.
    #[derive(Clone, PartialEq, Eq, Hash)]
    struct State {
        next: Vec<usize>,
        /// Messages in transit, from one rank to another.
        sent: Vec<(Rank, Rank)>,
        /// Unexpected messages at each rank, in the order of arrival.
        early: Vec<Vec<Rank>>,
        slots: Vec<Vec<Slot>>,
        got: Vec<Vec<Rank>>,
    }

    impl State {
        /// The oldest message from one rank to another arrives.
        fn arrival(&self, place: usize) -> State {
            let mut after = self.clone();
            let (from, to) = after.sent.remove(place);
            let slots = &mut after.slots[to];
            let slot = slots
                .iter_mut()
                .find(|(of, got)| got.is_none() && of.is_none_or(|of| of == from));
            match slot {
                Some((_, got)) => *got = Some(from),
                None => after.early[to].push(from),
            }
            after
        }

        /// A rank does its next act, if it can.
        fn step(&self, rank: Rank, act: Act) -> Option<State> {
            let mut after = self.clone();
            after.next[rank] += 1;
            let early = &mut after.early[rank];
            let first = |early: &[Rank], of: Option<Rank>| {
                early
                    .iter()
                    .position(|from| of.is_none_or(|of| of == *from))
            };
            match act {
                Act::Send(to) => after.sent.push((rank, to)),
                Act::Receive(of) => {
                    let from = early.remove(first(early, of)?);
                    after.got[rank].push(from);
                }
                Act::Post(of) => {
                    let got = first(early, of).map(|place| early.remove(place));
                    after.slots[rank].push((of, got));
                }
                Act::Wait(slot) => {
                    let from = after.slots[rank][slot].1?;
                    after.got[rank].push(from);
                }
            }
            Some(after)
        }

        fn all_after(&self, program: &Program) -> Vec<State> {
            let oldest = |place: &usize| !self.sent[..*place].contains(&self.sent[*place]);
            let arrivals = (0..self.sent.len())
                .filter(oldest)
                .map(|place| self.arrival(place));
            let act = |rank: Rank| self.step(rank, *program[rank].get(self.next[rank])?);
            arrivals.chain((0..program.len()).filter_map(act)).collect()
        }
    }

    pub fn outcomes(program: &Program) -> HashSet<Vec<Vec<Rank>>> {
        let n = program.len();
        let start = State {
            next: vec![0; n],
            sent: Vec::new(),
            early: vec![Vec::new(); n],
            slots: vec![Vec::new(); n],
            got: vec![Vec::new(); n],
        };
        let (mut all, mut seen, mut open) = (HashSet::new(), HashSet::new(), vec![start]);
        while let Some(state) = open.pop() {
            if seen.insert(state.clone()) {
                let after = state.all_after(program);
                if after.is_empty() {
                    all.insert(state.got);
                }
                open.extend(after);
            }
        }
        all
    }
}

fn source(of: Option<Rank>) -> Source {
    of.map_or(Source::Any, Source::Rank)
}

/// Runs a rank's part of a program; an act that fails ends it.
fn act(comm: &Comm, acts: &[model::Act]) -> Vec<Rank> {
    let (mut got, mut posted) = (Vec::new(), Vec::new());
    for act in acts {
        let received = match *act {
            model::Act::Send(to) => {
                if comm.send(to, 0, &[0u8]).is_err() {
                    break;
                }
                continue;
            }
            model::Act::Post(of) => {
                posted.push(Some(comm.irecv::<u8>(source(of), 0).unwrap()));
                continue;
            }
            model::Act::Receive(of) => comm.recv::<u8>(source(of), 0),
            model::Act::Wait(slot) => posted[slot].take().unwrap().wait(),
        };
        match received {
            Ok((_, status)) => got.push(status.source),
            Err(_) => break,
        }
    }
    got
}

/// Returns all outcomes of a program, as found by an exploration.
fn all_of(explore: &Explore, program: &model::Program) -> (Explored, HashSet<Vec<Vec<Rank>>>) {
    let n = program.len();
    let seen = Mutex::new(HashSet::new());
    let now = Mutex::new((0, vec![Vec::new(); n]));
    let body = |comm: &Comm| {
        let got = act(comm, &program[comm.rank()]);
        let (ended, all) = &mut *now.lock().unwrap();
        all[comm.rank()] = got;
        *ended += 1;
        // The last rank to end records the outcome of all.
        if *ended % n == 0 {
            seen.lock().unwrap().insert(all.clone());
        }
        Ok(())
    };
    let explored = explore.find(body).unwrap();
    (explored, seen.into_inner().unwrap())
}

#[test]
fn random_programs_without_buffers_are_explored_to_the_end_and_the_same_each_time() {
    for seed in 0..(60.0 * support::scale()).ceil() as u64 {
        let mut random = Random::new(seed);
        let n = 2 + random.below(3);
        let program = model::random(n, &mut random);
        let zero = Explore::new(n).runs(usize::MAX).lenient();
        let zero = zero.world(|world| world.buffering(Buffering::Zero));
        let case = || format!("seed {seed}: {program:?}");
        let twice = [(); 2].map(|()| guarded(&case, || all_of(&zero, &program)));
        assert!(twice[0].0.complete, "{}", case());
        assert_eq!(twice[0], twice[1], "{}", case());
    }
}

#[test]
fn every_outcome_of_random_programs_is_found() {
    for seed in 0..(150.0 * support::scale()).ceil() as u64 {
        let mut random = Random::new(seed);
        let n = 2 + random.below(3);
        let program = model::random(n, &mut random);
        let want = model::outcomes(&program);
        let case = || format!("seed {seed}: {program:?}");
        let explore = Explore::new(n).runs(usize::MAX).lenient();
        let (explored, seen) = guarded(&case, || all_of(&explore, &program));
        let missed: Vec<_> = want.difference(&seen).collect();
        let impossible: Vec<_> = seen.difference(&want).collect();
        assert!(explored.complete, "{}", case());
        assert!(missed.is_empty(), "{} missed {missed:?}", case());
        assert!(
            impossible.is_empty(),
            "{} impossible {impossible:?}",
            case()
        );
        // Each order once: without posted receives, which may end unseen, no two orders look alike.
        let posts = program
            .iter()
            .flatten()
            .any(|act| matches!(act, model::Act::Post(_)));
        assert!(
            posts || explored.orders as usize == want.len(),
            "{}",
            case()
        );
    }
}

#[test]
fn posted_receives_from_any_source_have_all_orders() {
    for k in 1..=4 {
        let (explored, seen) = outcomes(k + 1, |comm| match comm.rank() {
            0 => {
                let posted = (0..k).map(|_| comm.irecv::<Rank>(Source::Any, 0));
                let all = Request::wait_all(posted.collect::<Result<Vec<_>>>()?)?;
                Ok(all.into_iter().map(|(_, status)| status.source).collect())
            }
            me => comm.send(0, 0, &[me]).map(|()| Vec::new()),
        });
        assert_eq!(
            (explored.orders, explored.complete),
            (factorial(k), true),
            "{k} senders"
        );
        assert_eq!(seen.len() as u64, factorial(k));
    }
}

#[test]
fn requests_of_which_any_may_end_first_have_all_orders() {
    for some in [false, true] {
        for k in 1..=4 {
            let (explored, seen) = outcomes(k + 1, |comm| {
                if comm.rank() > 0 {
                    return comm.send(0, 0, &[comm.rank()]).map(|()| Vec::new());
                }
                let posted = (1..=k).map(|rank| comm.irecv::<Rank>(rank, 0));
                let mut posted = posted.collect::<Result<Vec<_>>>()?;
                let mut order = Vec::new();
                while order.len() < k {
                    match some {
                        true => order.extend(
                            Request::wait_some(&mut posted)?
                                .iter()
                                .map(|(place, _)| *place),
                        ),
                        false => {
                            order.extend(Request::wait_any(&mut posted)?.map(|(place, _)| place))
                        }
                    }
                }
                Ok(order)
            });
            assert_eq!(
                (explored.orders, explored.complete),
                (factorial(k), true),
                "{k} senders"
            );
            assert_eq!(seen.len() as u64, factorial(k));
        }
    }
}

#[test]
fn ranks_that_look_again_and_again_see_what_comes() {
    let explored = explore(3, |comm| {
        let (me, n) = (comm.rank(), comm.size());
        // Each polls for a message of its left neighbour, the first one last.
        if me == 0 {
            comm.send(1, 0, &[0usize])?;
        }
        let mut request = comm.irecv::<Rank>((me + n - 1) % n, 0)?;
        while request.test()?.is_none() {}
        if me > 0 {
            comm.send((me + 1) % n, 0, &[me])?;
        }
        while comm.iprobe(Source::Any, 1)?.is_some() {}
        Ok(())
    });
    assert_eq!(explored.orders, 1);
    assert!(!explored.complete, "when to look is not explored");
}

#[test]
fn orders_are_explored_without_buffers_too() {
    let zero = Explore::new(4).world(|world| world.buffering(Buffering::Zero));
    let explored = zero.run(gather);
    assert_eq!((explored.orders, explored.complete), (6, true));
    let late = Explore::new(3)
        .world(|world| world.buffering(Buffering::Zero))
        .run(|comm| match comm.rank() {
            0 => arrivals(comm, 2).map(drop),
            1 => arrivals(comm, 1).and_then(|_| comm.send(0, 0, &[1usize])),
            // Rank 1 learns of it after rank 0 has received.
            _ => comm
                .send(0, 0, &[2usize])
                .and_then(|()| comm.send(1, 0, &[2usize])),
        });
    assert_eq!((late.orders, late.complete), (1, true));
}

/// Fails in one of the 120 orders of five messages.
fn fails_in_one_of_120(comm: &Comm) -> Result<()> {
    let got = gather(comm)?;
    assert_ne!(got, [4, 2, 5, 1, 3], "the one order");
    Ok(())
}

fn hidden() -> Box<Found> {
    Explore::new(6).find(fails_in_one_of_120).unwrap_err()
}

#[test]
fn a_failure_in_one_of_120_orders_is_found_and_repeated_100_times_of_100() {
    let found = hidden();
    assert!(
        matches!(found.error, WorldError::Panicked { rank: 0, .. }),
        "{found}"
    );
    let took: Vec<Rank> = found.choices.iter().map(|choice| choice.took).collect();
    assert_eq!(took, [4, 2, 5, 1, 3]);
    let explore = Explore::new(6);
    for _ in 0..100 {
        let again = explore
            .repeat(&found.order, fails_in_one_of_120)
            .unwrap_err();
        assert_eq!(again.choices, found.choices);
    }
    // An order parsed from text is the same one.
    let typed: MessageOrder = found.order.to_string().parse().unwrap();
    assert_eq!(typed, found.order);
    assert_eq!(hidden().order, found.order);
}

#[test]
fn a_seed_repeats_a_failure_100_times_of_100() {
    let fails = |seed| {
        World::new(6)
            .seed(seed)
            .run_each(fails_in_one_of_120)
            .culprit
            .is_some()
    };
    let seed = (0..10_000)
        .find(|&seed| fails(seed))
        .expect("one order in 120");
    for _ in 0..100 {
        assert!(fails(seed), "seed {seed}");
    }
}

#[test]
fn seeds_reach_every_order() {
    let order = |seed| World::new(4).seed(seed).run(gather).unwrap().swap_remove(0);
    let seen: HashSet<Vec<Rank>> = (0..100).map(order).collect();
    assert_eq!(seen.len() as u64, factorial(3));
}

#[test]
fn a_seed_repeats_a_run_of_ranks_that_talk_to_whom_they_hear() {
    // Every message is answered, so one choice changes all that follows.
    let gossip = |comm: &Comm| {
        let mut random = random(comm);
        let n = comm.size();
        let mut heard = Vec::new();
        for _ in 0..3 {
            comm.send(random.below(n), 0, &[comm.rank()])?;
            comm.barrier()?;
            while comm
                .recv_timeout::<Rank>(Source::Any, 0, Duration::ZERO)
                .map(|(v, _)| heard.push(v[0]))
                .is_ok()
            {}
        }
        Ok(heard)
    };
    for seed in 0..10 {
        let first = World::new(5).seed(seed).run(gossip).unwrap();
        for _ in 0..5 {
            assert_eq!(
                World::new(5).seed(seed).run(gossip).unwrap(),
                first,
                "seed {seed}"
            );
        }
    }
}

#[test]
fn an_order_in_which_ranks_wait_for_each_other_is_found() {
    // Right only if rank 1 is heard first: the second receive names rank 2.
    let found = Explore::new(3).find(|comm| match comm.rank() {
        0 => {
            comm.recv::<Rank>(Source::Any, 0)?;
            comm.recv::<Rank>(2, 0).map(drop)
        }
        me => comm.send(0, 0, &[me]),
    });
    let found = found.unwrap_err();
    let error = &found.error;
    assert!(
        matches!(
            error,
            WorldError::ReturnedEarly { rank: 2, .. } | WorldError::Deadlock(_)
        ),
        "{found}"
    );
    assert_eq!(found.choices[0].took, 2);
}

#[test]
fn reductions_in_arrival_order_are_explored_as_well() {
    let tree = rankfold::topology::Topology::flat(4);
    let (explored, seen) = outcomes(4, |comm| {
        let mut v = [comm.rank() as u32];
        // 10 a + b shows the order of the operands.
        let in_order = op::commutative(|a: u32, b: u32| 10 * a + b);
        comm.reduce_over(&tree, &mut v, in_order)
            .order(Fold::Arrival)
            .run()?;
        Ok(if comm.rank() == 0 { v[0] } else { 0 })
    });
    assert_eq!((explored.orders, explored.complete), (6, true));
    assert_eq!(seen.len(), 6);
}

#[test]
fn a_deadline_passes_only_when_nothing_else_can_move() {
    let explored = explore(2, |comm| match comm.rank() {
        0 => {
            let (v, _) = comm.recv_timeout::<u8>(Source::Any, 0, Duration::ZERO)?;
            assert_eq!(v, [1]);
            let late = comm
                .recv_timeout::<u8>(1, 1, Duration::from_secs(3600))
                .unwrap_err();
            assert!(matches!(late.kind(), ErrorKind::TimedOut { .. }), "{late}");
            comm.send(1, 0, &[0u8])
        }
        _ => {
            comm.send(0, 0, &[1u8])?;
            comm.recv::<u8>(Source::Any, 0).map(drop)
        }
    });
    assert_eq!(explored.orders, 1);
    assert!(!explored.complete, "time is not explored");
}

#[test]
fn deaths_are_explored_too() {
    for nth in 1..=2 {
        let mourning = Explore::new(4).world(|world| world.inject(2, nth, Fault::Panic));
        let found = mourning.find(|comm| {
            gather(comm)?;
            comm.barrier()
        });
        let found = found.unwrap_err();
        assert!(
            matches!(found.error, WorldError::Panicked { rank: 2, .. }),
            "{found}"
        );
    }
}

#[test]
fn what_is_too_much_to_try_is_drawn_at_random_and_not_called_complete() {
    let explored = Explore::new(5).runs(10).seeds(7).run(gather);
    assert_eq!(
        (explored.orders, explored.complete, explored.runs),
        (10, false, 17)
    );
}

#[test]
#[should_panic = "depends on more than its messages"]
fn a_program_that_is_not_a_function_of_its_messages_is_found_out() {
    let runs = Mutex::new(0);
    let _ = Explore::new(4).lenient().find(|comm| {
        let mut runs = runs.lock().unwrap();
        *runs += 1;
        let tag = u32::from(*runs > 4 && comm.rank() == 3);
        drop(runs);
        match comm.rank() {
            0 => {
                for _ in 0..2 {
                    comm.recv::<Rank>(Source::Any, 0)?;
                }
                Ok(())
            }
            me => comm.send(0, tag, &[me]),
        }
    });
}

#[test]
fn a_failure_says_who_took_what_and_how_to_repeat_it() {
    let text = hidden().to_string();
    assert!(text.contains("the one order"), "{text}");
    assert!(text.contains("rank 0  recv(from any, tag any)"), "{text}");
    assert!(
        text.contains("took the message of rank 4 (there were those of 1, 2, 3, 4, 5)"),
        "{text}"
    );
    assert!(
        text.ends_with("RANKFOLD_SEED=order:3.1.2 repeats it"),
        "{text}"
    );
}

/// Runs one test of this file in a separate process, with an order requested; returns whether it passed, and its
/// output.
fn asked_for(order: &str, test: &str) -> (bool, String) {
    let this = std::env::current_exe().unwrap();
    let mut child = std::process::Command::new(this);
    child.args(["--exact", test]).env("RANKFOLD_SEED", order);
    let output = child.output().unwrap();
    (
        output.status.success(),
        String::from_utf8_lossy(&output.stdout).into_owned(),
    )
}

#[test]
fn rankfold_seed_repeats_one_order_and_no_other() {
    if std::env::var_os("RANKFOLD_SEED").is_some() {
        // The other process.
        let explored = explore(6, fails_in_one_of_120);
        assert_eq!((explored.orders, explored.complete), (1, false));
        return;
    }
    let this = "rankfold_seed_repeats_one_order_and_no_other";
    let (passed, text) = asked_for("order:3.1.2", this);
    assert!(
        !passed && text.contains("after 0 runs that went well") && text.contains("the one order"),
        "{text}"
    );
    let (passed, text) = asked_for("order:3.1", this);
    assert!(passed, "{text}");
    let (passed, text) = asked_for("by chance", this);
    assert!(
        !passed && text.contains("is no order of messages"),
        "{text}"
    );
}
