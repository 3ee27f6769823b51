//! The results of the ranks that were here in a run over processes, among those of a run as threads.

use std::ops::Range;

use real::{Rank, Report, Spread, World, WorldError, op};

/// What a run over processes gave, and which ranks it had here.
pub(crate) struct Near<T> {
    pub ran: T,
    pub ranks: Range<Rank>,
}

/// Puts `mine` in the places `near`.
fn put<T>(all: &mut [T], near: Range<Rank>, mine: Vec<T>) {
    assert_eq!(mine.len(), near.len(), "one for each rank of this process");
    all[near]
        .iter_mut()
        .zip(mine)
        .for_each(|(all, mine)| *all = mine);
}

type Results<R, E> = Result<Vec<R>, WorldError<E>>;

pub(crate) fn results<R, E>(
    spread: Option<Near<Results<R, E>>>,
    here: Results<R, E>,
) -> Results<R, E> {
    let Some(Near { ran, ranks }) = spread else {
        return here;
    };
    match (ran, here) {
        (Ok(mine), Ok(mut all)) => {
            put(&mut all, ranks, mine);
            Ok(all)
        }
        // The error of a rank of another process is not here but as text.
        (
            Err(WorldError::FailedElsewhere { rank, .. }),
            Err(WorldError::Failed { rank: same, error }),
        ) if rank == same => Err(WorldError::Failed { rank, error }),
        (Err(error), _) | (Ok(_), Err(error)) => Err(error),
    }
}

type Reported<R, E> = Result<Report<R, E>, WorldError<E>>;

pub(crate) fn reports<R, E>(
    spread: Option<Near<Reported<R, E>>>,
    here: Reported<R, E>,
) -> Reported<R, E> {
    let Some(Near { ran, ranks }) = spread else {
        return here;
    };
    let (mine, mut all) = (ran?, here?);
    assert_eq!(mine.first_rank, ranks.start);
    put(&mut all.outcomes, ranks.clone(), mine.outcomes);
    let near = all.counts[ranks.clone()].iter_mut().zip(&mine.counts);
    near.for_each(|(all, mine)| all.operations = all.operations.min(mine.operations));
    agree(
        all.counts
            .iter_mut()
            .map(|counts| &mut counts.operations)
            .collect(),
    );
    all.culprit = mine.culprit;
    all.deadlocks = mine.deadlocks;
    all.mismatch = mine.mismatch;
    all.lost.retain(|lost| !ranks.contains(&lost.to));
    all.lost.extend(mine.lost);
    all.lost.sort_by_key(|lost| lost.to);
    Ok(all)
}

/// Makes each number the least of those of all processes. Tests let a rank fail at each of its operations, of which
/// there may be fewer over processes than among threads, or more.
fn agree(numbers: Vec<&mut u64>) {
    let mine: Vec<u64> = numbers.iter().map(|number| **number).collect();
    let agreed = World::new(1).spread(Spread::Must).run(|comm| {
        let mut least = mine.clone();
        comm.all_reduce(&mut least, op::Min)?;
        Ok(least)
    });
    let agreed = agreed.expect("all processes run the same worlds").remove(0);
    numbers
        .into_iter()
        .zip(agreed)
        .for_each(|(number, agreed)| *number = agreed);
}
