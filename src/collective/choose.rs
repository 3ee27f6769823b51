//! The automatic choice: the algorithm for a call, and the reason. It is a pure function of the call, its elements and
//! the tuning table, if there is one, so all ranks make the same choice in every run, and results repeat bit for bit.

use std::fmt;
use std::ops::RangeInclusive;

use super::table::LookedUp;
use super::{Algorithm, Call, Collective, Refusal, TuningTable};
use crate::names::Transport;
use crate::op::elements::Info;
use crate::topology::{Levels, TreeName};

// Without a tuning table, the choice follows from these numbers alone.

/// The maximum number of bytes of a rank's vector that goes through a cell, which all ranks can read.
pub(crate) const CELL_BYTES: usize = 4 << 10;

/// Elements with a stricter alignment do not use cells.
const CELL_ALIGNMENT: usize = 64;

/// Longer vectors, in bytes, of which a rank reads those of many others, are read in place, where it reads a share of them;
/// where ranks take turns, only vectors that exceed a cell are.
const DIRECT: usize = 1 << 10;

/// The same of an all-reduce of a few ranks, of a reduce of more than two, of a reduce-scatter, and of an all-to-all of two;
/// otherwise cells take all that they can hold. What is longer takes more time through cells than in place where it is not
/// rewritten between calls.
const PAIR: usize = 2 << 10;

/// The greatest number of ranks that are a few.
const FEW: usize = 4;

/// The greatest number of ranks, a core for each, among which scans of longer vectors over cells were measured.
const MEASURED: usize = 16;

/// The maximum number of bytes that goes through a cell in place of far shorter elements: seven accumulators of `f64`
/// take as long there as the seven numbers in place.
const LONG_IN_CELLS: usize = 2 << 10;

/// Above this number of bytes, transfer time outweighs the number of steps.
const LONG: usize = 8 << 10;

/// The numbers of ranks for which cells are used: more would take a rank that reads them all too long.
const IN_CELLS: RangeInclusive<usize> = 2..=64;

/// With fewer ranks than this, algorithms by blocks do not move fewer elements.
const IN_BLOCKS: usize = 4;

/// The algorithm that runs a call, and the reason.
///
/// # Examples
///
/// ```
/// use rankfold::collective::{Algorithm, Call, Choice, Collective};
///
/// let call = Call::new(Collective::AllReduce, 8, 100_000);
/// let choice = Choice::of(&call, size_of::<f32>());
/// assert_eq!(choice.algorithm, Algorithm::Direct);
/// println!("{choice}"); // direct: 400000 bytes are many: ...
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Choice {
    /// The algorithm.
    pub algorithm: Algorithm,
    /// The reason for this algorithm.
    pub reason: String,
    /// The second choice.
    pub runner_up: Option<Algorithm>,
    /// The algorithms that cannot run this call, with the reasons.
    pub refused: Vec<(Algorithm, Refusal)>,
    /// What carries the messages of the call.
    pub transport: Transport,
    /// The groups of ranks on the machine; or the reason why there are none, so that algorithms that follow the machine
    /// are flat.
    pub levels: String,
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.algorithm, self.reason)?;
        if let Some(next) = self.runner_up {
            write!(f, "; second choice: {next}")?;
        }
        if self.transport == Transport::Channels {
            write!(f, "; over {}", self.transport)?;
        }
        write!(f, "; {}", self.levels)
    }
}

impl Choice {
    /// The choice alone, at negligible cost.
    #[inline]
    pub fn quickly<T>(call: &Call) -> Algorithm {
        pick(None, call, Elements::of::<T>()).algorithm
    }

    /// The choice for a call with elements of `element_bytes` bytes, with all explanations.
    pub fn of(call: &Call, element_bytes: usize) -> Choice {
        Choice::by(None, call, element_bytes)
    }

    /// The choice by `table`, if given.
    pub fn by(table: Option<&TuningTable>, call: &Call, element_bytes: usize) -> Choice {
        Choice::said(table, call, Elements::plain(element_bytes))
    }

    /// The choice for elements of type `T`.
    pub(crate) fn for_elements<T>(table: Option<&TuningTable>, call: &Call) -> Choice {
        Choice::said(table, call, Elements::of::<T>())
    }

    /// The choice alone, by `table`.
    #[inline]
    pub(crate) fn looked_up(
        table: Option<&TuningTable>,
        call: &Call,
        info: &'static Info,
    ) -> Algorithm {
        let elements = Elements {
            bytes: info.size(),
            alignment: info.align(),
        };
        pick(table, call, elements).algorithm
    }

    /// The choice for a started collective of elements of type `T`, all of whose messages are sent.
    #[inline]
    pub(crate) fn started<T>(call: &Call) -> Algorithm {
        pick_started(call, Elements::of::<T>()).algorithm
    }

    /// The choice for a call that may send elements of type `T` in place of others that are far shorter. A reduction sends them
    /// only over cells; longer vectors of the others it reads in place, where it can. A scan, whose ranks fold results further,
    /// always sends them, and follows the groups of ranks as any scan. Tuning tables were measured with elements that are sent
    /// as they are.
    pub(crate) fn of_few_messages<T>(call: &Call) -> Algorithm {
        let elements = Elements::of::<T>();
        if call.transport == Transport::Channels {
            return pick_sent(call, elements.bytes).algorithm;
        }
        let scans = call.collective.is_scan();
        let picked = match scans {
            true => pick_untuned(call, elements),
            false => pick_flat(call, elements),
        };
        let bytes = call.most_written().saturating_mul(elements.bytes);
        match picked.algorithm {
            Algorithm::Cells if bytes <= LONG_IN_CELLS => Algorithm::Cells,
            _ if scans => pick_sent(call, elements.bytes).algorithm,
            _ if Algorithm::Direct.refused(call).is_none() => Algorithm::Direct,
            other => other,
        }
    }

    fn said(table: Option<&TuningTable>, call: &Call, elements: Elements) -> Choice {
        let picked = pick(table, call, elements);
        let mut reason = picked.why.sentence(call, elements.bytes);
        if table.is_some() && !matches!(picked.why, Why::Table(_)) {
            reason += match call.transport {
                Transport::Memory => ", and the tuning table has no rule for it",
                Transport::Channels => ", and the tuning table is of another transport",
            };
        }
        let all = || Algorithm::all(call.collective);
        let other = picked.next.into_iter().chain(all());
        let mut other = other.filter(|algorithm| *algorithm != picked.algorithm);
        Choice {
            algorithm: picked.algorithm,
            reason,
            runner_up: other.find(|algorithm| is_usable(*algorithm, call, elements)),
            refused: all()
                .filter_map(|algorithm| Some((algorithm, algorithm.refused(call)?)))
                .collect(),
            transport: call.transport,
            levels: said_of(call.levels.as_deref()),
        }
    }

    /// The same choice, with the reason why there are no groups.
    pub(crate) fn on_flat(self, why: &str) -> Choice {
        let levels = format!("no hierarchy: {why}");
        Choice { levels, ..self }
    }
}

fn said_of(levels: Option<&Levels>) -> String {
    match levels {
        None => "no hierarchy: the ranks are in no groups".into(),
        Some(levels) if levels.have_groups() => levels.to_string(),
        Some(levels) if levels.depth() > 1 => {
            format!("no hierarchy: of {levels}, at most one has more than one rank")
        }
        Some(_) => "no hierarchy: all ranks are in one group".into(),
    }
}

/// The properties of a call's elements that the choice depends on.
#[derive(Clone, Copy)]
struct Elements {
    bytes: usize,
    alignment: usize,
}

impl Elements {
    fn of<T>() -> Elements {
        Elements {
            bytes: size_of::<T>(),
            alignment: align_of::<T>(),
        }
    }

    /// Elements of `bytes` bytes with the usual alignment.
    fn plain(bytes: usize) -> Elements {
        Elements {
            bytes,
            alignment: 1,
        }
    }
}

/// The pick, before it is described in words.
struct Picked {
    algorithm: Algorithm,
    next: Option<Algorithm>,
    why: Why,
}

#[derive(Clone, Copy)]
enum Why {
    Short,
    Long,
    FewElements,
    FewRanks,
    /// One message per group crosses its boundary instead of many.
    Followed,
    Cells,
    Table(LookedUp),
    Direct,
    Always(&'static str),
}

impl Why {
    fn sentence(self, call: &Call, element_bytes: usize) -> String {
        let bytes = call.length().saturating_mul(element_bytes);
        let ranks = call.ranks();
        match self {
            Why::Short => format!("{bytes} bytes are short: the fewest steps win"),
            Why::Long => format!("{bytes} bytes are long: the fewest bytes on the longest way win"),
            Why::FewElements => format!(
                "{} elements do not give each of {ranks} ranks one",
                call.length()
            ),
            Why::Followed => {
                format!("{bytes} bytes are short: the fewest messages between groups win")
            }
            Why::FewRanks => format!("among {ranks} ranks nothing moves less"),
            Why::Cells => format!(
                "{bytes} bytes fit into the cells that all ranks can read: written once, read where they lie"
            ),
            Why::Table(found) => found.to_string(),
            Why::Direct => format!(
                "{bytes} bytes are many: every rank reads what it needs of them where they lie"
            ),
            Why::Always(why) => why.into(),
        }
    }
}

/// Maximum number of ranks that send to each other in one round of a started collective.
const ONE_ROUND: usize = 8;
const BINOMIAL: Algorithm = Algorithm::tree(TreeName::BINOMIAL);
const FLAT: Algorithm = Algorithm::tree(TreeName::Flat);

/// Picks the algorithm for a call: from the table, if it has one for the call, else by the numbers above. Nothing is
/// allocated. Tables are measured over memory, and not followed over channels.
fn pick(table: Option<&TuningTable>, call: &Call, elements: Elements) -> Picked {
    if call.pieces.is_some() {
        let why = "only the two ranks of a piece know its length";
        return picked(Algorithm::Pairwise, None, Why::Always(why));
    }
    if call.transport == Transport::Channels {
        return in_groups(call, elements.bytes, || pick_sent(call, elements.bytes));
    }
    let in_table = table.and_then(|table| pick_in_table(table, call, elements));
    in_table.unwrap_or_else(|| pick_untuned(call, elements))
}

#[cold]
fn pick_in_table(table: &TuningTable, call: &Call, elements: Elements) -> Option<Picked> {
    let bytes = call.length().saturating_mul(elements.bytes);
    let usable = |algorithm| is_usable(algorithm, call, elements);
    let found = table.find(call, bytes, usable)?;
    let next = found.rule.next.map(|next| next.algorithm);
    Some(picked(found.rule.best.algorithm, next, Why::Table(found)))
}

/// Whether an algorithm can run a call under its own name, without a substitute.
fn is_usable(algorithm: Algorithm, call: &Call, elements: Elements) -> bool {
    let fits = match algorithm {
        Algorithm::Cells => call.transport == Transport::Memory && fits_cells(call, elements),
        Algorithm::Hierarchical { .. } => {
            matches!(&call.levels, Some(levels) if levels.have_groups())
        }
        Algorithm::Direct | Algorithm::Gate => call.transport == Transport::Memory,
        _ => true,
    };
    fits && algorithm.refused(call).is_none()
}

fn pick_untuned(call: &Call, elements: Elements) -> Picked {
    in_groups(call, elements.bytes, || pick_flat(call, elements))
}

/// The pick for a machine with groups, if there are groups; otherwise the flat pick.
fn in_groups(call: &Call, element_bytes: usize, flat: impl Fn() -> Picked) -> Picked {
    match &call.levels {
        Some(levels) if levels.have_groups() => pick_in_groups(call, element_bytes, flat()),
        _ => flat(),
    }
}

fn is_long(call: &Call, element_bytes: usize) -> bool {
    call.length().saturating_mul(element_bytes) > LONG
}

/// The pick where the machine has groups. For short vectors, one message per group crosses the group's boundary. For
/// long vectors, a leader would have to fold or pass on data of all ranks; algorithms that move neighbouring blocks in
/// rank order stay inside the groups as far as possible, and do not wait for a single rank.
fn pick_in_groups(call: &Call, element_bytes: usize, flat: Picked) -> Picked {
    if flat.algorithm == Algorithm::Cells && call.collective.is_scan() {
        let why = "with cells every rank would read from other groups";
        return picked(Algorithm::Doubling, Some(flat.algorithm), Why::Always(why));
    }
    if Algorithm::HIERARCHICAL.refused(call).is_some() {
        return flat;
    }
    let near = match call.collective {
        _ if !is_long(call, element_bytes) => {
            return picked(Algorithm::HIERARCHICAL, Some(flat.algorithm), Why::Followed);
        }
        Collective::Broadcast if flat.algorithm == Algorithm::ScatterDoubling => {
            Algorithm::ScatterRing
        }
        Collective::ReduceScatter if flat.algorithm == Algorithm::FarHalving => Algorithm::Ring,
        // With cells every rank would read from every other group.
        Collective::AllGather if flat.algorithm == Algorithm::Cells => Algorithm::Ring,
        _ => return flat,
    };
    let why = "its messages are long, and go to neighbours";
    picked(near, Some(flat.algorithm), Why::Always(why))
}

/// Why a barrier without cells meets at the gate.
const GATE: &str = "the last rank to arrive releases all, and no rank waits for another one's turn";

/// The pick where all ranks are equally near.
fn pick_flat(call: &Call, elements: Elements) -> Picked {
    use Algorithm::*;
    let over = pick_messages(call, elements.bytes);
    let serves = !call.collective.is_scan() || call.ranks() == 2 || !call.crowded;
    if serves && is_for_cells(call, elements) && Cells.refused(call).is_none() {
        return picked(Cells, Some(over.algorithm), Why::Cells);
    }
    match call.collective {
        Collective::Barrier => picked(Gate, Some(over.algorithm), Why::Always(GATE)),
        _ => over,
    }
}

/// The pick for a started collective. Among few ranks all messages of a short one leave at once: a rank that waits for
/// nothing need not be there when messages arrive.
fn pick_started(call: &Call, elements: Elements) -> Picked {
    let sent = || {
        let short = call.most_written().saturating_mul(elements.bytes) <= started_up_to(call);
        let in_one_round = short && call.ranks() <= ONE_ROUND && is_for_cells(call, elements);
        match in_one_round && !call.collective.is_scan() && Algorithm::Cells.refused(call).is_none()
        {
            true => picked(Algorithm::Cells, None, Why::Cells),
            false => pick_sent(call, elements.bytes),
        }
    };
    in_groups(call, elements.bytes, sent)
}

/// The number of bytes above which ranks read memory in place what is not for cells. This takes two synchronizations, and ranks
/// that take turns pay a round of turns for each.
fn direct_from(call: &Call) -> usize {
    if call.crowded { CELL_BYTES } else { DIRECT }
}

/// The number of bytes up to which cells are used: ranks meet once there, and twice in place. Where a rank reads whole vectors
/// of others, many of them take longer than a second meeting.
fn cells_up_to(call: &Call) -> usize {
    use Collective::*;
    match call.collective {
        _ if call.crowded => CELL_BYTES,
        AllReduce if call.ranks() > FEW => DIRECT,
        AllReduce | ReduceScatter => PAIR,
        Reduce if call.ranks() > 2 => PAIR,
        Scan | ExclusiveScan if call.ranks() > MEASURED => DIRECT,
        AllToAll if call.ranks() == 2 => PAIR,
        _ => CELL_BYTES,
    }
}

/// The number of bytes up to which the messages of a started call are those of cells.
fn started_up_to(call: &Call) -> usize {
    match call.ranks() {
        2 => CELL_BYTES,
        _ => direct_from(call),
    }
}

/// Whether the call is short enough for cells. A crowded barrier is not: all ranks would wait until rank 0 is scheduled.
fn is_for_cells(call: &Call, elements: Elements) -> bool {
    if call.collective == Collective::Barrier && call.crowded {
        return false;
    }
    let bytes = call.most_written().saturating_mul(elements.bytes);
    bytes <= cells_up_to(call) && fits_cells(call, elements)
}

/// Whether each rank's data fits its cell, and the total is not too much for one rank.
fn fits_cells(call: &Call, elements: Elements) -> bool {
    let most = call.most_written();
    let bytes = most.saturating_mul(elements.bytes);
    // A cell cannot count more than `u32::MAX` elements, which zero-sized ones may exceed.
    let countable = u32::try_from(most).is_ok();
    let fits = bytes <= CELL_BYTES && elements.alignment <= CELL_ALIGNMENT;
    countable && fits && IN_CELLS.contains(&call.ranks())
}

/// Picks an algorithm without cells: memory that all ranks can read, or messages.
fn pick_messages(call: &Call, element_bytes: usize) -> Picked {
    let sent = pick_sent(call, element_bytes);
    let bytes = call.length().saturating_mul(element_bytes);
    if bytes > direct_from(call) && call.ranks() > 1 && Algorithm::Direct.refused(call).is_none() {
        return picked(Algorithm::Direct, Some(sent.algorithm), Why::Direct);
    }
    sent
}

/// Picks among the algorithms that send messages.
fn pick_sent(call: &Call, element_bytes: usize) -> Picked {
    use Algorithm::*;
    let long = is_long(call, element_bytes);
    let (few_ranks, few_elements) = (call.ranks() < IN_BLOCKS, call.length() < call.ranks());
    let by_length = |short, in_blocks| match (long, few_ranks, few_elements) {
        (false, ..) => picked(short, Some(in_blocks), Why::Short),
        (true, true, _) => picked(short, Some(in_blocks), Why::FewRanks),
        (true, _, true) => picked(short, None, Why::FewElements),
        _ => picked(in_blocks, Some(short), Why::Long),
    };
    match call.collective {
        Collective::Barrier => {
            let why = "the fewest steps, each rank in all of them";
            picked(Dissemination, Some(BINOMIAL), Why::Always(why))
        }
        Collective::Broadcast => by_length(BINOMIAL, ScatterDoubling),
        Collective::Reduce => by_length(BINOMIAL, Halving),
        Collective::AllReduce if !long => picked(Exchange, Some(Halving), Why::Short),
        Collective::AllReduce if call.ranks() == 2 && call.transport == Transport::Channels => {
            picked(Exchange, Some(Halving), Why::FewRanks)
        }
        Collective::AllReduce if few_elements => picked(Exchange, None, Why::FewElements),
        Collective::AllReduce => picked(Halving, Some(Exchange), Why::Long),
        Collective::ReduceScatter => pick_reduce_scatter(call.commutes),
        Collective::AllGather if long => picked(Ring, Some(Bruck), Why::Long),
        Collective::AllGather => picked(Bruck, Some(Ring), Why::Short),
        Collective::Gather | Collective::Scatter if long => picked(FLAT, Some(BINOMIAL), Why::Long),
        Collective::Gather | Collective::Scatter => picked(BINOMIAL, Some(FLAT), Why::Short),
        Collective::AllToAll => {
            let why = "every block goes straight to its rank";
            picked(Pairwise, None, Why::Always(why))
        }
        Collective::Scan | Collective::ExclusiveScan => {
            let why = "the fewest steps";
            picked(Doubling, None, Why::Always(why))
        }
    }
}

fn pick_reduce_scatter(commutes: bool) -> Picked {
    if !commutes {
        let why = Why::Always("it keeps rank order");
        return picked(Algorithm::Halving, None, why);
    }
    let why = Why::Always("as many bytes as any, and every rank ends with its own block");
    picked(Algorithm::FarHalving, Some(Algorithm::Halving), why)
}

fn picked(algorithm: Algorithm, next: Option<Algorithm>, why: Why) -> Picked {
    Picked {
        algorithm,
        next,
        why,
    }
}
