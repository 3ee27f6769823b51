//! A naive oracle of the collectives among neighbours: which block comes from where, in graphs and on grids; and calls
//! that are compared with it, whether they block, are started or persistent.

use rankfold::{Comm, Graph, Neighborhood, Persistent, Rank, Request, Result, World};

use super::{Random, guarded, mix};

/// For each rank the ranks it receives from and those it sends to; `None` where a grid has no neighbour.
#[derive(Clone, Debug)]
pub struct Edges {
    pub sources: Vec<Vec<Option<Rank>>>,
    pub destinations: Vec<Vec<Option<Rank>>>,
    /// Whether what goes up arrives from below.
    grid: bool,
}

impl Edges {
    pub fn ranks(&self) -> usize {
        self.sources.len()
    }

    /// The rank that sends block `place` of `to`'s receive buffer, and the block's place in its send buffer.
    fn origin(&self, to: Rank, place: usize) -> Option<(Rank, usize)> {
        let from = self.sources[to][place]?;
        if self.grid {
            return Some((from, place ^ 1));
        }
        let earlier = self.sources[to][..place].iter();
        let earlier = earlier.filter(|source| **source == Some(from)).count();
        let theirs = self.destinations[from].iter().enumerate();
        let mut mine = theirs.filter(|(_, destination)| **destination == Some(to));
        Some((from, mine.nth(earlier).unwrap().0))
    }

    /// What a call leaves in a receive buffer, if blocks that do not come have `missing(place)` elements.
    pub fn received(
        &self,
        to: Rank,
        missing: impl Fn(usize) -> usize,
        block: impl Fn(Rank, usize) -> Vec<u64>,
    ) -> Vec<Vec<u64>> {
        let got = |place| match self.origin(to, place) {
            Some((from, theirs)) => block(from, theirs),
            None => vec![UNTOUCHED; missing(place)],
        };
        (0..self.sources[to].len()).map(got).collect()
    }
}

pub const UNTOUCHED: u64 = u64::MAX;

fn known(ranks: &[Option<Rank>]) -> Vec<Rank> {
    ranks.iter().map(|rank| rank.unwrap()).collect()
}

/// Edges between ranks, which each rank has in an order of its own.
pub fn graph_of(ranks: usize, edges: &[(Rank, Rank)], random: &mut Random) -> Edges {
    let mut all = Edges {
        sources: vec![Vec::new(); ranks],
        destinations: vec![Vec::new(); ranks],
        grid: false,
    };
    for (from, to) in edges {
        all.destinations[*from].push(Some(*to));
        all.sources[*to].push(Some(*from));
    }
    for list in all.sources.iter_mut().chain(&mut all.destinations) {
        (1..list.len()).for_each(|last| list.swap(last, random.below(last + 1)));
    }
    all
}

/// A graph with self loops and repeated edges, in which some ranks have no neighbour.
pub fn drawn(ranks: usize, seed: u64) -> Edges {
    let mut random = Random::new(seed);
    let some = 1 + random.below(ranks);
    let count = random.below(3 * some + 1);
    let mut edges = Vec::new();
    for _ in 0..count {
        let edge = (random.below(some), random.below(some));
        let times = random.of(&[1, 1, 1, 2, 3, 4, 5, 9]);
        edges.extend(vec![edge; times]);
    }
    graph_of(ranks, &edges, &mut random)
}

pub fn make(comm: &Comm, edges: &Edges) -> Result<Graph> {
    let me = comm.rank();
    let (sources, destinations) = (&edges.sources[me], &edges.destinations[me]);
    let graph = comm.graph(&known(sources), &known(destinations))?;
    assert_eq!(graph.sources(), known(sources));
    assert_eq!(graph.destinations(), known(destinations));
    assert_eq!(graph.in_degree(), sources.len());
    assert_eq!(graph.out_degree(), destinations.len());
    Ok(graph)
}

/// The neighbours on a grid, by counting in its coordinates.
pub fn grid_of(dims: &[usize], periodic: &[bool]) -> Edges {
    let ranks: usize = dims.iter().product();
    let beside = |rank: Rank, dimension: usize, by: isize| {
        let apart: usize = dims[dimension + 1..].iter().product();
        let (extent, here) = (
            dims[dimension] as isize,
            (rank / apart % dims[dimension]) as isize,
        );
        let there = match periodic[dimension] {
            true => (here + by + extent) % extent,
            false => Some(here + by).filter(|there| (0..extent).contains(there))?,
        };
        Some((rank as isize + (there - here) * apart as isize) as Rank)
    };
    let of = |rank| {
        let sides = (0..dims.len()).flat_map(|dimension| [(dimension, -1), (dimension, 1)]);
        sides
            .map(|(dimension, by)| beside(rank, dimension, by))
            .collect()
    };
    let all: Vec<Vec<Option<Rank>>> = (0..ranks).map(of).collect();
    Edges {
        sources: all.clone(),
        destinations: all,
        grid: true,
    }
}

/// Element `i` of the block at `place` of what `from` sends in call `call`.
fn element(call: u64, from: Rank, place: usize, i: usize) -> u64 {
    mix(call << 40 ^ (from as u64) << 28 ^ (place as u64) << 14 ^ i as u64) >> 1
}

pub fn block(call: u64, from: Rank, place: usize, length: usize) -> Vec<u64> {
    (0..length).map(|i| element(call, from, place, i)).collect()
}

/// A length that may be none, short or long.
pub fn length(call: u64, from: Rank, place: usize) -> usize {
    let drawn = mix(call.wrapping_mul(77) ^ (from as u64) << 20 ^ place as u64);
    [0, 1, 2, 4, 5, 150][(drawn >> 7) as usize % 6]
}

/// The collectives among neighbours.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    AllGather,
    AllGatherV,
    AllToAll,
    AllToAllV,
}

pub const KINDS: [Kind; 4] = [
    Kind::AllGather,
    Kind::AllGatherV,
    Kind::AllToAll,
    Kind::AllToAllV,
];

/// A call of one rank: its arguments, and what it must have received afterwards.
pub struct Case {
    pub kind: Kind,
    pub input: Vec<u64>,
    to: Vec<usize>,
    from: Vec<usize>,
    pub right: Vec<u64>,
}

/// What `me` does in call `id`, with blocks of `n` elements, or of drawn lengths.
pub fn case(edges: &Edges, me: Rank, kind: Kind, (id, n): (u64, usize)) -> Case {
    let count = |from: Rank, place: usize| match kind {
        Kind::AllGather | Kind::AllToAll => n,
        Kind::AllGatherV | Kind::AllToAllV => length(id, from, place),
    };
    let gathers = matches!(kind, Kind::AllGather | Kind::AllGatherV);
    let piece = |from: Rank, place: usize| {
        let place = if gathers { 0 } else { place };
        block(id, from, place, count(from, place))
    };
    let missing = |place: usize| match kind {
        Kind::AllGather | Kind::AllToAll => n,
        Kind::AllGatherV | Kind::AllToAllV => place % 3,
    };
    let outgoing = if gathers {
        1
    } else {
        edges.destinations[me].len()
    };
    let sent: Vec<Vec<u64>> = (0..outgoing).map(|place| piece(me, place)).collect();
    let right = edges.received(me, missing, piece);
    let counts = |blocks: &[Vec<u64>]| blocks.iter().map(Vec::len).collect();
    Case {
        kind,
        input: sent.concat(),
        to: counts(&sent),
        from: counts(&right),
        right: right.concat(),
    }
}

impl Case {
    fn room(&self) -> Vec<u64> {
        vec![UNTOUCHED; self.right.len()]
    }

    pub fn start(&self, ranks: &Neighborhood) -> Result<Request<'static, Vec<u64>>> {
        let (input, room) = (self.input.clone(), self.room());
        match self.kind {
            Kind::AllGather => ranks.ineighbor_all_gather(input, room),
            Kind::AllGatherV => ranks.ineighbor_all_gather_v(input, &self.from, room),
            Kind::AllToAll => ranks.ineighbor_all_to_all(input, room),
            Kind::AllToAllV => ranks.ineighbor_all_to_all_v(input, &self.to, room, &self.from),
        }
    }

    /// The same, described for later.
    pub fn describe<'c>(&self, ranks: &'c Neighborhood) -> Result<Persistent<'c, u64>> {
        let (input, room) = (vec![0; self.input.len()], self.room());
        match self.kind {
            Kind::AllGather => ranks.neighbor_all_gather_init(input, room),
            Kind::AllGatherV => ranks.neighbor_all_gather_v_init(input, &self.from, room),
            Kind::AllToAll => ranks.neighbor_all_to_all_init(input, room),
            Kind::AllToAllV => ranks.neighbor_all_to_all_v_init(input, &self.to, room, &self.from),
        }
    }

    pub fn block(&self, ranks: &Neighborhood) -> Result<()> {
        let (input, mut room) = (&self.input[..], self.room());
        match self.kind {
            Kind::AllGather => ranks.neighbor_all_gather(input, &mut room)?,
            Kind::AllGatherV => ranks.neighbor_all_gather_v(input, &self.from, &mut room)?,
            Kind::AllToAll => ranks.neighbor_all_to_all(input, &mut room)?,
            Kind::AllToAllV => {
                ranks.neighbor_all_to_all_v(input, &self.to, &mut room, &self.from)?;
            }
        }
        self.check(&room, "blocking");
        Ok(())
    }

    pub fn check(&self, got: &[u64], what: &str) {
        assert_eq!(got, self.right, "{what} {:?}", self.kind);
    }
}

/// Runs a program that is right.
pub fn right(
    world: World,
    case: &dyn Fn() -> String,
    program: impl Fn(&Comm) -> Result<()> + Sync,
) {
    let run = guarded(case, || world.strict().run(program));
    run.unwrap_or_else(|error| panic!("{}: {error}", case()));
}
