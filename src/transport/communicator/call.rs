//! The description of a collective call, as ranks compare it and as it prints; and its fingerprint.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use crate::Rank;
use crate::error::{Mismatch, Site};
use crate::hash::Mix;
use crate::names::Collective;
use crate::op::OperatorKind;
use crate::op::elements::Info;
use crate::op::signature::Signature;
use crate::transport::trace::call_event::{CallEvent, Peer};

/// The result of examining a call, for all its ranks.
#[derive(Clone, Default)]
pub(crate) enum Verdict {
    #[default]
    Right,
    /// All ranks are about to do the same, and it is wrong.
    Fault(Arc<dyn std::error::Error + Send + Sync>),
    /// The ranks are not all about to do the same.
    Mismatch(Arc<Mismatch>),
}

/// The collectives, as they print.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Verb {
    Collective(Collective),
    /// A collective called with owned values.
    Values(Collective),
    /// A started collective.
    Started(Collective),
    /// Several all-reduces in one call.
    Fused,
    ReduceOver,
    RunSchedule,
    Hypercube,
    Dup,
    Split,
    SplitBy,
    Cartesian,
    Graph,
    GraphFromEdges,
    NeighborAllGather,
    NeighborAllGatherV,
    NeighborAllToAll,
    NeighborAllToAllV,
    /// The started collectives among neighbours.
    StartedNeighborAllGather,
    StartedNeighborAllGatherV,
    StartedNeighborAllToAll,
    StartedNeighborAllToAllV,
    Window,
    AtomicWindow,
    /// Opens the epochs between the fences of a window.
    Fence,
    /// Ends one and opens the next.
    NextFence,
    /// Ends one, and no other follows.
    CloseFence,
}

impl Verb {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Verb::Collective(collective) => collective.name(),
            Verb::Values(collective) => values_name(collective),
            Verb::Started(collective) => started_name(collective),
            Verb::Fused => "fused",
            Verb::ReduceOver => "reduce_over",
            Verb::RunSchedule => "run_schedule",
            Verb::Hypercube => "hypercube",
            Verb::Dup => "dup",
            Verb::Split => "split",
            Verb::SplitBy => "split_by",
            Verb::Cartesian => "cartesian",
            Verb::Graph => "graph",
            Verb::GraphFromEdges => "graph_from_edges",
            Verb::NeighborAllGather => "neighbor_all_gather",
            Verb::NeighborAllGatherV => "neighbor_all_gather_v",
            Verb::NeighborAllToAll => "neighbor_all_to_all",
            Verb::NeighborAllToAllV => "neighbor_all_to_all_v",
            Verb::StartedNeighborAllGather => "ineighbor_all_gather",
            Verb::StartedNeighborAllGatherV => "ineighbor_all_gather_v",
            Verb::StartedNeighborAllToAll => "ineighbor_all_to_all",
            Verb::StartedNeighborAllToAllV => "ineighbor_all_to_all_v",
            Verb::Window => "window",
            Verb::AtomicWindow => "atomic_window",
            Verb::Fence => "fence",
            Verb::NextFence => "epoch.fence",
            Verb::CloseFence => "epoch.close",
        }
    }

    /// Whether the call is started, and ends later.
    pub(crate) fn is_started(self) -> bool {
        use Verb::{
            Started, StartedNeighborAllGather, StartedNeighborAllGatherV, StartedNeighborAllToAll,
            StartedNeighborAllToAllV,
        };
        matches!(
            self,
            Started(_)
                | StartedNeighborAllGather
                | StartedNeighborAllGatherV
                | StartedNeighborAllToAll
                | StartedNeighborAllToAllV
        )
    }

    /// Whether the call itself begins with a meeting of all ranks at the gate.
    pub(crate) fn meets_first(self) -> bool {
        use Verb::{CloseFence, Fence, NextFence};
        let barrier = Verb::Collective(Collective::Barrier);
        self == barrier || matches!(self, Fence | NextFence | CloseFence)
    }
}

/// The name of a collective that is called with owned values.
fn values_name(collective: Collective) -> &'static str {
    match collective {
        Collective::Broadcast => "broadcast_value",
        Collective::Reduce => "reduce_value",
        Collective::AllReduce => "all_reduce_value",
        Collective::Gather => "gather_value",
        Collective::AllGather => "all_gather_value",
        Collective::Scatter => "scatter_value",
        Collective::AllToAll => "all_to_all_value",
        Collective::Scan => "scan_value",
        Collective::ExclusiveScan => "exclusive_scan_value",
        other => other.name(),
    }
}

/// The name of a started collective.
fn started_name(collective: Collective) -> &'static str {
    match collective {
        Collective::Barrier => "ibarrier",
        Collective::Broadcast => "ibroadcast",
        Collective::Reduce => "ireduce",
        Collective::AllReduce => "iall_reduce",
        Collective::ReduceScatter => "ireduce_scatter",
        Collective::AllGather => "iall_gather",
        Collective::Gather => "igather",
        Collective::Scatter => "iscatter",
        Collective::AllToAll => "iall_to_all",
        Collective::Scan => "iscan",
        Collective::ExclusiveScan => "iexclusive_scan",
    }
}

/// Arguments of a call that are printed but not compared: where ranks must agree on them, the
/// [algorithm](Call::algorithm)'s hash covers them.
#[derive(Clone, Copy)]
pub(crate) enum Detail {
    None,
    /// The colour and the key that a rank passes to a split.
    Part(Option<u32>, i64),
    /// The kind of part to split by.
    Level(&'static str),
    Grid(Grid),
    /// The numbers of edges to and from a rank of a graph.
    Degrees(usize, usize),
    /// The length of equal blocks that only neighbours compare.
    Blocks(usize),
    /// The vectors of a fused call.
    Fused(&'static Signature),
}

/// The first dimensions of a grid, and the number of all of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grid {
    dims: [u32; Grid::SHOWN],
    periodic: [bool; Grid::SHOWN],
    count: usize,
}

impl Grid {
    const SHOWN: usize = 6;

    pub(crate) fn new(dims: &[usize], periodic: &[bool]) -> Grid {
        let mut grid = Grid {
            dims: [0; Grid::SHOWN],
            periodic: [false; Grid::SHOWN],
            count: dims.len(),
        };
        for (to, dim) in grid.dims.iter_mut().zip(dims) {
            *to = *dim as u32;
        }
        for (to, ends) in grid.periodic.iter_mut().zip(periodic) {
            *to = *ends;
        }
        grid
    }
}

impl fmt::Display for Grid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.count.min(Grid::SHOWN);
        let more = if self.count > shown { ", .." } else { "" };
        let list = |items: Vec<String>| format!("[{}{more}]", items.join(", "));
        let dims = self.dims[..shown].iter().map(u32::to_string).collect();
        let periodic = self.periodic[..shown].iter().map(bool::to_string).collect();
        write!(f, "{}, {}", list(dims), list(periodic))
    }
}

impl fmt::Display for Detail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Detail::None => Ok(()),
            Detail::Part(Some(colour), key) => write!(f, "colour {colour}, key {key}"),
            Detail::Part(None, key) => write!(f, "no colour, key {key}"),
            Detail::Level(kind) => f.write_str(kind),
            Detail::Grid(grid) => grid.fmt(f),
            Detail::Degrees(into, out) => write!(f, "in-degree {into}, out-degree {out}"),
            Detail::Blocks(length) => write!(f, "blocks of {length}"),
            Detail::Fused(signature) => signature.fmt(f),
        }
    }
}

/// A collective call, without its communicator. Two ranks are in the same call if all fields but the site, the part and
/// the detail are equal.
#[derive(Clone, Copy)]
pub(crate) struct Call {
    pub verb: Verb,
    pub root: Option<Rank>,
    /// Number of elements; `None` if there are none or they may differ.
    pub length: Option<usize>,
    pub info: Option<&'static Info>,
    pub op: OperatorKind,
    /// What distinguishes algorithms, as a hash; 0: automatic choice.
    pub algorithm: u32,
    /// This rank's part in the collective, as a hash: for the examination of the call, and not compared here.
    pub part: u32,
    /// Whether it continues without ranks that have ended.
    pub tolerant: bool,
    pub detail: Detail,
    pub site: Site,
}

/// What is equal in all ranks' descriptions of a call, apart from its number, in a few bits.
#[derive(Clone, Copy)]
pub(crate) struct Digest(u64);

impl Digest {
    /// The 32 bits by which calls are compared in packets, in cells and at the gate. They cover this call as collective
    /// `number` of its communicator, and all calls before it, the last of which had the fingerprint `before`.
    #[inline]
    pub(crate) fn print(self, number: u32, before: u32) -> u32 {
        let place = u64::from(number) << 32 | u64::from(before);
        ((self.0 ^ place).wrapping_mul(Mix::ODD) >> 32) as u32
    }
}

impl Call {
    /// A broadcast of this length.
    #[cfg(test)]
    #[track_caller]
    pub(in crate::transport) fn of_length(length: usize) -> Call {
        Call {
            verb: Verb::Collective(Collective::Broadcast),
            root: None,
            length: Some(length),
            info: None,
            op: OperatorKind::None,
            algorithm: 0,
            part: 0,
            tolerant: false,
            detail: Detail::None,
            site: std::panic::Location::caller(),
        }
    }

    pub(crate) fn digest(&self) -> Digest {
        let data = (self.root, self.length, self.info.map(Info::id), self.op);
        let all = (self.verb, data, self.algorithm, self.tolerant);
        Digest(Mix::of(&all).finish())
    }
}

impl Call {
    /// How a call differs from another one that prints alike and is not the same.
    pub(crate) fn unlike(&self) -> &'static str {
        match self.verb {
            Verb::Fused => " with other vectors, or by another algorithm",
            Verb::ReduceOver => " over another topology, or in another order",
            Verb::RunSchedule => " with another goal or schedule",
            Verb::Cartesian => " with other dimensions or ends",
            _ => " by another algorithm, or with other counts",
        }
    }

    /// The call, as the recorder sees it.
    #[inline]
    pub(crate) fn describe(&self) -> CallEvent {
        CallEvent {
            verb: self.verb.name(),
            info: self.info,
            peer: self.root.map_or(Peer::None, Peer::Root),
            count: self.length,
            ..CallEvent::at(self.site)
        }
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.verb.name())?;
        let root = self.root.map(|root| format!("root {root}"));
        let data = match (self.length, self.info) {
            (Some(length), Some(info)) => Some(format!("{length} x {}", info.name())),
            (None, Some(info)) => Some(info.name().to_owned()),
            _ => None,
        };
        let op = (self.op != OperatorKind::None).then(|| format!("{:?}", self.op));
        let detail = !matches!(self.detail, Detail::None);
        let detail = detail.then(|| self.detail.to_string());
        let parts: Vec<_> = [root, data, op, detail].into_iter().flatten().collect();
        if parts.is_empty() {
            Ok(())
        } else {
            write!(f, "({})", parts.join(", "))
        }
    }
}

/// A hash of 32 bits, the same in every rank.
pub(crate) fn digest(what: &impl Hash) -> u32 {
    Mix::of(what).bits()
}
