//! The machine that a schedule is timed on: the cost of a message between two ranks, and the cost of a fold.

use super::SimulateError;
use crate::Rank;

/// The cost of a message from one rank to another, in the parameters of LogGP.
///
/// All times are in seconds. A message of `b` bytes arrives `latency + 2 overhead + b per_byte` after its sender
/// reached the step, and occupies each of the two ports for `max(overhead, gap) + b per_byte`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// L: the time for which a byte is in transit.
    pub latency: f64,
    /// o: the processor time of a message, once at either end.
    pub overhead: f64,
    /// g: the time for which a message occupies a port, apart from its bytes.
    pub gap: f64,
    /// G: the additional time per byte.
    pub per_byte: f64,
}

/// A machine as the simulator models it: a [`Link`] between any two ranks, or one link within a node and another
/// between nodes; the cost of a fold; and the size of an element.
///
/// All ranks of a node can send to other nodes at the same time, each at full speed, unless they
/// [share](Self::shared_links) a link. Local copies cost nothing.
///
/// # Examples
///
/// ```
/// use rankfold::simulate::{Link, MachineModel};
///
/// let shared = Link { latency: 80e-9, overhead: 40e-9, gap: 40e-9, per_byte: 0.05e-9 };
/// let network = Link { latency: 1e-6, overhead: 0.3e-6, gap: 0.3e-6, per_byte: 0.1e-9 };
/// let cluster = MachineModel::two_level(64, shared, network).fold_cost(0.1e-9).element_bytes(8);
/// assert_eq!((cluster.link(3, 63), cluster.link(63, 64)), (&shared, &network));
/// ```
///
/// # Source
///
/// Alexandrov, Ionescu, Schauser and Scheiman, *LogGP: incorporating long messages into the LogP model*, SPAA 1995;
/// with `b` bytes in place of its `b - 1`, so that an empty message is not a special case.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MachineModel {
    inside: Link,
    between: Link,
    /// The number of ranks of a node.
    node: usize,
    /// Whether the ranks of a node share its link to other nodes.
    shared: bool,
    fold: f64,
    element_bytes: usize,
}

impl MachineModel {
    /// The same link between any two ranks. Folds cost nothing and elements have one byte, unless
    /// [`fold_cost`](Self::fold_cost) and [`element_bytes`](Self::element_bytes) change that.
    pub const fn flat(link: Link) -> MachineModel {
        MachineModel::two_level(usize::MAX, link, link)
    }

    /// Nodes of `node` consecutive ranks, with one link within a node and another between nodes.
    pub const fn two_level(node: usize, inside: Link, between: Link) -> MachineModel {
        MachineModel {
            inside,
            between,
            node,
            shared: false,
            fold: 0.0,
            element_bytes: 1,
        }
    }

    /// The machine of the closed formulas: a message of `n` elements takes `alpha + n beta` and occupies both of its
    /// ports for the same time; a fold takes `gamma` per element.
    ///
    /// In LogGP terms, L + 2o = `alpha` and G = `beta`, with a gap of `alpha`: a port accepts a message only when the
    /// previous one has arrived. Elements have one byte, so `beta` is the time per element.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::collective::simple_exchange;
    /// use rankfold::simulate::{MachineModel, simulate};
    ///
    /// let machine = MachineModel::alpha_beta_gamma(100.0, 2.0, 1.0);
    /// let time = simulate(&simple_exchange(16, 10), &machine).unwrap().total;
    /// assert_eq!(time, 4.0 * (100.0 + 10.0 * (2.0 + 1.0)));
    /// ```
    pub const fn alpha_beta_gamma(alpha: f64, beta: f64, gamma: f64) -> MachineModel {
        let link = Link {
            latency: alpha,
            overhead: 0.0,
            gap: alpha,
            per_byte: beta,
        };
        MachineModel::flat(link).fold_cost(gamma)
    }

    /// The same machine, but the ranks of a node share one link to the other nodes: g and G apply to all of them
    /// together, in each direction, as with a shared network card or the link of a package.
    ///
    /// A message that leaves its node starts when the link out of this node and the link into the other node are free;
    /// it then occupies both for `max(o, g) + b G`. Messages of ranks that reach a step at the same time take turns by
    /// rank, and messages of one step precede those of later steps.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::collective::simple_exchange;
    /// use rankfold::simulate::{Link, MachineModel, simulate};
    ///
    /// let link = Link { latency: 3.0, overhead: 1.0, gap: 2.0, per_byte: 0.0 };
    /// let machine = MachineModel::two_level(4, link, link);
    /// let time = |machine: &MachineModel| simulate(&simple_exchange(8, 1), machine).unwrap().total;
    /// assert_eq!(time(&machine), 3.0 * 5.0);
    /// assert_eq!(time(&machine.shared_links()), 3.0 * 5.0 + 3.0 * 2.0); // the last of four waits for three
    /// ```
    pub const fn shared_links(self) -> MachineModel {
        MachineModel {
            shared: true,
            ..self
        }
    }

    /// The same machine with a fold cost of `seconds` per element.
    pub const fn fold_cost(self, seconds: f64) -> MachineModel {
        MachineModel {
            fold: seconds,
            ..self
        }
    }

    /// The same machine with elements of `bytes` bytes.
    pub const fn element_bytes(self, bytes: usize) -> MachineModel {
        MachineModel {
            element_bytes: bytes,
            ..self
        }
    }

    /// The link between two ranks.
    ///
    /// # Panics
    ///
    /// If nodes have no ranks.
    pub fn link(&self, a: Rank, b: Rank) -> &Link {
        if self.node == usize::MAX || a / self.node == b / self.node {
            &self.inside
        } else {
            &self.between
        }
    }

    /// The cost of a fold of one element, in seconds.
    pub fn fold_seconds(&self) -> f64 {
        self.fold
    }

    /// The number of bytes of `elements` elements.
    pub(super) fn bytes(&self, elements: u128) -> u128 {
        elements.saturating_mul(self.element_bytes as u128)
    }

    /// Checks that all parameters, and the costs of a message that follow from them, are finite and not negative.
    fn check(&self) -> Result<(), SimulateError> {
        let link = |link: Link| {
            let Toll {
                travel, element, ..
            } = Toll::new(&link, self.element_bytes);
            let Link {
                latency,
                overhead,
                gap,
                per_byte,
            } = link;
            [latency, overhead, gap, per_byte, travel, element]
        };
        let names = [
            "latency",
            "overhead",
            "gap",
            "time per byte",
            "transit time",
            "time per element",
        ];
        let all = [link(self.inside), link(self.between)];
        let links = all.iter().flat_map(|link| names.iter().zip(link));
        for (&what, &value) in links.chain([(&"fold cost", &self.fold)]) {
            if !(value.is_finite() && value >= 0.0) {
                return Err(SimulateError::NoTime { what, value });
            }
        }
        if self.node == 0 {
            return Err(SimulateError::EmptyNodes);
        }
        Ok(())
    }
}

/// A model, not a measurement: round figures on the order of threads on one machine. Latency 100 ns, overhead and gap
/// 50 ns, 10 GB/s per port, 0.2 ns per fold, elements of 8 bytes.
impl Default for MachineModel {
    fn default() -> MachineModel {
        let link = Link {
            latency: 100e-9,
            overhead: 50e-9,
            gap: 50e-9,
            per_byte: 0.1e-9,
        };
        MachineModel::flat(link).fold_cost(0.2e-9).element_bytes(8)
    }
}

/// A number of elements as a float. Signed integers convert faster.
#[inline]
fn real(elements: usize) -> f64 {
    elements.min(isize::MAX as usize) as isize as f64
}

/// The parameters of a link in the form that a step needs.
#[derive(Clone, Copy)]
pub(super) struct Toll {
    /// The constant part of the time for which a message occupies a port.
    port: f64,
    /// The constant part of the transit time.
    travel: f64,
    element: f64,
}

impl Toll {
    fn new(link: &Link, element_bytes: usize) -> Toll {
        Toll {
            port: link.overhead.max(link.gap),
            travel: link.latency + 2.0 * link.overhead,
            element: link.per_byte * element_bytes as f64,
        }
    }

    /// The time for which a message occupies a port.
    #[inline]
    pub(super) fn port(&self, elements: usize) -> f64 {
        self.port + real(elements) * self.element
    }

    /// The transit time of a message.
    #[inline]
    pub(super) fn travel(&self, elements: usize) -> f64 {
        self.travel + real(elements) * self.element
    }
}

/// The parameters of a machine in the form that a step needs.
#[derive(Clone, Copy)]
pub(super) struct Tolls {
    inside: Toll,
    between: Toll,
    /// `usize::MAX` if there is only one node.
    node: usize,
    shared: bool,
    fold: f64,
}

impl Tolls {
    pub(super) fn new(machine: &MachineModel) -> Result<Tolls, SimulateError> {
        machine.check()?;
        let toll = |link| Toll::new(link, machine.element_bytes);
        Ok(Tolls {
            inside: toll(&machine.inside),
            between: toll(&machine.between),
            node: machine.node,
            shared: machine.shared,
            fold: machine.fold,
        })
    }

    /// The nodes of two ranks, if a message between them uses shared links.
    pub(super) fn shared(&self, from: Rank, to: Rank) -> Option<(usize, usize)> {
        if !self.shared || self.node == usize::MAX {
            return None;
        }
        let (out, into) = (from / self.node, to / self.node);
        (out != into).then_some((out, into))
    }

    /// The number of nodes that share links.
    pub(super) fn sharing_nodes(&self, ranks: usize) -> usize {
        if self.shared && self.node != usize::MAX {
            ranks.div_ceil(self.node)
        } else {
            0
        }
    }

    #[inline]
    pub(super) fn link(&self, a: Rank, b: Rank) -> &Toll {
        if self.node == usize::MAX || a / self.node == b / self.node {
            &self.inside
        } else {
            &self.between
        }
    }

    #[inline]
    pub(super) fn fold(&self, elements: usize) -> f64 {
        real(elements) * self.fold
    }
}
