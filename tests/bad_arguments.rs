//! Invalid arguments in every collective: refused on the rank that passes them, before anything is sent, and the
//! communicator is as if the call had not been made.

mod again;
mod support;

use rankfold::collective::Algorithm;
use rankfold::op::Sum;
use rankfold::topology::TreeName;
use rankfold::{Comm, ErrorKind, Result, World};
use support::guarded;

type Call = fn(&Comm) -> Result<()>;

const HUGE: usize = usize::MAX;

/// Roots that are not ranks, and buffers and counts that do not fit together.
const WRONG: [(&str, Call); 41] = [
    ("broadcast, root", |c| c.broadcast(c.size(), &mut [0u8; 3])),
    ("broadcast, huge root", |c| c.broadcast(HUGE, &mut [0u8; 3])),
    ("broadcast using an algorithm, root", |c| {
        c.using(Algorithm::ScatterRing)
            .broadcast(HUGE, &mut [0u8; 3])
    }),
    ("reduce, root", |c| c.reduce(c.size(), &mut [0u8; 3], Sum)),
    ("reduce, huge root", |c| {
        c.reduce(HUGE, &mut [0u8; 3000], Sum)
    }),
    ("reduce using an algorithm, root", |c| {
        c.using(Algorithm::Halving).reduce(HUGE, &mut [0u8; 3], Sum)
    }),
    ("reduce with a closure, root", |c| {
        c.reduce(HUGE, &mut [0u8; 3], |a, _| a)
    }),
    ("gather, root", |c| c.gather(HUGE, &[0u8; 3]).map(|_| ())),
    ("gather_into, root", |c| {
        c.gather_into(HUGE, &[0u8; 3], &mut [])
    }),
    ("gather_into, room", |c| {
        c.gather_into(c.rank(), &[0u8; 3], &mut [0; 2])
    }),
    ("gather_v, root", |c| {
        c.gather_v(HUGE, &[0u8; 3], &vec![3; c.size()], &mut [])
    }),
    ("gather_v, counts", |c| {
        c.gather_v(0, &[0u8; 3], &[3], &mut [0; 3])
    }),
    ("gather_v, no counts", |c| {
        c.gather_v(0, &[0u8; 3], &[], &mut [])
    }),
    ("gather_v, huge counts", |c| {
        c.gather_v(0, &[0u8; 3], &vec![HUGE; c.size()], &mut [])
    }),
    ("gather_v, block", |c| {
        c.gather_v(0, &[0u8; 3], &vec![4; c.size()], &mut [])
    }),
    ("scatter, root", |c| c.scatter(HUGE, None, &mut [0u8; 3])),
    ("scatter, nothing", |c| {
        c.scatter(c.rank(), None, &mut [0u8; 3])
    }),
    ("scatter, too much", |c| {
        c.scatter(c.rank(), Some(&[0u8; 100]), &mut [0; 3])
    }),
    ("scatter, not the root", |c| {
        c.scatter((c.rank() + 1) % c.size(), Some(&[0u8; 100]), &mut [0; 3])
    }),
    ("scatter_v, counts", |c| {
        c.scatter_v(0, None, &[1], &mut [0u8; 3])
    }),
    ("scatter_v, huge counts", |c| {
        c.scatter_v(0, None, &vec![HUGE / 2; c.size()], &mut [0u8; 3])
    }),
    ("all_gather, room", |c| {
        c.all_gather(&[0u8; 3], &mut [0; 100])
    }),
    ("all_gather, no room", |c| c.all_gather(&[0u8; 3], &mut [])),
    ("all_gather_v, counts", |c| {
        c.all_gather_v(&[0u8; 3], &[], &mut [0; 3])
    }),
    ("all_gather_v, huge", |c| {
        c.all_gather_v(&[0u8; 3], &vec![HUGE; c.size()], &mut [0; 3])
    }),
    ("all_to_all, lengths", |c| {
        c.all_to_all(&[0u8; 3], &mut [0; 100])
    }),
    ("all_to_all_v, counts", |c| {
        c.all_to_all_v(&[0u8; 3], &[], &mut [0; 3], &[])
    }),
    ("all_to_all_v, huge", |c| {
        let counts = vec![HUGE; c.size()];
        c.all_to_all_v(&[0u8; 3], &counts, &mut [0; 3], &counts)
    }),
    ("gather, counts of nothings", |c| {
        c.gather(c.rank(), &[(); HUGE]).map(|_| ())
    }),
    ("all_to_all, counts of nothings", |c| {
        c.all_to_all(&[(); HUGE], &mut [()])
    }),
    ("all_to_all_v, lengths", |c| {
        let counts = vec![4; c.size()];
        c.all_to_all_v(&[0u8; 3], &counts, &mut [0; 3], &counts)
    }),
    ("all_reduce_into, lengths", |c| {
        c.all_reduce_into(&[0u8; 3], &mut [0; 4], Sum)
    }),
    ("reduce_into, lengths", |c| {
        c.reduce_into(c.rank(), &[0u8; 3], &mut [0; 4], Sum)
    }),
    ("reduce_scatter, room", |c| {
        c.reduce_scatter(&[0u8; 3], &mut [0; 100], Sum)
    }),
    ("reduce_scatter_v, counts", |c| {
        c.reduce_scatter_v(&[0u8; 3], &[], &mut [0; 3], Sum)
    }),
    ("broadcast_value, root", |c| {
        c.values().broadcast(HUGE, Some(1)).map(|_| ())
    }),
    ("reduce_value, root", |c| {
        c.values().reduce(HUGE, 1, |a, _| a).map(|_| ())
    }),
    ("gather_value, root", |c| {
        c.values().gather(HUGE, 1).map(|_| ())
    }),
    ("scatter_value, too few", |c| {
        c.values().scatter(c.rank(), Some(vec![0; 70])).map(|_| ())
    }),
    ("all_to_all_value, too many", |c| {
        c.values().all_to_all(vec![0; 70]).map(|_| ())
    }),
    ("all_to_all_value, none", |c| {
        c.values().all_to_all::<u8>(Vec::new()).map(|_| ())
    }),
];

/// Every rank makes the wrong call, and then a right one.
fn refused(name: &str, ranks: usize, check: bool, call: impl Fn(&Comm) -> Result<()> + Sync) {
    let case = || format!("{name}, {ranks} ranks, check({check})");
    let run = guarded(&case, || {
        World::new(ranks).check(check).run(|comm| {
            let refusal = call(comm).expect_err("nothing can be made of it");
            let usage = matches!(refusal.kind(), ErrorKind::Usage(_));
            assert!(usage, "{}: {refusal}", case());
            let mut one = [1];
            comm.all_reduce(&mut one, Sum)?;
            assert_eq!(one, [ranks]);
            Ok(())
        })
    });
    run.unwrap_or_else(|error| panic!("{}: {error}", case()));
}

#[test]
fn what_cannot_be_called_is_refused_and_the_communicator_is_whole() {
    for (name, call) in WRONG {
        for ranks in [1, 2, 3, 5, 8] {
            let alone = ranks == 1 && (name.contains("counts") || name.contains("not the root"));
            for check in [false, true].into_iter().filter(|_| !alone) {
                refused(name, ranks, check, call);
            }
        }
    }
}

/// Names with absurd numbers: each call is made or refused, and no rank panics.
#[test]
fn algorithms_with_absurd_numbers_are_refused_or_run() {
    let mut algorithms = vec![
        Algorithm::Hybrid { stages: u32::MAX },
        Algorithm::Hybrid { stages: 64 },
        Algorithm::pipelined(TreeName::Chain, usize::MAX),
        Algorithm::pipelined(TreeName::BINOMIAL, usize::MAX / 2),
    ];
    for k in [0, 1, 1000, usize::MAX / 2, usize::MAX] {
        let trees = [TreeName::KRing(k), TreeName::KTree(k), TreeName::KAry(k)];
        algorithms.extend(trees.map(Algorithm::tree));
        algorithms.extend(trees.map(|tree| Algorithm::pipelined(tree, 3)));
    }
    for algorithm in algorithms {
        for ranks in [1, 2, 5, 8] {
            let case = || format!("{algorithm:?}, {ranks} ranks");
            let run = guarded(&case, || {
                World::new(ranks).run(|comm| {
                    let mut v = vec![1usize; 40];
                    match comm.using(algorithm).all_reduce(&mut v, Sum) {
                        Ok(()) => assert_eq!(v, [ranks; 40]),
                        Err(error) => {
                            let usage = matches!(error.kind(), ErrorKind::Usage(_));
                            assert!(usage, "{error}");
                        }
                    }
                    comm.barrier()
                })
            });
            run.unwrap_or_else(|error| panic!("{}: {error}", case()));
        }
    }
}

#[test]
fn all_of_it_holds_over_channels() {
    again::over_channels(&[]);
}

/// A gather of elements without a size: its length is that of no buffer of other elements, and may not be countable.
#[test]
fn gathers_of_countless_nothings_are_made_or_refused_in_a_sentence() {
    let program = |comm: &Comm| {
        let got = comm.gather(0, &[[0u64; 0]; 1 << 40])?;
        Ok(got.map(|all| all.len()))
    };
    let run = guarded(&|| "2^40".into(), || World::new(2).run(program));
    assert_eq!(run.unwrap(), [Some(2 << 40), None]);
    const BLOCK: [[u64; 0]; 1 << 63] = [[]; 1 << 63];
    let calls: [Call; 4] = [
        |comm| comm.gather(0, &BLOCK).map(drop),
        |comm| comm.igather(0, BLOCK.to_vec()).map(drop),
        |comm| comm.scatter(0, Some(&BLOCK), &mut BLOCK.to_vec()),
        |comm| comm.iall_gather(BLOCK.to_vec()).map(drop),
    ];
    for call in calls {
        let refused = |comm: &Comm| Ok(call(comm).unwrap_err().to_string());
        let says = "the blocks of 2 ranks together have 18446744073709551615 elements or more";
        for text in World::new(2).run(refused).unwrap() {
            assert!(text.ends_with(says), "{text}");
        }
    }
}
