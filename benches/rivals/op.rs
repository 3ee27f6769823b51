//! What is timed, by the names that the command line, the other programs and the tables use.

use std::str::FromStr;
use std::time::Duration;

/// One way in which ranks communicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Barrier,
    /// An empty region: started, and done.
    Run,
    /// A region in which the threads reduce a vector of each.
    RunAllReduce,
    P2p,
    P2pBounce,
    AllReduce,
    AllReduceInplace,
    Reduce,
    ReduceInplace,
    Broadcast,
    ReduceScatter,
    AllGather,
    Scatter,
    Scan,
    AllToAll,
    /// Messages in a row from rank 0 to rank 1, and one back.
    Stream,
    /// The same, all started before one is waited for.
    Window,
    // The primitives under all of them.
    LineHand,
    LineExchange,
    LineMeet,
    Copy,
    Add,
    Accumulate,
    Fetch,
}

/// Number of messages of a stream or a window.
pub const MESSAGES: usize = 64;

const NAMES: [(&str, Kind); 24] = [
    ("barrier", Kind::Barrier),
    ("run", Kind::Run),
    ("run_all_reduce", Kind::RunAllReduce),
    ("p2p", Kind::P2p),
    ("p2p_bounce", Kind::P2pBounce),
    ("all_reduce", Kind::AllReduce),
    ("all_reduce_inplace", Kind::AllReduceInplace),
    ("reduce", Kind::Reduce),
    ("reduce_inplace", Kind::ReduceInplace),
    ("broadcast", Kind::Broadcast),
    ("reduce_scatter", Kind::ReduceScatter),
    ("all_gather", Kind::AllGather),
    ("scatter", Kind::Scatter),
    ("scan", Kind::Scan),
    ("all_to_all", Kind::AllToAll),
    ("stream", Kind::Stream),
    ("window", Kind::Window),
    ("line_hand", Kind::LineHand),
    ("line_exchange", Kind::LineExchange),
    ("line_meet", Kind::LineMeet),
    ("copy", Kind::Copy),
    ("add", Kind::Add),
    ("accumulate", Kind::Accumulate),
    ("fetch", Kind::Fetch),
];

/// What happens before every call, untimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Before {
    /// Nothing.
    Nothing,
    /// Each rank rewrites its vector.
    Fresh,
    /// One rank after the other is the last to arrive.
    Skewed,
    /// The caller computes for a while.
    Paused,
}

/// How long the last rank is behind the others.
pub const SKEW: Duration = Duration::from_micros(5);
/// How long the caller computes between two regions.
pub const PAUSE: Duration = Duration::from_millis(1);

const BEFORE: [(&str, Before); 3] = [
    ("_fresh", Before::Fresh),
    ("_skewed", Before::Skewed),
    ("_paused", Before::Paused),
];

/// An operation, and what happens before every call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Op {
    pub kind: Kind,
    pub before: Before,
}

impl Op {
    /// Returns whether each rank rewrites its vector before every call.
    pub fn fresh(self) -> bool {
        self.before == Before::Fresh
    }

    /// Returns whether calls follow one another without anything between them.
    pub fn plain(self) -> bool {
        self.before == Before::Nothing
    }

    /// Returns whether it is a region that a single thread starts.
    pub fn region(self) -> bool {
        matches!(self.kind, Kind::Run | Kind::RunAllReduce)
    }

    /// Returns whether an operation of ranks makes sense in this way: they are never fresh without a vector, and only
    /// regions follow a pause.
    pub fn sensible(self) -> bool {
        match self.before {
            Before::Nothing => true,
            Before::Fresh => !matches!(self.kind, Kind::Barrier) && !self.region(),
            Before::Skewed => !self.region(),
            Before::Paused => self.region(),
        }
    }

    /// Returns whether every call begins after a barrier and is timed by itself, from the last rank that enters to the
    /// last that leaves, as where a rank may be done before another has come. The others run back to back, and rank 0
    /// times batches.
    pub fn alone(self) -> bool {
        use Kind::{Broadcast, Fetch, Reduce, ReduceInplace, Scan, Scatter};
        !self.plain()
            || matches!(
                self.kind,
                Reduce | ReduceInplace | Broadcast | Scatter | Scan | Fetch
            )
    }

    /// Returns the number of consecutive messages in a call.
    pub fn trips(self) -> f64 {
        match self.kind {
            Kind::P2p | Kind::P2pBounce | Kind::LineHand => 2.0,
            Kind::Stream | Kind::Window => MESSAGES as f64,
            _ => 1.0,
        }
    }

    /// Returns whether `bytes` bytes per rank are too few for a block of each rank, so that nothing would move.
    pub fn is_too_short(self, bytes: usize, ranks: usize) -> bool {
        matches!(self.kind, Kind::ReduceScatter | Kind::AllToAll)
            && bytes / size_of::<f32>() < ranks
    }

    /// Returns the elements of a rank's input and output, for `bytes` bytes per rank. The input is a multiple of the
    /// ranks where it is scattered.
    pub fn elements(self, bytes: usize, ranks: usize) -> (usize, usize) {
        let n = bytes / size_of::<f32>();
        match self.kind {
            Kind::Barrier | Kind::Run => (0, 0),
            Kind::LineHand | Kind::LineExchange | Kind::LineMeet => (0, 0),
            Kind::ReduceScatter => (n / ranks * ranks, n / ranks),
            Kind::AllGather => (n, n * ranks),
            Kind::AllToAll => (n / ranks * ranks, n / ranks * ranks),
            Kind::Stream | Kind::Window => (n * MESSAGES, n * MESSAGES),
            Kind::Scatter => (n * ranks, n),
            _ => (n, n),
        }
    }
}

impl FromStr for Op {
    type Err = String;

    fn from_str(text: &str) -> Result<Op, String> {
        let with = |(end, before): &(&str, Before)| Some((text.strip_suffix(end)?, *before));
        let (name, before) = BEFORE
            .iter()
            .find_map(with)
            .unwrap_or((text, Before::Nothing));
        let found = NAMES.iter().find(|(known, _)| *known == name);
        let (_, kind) = found.ok_or_else(|| format!("no operation is called `{text}`"))?;
        Ok(Op {
            kind: *kind,
            before,
        })
    }
}

/// Returns every operation, in every way.
pub fn all() -> impl Iterator<Item = Op> {
    NAMES.iter().flat_map(|&(_, kind)| {
        let ways = BEFORE.iter().map(|&(_, before)| before);
        ways.chain([Before::Nothing])
            .map(move |before| Op { kind, before })
    })
}
