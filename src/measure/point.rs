//! What is measured: one collective by one algorithm among some number of ranks on vectors of one length.

use std::fmt;
use std::str::FromStr;

use super::kinds::{Op, Type, UnknownName};
use crate::Rank;
use crate::collective::{Algorithm, Call, Collective};
use crate::machine::Bind;
use crate::names::Transport;
use crate::transport::memory::cells::CELL_BYTES;

/// A collective, or neighbours that send to each other.
///
/// # Examples
///
/// ```
/// use rankfold::collective::Collective;
/// use rankfold::measure::Subject;
///
/// assert_eq!("all_reduce".parse(), Ok(Subject::Collective(Collective::AllReduce)));
/// assert_eq!("send".parse(), Ok(Subject::Send));
/// let said = "allreduce".parse::<Subject>().unwrap_err().to_string();
/// assert!(said.starts_with("no collective is called `allreduce`; did you mean `all_reduce`?"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Subject {
    /// A collective of all ranks.
    Collective(Collective),
    /// A round trip of a message between ranks 0 and 1, 2 and 3, ...; half of its time counts. A rank without a partner
    /// is idle.
    Send,
}

impl From<Collective> for Subject {
    fn from(collective: Collective) -> Subject {
        Subject::Collective(collective)
    }
}

impl Subject {
    const SEND: &'static str = "send";

    /// Returns all collectives, then the ping-pong.
    pub fn all() -> impl Iterator<Item = Subject> {
        Collective::all().map(Subject::from).chain([Subject::Send])
    }

    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Subject::Collective(collective) => collective.name(),
            Subject::Send => Subject::SEND,
        }
    }

    /// Returns whether it folds with an operator.
    pub fn folds(self) -> bool {
        matches!(self, Subject::Collective(collective) if collective.folds())
    }

    /// Returns whether it has a root.
    pub fn has_root(self) -> bool {
        matches!(self, Subject::Collective(collective) if collective.has_root())
    }

    /// Returns whether the vector is divided into one block per rank.
    pub fn has_blocks(self) -> bool {
        use Collective::*;
        matches!(
            self,
            Subject::Collective(ReduceScatter | AllGather | Gather | Scatter | AllToAll)
        )
    }

    /// Returns whether a rank may finish before another has begun, so that calls are timed one by one.
    pub fn leaves_early(self) -> bool {
        use Collective::*;
        self.has_root() || matches!(self, Subject::Collective(Scan | ExclusiveScan))
    }

    /// Returns the factor that turns the bandwidth of a call into the bandwidth that the machine must provide, whatever
    /// the number of ranks.
    ///
    /// The factors are those of nccl-tests: 2(P-1)/P for an all_reduce, (P-1)/P where the vector is divided into
    /// blocks, else 1. nccl-tests has no scans; their factor here is 1.
    ///
    /// # Source
    ///
    /// NVIDIA, nccl-tests, `doc/PERFORMANCE.md`: "bus bandwidth".
    pub fn bus_factor(self, ranks: usize) -> f64 {
        let others = (ranks as f64 - 1.0) / ranks as f64;
        match self {
            Subject::Collective(Collective::AllReduce) => 2.0 * others,
            _ if self.has_blocks() => others,
            _ => 1.0,
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Subject {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Subject, UnknownName> {
        let known = || Subject::all().map(Subject::name).collect();
        let found = Subject::all().find(|subject| subject.name() == name);
        found.ok_or_else(|| UnknownName::new("collective", name, known()))
    }
}

/// One measured case.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// The collective or the ping-pong.
    pub subject: Subject,
    /// The algorithm; `None` for the automatic choice.
    pub algorithm: Option<Algorithm>,
    /// Number of ranks.
    pub ranks: usize,
    /// Number of elements of the whole vector; a multiple of `ranks` where it is divided into blocks.
    pub length: usize,
    /// Type of the elements.
    pub kind: Type,
    /// The operator, if the collective folds.
    pub op: Op,
    /// The root, if the collective has one.
    pub root: Rank,
    /// Whether an all_reduce goes from one vector into another instead of in place.
    pub into: bool,
    /// Whether each rank rewrites its vector before each call, untimed.
    pub fresh: bool,
    /// The binding of the ranks.
    pub bind: Bind,
    /// What carries the messages.
    pub transport: Transport,
}

impl Point {
    /// A sum, or a movement, of `length` elements with root 0. Where the vector is divided into blocks, `length` is
    /// rounded up so that all blocks are equally long, or down where it would overflow.
    pub fn new(subject: Subject, ranks: usize, length: usize, kind: Type) -> Point {
        let whole = match subject {
            Subject::Collective(Collective::Barrier) => 0,
            _ if subject.has_blocks() && ranks > 0 => {
                let longer = length.checked_next_multiple_of(ranks);
                longer.unwrap_or(length - length % ranks)
            }
            _ => length,
        };
        Point {
            subject,
            algorithm: None,
            ranks,
            length: whole,
            kind,
            op: Op::Sum,
            root: 0,
            into: false,
            fresh: false,
            bind: Bind::Auto,
            transport: Transport::Memory,
        }
    }

    /// Returns the bytes of the whole vector, from which bandwidths are computed; `usize::MAX` if there are more.
    pub fn bytes(&self) -> usize {
        self.length.saturating_mul(self.kind.bytes())
    }

    /// Returns the elements of a block where the vector has blocks, else of the vector. Without ranks there are no blocks.
    pub fn block(&self) -> usize {
        match self.subject.has_blocks() {
            true => self.length.checked_div(self.ranks).unwrap_or(0),
            false => self.length,
        }
    }

    /// Returns whether a call leaves elements that can be compared: a barrier and a call without elements leave none.
    pub fn has_output(&self) -> bool {
        self.length > 0 && self.subject != Subject::from(Collective::Barrier)
    }

    /// Returns whether its calls are timed one by one.
    pub fn one_by_one(&self) -> bool {
        self.fresh || self.subject.leaves_early()
    }

    /// Returns the shape of the call, if it is a collective.
    pub fn shape(&self) -> Option<Call> {
        let Subject::Collective(collective) = self.subject else {
            return None;
        };
        let call = Call::new(collective, self.ranks, self.length).commuting();
        let call = call.over(self.transport);
        let call = if collective.has_root() {
            call.to_root(self.root)
        } else {
            call
        };
        Some(match collective {
            Collective::AllReduce if self.into => call.from_input(),
            _ => call,
        })
    }

    /// Returns why it cannot be measured, if it cannot.
    pub fn refused(&self) -> Option<String> {
        if self.ranks == 0 {
            return Some("there are no ranks".into());
        }
        match (self.shape(), self.algorithm) {
            (Some(call), Some(algorithm)) => {
                let refusal = algorithm.refused(&call).map(|refusal| refusal.to_string());
                refusal.or_else(|| self.too_long(&call, algorithm))
            }
            (None, Some(algorithm)) => {
                Some(format!("{algorithm} is for collectives, not for send"))
            }
            (None, None) if self.ranks < 2 => Some("send needs at least 2 ranks".into()),
            _ => None,
        }
    }

    /// Returns why the vector does not fit into a cell, for the algorithm that goes through cells.
    fn too_long(&self, call: &Call, algorithm: Algorithm) -> Option<String> {
        let bytes = call.most_written().saturating_mul(self.kind.bytes());
        let in_cells = algorithm == Algorithm::Cells && self.transport == Transport::Memory;
        let long = in_cells && bytes > CELL_BYTES;
        long.then(|| {
            format!("{algorithm}: {bytes} bytes have no room in a cell, which holds {CELL_BYTES}")
        })
    }

    /// Returns the lengths of a rank's input and output.
    pub(super) fn lengths(&self, rank: Rank) -> (usize, usize) {
        let (all, block) = (self.length, self.block());
        let at_root = if rank == self.root { all } else { 0 };
        let Subject::Collective(collective) = self.subject else {
            return (all, all);
        };
        match collective {
            Collective::Barrier => (0, 0),
            Collective::AllReduce if self.into => (all, all),
            Collective::ReduceScatter => (all, block),
            Collective::AllGather => (block, all),
            Collective::Gather => (block, at_root),
            Collective::Scatter => (at_root, block),
            Collective::AllToAll => (all, all),
            _ => (0, all),
        }
    }

    /// Returns the bytes of all ranks' vectors together.
    pub fn memory(&self) -> usize {
        let (input, output) = self.lengths(self.root);
        let of_one = input
            .saturating_add(output)
            .saturating_mul(self.kind.bytes());
        of_one.saturating_mul(self.ranks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bandwidths_are_counted_as_the_nccl_tests_count_them() {
        let factor = |name: &str| name.parse::<Subject>().unwrap().bus_factor(4);
        assert_eq!(factor("all_reduce"), 1.5);
        for name in [
            "reduce_scatter",
            "all_gather",
            "gather",
            "scatter",
            "all_to_all",
        ] {
            assert_eq!(factor(name), 0.75, "{name}");
        }
        for name in ["broadcast", "reduce", "scan", "exclusive_scan", "send"] {
            assert_eq!(factor(name), 1.0, "{name}");
        }
    }

    #[test]
    fn vectors_that_are_cut_are_made_long_enough_for_equal_blocks() {
        let gather = Point::new(Collective::AllGather.into(), 3, 4, Type::F32);
        assert_eq!((gather.length, gather.block(), gather.bytes()), (6, 2, 24));
        let reduce = Point::new(Collective::AllReduce.into(), 3, 4, Type::F32);
        assert_eq!((reduce.length, reduce.block(), reduce.bytes()), (4, 4, 16));
        assert_eq!(
            Point::new(Collective::Barrier.into(), 3, 4, Type::F32).bytes(),
            0
        );
    }

    #[test]
    fn points_without_ranks_and_of_any_length_are_described_and_refused() {
        for subject in Subject::all() {
            for (ranks, length) in [(0, 5), (0, 0), (3, usize::MAX), (7, usize::MAX - 1)] {
                let point = Point::new(subject, ranks, length, Type::F64);
                let described = (point.block(), point.bytes(), point.memory(), point.shape());
                assert!(described.0 <= length, "{subject}");
                if ranks == 0 {
                    assert_eq!(point.refused().as_deref(), Some("there are no ranks"));
                    continue;
                }
                let whole = point.length.is_multiple_of(ranks);
                assert!(
                    whole || !subject.has_blocks(),
                    "{subject}: {}",
                    point.length
                );
            }
        }
    }

    #[test]
    fn what_no_rank_could_run_is_refused_beforehand() {
        let mut point = Point::new(Collective::AllReduce.into(), 3, 4, Type::F32);
        assert_eq!(point.refused(), None);
        point.algorithm = Some(Algorithm::Bruck);
        assert!(point.refused().is_some());
        assert!(
            Point::new(Subject::Send, 1, 4, Type::F32)
                .refused()
                .is_some()
        );
    }
}
