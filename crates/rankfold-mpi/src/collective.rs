//! Collectives that move data, as plans: broadcast, gather, scatter, all-gather, all-to-all, and those among neighbours.

use std::ffi::c_int;

use crate::abi::*;
use crate::comm::Communicator;
use crate::datatype::pack::{Buffer, Place};
use crate::error::{Out, count, failure, require};
use crate::memory::{Byte, Caller};
use crate::plan::{Arrived, HEAD, Mark, Move, Outgoing, Plan};
use crate::topology::neighbors;

/// Lengths and places of the parts of a buffer, in elements.
#[derive(Clone)]
pub(crate) struct Parts {
    pub counts: Vec<usize>,
    pub places: Vec<isize>,
}

impl Parts {
    pub(crate) fn new(counts: &[c_int], places: &[c_int]) -> Out<Parts> {
        let counts: Out<Vec<usize>> = counts.iter().map(|it| count(*it, "a count")).collect();
        Ok(Parts {
            counts: counts?,
            places: places.iter().map(|at| *at as isize).collect(),
        })
    }

    /// Parts of one length, one after the other.
    pub(crate) fn equal(number: usize, count: usize) -> Parts {
        Parts {
            counts: vec![count; number],
            places: (0..number).map(|at| (at * count) as isize).collect(),
        }
    }

    fn of<'p>(&self, at: usize, place: &'p Place) -> Buffer<'p> {
        place.part(self.places[at], self.counts[at])
    }
}

/// Refuses a buffer that is a part of the other one of a call.
fn distinct_from_parts(one: Option<&Place>, all: &Place, parts: &Parts) -> Out {
    let is_part = one.is_some_and(|one| {
        let one = one.buffer();
        (0..parts.counts.len()).any(|at| one.is_at(&parts.of(at, all)))
    });
    require(!is_part, MPI_ERR_BUFFER, same)
}

/// Refuses parts for the same rank that are the same.
fn distinct_parts((send, from): (&Place, &Parts), (recv, to): (&Place, &Parts)) -> Out {
    let is_same = |at: usize| from.of(at, send).is_at(&to.of(at, recv));
    let any = (0..from.counts.len()).any(is_same);
    require(!any, MPI_ERR_BUFFER, same)
}

/// Refuses buffers of one call that are the same.
pub(crate) fn distinct(send: &Option<Place>, recv: &Place) -> Out {
    let is_same = send.as_ref().is_some_and(|send| send.is_at(recv));
    require(!is_same, MPI_ERR_BUFFER, same)
}

pub(crate) fn same() -> String {
    "the buffers that are sent and received are the same: pass MPI_IN_PLACE".into()
}

pub(crate) fn broadcast(
    caller: &Caller,
    comm: &Communicator,
    place: Place,
    root: usize,
) -> Out<Plan> {
    let mark = Mark::of("MPI_Bcast");
    let at_root = comm.comm.rank() == root;
    let mut block = Vec::new();
    match at_root {
        true => mark.encode(caller, &place.buffer(), &mut block)?,
        false => block.resize(HEAD + place.buffer().bytes(), Byte::ZERO),
    }
    let then = move |caller: &Caller, arrived: Arrived| match at_root {
        true => Ok(()),
        false => mark.decode(caller, root, arrived.block(0), &place.buffer()),
    };
    Ok(Plan {
        movement: Move::Broadcast { root, block },
        then: Box::new(then),
    })
}

/// Fills the parts of a buffer with blocks: part i with block i, whose rank is `ranks(i)`. A block of this rank that is
/// there already is skipped.
fn fill(
    mark: Mark,
    into: Place,
    parts: Parts,
    skip: Option<usize>,
    ranks: Vec<usize>,
) -> crate::plan::Then {
    Box::new(move |caller, arrived| {
        if arrived.is_empty() {
            return Ok(());
        }
        let wanted = (0..ranks.len()).filter(|at| Some(*at) != skip);
        let mut fill =
            |at: usize| mark.decode(caller, ranks[at], arrived.block(at), &parts.of(at, &into));
        wanted.into_iter().try_for_each(&mut fill)
    })
}

/// Gather and gatherv. `recv` is at the root only; `send` is none there if its part is in place.
pub(crate) fn gather(
    caller: &Caller,
    comm: &Communicator,
    (name, root): (&str, usize),
    send: Option<Place>,
    recv: Option<(Place, Parts)>,
) -> Out<Plan> {
    let (mark, me, size) = (Mark::of(name), comm.comm.rank(), comm.comm.size());
    let mut block = Vec::new();
    match (&send, &recv) {
        (Some(send), _) => mark.encode(caller, &send.buffer(), &mut block)?,
        (None, Some((into, parts))) => mark.encode(caller, &parts.of(me, into), &mut block)?,
        (None, None) => return Err(failure(MPI_ERR_BUFFER, "MPI_IN_PLACE is for the root")),
    }
    if let Some((into, parts)) = &recv {
        distinct_from_parts(send.as_ref(), into, parts)?;
    }
    let equal = name == "MPI_Gather";
    let skip = send.is_none().then_some(me);
    let movement = match (equal, &recv) {
        (true, _) => Move::Gather { root, block },
        (false, None) => Move::Exchange {
            to: vec![(root, 0, block)],
            from: Vec::new(),
            root: Some(root),
        },
        (false, Some(_)) => Move::Exchange {
            to: vec![(root, 0, block)],
            from: (0..size).map(|rank| (rank, 0)).collect(),
            root: Some(root),
        },
    };
    let then = match recv {
        Some((into, parts)) => fill(mark, into, parts, skip, (0..size).collect()),
        None => Box::new(|_: &Caller, _| Ok(())),
    };
    Ok(Plan { movement, then })
}

/// The blocks that the root of a scatter sends, by rank.
fn scattered(
    caller: &Caller,
    comm: &Communicator,
    mark: Mark,
    from: &Place,
    parts: &Parts,
) -> Out<Vec<Vec<Byte>>> {
    let block = |at: usize| {
        let mut block = Vec::new();
        mark.encode(caller, &parts.of(at, from), &mut block)?;
        Ok(block)
    };
    (0..comm.comm.size()).map(block).collect()
}

/// Blocks by rank, as what an exchange sends.
fn numbered(blocks: Vec<Vec<Byte>>) -> Vec<(usize, u32, Vec<Byte>)> {
    let blocks = blocks.into_iter().enumerate();
    blocks.map(|(at, block)| (at, 0, block)).collect()
}

/// The length of a rank's own part of a scatter.
fn own_bytes(root: usize, send: &Option<(Place, Parts)>, recv: &Option<Place>) -> Out<usize> {
    match (recv, send) {
        (Some(into), _) => Ok(into.buffer().bytes()),
        (None, Some((from, parts))) => Ok(parts.of(root, from).bytes()),
        (None, None) => Err(failure(MPI_ERR_BUFFER, "MPI_IN_PLACE is for the root")),
    }
}

/// Scatter and scatterv. `send` is at the root only; `recv` is none there if its part stays in place.
pub(crate) fn scatter(
    caller: &Caller,
    comm: &Communicator,
    (name, root): (&str, usize),
    send: Option<(Place, Parts)>,
    recv: Option<Place>,
) -> Out<Plan> {
    let mark = Mark::of(name);
    if let Some((from, parts)) = &send {
        distinct_from_parts(recv.as_ref(), from, parts)?;
    }
    let mine = own_bytes(root, &send, &recv)?;
    let blocks = send
        .as_ref()
        .map(|(from, parts)| scattered(caller, comm, mark, from, parts));
    let blocks = blocks.transpose()?;
    let movement = match name {
        "MPI_Scatter" => Move::Scatter {
            root,
            all: blocks.map(|blocks| blocks.concat()),
            block: HEAD + mine,
        },
        _ => Move::Exchange {
            to: numbered(blocks.unwrap_or_default()),
            from: vec![(root, 0)],
            root: Some(root),
        },
    };
    let then = move |caller: &Caller, arrived: Arrived| match recv {
        Some(into) => mark.decode(caller, root, arrived.block(0), &into.buffer()),
        None => Ok(()),
    };
    Ok(Plan {
        movement,
        then: Box::new(then),
    })
}

/// All-gather and all-gatherv; `send` is none if the part of this rank is in place.
pub(crate) fn all_gather(
    caller: &Caller,
    comm: &Communicator,
    name: &str,
    send: Option<Place>,
    (into, parts): (Place, Parts),
) -> Out<Plan> {
    let (mark, me, size) = (Mark::of(name), comm.comm.rank(), comm.comm.size());
    distinct_from_parts(send.as_ref(), &into, &parts)?;
    let mut block = Vec::new();
    match &send {
        Some(send) => mark.encode(caller, &send.buffer(), &mut block)?,
        None => mark.encode(caller, &parts.of(me, &into), &mut block)?,
    }
    let ranks: Vec<usize> = (0..size).collect();
    let movement = match name == "MPI_Allgather" {
        true => Move::AllGather { block },
        false => Move::Exchange {
            root: None,
            to: ranks.iter().map(|rank| (*rank, 0, block.clone())).collect(),
            from: ranks.iter().map(|rank| (*rank, 0)).collect(),
        },
    };
    let skip = send.is_none().then_some(me);
    Ok(Plan {
        movement,
        then: fill(mark, into, parts, skip, ranks),
    })
}

/// All-to-all and all-to-allv; `send` is none if the blocks to send are where those to receive go.
pub(crate) fn all_to_all(
    caller: &Caller,
    comm: &Communicator,
    name: &str,
    send: Option<(Place, Parts)>,
    (into, parts): (Place, Parts),
) -> Out<Plan> {
    let (mark, size) = (Mark::of(name), comm.comm.size());
    if let Some((from, lengths)) = &send {
        distinct_parts((from, lengths), (&into, &parts))?;
    }
    let (from, lengths) = send
        .as_ref()
        .map_or((&into, &parts), |(from, lengths)| (from, lengths));
    let block_of =
        |at: usize, block: &mut Vec<Byte>| mark.encode(caller, &lengths.of(at, from), block);
    let ranks: Vec<usize> = (0..size).collect();
    let movement = match name == "MPI_Alltoall" {
        true => {
            let mut all = Vec::new();
            ranks.iter().try_for_each(|at| block_of(*at, &mut all))?;
            Move::AllToAll { all }
        }
        false => {
            let to = ranks.iter().map(|at| {
                let mut block = Vec::new();
                block_of(*at, &mut block).map(|()| (*at, 0, block))
            });
            Move::Exchange {
                root: None,
                to: to.collect::<Out<_>>()?,
                from: ranks.iter().map(|rank| (*rank, 0)).collect(),
            }
        }
    };
    Ok(Plan {
        movement,
        then: fill(mark, into, parts, None, ranks),
    })
}

/// Buffers of which each has its own datatype, for the calls that end in w.
pub(crate) type Each = Vec<Place>;

/// All-to-allw; `send` is none if it is in place.
pub(crate) fn all_to_all_w(
    caller: &Caller,
    comm: &Communicator,
    send: Option<Each>,
    recv: Each,
) -> Out<Plan> {
    let all: Vec<(c_int, u32)> = (0..comm.comm.size())
        .map(|rank| (rank as c_int, 0))
        .collect();
    exchange_each(
        caller,
        Mark::of("MPI_Alltoallw"),
        (send.as_ref().unwrap_or(&recv), &all),
        (recv.clone(), &all),
    )
}

/// The neighbours that are there, each with its place in the list.
fn present(list: &[(c_int, u32)]) -> impl Iterator<Item = (usize, usize, u32)> + '_ {
    let all = list.iter().enumerate();
    all.filter(|(_, (rank, _))| *rank >= 0)
        .map(|(at, (rank, slot))| (at, *rank as usize, *slot))
}

/// Messages to some neighbours and from some.
fn exchange_each(
    caller: &Caller,
    mark: Mark,
    (send, to): (&Each, &[(c_int, u32)]),
    (recv, from): (Each, &[(c_int, u32)]),
) -> Out<Plan> {
    let outgoing = present(to).map(|(at, rank, slot)| {
        let mut block = Vec::new();
        mark.encode(caller, &send[at].buffer(), &mut block)
            .map(|()| (rank, slot, block))
    });
    let to = outgoing.collect::<Out<Vec<Outgoing>>>()?;
    let incoming: Vec<(usize, usize, u32)> = present(from).collect();
    let from = incoming
        .iter()
        .map(|(_, rank, slot)| (*rank, *slot))
        .collect();
    let then = move |caller: &Caller, arrived: Arrived| {
        let mut all = incoming.iter().enumerate();
        all.try_for_each(|(nth, (at, rank, _))| {
            mark.decode(caller, *rank, arrived.block(nth), &recv[*at].buffer())
        })
    };
    Ok(Plan {
        movement: Move::Exchange {
            to,
            from,
            root: None,
        },
        then: Box::new(then),
    })
}

/// The number of neighbours that a rank receives from and sends to.
pub(crate) fn degrees(comm: &Communicator) -> Out<(usize, usize)> {
    let all = neighbors(comm)?;
    Ok((all.sources.len(), all.destinations.len()))
}

/// Any collective among neighbours: one buffer for each.
pub(crate) fn neighbor(
    caller: &Caller,
    comm: &Communicator,
    name: &str,
    send: &Each,
    recv: Each,
) -> Out<Plan> {
    let all = neighbors(comm)?;
    exchange_each(
        caller,
        Mark::of(name),
        (send, &all.destinations),
        (recv, &all.sources),
    )
}

/// The parts of a buffer, one for each neighbour.
pub(crate) fn apart(place: &Place, parts: &Parts) -> Each {
    let part = |at: usize| {
        let Buffer { at, count, .. } = parts.of(at, place);
        Place {
            at,
            count,
            of: place.of.clone(),
        }
    };
    (0..parts.counts.len()).map(part).collect()
}
