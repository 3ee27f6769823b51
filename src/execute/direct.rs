//! Collectives over shared memory: every rank reads the parts that it needs of the other ranks' vectors in place.
//!
//! ```text
//! all_reduce of three      rank 0   ████ ░░░░ ░░░░      rank 1 folds the middle share of all three
//!                          rank 1   ████ ▒▒▒▒ ░░░░      vectors, and stores the result to all three
//!                          rank 2   ████ ░░░░ ░░░░
//! ```
//!
//! This module defines what each rank brings to the call and what it then does, in terms of shares and blocks.
//! [`transport::memory::shared_vectors`](crate::transport::memory::shared_vectors) decides whose memory that is and
//! when it may be accessed. Operands are folded one after another in rank order, and each element is folded by one
//! rank; but two ranks that are far apart may fold whole vectors, each for itself.

use crate::Rank;
use crate::collective::{Call, Collective};
use crate::engine::call::{From, InCall};
use crate::engine::kept::Plan;
use crate::engine::messages::Messages;
use crate::error::{Error, Result};
use crate::op::elements::{Elements, ElementsMut};
use crate::op::folds::{Folds, Operands};
use crate::span::Pieces;
use crate::transport::memory::coming::{Coming, Job};
use crate::transport::memory::shared_call::{Brings, Met, meet};
use crate::transport::memory::shared_vectors::SharedVectors;
use crate::unwind;

/// The accesses of ranks to each other's memory in a call.
fn job(plan: &Plan, element_bytes: usize) -> Job {
    let call = &plan.shape;
    let bytes = call.length().saturating_mul(element_bytes);
    match call.collective {
        Collective::Reduce | Collective::Broadcast if plan.is_by_root => Job::By(call.root),
        Collective::Broadcast if is_read_whole(call, bytes) => Job::Own,
        Collective::AllReduce | Collective::Reduce | Collective::Broadcast => Job::Shares,
        Collective::Scan | Collective::ExclusiveScan => Job::Shares,
        Collective::Gather => Job::Collect(call.root),
        _ => Job::Own,
    }
}

/// Whether two ranks that are far apart are to fold whole vectors, in an all-reduce each for itself, in a reduce or a scan
/// the only one that gets a result: so each waits for lines of the other as a reader only, and not as a writer, too.
fn folds_whole(call: &Call, folds: &dyn Folds) -> bool {
    let most = match call.collective {
        Collective::AllReduce if call.from_input => 128 << 10,
        Collective::Reduce | Collective::Scan => 64 << 10,
        _ => return false,
    };
    let bytes = call.length() * folds.info().size();
    call.ranks() == 2 && bytes <= most && unwind::operator(|| folds.is_light())
}

/// The longest vector of a broadcast, in bytes, that each of three ranks, and of more, reads whole: longer ones do not stay in
/// the near caches of the root.
const READ_BY_THREE: usize = 64 << 10;
const READ_BY_MORE: usize = 1 << 20;

/// Whether each rank reads the whole vector of the root of a broadcast, and writes its own. Otherwise each rank reads a share
/// and stores it to all others: of two ranks both work then, but each line of each output is taken away from its rank.
fn is_read_whole(call: &Call, bytes: usize) -> bool {
    let most = match call.ranks() {
        0..=2 => return false,
        3 => READ_BY_THREE,
        _ => READ_BY_MORE,
    };
    !call.crowded && bytes <= most
}

/// The vectors that a rank brings to a call.
fn brings<'a>(call: &Call, rank: Rank, input: Elements<'a>, output: ElementsMut<'a>) -> Brings<'a> {
    match call.collective {
        Collective::Broadcast if rank == call.root => Brings::Source(output),
        Collective::Reduce if rank == call.root && input.is_empty() => Brings::InPlace(output),
        Collective::AllReduce if !call.from_input => Brings::InPlace(output),
        // What rank 0 has is never written, what the last rank has not read.
        Collective::Scan | Collective::ExclusiveScan if rank == 0 => Brings::Source(output),
        Collective::ExclusiveScan if rank + 1 == call.ranks() => Brings::Both(input, output),
        Collective::Scan | Collective::ExclusiveScan => Brings::InPlace(output),
        _ => Brings::Both(input, output),
    }
}

/// The lengths of the input and the output that a rank brings.
#[inline]
fn lengths(call: &Call, rank: Rank) -> (usize, usize) {
    let n = call.length();
    match call.collective {
        Collective::Broadcast if rank == call.root => (n, 0),
        Collective::Reduce if rank == call.root => (n, n),
        Collective::Scan | Collective::ExclusiveScan if rank == 0 => (n, 0),
        Collective::ExclusiveScan if rank + 1 == call.ranks() => (0, n),
        Collective::AllReduce | Collective::Scan | Collective::ExclusiveScan => (n, n),
        _ => call.buffers(rank),
    }
}

/// Runs a rank's part once all ranks have arrived.
fn run(call: &Call, rank: Rank, vectors: &SharedVectors<'_>, folds: &dyn Folds) {
    let blocks = &call.blocks;
    match call.collective {
        Collective::AllReduce | Collective::Reduce => vectors.fold_share(folds),
        Collective::Scan if call.ranks() == 2 => vectors.fold_share(folds),
        Collective::ExclusiveScan if call.ranks() == 2 => vectors.copy_share(),
        Collective::Scan => vectors.scan_share(folds, false),
        Collective::ExclusiveScan => vectors.scan_share(folds, true),
        Collective::Broadcast if vectors.job() != Job::Own => vectors.copy_share(),
        Collective::Broadcast if rank == call.root => {}
        Collective::Broadcast => vectors.copy(call.root, 0..call.length(), 0),
        Collective::ReduceScatter => vectors.fold(&blocks.block(rank), folds),
        Collective::Gather => vectors.collect(),
        Collective::Scatter => vectors.copy(call.root, blocks.block(rank), 0),
        Collective::AllGather => from_each(call, rank, &mut |from| {
            vectors.copy(from, 0..blocks.count(from), blocks.cut(from));
        }),
        Collective::AllToAll => {
            let pieces = pieces(call);
            from_each(call, rank, &mut |from| {
                let put = pieces.put(rank, from);
                vectors.copy(from, pieces.sent(from, rank), put.start);
            });
        }
        other => unreachable!("{other} is refused"),
    }
}

/// Visits every rank, starting with this one and wrapping around, so that not all ranks read from the same one at once.
/// Its own vector first: later another rank reads it at the same time, and its lines come from its cache more slowly.
fn from_each(call: &Call, rank: Rank, read: &mut dyn FnMut(Rank)) {
    for from in (rank..call.ranks()).chain(0..rank) {
        read(from);
    }
}

fn pieces(call: &Call) -> Pieces {
    let alike = || Pieces::alike(call.blocks.clone());
    call.pieces.clone().unwrap_or_else(alike)
}

impl InCall<'_> {
    /// Runs a call over shared memory.
    pub(crate) fn run_direct(&self, plan: &Plan, operands: &mut Operands<'_>) -> Result<()> {
        self.comm.core.tick()?;
        let (me, shape, folds) = (self.rank(), &plan.shape, operands.folds);
        let (input, output) = (operands.input, operands.output.reborrow());
        let epoch = self.comm.shared.epoch();
        let coming = Coming {
            epoch,
            me,
            print: self.print,
            job: job(plan, folds.info().size()),
            whole: me == 0 && epoch.is_far() && folds_whole(shape, folds) && !self.is_ordered(),
            lists: &self.comm.core.lists,
            copies: &self.comm.core.port.copies,
        };
        let met = meet(
            &coming,
            self,
            brings(shape, me, input, output),
            |rank| lengths(shape, rank),
            |vectors| {
                self.note_all_sent(plan, folds.info().size());
                // The operator's own calls would be recorded as this call.
                self.settle();
                unwind::operator(|| run(shape, me, vectors, folds));
            },
        )?;
        self.concluded(met, plan)
    }

    /// Whether chance must not decide who sends what to whom: messages are traced, or a scheduler chooses which arrives
    /// first.
    fn is_ordered(&self) -> bool {
        self.comm.fabric().settings.trace || self.comm.core.port.is_controlled()
    }

    /// The result of a call over shared memory that this rank has left.
    fn concluded(&self, met: Met, plan: &Plan) -> Result<()> {
        match met {
            Met::Well => {
                self.note_all_received(plan);
                Ok(())
            }
            // That rank has reported the cause to all others, or is about to end.
            Met::Failed(rank) => self.wait(&|| self.needs(&From::Rank(rank)), None, || None),
            Met::Aborted => self.wait(&|| self.all_at(), None, || None),
            Met::Strange(rank) => Err(self.stranger(rank)),
            Met::Inside => Err(Error::usage(
                "this rank is in the middle of another collective over shared memory on this communicator",
            )),
        }
    }

    /// Counts the messages that would be sent, and records them if that is requested. Whether whole vectors are folded is a
    /// matter of timing: they are counted as if shares were.
    fn note_all_sent(&self, plan: &Plan, element_bytes: usize) {
        let messages = self.messages_of(plan);
        let port = &self.comm.core.port;
        if port.recorder.traces() {
            for sent in &messages.sent {
                self.note_sending(sent.to, sent.elements * element_bytes);
            }
        }
        if let Some(last) = messages.sent.last() {
            let count = messages.sent.len() as u64;
            let last = self.comm.to_world(last.to);
            port.recorder.has_sent_all(count, last);
            port.count_all(count, messages.elements_sent.saturating_mul(element_bytes));
        }
    }

    fn messages_of<'p>(&self, plan: &'p Plan) -> &'p Messages {
        let new = || Messages::new(&plan.shape, self.rank(), plan.is_by_root);
        plan.messages.get_or_init(new)
    }

    /// Records the messages that would be received.
    fn note_all_received(&self, plan: &Plan) {
        if !self.comm.core.port.recorder.writes() {
            return;
        }
        for &from in &self.messages_of(plan).sources {
            self.note_received(from);
        }
    }
}
