//! The endpoint of a rank: SEND and RECV of the texts, and a note of every message that is sent.

use rankfold::{Comm, Rank, Result, Source, World, WorldError};

/// All messages of a program have the same tag: those between two ranks arrive in order.
const TAG: u32 = 1999;

/// A message as its sender noted it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Message {
    pub step: usize,
    pub from: Rank,
    pub to: Rank,
    pub elements: usize,
}

/// What a rank sends and receives with.
pub struct Talk<'a> {
    comm: &'a Comm,
    sent: Vec<Message>,
}

impl Talk<'_> {
    pub fn rank(&self) -> Rank {
        self.comm.rank()
    }

    pub fn size(&self) -> usize {
        self.comm.size()
    }

    /// SEND, in a time step of the text.
    pub fn send(&mut self, to: Rank, step: usize, data: &[u64]) -> Result<()> {
        self.note(to, step, data);
        self.comm.send(to, TAG, data)
    }

    /// RECV from a rank, or from any source.
    pub fn recv(&mut self, from: impl Into<Source>) -> Result<Vec<u64>> {
        Ok(self.comm.recv(from, TAG)?.0)
    }

    /// SEND to a rank and RECV from it, whichever comes first.
    pub fn exchange(&mut self, peer: Rank, step: usize, data: &[u64]) -> Result<Vec<u64>> {
        self.note(peer, step, data);
        Ok(self.comm.sendrecv(peer, TAG, data, peer, TAG)?.0)
    }

    fn note(&mut self, to: Rank, step: usize, data: &[u64]) {
        self.sent.push(Message {
            step,
            from: self.rank(),
            to,
            elements: data.len(),
        });
    }
}

/// What a program did.
pub struct Run {
    /// All messages, by step.
    pub messages: Vec<Message>,
    /// The result of each rank; empty if it has none.
    pub results: Vec<Vec<u64>>,
}

/// Runs a program on `ranks` ranks.
pub fn run(
    ranks: usize,
    program: impl Fn(&mut Talk<'_>) -> Result<Vec<u64>> + Sync,
) -> std::result::Result<Run, WorldError> {
    let all = World::new(ranks).run(|comm| {
        let mut talk = Talk {
            comm,
            sent: Vec::new(),
        };
        let result = program(&mut talk)?;
        Ok((talk.sent, result))
    })?;
    let (sent, results): (Vec<_>, _) = all.into_iter().unzip();
    let mut messages = sent.concat();
    messages.sort_unstable();
    Ok(Run { messages, results })
}

/// The vector that a rank contributes: its own power of two, and multiples of that.
pub fn contribution(rank: Rank, length: usize) -> Vec<u64> {
    (1..=length as u64)
        .map(|i| i.wrapping_mul(1 << (rank % 64)))
        .collect()
}

/// The vector that a root broadcasts.
pub fn message(length: usize) -> Vec<u64> {
    (0..length as u64).map(|i| 1000 + i).collect()
}

/// The operator ⊕ of the reductions, element by element.
pub fn fold(held: &mut [u64], received: &[u64]) {
    for (held, received) in held.iter_mut().zip(received) {
        *held = held.wrapping_add(*received);
    }
}
