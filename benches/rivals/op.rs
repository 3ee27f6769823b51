//! What is timed, by the names that the command line, the other programs and the tables use.

use std::str::FromStr;

/// One way in which ranks communicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Barrier,
    /// An empty region: started, and done.
    Run,
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

const NAMES: [(&str, Kind); 23] = [
    ("barrier", Kind::Barrier),
    ("run", Kind::Run),
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

/// An operation, and whether each rank rewrites its vector before every call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Op {
    pub kind: Kind,
    pub fresh: bool,
}

impl Op {
    /// Returns whether every call begins after a barrier and is timed by itself, from the last rank that enters to the
    /// last that leaves. The others run back to back, and rank 0 times batches.
    pub fn alone(self) -> bool {
        use Kind::{Broadcast, Fetch, Reduce, ReduceInplace, Scatter};
        self.fresh
            || matches!(
                self.kind,
                Reduce | ReduceInplace | Broadcast | Scatter | Fetch
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
        let (name, fresh) = match text.strip_suffix("_fresh") {
            Some(name) => (name, true),
            None => (text, false),
        };
        let found = NAMES.iter().find(|(known, _)| *known == name);
        let (_, kind) = found.ok_or_else(|| format!("no operation is called `{text}`"))?;
        Ok(Op { kind: *kind, fresh })
    }
}

/// Returns every operation, plain and fresh.
pub fn all() -> impl Iterator<Item = Op> {
    NAMES
        .iter()
        .flat_map(|&(_, kind)| [false, true].map(|fresh| Op { kind, fresh }))
}
