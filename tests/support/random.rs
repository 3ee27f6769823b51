//! Random programs that cannot deadlock: one global sequence of events is drawn in which every receive comes after its
//! send, and each rank does its part of it in that order.
//!
//! Consider the first event of the sequence that has not happened: everything it needs has happened, so some rank can
//! always move. What a receive must get, and what a sum must be, is known from the numbers of the events.

use rankfold::topology::Topology;
use rankfold::{Comm, Error, ErrorKind, Order, Rank, Result, op};

use super::mix;
use super::random_calls::Call;
use super::random_meetings::Meeting;
use super::random_messages::{receive, send};
use super::random_started::{Begun, Open, Ring};
use super::random_windows::{Epoch, Touch, Windows};

/// A message: everything about it that sender and receiver must agree on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    pub id: u64,
    pub from: Rank,
    pub to: Rank,
    pub tag: u32,
    pub length: usize,
    /// Sent as one moved value.
    pub moved: bool,
    /// Received from any source: its tag is unique.
    pub wild: bool,
    /// Its contents are not checked: in a wrong program another message may arrive in its place.
    pub plain: bool,
}

/// A collective call of all ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whole {
    Barrier,
    Broadcast {
        root: Rank,
        length: usize,
    },
    AllReduce {
        length: usize,
    },
    Compose {
        root: Rank,
        length: usize,
    },
    Over {
        order: Order,
        length: usize,
    },
    /// Every rank sends to the rank `by` places up and receives from the one as far down.
    Shift {
        by: usize,
        length: usize,
    },
    /// The same by an all-gather among the neighbours in a graph.
    Gather {
        by: usize,
        length: usize,
    },
    /// Any of the collectives, in this form.
    Call(Call, Form),
    Meeting(Meeting),
}

/// How a collective is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Blocking,
    Persistent,
    InScope,
}

/// What one rank does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    Send(Message),
    Recv {
        message: Message,
        any_tag: bool,
        probe: bool,
    },
    Whole {
        id: u64,
        what: Whole,
    },
    /// Starts a sum of all ranks or a barrier, or an exchange with neighbours.
    Start {
        id: u64,
        what: Begun,
    },
    /// Waits for it.
    Finish {
        id: u64,
    },
    /// An epoch of all ranks in the windows of the program.
    Epoch {
        id: u64,
        what: Epoch,
    },
    /// What this rank does with them.
    Touch(Touch),
    Spin(u32),
}

/// The kinds of events that are drawn.
#[derive(Clone, Copy, Debug)]
pub struct Kinds {
    /// Also values, long messages and wildcards; otherwise all messages are alike and unchecked.
    pub rich: bool,
    pub calls: Calls,
    pub spins: bool,
}

/// Which collectives are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Calls {
    Barriers,
    /// Collectives that no rank leaves before all have arrived.
    Meetings,
    All,
}

/// A program: what each rank does, in order.
#[derive(Clone, Debug)]
pub struct Program {
    pub ranks: Vec<Vec<Act>>,
    /// In its graph every rank sends to those so many places up.
    pub shifts: Vec<usize>,
}

/// Element `i` of `rank`'s contribution to event `id`.
fn element(id: u64, rank: Rank, i: usize) -> u64 {
    mix(id << 32 ^ (rank as u64) << 20 ^ i as u64) >> 8
}

pub fn elements(id: u64, rank: Rank, length: usize) -> Vec<u64> {
    (0..length).map(|i| element(id, rank, i)).collect()
}

pub fn sums(id: u64, ranks: usize, length: usize) -> Vec<u64> {
    let sum = |i| (0..ranks).fold(0u64, |sum, rank| sum.wrapping_add(element(id, rank, i)));
    (0..length).map(sum).collect()
}

impl Program {
    /// Runs the part of one rank. A failing send is not the end: the message is lost, and the rank goes on.
    pub fn play(&self, comm: &Comm) -> Result<()> {
        let acts = &self.ranks[comm.rank()];
        let starts = acts.iter().any(|act| matches!(act, Act::Start { .. }));
        let ring = starts.then(|| Ring::new(comm, &self.shifts)).transpose()?;
        let windows = self
            .uses_windows()
            .then(|| Windows::new(comm))
            .transpose()?;
        let ring = ring.as_ref();
        let mut open = Vec::new();
        for (number, act) in acts.iter().enumerate() {
            let played = match (*act, &windows) {
                (Act::Touch(touch), Some(windows)) => windows.touch(touch),
                (Act::Epoch { id, what }, Some(windows)) => windows.epoch(what, id),
                _ => act.play(comm, ring, &mut open),
            };
            played.map_err(|error| match error.kind() {
                ErrorKind::Usage(_) => panic!("act {number}, {act:?}: {error}"),
                _ => error,
            })?;
        }
        // Synchronous sends, all of whose messages have been received by then, or will be without this rank.
        open.into_iter().try_for_each(Open::finish)?;
        windows.map_or(Ok(()), |windows| windows.check(&self.touches()))
    }

    fn uses_windows(&self) -> bool {
        let uses = |act: &Act| matches!(act, Act::Touch(_) | Act::Epoch { .. });
        self.ranks.iter().flatten().any(uses)
    }

    fn touches(&self) -> Vec<Touch> {
        let touch = |act: &Act| match act {
            Act::Touch(touch) => Some(*touch),
            _ => None,
        };
        self.ranks.iter().flatten().filter_map(touch).collect()
    }
}

impl Act {
    fn play<'g>(
        &self,
        comm: &'g Comm,
        ring: Option<&'g Ring>,
        open: &mut Vec<Open<'g>>,
    ) -> Result<()> {
        match *self {
            Act::Start { id, what } => {
                let ring = ring.expect("the program starts something");
                open.push(what.start(comm, ring, id)?);
                Ok(())
            }
            Act::Finish { id } => {
                let place = open.iter().position(|one| one.id == id);
                open.swap_remove(place.expect("it was started")).finish()
            }
            Act::Send(message) => {
                open.extend(send(comm, message)?);
                Ok(())
            }
            Act::Recv {
                message,
                any_tag,
                probe,
            } => receive(comm, message, any_tag, probe),
            Act::Whole { id, what } => what.play(comm, id),
            Act::Touch(_) | Act::Epoch { .. } => unreachable!("the program has windows"),
            Act::Spin(turns) => {
                (0..turns).for_each(|_| std::hint::spin_loop());
                Ok(())
            }
        }
    }
}

impl Whole {
    fn play(self, comm: &Comm, id: u64) -> Result<()> {
        let me = comm.rank();
        match self {
            Whole::Barrier => comm.barrier()?,
            Whole::Broadcast { root, length } => {
                let mut data = elements(id, me, length);
                comm.broadcast(root, &mut data)?;
                assert_eq!(data, elements(id, root, length), "broadcast {id}");
            }
            Whole::AllReduce { length } => all_reduce(comm, id, length)?,
            Whole::Compose { root, length } => {
                // An associative operator that keeps only the left operand: the result is the first rank's.
                let mut data = elements(id, me, length);
                comm.reduce(root, &mut data, |first, _| first)?;
                if me == root {
                    assert_eq!(data, elements(id, 0, length), "reduce {id}");
                }
            }
            Whole::Over { order, length } => sum_over(comm, id, order, length)?,
            Whole::Shift { by, length } => {
                let (up, down) = up_and_down(comm, by);
                let tag = 1_000_000 + id as u32;
                let (got, _) = comm.sendrecv(up, tag, &elements(id, me, length), down, tag)?;
                assert_eq!(got, elements(id, down, length), "shift {id}");
            }
            Whole::Gather { by, length } => {
                let (up, down) = up_and_down(comm, by);
                let mut got = vec![0; length];
                let graph = comm.graph(&[down], &[up])?;
                graph.neighbor_all_gather(&elements(id, me, length), &mut got)?;
                assert_eq!(got, elements(id, down, length), "gather {id}");
            }
            Whole::Call(call, Form::Blocking) => call.of(comm, id).block()?,
            Whole::Call(call, Form::Persistent) => call.of(comm, id).repeat()?,
            Whole::Call(call, Form::InScope) => call.of(comm, id).in_scope()?,
            Whole::Meeting(meeting) => meeting.play(comm, id)?,
        }
        Ok(())
    }
}

/// The ranks so many places up and down.
fn up_and_down(comm: &Comm, by: usize) -> (Rank, Rank) {
    let (n, me) = (comm.size(), comm.rank());
    ((me + by) % n, (me + n - by % n) % n)
}

/// Sums in one call or, by some numbers, in two fused ones.
fn all_reduce(comm: &Comm, id: u64, length: usize) -> Result<()> {
    let mut data = elements(id, comm.rank(), length);
    if id.is_multiple_of(3) {
        let (first, second) = data.split_at_mut(length / 3);
        comm.fused(|f| {
            f.all_reduce(first, op::Sum);
            f.all_reduce(second, op::Sum);
        })?;
    } else {
        comm.all_reduce(&mut data, op::Sum)?;
    }
    assert_eq!(data, sums(id, comm.size(), length), "all_reduce {id}");
    Ok(())
}

fn sum_over(comm: &Comm, id: u64, order: Order, length: usize) -> Result<()> {
    let n = comm.size();
    let families = [
        Topology::chain,
        Topology::binomial,
        Topology::flat,
        Topology::fibonacci,
    ];
    let mut topology = families[id as usize % families.len()](n);
    if order != Order::Rank {
        topology = topology.rooted(id as usize % n);
    } else if !topology.is_in_rank_order() {
        topology = Topology::in_order(n);
    }
    let mut data = elements(id, comm.rank(), length);
    comm.reduce_over(&topology, &mut data, op::Sum)
        .order(order)
        .run()?;
    if comm.rank() == topology.root() {
        assert_eq!(data, sums(id, n, length), "reduce_over {id}");
    }
    Ok::<(), Error>(())
}
