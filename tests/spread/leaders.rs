//! All-reduces of ranks in several processes, of which one in each process exchanges with the others, in turn: ranks that
//! fail before and in a call, vectors of lengths by which ranks would go different ways, and ranks of one process that
//! have made different numbers of calls.

use std::time::Duration;

use rankfold::{Comm, Error, ErrorKind, Outcome, Rank, Report, Result, op};

use super::programs::{numbers, world};

/// How long a world may take in which a rank fails: less than a second on an idle machine, but some on a loaded one. A
/// failure that is not told at all takes until the launch is given up.
const SOON: Duration = Duration::from_secs(30);

/// What the victim does instead of its call, or in it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    Panics,
    Returns,
    Fails,
    /// One element too many.
    Count,
    /// Another type of the same size.
    Type,
    /// Another collective.
    Barrier,
    /// In its operator, which is called where it folds.
    Operator,
}

const WAYS: [Way; 7] = [
    Way::Panics,
    Way::Returns,
    Way::Fails,
    Way::Count,
    Way::Type,
    Way::Barrier,
    Way::Operator,
];

/// A vector that a leader exchanges as it is, and one of which each rank exchanges a block.
const LENGTHS: [usize; 2] = [3, 40_000];

pub fn leaders_that_fail(ranks: usize) {
    let size = world(ranks).run(|comm| Ok(comm.size())).unwrap()[0];
    for length in LENGTHS {
        for way in WAYS {
            for victim in 0..size {
                // Of two ranks in each process, each leads one of two calls.
                let seen = [0, 1].map(|before| fails(ranks, (way, victim), before, length));
                // Of a long one the rank that leads may fold alone.
                let may_not_fold = way == Way::Operator && length > 3 && victim % ranks > 0;
                assert!(
                    seen[0] || seen[1] || may_not_fold,
                    "{way:?} of {victim}, {length}: not seen"
                );
            }
        }
    }
}

/// A rank fails after `before` calls. Returns whether that was seen, which it always is unless its operator is not called.
fn fails(ranks: usize, (way, victim): (Way, Rank), before: usize, length: usize) -> bool {
    let report = world(ranks).run_each(|comm| {
        for _ in 0..before {
            right_call(comm, length)?;
        }
        match comm.rank() == victim {
            true if way == Way::Returns => return Ok(()),
            true => fail(comm, way, length)?,
            false => right_call(comm, length)?,
        }
        right_call(comm, length)
    });
    let case = format!("{way:?} of {victim} after {before}, length {length}, {report}");
    assert!(report.wall < SOON, "{:?}: {case}", report.wall);
    if way == Way::Operator && report.culprit.is_none() {
        report.into_result().unwrap();
        return false;
    }
    assert_eq!(report.culprit, Some(victim), "{case}");
    let is_mismatch = matches!(way, Way::Count | Way::Type | Way::Barrier);
    let odd = report.mismatch.as_ref().map(|found| &found.odd[..]);
    assert_eq!(odd, is_mismatch.then_some(&[victim][..]), "{case}");
    for outcome in others(&report, victim) {
        let Outcome::Failed(error) = outcome else {
            panic!("a rank did not learn of it: {case}");
        };
        names(error, victim, is_mismatch);
    }
    true
}

fn others(report: &Report<(), Error>, victim: Rank) -> impl Iterator<Item = &Outcome<(), Error>> {
    let ranks = report.outcomes.iter().zip(report.first_rank..);
    ranks
        .filter(move |(_, rank)| *rank != victim)
        .map(|(outcome, _)| outcome)
}

/// The error is of a kind that names a rank, and names this one if it is known by itself.
fn names(error: &Error, victim: Rank, is_mismatch: bool) {
    match error.kind() {
        ErrorKind::RankGone { rank, .. } => assert_eq!(*rank, victim, "{error}"),
        ErrorKind::Mismatch(found) if is_mismatch => assert_eq!(found.odd, [victim], "{error}"),
        ErrorKind::Broken { error: text, .. } => {
            let named = format!("rank {victim}");
            assert!(is_mismatch || text.contains(&named), "{error}");
        }
        _ => panic!("{error}"),
    }
}

/// A far rank panics while the others broadcast without end, which no rank of the root's process waits for.
pub fn broadcasts_without_end(ranks: usize) {
    let size = world(ranks).run(|comm| Ok(comm.size())).unwrap()[0];
    for victim in [size - 1, size - ranks] {
        let report = world(ranks).run_each(|comm| -> Result<()> {
            for call in 0u64.. {
                let mut numbers = [call * u64::from(comm.rank() == 0); 3];
                comm.broadcast(0, &mut numbers)?;
                assert_eq!(numbers, [call; 3]);
                assert!(comm.rank() != victim || call < 100, "boom");
            }
            Ok(())
        });
        assert!(report.wall < SOON, "{:?}: {report}", report.wall);
        assert_eq!(report.culprit, Some(victim), "{report}");
    }
}

fn right_call(comm: &Comm, length: usize) -> Result<()> {
    comm.all_reduce(&mut numbers(comm.rank(), length), u64::wrapping_add)
}

fn fail(comm: &Comm, way: Way, length: usize) -> Result<()> {
    let mut vector = numbers(comm.rank(), length + usize::from(way == Way::Count));
    match way {
        Way::Panics | Way::Returns => panic!("boom"),
        Way::Fails => Err(Error::user("boom")),
        Way::Count => comm.all_reduce(&mut vector, u64::wrapping_add),
        Way::Type => comm.all_reduce(&mut vec![0i64; length], i64::wrapping_add),
        Way::Barrier => comm.barrier(),
        Way::Operator => comm.all_reduce(&mut vector, |_, _| panic!("boom")),
    }
}

/// The left operand's high half and the right one's low half: associative, and does not commute.
fn in_order(left: u64, right: u64) -> u64 {
    (left & !0xffff_ffff) | (right & 0xffff_ffff)
}

/// Vectors of a length at which a leader may fold alone, and of the lengths around it: in place and from inputs, by operators
/// that commute and do not.
pub fn long_sums(ranks: usize) {
    let run = world(ranks).run(|comm| {
        let (me, size) = (comm.rank(), comm.size());
        for length in [600, 20_000, 32_767, 32_768, 70_001].repeat(3) {
            let input = numbers(me, length);
            let all: Vec<Vec<u64>> = (0..size).map(|rank| numbers(rank, length)).collect();
            let fold = |fold: fn(u64, u64) -> u64| -> Vec<u64> {
                let at = |i: usize| all.iter().map(|one| one[i]).reduce(fold).unwrap();
                (0..length).map(at).collect()
            };
            let mut output = input.clone();
            comm.all_reduce(&mut output, op::commutative(u64::wrapping_add))?;
            assert!(output == fold(u64::wrapping_add), "{length} in place");
            comm.all_reduce_into(&input, &mut output, in_order)?;
            assert!(output == fold(in_order), "{length} in order");
            assert!(input == numbers(me, length), "{length}: an input is read");
            output.copy_from_slice(&input);
            comm.all_reduce(&mut output, in_order)?;
            assert!(output == fold(in_order), "{length} in order, in place");
        }
        Ok(())
    });
    run.unwrap();
}

/// The bounds of a short vector, and of one that is exchanged by blocks, in numbers.
const BOUNDS: [usize; 2] = [4096 / 8, (1 << 18) / 8];

/// One rank passes a vector on the other side of a bound, or all but one: it goes another way than the others.
pub fn lengths_across_a_bound(ranks: usize) {
    let size = world(ranks).run(|comm| Ok(comm.size())).unwrap()[0];
    for bound in BOUNDS {
        for (of_odd, of_others) in [
            (bound - 1, bound),
            (bound, bound - 1),
            (bound + 1, bound),
            (bound, bound + 1),
        ] {
            for odd in 0..size {
                (0..2).for_each(|before| is_named(ranks, (odd, of_odd), before, of_others));
            }
        }
    }
}

fn is_named(ranks: usize, (odd, of_odd): (Rank, usize), before: usize, of_others: usize) {
    let report = world(ranks).run_each(|comm| {
        for _ in 0..before {
            right_call(comm, 3)?;
        }
        right_call(
            comm,
            if comm.rank() == odd {
                of_odd
            } else {
                of_others
            },
        )
    });
    let case = format!("{of_odd} of {odd}, {of_others} of others, after {before}: {report}");
    assert!(report.wall < SOON, "{:?}: {case}", report.wall);
    let found = report.mismatch.as_ref();
    assert_eq!(
        found.map(|found| &found.odd[..]),
        Some(&[odd][..]),
        "{case}"
    );
    assert_eq!(report.culprit, Some(odd), "{case}");
    assert!(
        report
            .outcomes
            .iter()
            .all(|one| matches!(one, Outcome::Failed(_))),
        "{case}"
    );
}

/// Ranks of one process make other calls between those that all make, or the same in another order, so that who leads is
/// the same for all only by the calls of the communicator.
pub fn leaders_by_number(ranks: usize) {
    let run = world(ranks).run(|comm| {
        let place = (comm.rank() % ranks) as u32;
        let (other, column) = (comm.dup()?, comm.split(place, 0)?);
        for round in 0..60 {
            // Those of one place are some calls ahead in a communicator of their own.
            (0..round % (2 + place as usize)).try_for_each(|_| sums(&column, 1))?;
            // The longer ones are not led over cells.
            sums(comm, [1, 2, 700, 4, 3000][round % 5])?;
            // Of another communicator, in which the calls of all have other numbers.
            (0..round % 3).try_for_each(|_| sums(&other, 1))?;
            let comms = [comm, &other];
            let [first, second] = [0, 1].map(|one| comms[(one + round / 2) % 2]);
            ahead_in_another(first, second, place == 0)?;
            comm.broadcast(round % comm.size(), &mut [round])?;
        }
        comm.barrier()
    });
    run.unwrap();
}

/// Some ranks have begun a call of one communicator before one of the other, and some begin it afterwards.
fn ahead_in_another(one: &Comm, other: &Comm, are_ahead: bool) -> Result<()> {
    let me = one.rank();
    let mut begun = None;
    if are_ahead {
        begun = Some(one.iall_reduce(numbers(me, 2), op::Max)?);
    }
    sums(other, 3)?;
    let begun = match begun {
        Some(begun) => begun,
        None => one.iall_reduce(numbers(me, 2), op::Max)?,
    };
    sums(other, 2)?;
    let most = (0..one.size()).map(|rank| numbers(rank, 1)[0]).max();
    assert_eq!(Some(begun.wait()?[0]), most);
    Ok(())
}

fn sums(comm: &Comm, length: usize) -> Result<()> {
    let mut sum = numbers(comm.rank(), length);
    comm.all_reduce(&mut sum, u64::wrapping_add)?;
    let all: Vec<Vec<u64>> = (0..comm.size()).map(|rank| numbers(rank, length)).collect();
    for (i, sum) in sum.into_iter().enumerate() {
        let numbers = all.iter().map(|numbers| numbers[i]);
        assert_eq!(sum, numbers.fold(0, u64::wrapping_add));
    }
    Ok(())
}
