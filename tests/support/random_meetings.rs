//! Meetings of random programs beside the plain collectives: exact sums, fused calls of several types, owned values, and
//! communicators of some ranks.

use rankfold::op::ExactSum;
use rankfold::{Comm, Rank, Result, op};

use super::random::{elements, sums};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meeting {
    /// Sums that do not depend on who has which number, and in which form they are asked for.
    Exact { length: usize },
    /// Vectors of several types and operators in one call.
    Fused { length: usize },
    /// Values that are moved.
    Values { root: Rank },
    /// A sum among the ranks below this one, in a communicator that only they make.
    Subset { below: Rank },
}

impl Meeting {
    pub fn play(self, comm: &Comm, id: u64) -> Result<()> {
        match self {
            Meeting::Exact { length } => exact(comm, id, length),
            Meeting::Fused { length } => fused(comm, id, length),
            Meeting::Values { root } => values(comm, id, root),
            Meeting::Subset { below } => subset(comm, id, below),
        }
    }
}

/// Numbers of all magnitudes and both signs.
fn numbers(id: u64, rank: Rank, length: usize) -> Vec<f64> {
    let number = |bits: u64| {
        let sign = if bits.is_multiple_of(2) { 1.0 } else { -1.0 };
        sign * (bits >> 8) as f64 * f64::powi(2.0, (bits % 601) as i32 - 300)
    };
    elements(id, rank, length).into_iter().map(number).collect()
}

fn exact_sum(numbers: impl Iterator<Item = f64>) -> f64 {
    let mut sum = ExactSum::new();
    numbers.for_each(|number| sum.add_all(&[number]));
    sum.value()
}

fn exact(comm: &Comm, id: u64, length: usize) -> Result<()> {
    let (n, mine) = (comm.size(), numbers(id, comm.rank(), length));
    let all = || (0..n).flat_map(|rank| numbers(id, rank, length));
    let same = |got: f64, want: f64| assert_eq!(got.to_bits(), want.to_bits(), "exact {id}");
    same(comm.sum_exact(&mine)?, exact_sum(all()));
    let halves = vec![0.5; length];
    same(
        comm.dot_exact(&mine, &halves)?,
        exact_sum(all().map(|one| one / 2.0)),
    );
    let mut vector = mine.clone();
    comm.all_reduce(&mut vector, op::SumExact)?;
    for (i, got) in vector.into_iter().enumerate() {
        let column = (0..n).map(|rank| numbers(id, rank, length)[i]);
        same(got, exact_sum(column));
    }
    Ok(())
}

fn fused(comm: &Comm, id: u64, length: usize) -> Result<()> {
    let (n, me) = (comm.size(), comm.rank());
    let mut sum = elements(id, me, length);
    let mut most = numbers(id, me, 1 + length % 5);
    let mut least = [me as i32, -(me as i32)];
    let mut any = [me == 0, false, true];
    let mut exact = [ExactSum::new()];
    exact[0].add_all(&numbers(id, me, 1));
    comm.fused(|f| {
        f.all_reduce(&mut sum, op::Sum);
        f.all_reduce(&mut most, f64::max);
        f.all_reduce(&mut least, op::Min);
        f.all_reduce(&mut any, op::LogicalOr);
        f.all_reduce(&mut [0_u8; 0], op::Sum);
        if id.is_multiple_of(2) {
            f.all_reduce(&mut exact, op::Sum);
        }
    })?;
    assert_eq!(sum, sums(id, n, length), "fused {id}");
    for (i, most) in most.into_iter().enumerate() {
        let column = (0..n).map(|rank| numbers(id, rank, i + 1)[i]);
        assert_eq!(most, column.fold(f64::NEG_INFINITY, f64::max), "fused {id}");
    }
    assert_eq!(
        (least, any),
        ([0, 1 - n as i32], [true, false, true]),
        "fused {id}"
    );
    if id.is_multiple_of(2) {
        let all = (0..n).map(|rank| numbers(id, rank, 1)[0]);
        assert_eq!(
            exact[0].value().to_bits(),
            exact_sum(all).to_bits(),
            "fused {id}"
        );
    }
    Ok(())
}

fn values(comm: &Comm, id: u64, root: Rank) -> Result<()> {
    let (n, me, values) = (comm.size(), comm.rank(), comm.values());
    let name = |rank: Rank| format!("{id} of {rank}");
    let upto = |ranks: usize| (0..ranks).map(name).collect::<Vec<_>>().join(", ");
    let join = |a: String, b: String| format!("{a}, {b}");
    match id % 5 {
        0 => assert_eq!(values.all_reduce(name(me), join)?, upto(n)),
        1 => assert_eq!(values.scan(name(me), join)?, upto(me + 1)),
        2 => {
            let given = (0..n).map(|to| format!("{me} to {to}")).collect();
            let want: Vec<_> = (0..n).map(|from| format!("{from} to {me}")).collect();
            assert_eq!(values.all_to_all(given)?, want);
        }
        3 => {
            let given = (me == root).then(|| name(root));
            assert_eq!(values.broadcast(root, given)?, name(root));
        }
        _ => {
            let want = (me == root).then(|| (0..n).map(name).collect::<Vec<_>>());
            assert_eq!(values.gather(root, name(me))?, want);
        }
    }
    Ok(())
}

fn subset(comm: &Comm, id: u64, below: Rank) -> Result<()> {
    let ranks: Vec<Rank> = (0..=below).rev().collect();
    if !ranks.contains(&comm.rank()) {
        return Ok(());
    }
    let some = comm.subset(&ranks)?;
    let mut sum = elements(id, comm.rank(), 3);
    some.all_reduce(&mut sum, op::Sum)?;
    assert_eq!(sum, sums(id, ranks.len(), 3), "subset {id}");
    Ok(())
}
