//! What each collective gives, from its definition: one vector of maps that do not commute for every rank.

use rankfold::collective::Collective;
use rankfold::{Comm, Rank};

use super::{Map, compose, fold, map};

/// Every collective of elements.
pub const KINDS: [Collective; 10] = [
    Collective::Broadcast,
    Collective::Reduce,
    Collective::AllReduce,
    Collective::ReduceScatter,
    Collective::AllGather,
    Collective::Gather,
    Collective::Scatter,
    Collective::AllToAll,
    Collective::Scan,
    Collective::ExclusiveScan,
];

pub const IDENTITY: Map = (1, 0);

/// The vector of a rank in call `id`, of `n` blocks of `length` elements, one for each rank where the collective has
/// blocks.
pub fn vector(id: usize, rank: Rank, length: usize) -> Vec<Map> {
    (0..length).map(|i| map(rank + 100 * id, i)).collect()
}

/// What rank `me` of `p` must hold after call `id` to `root`, with blocks of `n` elements.
pub fn expected(
    kind: Collective,
    (me, p): (Rank, usize),
    (id, root, n): (usize, Rank, usize),
) -> Vec<Map> {
    let wholes = || {
        (0..p)
            .map(|rank| vector(id, rank, n * p))
            .collect::<Vec<_>>()
    };
    let blocks = || {
        (0..p)
            .flat_map(|rank| vector(id, rank, n))
            .collect::<Vec<_>>()
    };
    let total = |count: usize| match count {
        0 => vec![IDENTITY; n * p],
        _ => fold(&wholes()[..count], compose),
    };
    let own = me * n..(me + 1) * n;
    match kind {
        Collective::Barrier => Vec::new(),
        Collective::Broadcast => vector(id, root, n * p),
        Collective::Reduce | Collective::Gather if me != root => Vec::new(),
        Collective::Reduce | Collective::AllReduce => total(p),
        Collective::ReduceScatter => total(p)[own].to_vec(),
        Collective::AllGather | Collective::Gather => blocks(),
        Collective::Scatter => vector(id, root, n * p)[own].to_vec(),
        Collective::AllToAll => wholes()
            .iter()
            .flat_map(|v| v[own.clone()].to_vec())
            .collect(),
        Collective::Scan => total(me + 1),
        Collective::ExclusiveScan => total(me),
    }
}

/// Compares what a rank holds after a call with the definition.
pub fn check(comm: &Comm, kind: Collective, what: (usize, Rank, usize), got: &[Map]) {
    let want = expected(kind, (comm.rank(), comm.size()), what);
    assert!(
        got == want,
        "{kind:?} {what:?} on rank {} of {}",
        comm.rank(),
        comm.size()
    );
}
