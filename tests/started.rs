//! Started collectives: against an independent fold, by every algorithm, several at a time in every order of ending,
//! beside blocking calls, in worlds that choose the order of messages; their deadlocks, deaths and mistakes.

#[path = "started/abandoned.rs"]
mod abandoned;
mod again;
mod common;
#[path = "started/exchange.rs"]
mod exchange;
#[path = "started/failures.rs"]
mod failures;
#[path = "started/persistent.rs"]
mod persistent;
#[path = "started/progress.rs"]
mod progress;
mod support;

use std::sync::atomic::{AtomicUsize, Ordering};

use common::definitions::{IDENTITY, KINDS, check, vector};
use common::{Compose, Map};
use rankfold::collective::{Algorithm, Call, Collective};
use rankfold::{Comm, Rank, Request, Result, World, op};
use support::{Random, Sieve, guarded};

/// A started call, whatever its kind; it returns what the rank has to hold afterwards, and no more.
fn start(
    comm: &Comm,
    kind: Collective,
    algorithm: Option<Algorithm>,
    (id, root, n): (usize, Rank, usize),
) -> Result<Request<'static, Vec<Map>>> {
    let (me, p) = (comm.rank(), comm.size());
    let whole = vector(id, me, n * p);
    let block = vector(id, me, n);
    macro_rules! by {
        ($name:ident($($arguments:expr),*)) => {
            match algorithm {
                None => comm.$name($($arguments),*),
                Some(algorithm) => comm.using(algorithm).$name($($arguments),*),
            }
        };
    }
    match kind {
        Collective::Broadcast => by!(ibroadcast(root, whole)),
        Collective::Reduce => {
            let kept = move |buf| if me == root { buf } else { Vec::new() };
            Ok(by!(ireduce(root, whole, Compose))?.map(kept))
        }
        Collective::AllReduce => by!(iall_reduce(whole, Compose)),
        Collective::ReduceScatter => by!(ireduce_scatter(whole, Compose)),
        Collective::AllGather => by!(iall_gather(block)),
        Collective::Gather => Ok(by!(igather(root, block))?.map(Option::unwrap_or_default)),
        Collective::Scatter => {
            let all = (me == root).then_some(whole);
            by!(iscatter(root, all, vec![IDENTITY; n]))
        }
        Collective::AllToAll => by!(iall_to_all(whole)),
        Collective::Scan => by!(iscan(whole, Compose)),
        Collective::ExclusiveScan => by!(iexclusive_scan(whole, IDENTITY, Compose)),
        Collective::Barrier => Ok(by!(ibarrier())?.map(|()| Vec::new())),
    }
}

#[test]
fn each_gives_what_its_definition_says() {
    for p in (1..=17).chain([33, 64]) {
        let lengths: &[usize] = if p > 17 { &[0, 1, 20] } else { &[0, 1, 3, 700] };
        let run = |comm: &Comm| {
            // The same on all ranks; all cases from a fifth of the scale.
            let mut cases = Sieve::part(p as u64, 5.0);
            for (id, kind) in KINDS.into_iter().enumerate() {
                for &n in lengths.iter().filter(|_| cases.takes()) {
                    let what = (id, (7 * id + n) % p, n);
                    let got = start(comm, kind, None, what)?.wait()?;
                    check(comm, kind, what, &got);
                }
            }
            Ok(())
        };
        guarded(&|| format!("{p} ranks"), || World::new(p).strict().run(run)).unwrap();
    }
}

#[test]
fn each_is_right_by_every_algorithm_that_takes_it() {
    let tried = AtomicUsize::new(0);
    for p in [1, 2, 3, 4, 5, 7, 8, 12] {
        let run = |comm: &Comm| {
            for (id, kind) in KINDS.into_iter().enumerate() {
                let (root, n) = (id % p, 5);
                let length = n * p;
                let call = Call::new(kind, p, length).to_root(root);
                let fits = |one: &Algorithm| one.refused(&call).is_none();
                for algorithm in Algorithm::all(kind).filter(fits) {
                    let what = (id, root, n);
                    let got = start(comm, kind, Some(algorithm), what)?.wait()?;
                    check(comm, kind, what, &got);
                    tried.fetch_add(1, Ordering::Relaxed);
                }
            }
            Ok(())
        };
        guarded(&|| format!("{p} ranks"), || World::new(p).strict().run(run)).unwrap();
    }
    assert!(tried.into_inner() > 1000);
}

/// All orders of three.
const ORDERS: [[usize; 3]; 6] = [
    [0, 1, 2],
    [0, 2, 1],
    [1, 0, 2],
    [1, 2, 0],
    [2, 0, 1],
    [2, 1, 0],
];

#[test]
fn three_at_a_time_end_in_every_order_and_another_one_on_every_rank() {
    for p in [1, 2, 3, 5, 8, 13] {
        let run = |comm: &Comm| {
            let mut random = Random::new(p as u64);
            for turn in 0..60 {
                let kinds: [Collective; 3] = std::array::from_fn(|_| random.of(&KINDS));
                let n = random.of(&[0, 1, 9, 300]);
                let what = |one: usize| (3 * turn + one, (turn + one) % p, n);
                let mut open = Vec::new();
                for (one, kind) in kinds.into_iter().enumerate() {
                    open.push(Some(start(comm, kind, None, what(one))?));
                }
                for one in ORDERS[(turn + comm.rank()) % ORDERS.len()] {
                    let got = open[one].take().expect("once").wait()?;
                    check(comm, kinds[one], what(one), &got);
                }
            }
            Ok(())
        };
        guarded(&|| format!("{p} ranks"), || World::new(p).strict().run(run)).unwrap();
    }
}

#[test]
fn all_blocks_may_have_other_lengths() {
    for p in [1, 2, 3, 6, 9] {
        let run = |comm: &Comm| {
            let me = comm.rank();
            let counts: Vec<usize> = (0..p).map(|rank| rank * 3 % 5).collect();
            let total: usize = counts.iter().sum();
            let mine = vec![me; counts[me]];
            let all: Vec<Rank> = (0..p).flat_map(|rank| vec![rank; counts[rank]]).collect();
            let gathered = comm.iall_gather_v(mine.clone(), &counts, vec![p; total])?;
            let at_root = vec![p; if me == 1 % p { total } else { 0 }];
            let collected = comm.igather_v(1 % p, mine.clone(), &counts, at_root)?;
            let given = (me == 0).then(|| all.clone());
            let scattered = comm.iscatter_v(0, given, &counts, vec![p; counts[me]])?;
            let reduced = comm.ireduce_scatter_v(all.clone(), &counts, op::Sum)?;
            // Rank q gets q elements from each rank, whose number they are.
            let (to, from): (Vec<usize>, Vec<usize>) = ((0..p).collect(), vec![me; p]);
            let out = vec![me; to.iter().sum()];
            let exchanged = comm.iall_to_all_v(out, &to, vec![p; me * p], &from)?;
            let want: Vec<Rank> = (0..p).flat_map(|rank| vec![rank; me]).collect();
            assert_eq!(exchanged.wait()?, want);
            assert_eq!(reduced.wait()?, vec![me * p; counts[me]]);
            assert_eq!(scattered.wait()?, mine);
            let collected = collected.wait()?;
            assert!(if me == 1 % p {
                collected == all
            } else {
                collected.is_empty()
            });
            assert_eq!(gathered.wait()?, all);
            Ok(())
        };
        guarded(&|| format!("{p} ranks"), || World::new(p).strict().run(run)).unwrap();
    }
}

#[test]
fn all_of_it_holds_over_channels() {
    again::over_channels(&[]);
}

#[test]
fn all_of_it_holds_where_each_rank_has_a_cpu() {
    again::where_each_rank_has_a_cpu(&[]);
}
