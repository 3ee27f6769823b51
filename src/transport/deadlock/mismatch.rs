//! Finds the ranks whose collective call differs from the others', by comparing the ranks' records of their calls.
//!
//! A rank is odd if it differs from a strict majority of *all* members, so that ranks still to come cannot outvote the
//! verdict. To return without the call counts as one way to differ. While that is undecided, the comparison also names
//! the ranks whose records are awaited.

use crate::Rank;
use crate::error::{Called, Gone, Mismatch};
use crate::sort;
use crate::transport::communicator::call::Call;
use crate::transport::communicator::call_log::DEPTH;
use crate::transport::deadlock::record::{CallRecord, CommRecord};
use crate::transport::memory::stamp::{Stamp, agree};
use crate::transport::{CommShared, Fabric};

/// Records that differ.
pub(crate) struct Compared {
    pub mismatch: Mismatch,
    /// The members that are still to come to this call and may decide which ranks are odd.
    pub awaited: Vec<Rank>,
    /// Whether it is no mismatch unless they decide so.
    pub is_open: bool,
}

impl Fabric {
    /// The call that `rank` made as collective `number`, if it has made it recently.
    pub(crate) fn call_of(&self, rank: Rank, context: u32, number: u32) -> Option<Call> {
        self.endpoints[rank].log.find(context, number)
    }

    /// Whether `rank` has made collectives of this communicator after this one.
    pub(crate) fn has_passed(&self, rank: Rank, context: u32, number: u32) -> bool {
        let numbers = self.numbers_of(rank, context);
        numbers.into_iter().any(|later| is_later(later, number))
    }

    /// Whether `rank` has made this collective, or later ones of this communicator.
    fn has_come(&self, rank: Rank, context: u32, number: u32) -> bool {
        let numbers = self.numbers_of(rank, context);
        numbers.into_iter().any(|last| !is_later(number, last))
    }

    /// The calls that the ranks made as collective `number`, if they do not agree.
    pub(crate) fn compare_calls(&self, comm: &CommShared, number: u32) -> Option<Compared> {
        let mut awaited = self.to_come(comm, number);
        let call = |rank: Rank| Some((rank, self.record_of(rank, comm.context, number)?));
        let calls: Vec<_> = comm.members.iter().filter_map(call).collect();
        let mut mismatch = differing(&CommRecord::of(comm), &calls)?;
        let known = |rank: &Rank| calls.iter().any(|(other, _)| other == rank);
        awaited.retain(|rank| mismatch.odd.is_empty() && !known(rank));
        if comm.is_part() {
            // Most ranks of a part may be few ranks of the whole communicator, whose call names them.
            mismatch.odd.clear();
        }
        let is_open = false;
        Some(Compared {
            mismatch,
            awaited,
            is_open,
        })
    }

    /// The first collective up to this number in which ranks are known to have made different calls. One that names the
    /// odd ranks takes precedence over one that does not.
    pub(crate) fn compare_back(&self, comm: &CommShared, number: u32) -> Option<Compared> {
        let back = 0..DEPTH as u32;
        // Before the first call there are none on record.
        let earlier = back.map(|back| number.wrapping_sub(back));
        // The last call is read first: a rank that makes its calls meanwhile is on record for the earlier ones too, so
        // that the first call is the one that names the odd ranks.
        let all = earlier.filter_map(|number| self.compare_calls(comm, number));
        let latest_first: Vec<_> = all.collect();
        let all = latest_first.into_iter().rev();
        named_first(all, |compared| &compared.mismatch)
    }

    /// The same for all collectives on record, after the ranks have ended.
    pub(crate) fn compare_all(&self, comm: &CommShared) -> Option<Mismatch> {
        let of = |rank: Rank| {
            let calls = self.records_of(rank, comm.context).into_iter();
            calls.map(move |(number, call)| (number, rank, call))
        };
        compare_records(
            &CommRecord::of(comm),
            comm.members.iter().flat_map(of).collect(),
        )
    }

    /// A mismatch that names no odd rank, with the odd ranks, if the calls on record after the ranks have ended tell
    /// which these are: some ranks may have come to the call after it was found.
    pub(in crate::transport) fn naming_the_odd_here(&self, found: &Mismatch) -> Option<Mismatch> {
        let comms = self.comms();
        let whole = comms
            .iter()
            .filter(|comm| found.odd.is_empty() && !comm.is_part());
        let mut all = whole.filter_map(|comm| self.compare_all(comm));
        all.find(|more| !more.odd.is_empty() && found.is_within(more))
    }

    /// The mismatch on a communicator whose ranks have all ended and did not take part in the same calls at the cells:
    /// a rank wrote a message that was never read.
    pub(crate) fn unread(&self, comm: &CommShared) -> Option<Mismatch> {
        let ends = comm.cells.get()?.ends()?;
        if agree(&ends) {
            return None;
        }
        let known = || ends.iter().zip(comm.members.iter());
        let numbers = known().filter_map(|(end, rank)| Some((end.as_ref()?.number, rank)));
        let later = |one: (u32, Rank), other: (u32, Rank)| match is_later(other.0, one.0) {
            true => other,
            false => one,
        };
        let (number, rank) = numbers.reduce(later)?;
        let compared = self.compare_all(comm);
        let stray = || self.stray_call(rank, comm.context, number);
        Some(compared.or_else(stray).unwrap_or_else(|| Mismatch {
            calls: known().map(|(end, rank)| long_ago(rank, *end)).collect(),
            odd: Vec::new(),
            comm: comm.name(),
        }))
    }

    /// The mismatch for a call of `rank` whose packet was never taken: the records that differ, or otherwise the ranks
    /// that made the call of this number and those that returned without it.
    pub(crate) fn stray_call(&self, rank: Rank, context: u32, number: u32) -> Option<Mismatch> {
        let comms = self.comms();
        let comm = comms.iter().find(|comm| comm.context == context)?;
        let call = self.record_of(rank, context, number)?;
        if call.tolerant {
            return None;
        }
        let missed = || self.missed_call(comm, number).mismatch(comm);
        Some(self.compare_all(comm).unwrap_or_else(missed))
    }

    /// The mismatch of a call that most members may have returned without: its odd ranks are those that made it, once
    /// that is decided.
    pub(crate) fn call_too_many(&self, comm: &CommShared, number: u32) -> Option<Compared> {
        let awaited = self.to_come(comm, number);
        let missed = self.missed_call(comm, number);
        let tolerant = missed.made.iter().any(|(_, call)| call.tolerant);
        let awaited = missed.unknown(awaited);
        let possible = missed.without.len() + awaited.len();
        let may_be = !tolerant && !missed.made.is_empty() && possible * 2 > comm.members.size();
        let mismatch = may_be.then(|| missed.mismatch(comm))?;
        let is_open = !missed.is_too_many(comm);
        let awaited = if is_open { awaited } else { Vec::new() };
        Some(Compared {
            mismatch,
            awaited,
            is_open,
        })
    }

    /// The members that may still come to a call. To be asked before the records are read: a rank that makes the call
    /// meanwhile and ends is on record then.
    pub(crate) fn to_come(&self, comm: &CommShared, number: u32) -> Vec<Rank> {
        let comes =
            |rank: &Rank| !self.is_over(*rank) && !self.has_come(*rank, comm.context, number);
        let known = comm
            .members
            .iter()
            .filter(|rank| self.knows_calls_of(*rank));
        known.filter(comes).collect()
    }

    /// Every member's call of this number, and the members that have returned without one.
    fn missed_call(&self, comm: &CommShared, number: u32) -> Missed {
        let context = comm.context;
        let (mut made, mut without) = (Vec::new(), Vec::new());
        for rank in comm
            .members
            .iter()
            .filter(|rank| self.knows_calls_of(*rank))
        {
            if let Some(call) = self.record_of(rank, context, number) {
                made.push((rank, call));
            } else if self.has_left_out(rank, context, number) {
                without.push(rank);
            }
        }
        Missed { made, without }
    }

    /// Whether a rank has returned and is known to have made neither this collective nor later ones.
    fn has_left_out(&self, rank: Rank, context: u32, number: u32) -> bool {
        // First: the calls of a rank that has returned are its last.
        self.has_returned(rank)
            && !self.has_come(rank, context, number)
            && self.knows_all_calls(rank, context)
    }

    /// Whether a rank has returned, and not because others failed.
    fn has_returned(&self, rank: Rank) -> bool {
        if !self.is_over(rank) {
            return false;
        }
        let registry = self.open_registry();
        registry
            .end(rank)
            .is_some_and(|end| end.why == Gone::Returned && end.follows.is_none())
    }
}

/// The members that made a call, and those that have returned without it.
struct Missed {
    made: Vec<(Rank, CallRecord)>,
    without: Vec<Rank>,
}

impl Missed {
    /// Whether most members have returned without the call.
    fn is_too_many(&self, comm: &CommShared) -> bool {
        self.without.len() * 2 > comm.members.size()
    }

    /// Those of `ranks` of which neither is known.
    fn unknown(&self, mut ranks: Vec<Rank>) -> Vec<Rank> {
        ranks.retain(|rank| {
            let made = self.made.iter().any(|(other, _)| other == rank);
            !made && !self.without.contains(rank)
        });
        ranks
    }

    /// The ranks that made the call are odd if most members have returned without it. A single rank without it is odd
    /// among more than two; if two ranks miss it, one may have returned because the other did.
    fn odd(&self, comm: &CommShared) -> Vec<Rank> {
        let (size, known) = (comm.members.size(), self.made.len() + self.without.len());
        if self.is_too_many(comm) {
            self.made.iter().map(|(rank, _)| *rank).collect()
        } else if size > 2 && known == size && self.without.len() == 1 {
            self.without.clone()
        } else {
            Vec::new()
        }
    }

    fn mismatch(&self, comm: &CommShared) -> Mismatch {
        let made = self.made.iter().map(|(rank, call)| called(*rank, call, ""));
        let without = self.without.iter().map(|rank| returned(*rank));
        let mut calls: Vec<Called> = made.chain(without).collect();
        sort::by_numbers(&mut calls, |called| {
            let member = comm.members.member(called.rank);
            [member.map_or(0, |member| member + 1)]
        });
        Mismatch {
            calls,
            odd: self.odd(comm),
            comm: comm.name(),
        }
    }
}

/// The first that names odd ranks, or otherwise the first.
fn named_first<M>(all: impl Iterator<Item = M>, of: impl Fn(&M) -> &Mismatch) -> Option<M> {
    let mut first = None;
    for found in all {
        if !of(&found).odd.is_empty() {
            return Some(found);
        }
        first.get_or_insert(found);
    }
    first
}

/// Whether a call comes after another one of its communicator; numbers may have wrapped.
fn is_later(number: u32, than: u32) -> bool {
    number.wrapping_sub(than).cast_signed() > 0
}

/// The earlier one of two calls of a communicator.
pub(crate) fn earlier(one: u32, other: u32) -> u32 {
    if is_later(one, other) { other } else { one }
}

/// The first of these calls of members, with their numbers, that differ. One that names the odd ranks takes precedence
/// over one that does not.
pub(in crate::transport) fn compare_records(
    group: &CommRecord,
    mut calls: Vec<(u32, Rank, CallRecord)>,
) -> Option<Mismatch> {
    // Stable: the members keep their order. Numbers may have wrapped, so they are counted from one that is earlier.
    let before = calls.first()?.0.wrapping_sub(1 << 31);
    sort::by_numbers(&mut calls, |(number, ..)| {
        [number.wrapping_sub(before) as usize]
    });
    let same = |one: &(u32, Rank, CallRecord), other: &(u32, Rank, CallRecord)| one.0 == other.0;
    let all = calls.chunk_by(same).filter_map(|calls| {
        let calls = calls.iter().map(|(_, rank, call)| (*rank, call.clone()));
        differing(group, &calls.collect::<Vec<_>>())
    });
    named_first(all, |mismatch| mismatch)
}

/// The calls of members under one number, if they are not all the same.
fn differing(group: &CommRecord, calls: &[(Rank, CallRecord)]) -> Option<Mismatch> {
    let prints: Vec<u32> = calls.iter().map(|(_, call)| call.print).collect();
    let first = prints.first()?;
    if prints.iter().all(|print| print == first) {
        return None;
    }
    let votes = |print: u32| prints.iter().filter(|&&other| other == print).count();
    // A majority of all ranks, not only of those that have arrived: later ones may outvote these.
    let majority = (0..calls.len()).find(|&one| votes(prints[one]) * 2 > group.members.size());
    let model = majority.unwrap_or(0);
    let differs = |place: usize| prints[place] != prints[model];
    let row = |(place, (rank, call)): (usize, &(Rank, CallRecord))| {
        // The difference is not in the text.
        let alike = differs(place) && call.call == calls[model].1.call;
        called(*rank, call, if alike { &call.unlike } else { "" })
    };
    let odd = (0..calls.len()).filter(|&place| majority.is_some() && differs(place));
    Some(Mismatch {
        calls: calls.iter().enumerate().map(row).collect(),
        odd: odd.map(|place| calls[place].0).collect(),
        comm: group.name.clone(),
    })
}

fn called(rank: Rank, record: &CallRecord, unlike: &str) -> Called {
    Called {
        rank,
        call: format!("{}{unlike}", record.call),
        site: Some(record.site),
    }
}

fn returned(rank: Rank) -> Called {
    Called {
        rank,
        call: "no such call: it has returned".into(),
        site: None,
    }
}

/// A rank's last call at the cells of a communicator, when the call itself is no longer on record.
fn long_ago(rank: Rank, end: Option<Stamp>) -> Called {
    let call = match end {
        Some(Stamp { number, .. }) => format!("a short collective long ago, its {number}"),
        None => "no short collective".into(),
    };
    Called {
        rank,
        call,
        site: None,
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
