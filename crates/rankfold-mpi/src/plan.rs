//! How collectives move data: each call makes a [`Plan`], which is executed at once, started, or started many times.
//!
//! Every block that moves has a head: the signature of its elements, the call and the operator of the rank that sent it.
//! What the engine cannot compare is compared by these.

use std::rc::Rc;

use rankfold::Request;

use crate::abi::*;
use crate::comm::Communicator;
use crate::datatype::pack::Buffer;
use crate::datatype::signature::Signature;
use crate::error::{Collective, Out, failure, require};
use crate::hidden;
use crate::memory::{Byte, Caller, known};
use crate::op;
use crate::rank::Rank;
use crate::request::{Pending, RequestPart};
use crate::stat::Stat;

/// The length of the head of a block.
pub(crate) const HEAD: usize = 8;

/// The collectives by name; its place in this list is a call's number.
pub(crate) const CALLS: [&str; 23] = [
    "another call",
    "MPI_Bcast",
    "MPI_Gather",
    "MPI_Gatherv",
    "MPI_Scatter",
    "MPI_Scatterv",
    "MPI_Allgather",
    "MPI_Allgatherv",
    "MPI_Alltoall",
    "MPI_Alltoallv",
    "MPI_Alltoallw",
    "MPI_Reduce",
    "MPI_Allreduce",
    "MPI_Reduce_scatter",
    "MPI_Reduce_scatter_block",
    "MPI_Scan",
    "MPI_Exscan",
    "MPI_Neighbor_allgather",
    "MPI_Neighbor_allgatherv",
    "MPI_Neighbor_alltoall",
    "MPI_Neighbor_alltoallv",
    "MPI_Neighbor_alltoallw",
    "MPI_Dist_graph_create",
];

/// What the blocks of a call have in their heads.
#[derive(Clone, Copy)]
pub(crate) struct Mark {
    pub call: u16,
    pub op: u16,
}

impl Mark {
    pub(crate) fn of(name: &str) -> Mark {
        let call = CALLS.iter().position(|call| *call == name).unwrap_or(0) as u16;
        Mark { call, op: 0 }
    }

    /// Appends head and elements of a block.
    pub(crate) fn encode(self, caller: &Caller, data: &Buffer<'_>, to: &mut Vec<Byte>) -> Out {
        op::head(data.of.signature.0, self.call, self.op, to);
        data.pack(caller, to)
    }

    /// Whether another rank is in the same call, with the same operator.
    fn agrees(self, from: usize, call: u16, op: u16) -> Out {
        let named = |call: u16| CALLS.get(usize::from(call)).copied().unwrap_or(CALLS[0]);
        let theirs = named(call);
        require(call == self.call, MPI_ERR_OTHER, || {
            let mine = named(self.call);
            format!("rank {from} calls {theirs}, and this rank {mine}")
        })?;
        require(op == self.op, MPI_ERR_OP, || {
            let (op, mine) = (op::name(op), op::name(self.op));
            format!("rank {from} calls {theirs} with {op}, and this rank with {mine}")
        })
    }

    /// The elements of a block of another rank, if it fits what is awaited.
    pub(crate) fn elements<'b>(
        self,
        from: usize,
        block: &'b [Byte],
        into: &Buffer<'_>,
    ) -> Out<&'b [Byte]> {
        let (head, elements) = block
            .split_at_checked(HEAD)
            .ok_or_else(|| failure(MPI_ERR_INTERN, "a block without a head"))?;
        let head = known(head);
        let number = |at: usize| u16::from_le_bytes([head[at], head[at + 1]]);
        self.agrees(from, number(4), number(6))?;
        let sent = Signature(u32::from_le_bytes([head[0], head[1], head[2], head[3]]));
        require(elements.len() <= into.bytes(), MPI_ERR_TRUNCATE, || {
            format!(
                "rank {from} sends {} bytes, and there is room for {}",
                elements.len(),
                into.bytes()
            )
        })?;
        require(elements.len() == into.bytes(), MPI_ERR_COUNT, || {
            let (sent, awaited) = (elements.len(), into.bytes());
            format!(
                "rank {from} sends {sent} bytes, and this rank receives {awaited}: collectives need equal amounts"
            )
        })?;
        require(
            sent.matches(into.of.signature, elements.len()),
            MPI_ERR_TYPE,
            || {
                format!(
                    "rank {from} sends {}, and this rank receives {}",
                    sent.names(),
                    into.of.signature.names()
                )
            },
        )?;
        Ok(elements)
    }

    /// Fills a buffer from a block of another rank.
    pub(crate) fn decode(
        self,
        caller: &Caller,
        from: usize,
        block: &[Byte],
        into: &Buffer<'_>,
    ) -> Out {
        into.unpack(caller, self.elements(from, block, into)?)
    }
}

/// A message of an exchange: the other rank, a number that distinguishes messages between the same ranks, the block.
pub(crate) type Outgoing = (usize, u32, Vec<Byte>);

/// How blocks move.
pub(crate) enum Move {
    Barrier,
    Broadcast {
        root: usize,
        block: Vec<Byte>,
    },
    Gather {
        root: usize,
        block: Vec<Byte>,
    },
    Scatter {
        root: usize,
        all: Option<Vec<Byte>>,
        block: usize,
    },
    AllGather {
        block: Vec<Byte>,
    },
    AllToAll {
        all: Vec<Byte>,
    },
    /// Messages to some ranks, and from some.
    Exchange {
        to: Vec<Outgoing>,
        from: Vec<(usize, u32)>,
        root: Option<usize>,
    },
}

impl Move {
    fn root(&self) -> Option<usize> {
        match self {
            Move::Broadcast { root, .. }
            | Move::Gather { root, .. }
            | Move::Scatter { root, .. } => Some(*root),
            Move::Exchange { root, .. } => *root,
            Move::Barrier | Move::AllGather { .. } | Move::AllToAll { .. } => None,
        }
    }

    /// The call of this name that moves so.
    fn collective(&self, call: &'static str) -> Collective {
        let root = self.root();
        Collective { call, root }
    }
}

/// What has come: the blocks of equal length of all ranks, or the messages of an exchange.
pub(crate) enum Arrived {
    Blocks(Vec<Byte>, usize),
    Messages(Vec<Vec<Byte>>),
}

impl Arrived {
    pub(crate) fn block(&self, at: usize) -> &[Byte] {
        match self {
            Arrived::Blocks(all, ranks) => {
                let len = all.len() / (*ranks).max(1);
                &all[at * len..(at + 1) * len]
            }
            Arrived::Messages(all) => &all[at],
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        matches!(self, Arrived::Blocks(all, _) if all.is_empty())
    }
}

/// What is done with the blocks that have come.
pub(crate) type Then = Box<dyn FnOnce(&Caller, Arrived) -> Out>;

/// A collective call of this rank, not yet executed.
pub(crate) struct Plan {
    pub movement: Move,
    pub then: Then,
}

/// Executes a call and waits for its end.
pub(crate) fn execute(rank: &Rank, caller: &Caller, comm: &Communicator, plan: Plan) -> Out {
    let Plan { movement, then } = plan;
    let (engine, size) = (&comm.comm, comm.comm.size());
    let arrived = match movement {
        Move::Barrier => {
            engine.barrier()?;
            Arrived::Blocks(Vec::new(), size)
        }
        Move::Broadcast { root, mut block } => {
            engine.broadcast(root, &mut block)?;
            Arrived::Blocks(block, 1)
        }
        Move::Gather { root, block } => {
            let ranks = if engine.rank() == root { size } else { 0 };
            let mut all = vec![Byte::ZERO; block.len() * ranks];
            engine.gather_into(root, &block, &mut all)?;
            Arrived::Blocks(all, size)
        }
        Move::Scatter { root, all, block } => {
            let mut mine = vec![Byte::ZERO; block];
            engine.scatter(root, all.as_deref(), &mut mine)?;
            Arrived::Blocks(mine, 1)
        }
        Move::AllGather { block } => {
            let mut all = vec![Byte::ZERO; block.len() * size];
            engine.all_gather(&block, &mut all)?;
            Arrived::Blocks(all, size)
        }
        Move::AllToAll { all } => {
            let mut output = vec![Byte::ZERO; all.len()];
            engine.all_to_all(&all, &mut output)?;
            Arrived::Blocks(output, size)
        }
        movement @ Move::Exchange { .. } => {
            let started = start(rank.call.get(), comm, Plan { movement, then })?;
            return started.wait(rank, caller).map(drop);
        }
    };
    then(caller, arrived)
}

/// Starts a call of this name.
pub(crate) fn start(name: &'static str, comm: &Communicator, plan: Plan) -> Out<Pending> {
    let Plan { movement, then } = plan;
    let collective = movement.collective(name);
    let (engine, size) = (&comm.comm, comm.comm.size());
    let (request, ranks) = match movement {
        Move::Barrier => (
            engine.ibarrier()?.map(|()| RequestPart::Moved(Vec::new())),
            size,
        ),
        Move::Broadcast { root, block } => {
            (engine.ibroadcast(root, block)?.map(RequestPart::Moved), 1)
        }
        Move::Gather { root, block } => {
            let all = engine.igather(root, block)?;
            (
                all.map(|all| RequestPart::Moved(all.unwrap_or_default())),
                size,
            )
        }
        Move::Scatter { root, all, block } => {
            let mine = vec![Byte::ZERO; block];
            (engine.iscatter(root, all, mine)?.map(RequestPart::Moved), 1)
        }
        Move::AllGather { block } => (engine.iall_gather(block)?.map(RequestPart::Moved), size),
        Move::AllToAll { all } => (engine.iall_to_all(all)?.map(RequestPart::Moved), size),
        Move::Exchange { to, from, .. } => {
            return Ok(exchange(comm, to, from, then)?.of_collective(collective));
        }
    };
    let finish = move |_: &Rank, caller: &Caller, parts: Vec<RequestPart>| {
        let moved = parts.into_iter().next();
        let Some(RequestPart::Moved(all)) = moved else {
            return Err(failure(MPI_ERR_INTERN, "a started call without its output"));
        };
        then(caller, Arrived::Blocks(all, ranks)).map(|()| Stat::EMPTY)
    };
    Ok(Pending::new(vec![request], Box::new(finish))
        .on(comm)
        .of_collective(collective))
}

/// Messages between the hidden communicators: all are sent, and all receives are posted, at once.
fn exchange(
    comm: &Communicator,
    to: Vec<Outgoing>,
    from: Vec<(usize, u32)>,
    then: Then,
) -> Out<Pending> {
    // The bits above are the number of the call, which all ranks make in the same order.
    const NUMBERS: u32 = 1 << 10;
    let call = comm.exchanges.get();
    comm.exchanges
        .set(call.wrapping_add(1) % (u32::MAX / NUMBERS));
    let mut parts: Vec<Request<'static, RequestPart>> = Vec::with_capacity(to.len() + from.len());
    let number = from.len();
    for (rank, slot) in from {
        let coming = hidden::irecv(&comm.hidden, rank, call * NUMBERS + slot % NUMBERS)?;
        parts.push(coming.map(|(message, _)| RequestPart::Moved(message)));
    }
    for (rank, slot, block) in to {
        let tag = call * NUMBERS + slot % NUMBERS;
        let sent = hidden::isend(&comm.hidden, rank, tag, block)?;
        parts.push(sent.map(|_| RequestPart::Sent));
    }
    let finish = move |_: &Rank, caller: &Caller, parts: Vec<RequestPart>| {
        let come = parts.into_iter().take(number).map(|part| match part {
            RequestPart::Moved(message) => message,
            _ => Vec::new(),
        });
        then(caller, Arrived::Messages(come.collect())).map(|()| Stat::EMPTY)
    };
    Ok(Pending::new(parts, Box::new(finish)).on(comm))
}

/// Makes the plan of a call whose arguments were checked: again for each start of a persistent one.
pub(crate) type Maker = Rc<dyn Fn(&Caller, &Communicator) -> Out<Plan>>;
