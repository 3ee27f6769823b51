//! The started collectives of random programs: sums and barriers of all ranks, and exchanges among the neighbours in the
//! graph of the program, by plain and by persistent calls.

use rankfold::{Comm, Graph, Persistent, Rank, Request, Result, op};

use super::random::{elements, sums};
use super::random_calls::{Call, Mine};

/// A started collective of all ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begun {
    Barrier,
    Sum {
        length: usize,
    },
    /// Any of the collectives, by a started or by a persistent call.
    Call {
        call: Call,
        persistent: bool,
    },
    /// Every rank sends to each of its neighbours in the graph of the program.
    Exchange {
        length: usize,
        /// Another block for each, and not the same for all.
        pieces: bool,
        /// With counts.
        counted: bool,
        /// By a persistent call.
        persistent: bool,
    },
}

/// The graph of a program, and the ranks that this one receives from.
pub struct Ring {
    graph: Graph,
    from: Vec<Rank>,
}

impl Ring {
    /// In it every rank sends to those so many places up.
    pub fn new(comm: &Comm, shifts: &[usize]) -> Result<Ring> {
        let (n, me) = (comm.size(), comm.rank());
        let to: Vec<Rank> = shifts.iter().map(|by| (me + by) % n).collect();
        let from: Vec<Rank> = shifts.iter().map(|by| (me + n - by) % n).collect();
        Ok(Ring {
            graph: comm.graph(&from, &to)?,
            from,
        })
    }
}

/// A started collective of a rank, and what it must return.
pub struct Open<'g> {
    pub id: u64,
    /// `None` if this rank gets nothing.
    right: Option<Vec<u64>>,
    ending: Ending<'g>,
}

enum Ending<'g> {
    Plain(Request<'static, Vec<u64>>),
    Persistent(Persistent<'g, u64>),
}

impl Open<'_> {
    /// A send that returns what it has sent.
    pub fn sent(id: u64, data: Vec<u64>, request: Request<'static, Vec<u64>>) -> Self {
        Open {
            id,
            right: Some(data),
            ending: Ending::Plain(request),
        }
    }

    pub fn finish(self) -> Result<()> {
        let got = match self.ending {
            Ending::Plain(request) => request.wait()?,
            Ending::Persistent(mut call) => {
                call.wait()?;
                call.output()?.to_vec()
            }
        };
        if let Some(right) = self.right {
            assert_eq!(got, right, "started {}", self.id);
        }
        Ok(())
    }
}

impl Begun {
    pub fn start<'g>(self, comm: &'g Comm, ring: &'g Ring, id: u64) -> Result<Open<'g>> {
        let plain = |right, request| Open {
            id,
            right: Some(right),
            ending: Ending::Plain(request),
        };
        match self {
            Begun::Barrier => Ok(plain(vec![], comm.ibarrier()?.map(|()| vec![]))),
            Begun::Sum { length } => {
                let right = sums(id, comm.size(), length);
                Ok(plain(right, start_sum(comm, ring, id, length)?))
            }
            Begun::Call { call, persistent } => {
                let mine = call.of(comm, id);
                let ending = start_call(&mine, persistent)?;
                let right = mine.right();
                Ok(Open { id, right, ending })
            }
            Begun::Exchange {
                length,
                pieces,
                counted,
                persistent,
            } => {
                let exchange = Exchange {
                    id,
                    length,
                    pieces,
                    counted,
                };
                let ending = exchange.start(ring, persistent)?;
                let right = Some(exchange.received(ring));
                Ok(Open { id, right, ending })
            }
        }
    }
}

fn start_call<'c>(mine: &Mine<'c>, persistent: bool) -> Result<Ending<'c>> {
    if !persistent {
        return Ok(Ending::Plain(mine.start()?));
    }
    let mut call = mine.persistent()?;
    call.start()?;
    Ok(Ending::Persistent(call))
}

fn start_sum(
    comm: &Comm,
    ring: &Ring,
    id: u64,
    length: usize,
) -> Result<Request<'static, Vec<u64>>> {
    let mine = elements(id, comm.rank(), length);
    match id % 4 {
        // Carried on by the ranks between the ends, whatever they do.
        0 => comm
            .using("chain".parse().expect("an algorithm"))
            .iall_reduce(mine, op::Sum),
        1 => ring.graph.iall_reduce(mine, op::Sum),
        _ => comm.iall_reduce(mine, op::Sum),
    }
}

/// An exchange among neighbours.
struct Exchange {
    id: u64,
    length: usize,
    pieces: bool,
    counted: bool,
}

impl Exchange {
    /// The length of every block that a rank sends.
    fn count(&self, from: Rank) -> usize {
        self.length + if self.counted { from % 3 } else { 0 }
    }

    /// The block that a rank sends along one of the shifts.
    fn block(&self, from: Rank, place: usize) -> Vec<u64> {
        let (count, place) = (self.count(from), if self.pieces { place } else { 0 });
        elements(self.id, from, (place + 1) * count).split_off(place * count)
    }

    fn received(&self, ring: &Ring) -> Vec<u64> {
        let from = ring.from.iter().enumerate();
        from.flat_map(|(place, from)| self.block(*from, place))
            .collect()
    }

    fn start<'g>(&self, ring: &'g Ring, persistent: bool) -> Result<Ending<'g>> {
        let (graph, me) = (&ring.graph, ring.graph.rank());
        let blocks = if self.pieces { ring.from.len() } else { 1 };
        let input: Vec<u64> = (0..blocks)
            .flat_map(|place| self.block(me, place))
            .collect();
        let from: Vec<usize> = ring.from.iter().map(|from| self.count(*from)).collect();
        let (to, output) = (vec![self.count(me); blocks], vec![0; from.iter().sum()]);
        if persistent {
            let mut call = match (self.pieces, self.counted) {
                (false, false) => graph.neighbor_all_gather_init(input, output)?,
                (false, true) => graph.neighbor_all_gather_v_init(input, &from, output)?,
                (true, false) => graph.neighbor_all_to_all_init(input, output)?,
                (true, true) => graph.neighbor_all_to_all_v_init(input, &to, output, &from)?,
            };
            call.start()?;
            return Ok(Ending::Persistent(call));
        }
        Ok(Ending::Plain(match (self.pieces, self.counted) {
            (false, false) => graph.ineighbor_all_gather(input, output)?,
            (false, true) => graph.ineighbor_all_gather_v(input, &from, output)?,
            (true, false) => graph.ineighbor_all_to_all(input, output)?,
            (true, true) => graph.ineighbor_all_to_all_v(input, &to, output, &from)?,
        }))
    }
}
