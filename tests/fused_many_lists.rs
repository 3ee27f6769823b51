//! A process that fuses more different lists than it keeps descriptions of, in a process of its own.

mod again;

use rankfold::collective::Algorithm;
use rankfold::{ErrorKind, Result, World, op};

/// The number of vectors in a list.
const VECTORS: usize = 500;

/// One list of a kind of its own for each number: the ranks list vectors of the digits' lengths.
fn list(comm: &rankfold::Comm, number: usize) -> Result<()> {
    let me = comm.rank() as u8;
    let mut vectors: Vec<Vec<u8>> = vec![vec![me]; VECTORS];
    (0..10).for_each(|digit| vectors[digit] = vec![me; number >> digit & 1]);
    comm.fused(|f| vectors.iter_mut().for_each(|v| f.all_reduce(v, op::Max)))?;
    let most = comm.size() as u8 - 1;
    assert!(
        vectors.iter().flatten().all(|x| *x == most),
        "list {number}"
    );
    Ok(())
}

#[test]
fn lists_beyond_the_limit_are_reduced_and_compared_all_the_same() {
    for ranks in [1, 2, 3] {
        World::new(ranks)
            .run(|comm| {
                (0..150).try_for_each(|number| list(comm, number))?;
                let mut maps = [[(2u64, comm.rank() as u64 + 1)]; 3];
                let compose = |(a, b), (c, d)| (a * c, c * b + d);
                comm.fused(|f| maps.iter_mut().for_each(|map| f.all_reduce(map, compose)))?;
                let folded = [(2, 1), (4, 4), (8, 11)][comm.size() - 1];
                assert_eq!(maps, [[folded]; 3]);
                let mut v = [1u32];
                comm.using(Algorithm::Exchange)
                    .fused(|f| f.all_reduce(&mut v, op::Sum))?;
                comm.using(Algorithm::Cells)
                    .fused(|f| f.all_reduce(&mut v, op::Max))?;
                assert_eq!(v, [comm.size() as u32]);
                Ok(())
            })
            .unwrap();
    }
    let report = World::new(3).run_each(|comm| {
        let mut v = vec![1u16; 3 + usize::from(comm.rank() == 2)];
        comm.fused(|f| f.all_reduce(&mut v, op::Sum))
    });
    let mismatch = report.mismatch.as_ref().expect("a mismatch");
    assert_eq!(mismatch.odd, [2], "{mismatch}");
    let kind = |outcome: &rankfold::Outcome<()>| match outcome.error() {
        Some(error) => matches!(error.kind(), ErrorKind::Mismatch(..)),
        None => false,
    };
    assert!(report.outcomes.iter().any(kind));
}

#[test]
fn all_of_it_holds_over_channels() {
    again::over_channels(&[]);
}
