//! The machine that a schedule is timed on: what a message costs between two ranks, and what a fold
//! costs.

use super::Fault;
use crate::Rank;

/// What a message costs on the way from one rank to another, in the parameters of LogGP.
///
/// All times are in seconds. A message of `b` bytes is in `latency + 2 overhead + b per_byte` after its
/// sender came to the step, and each of the two ports is taken for `max(overhead, gap) + b per_byte`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// L: how long a byte is under way.
    pub latency: f64,
    /// o: what a rank does itself for a message, once at either end.
    pub overhead: f64,
    /// g: how long a message takes a port, its bytes apart.
    pub gap: f64,
    /// G: how much longer a message takes for every byte.
    pub per_byte: f64,
}

/// A machine as the simulator sees it: a [`Link`] between any two ranks, or one inside a node and
/// another between nodes; what a fold costs; how large an element is.
///
/// Ranks of one node can all send to other nodes at once, each at full speed, unless they
/// [share](Self::shared_links) a link. Local copies cost nothing.
///
/// # Examples
///
/// ```
/// use rankfold::simulate::{Link, Machine};
///
/// let shared = Link { latency: 80e-9, overhead: 40e-9, gap: 40e-9, per_byte: 0.05e-9 };
/// let network = Link { latency: 1e-6, overhead: 0.3e-6, gap: 0.3e-6, per_byte: 0.1e-9 };
/// let cluster = Machine::two_level(64, shared, network).fold_cost(0.1e-9).element_bytes(8);
/// assert_eq!((cluster.link(3, 63), cluster.link(63, 64)), (&shared, &network));
/// ```
///
/// # Source
///
/// Alexandrov, Ionescu, Schauser and Scheiman, *LogGP: incorporating long messages into the LogP
/// model*, SPAA 1995; with `b` bytes for its `b - 1`, so that an empty message is nothing special.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Machine {
    inside: Link,
    between: Link,
    /// Ranks of a node.
    node: usize,
    /// Whether the ranks of a node share its link to other nodes.
    shared: bool,
    fold: f64,
    element_bytes: usize,
}

impl Machine {
    /// The same link between any two ranks. Folds cost nothing, elements are one byte, until
    /// [`fold_cost`](Self::fold_cost) and [`element_bytes`](Self::element_bytes) say otherwise.
    pub const fn flat(link: Link) -> Machine {
        Machine::two_level(usize::MAX, link, link)
    }

    /// Nodes of so many consecutive ranks, with one link inside a node and another between nodes.
    pub const fn two_level(node: usize, inside: Link, between: Link) -> Machine {
        Machine {
            inside,
            between,
            node,
            shared: false,
            fold: 0.0,
            element_bytes: 1,
        }
    }

    /// The machine of the closed formulas: a message of `n` elements takes `alpha + n beta`, and both
    /// its ports as long; a fold takes `gamma` an element.
    ///
    /// In LogGP that is L + 2o = `alpha` and G = `beta`, with a gap of `alpha`: a port takes a message
    /// only when the one before has arrived. Elements are one byte, so `beta` is for an element.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::collective::simple_exchange;
    /// use rankfold::simulate::{Machine, simulate};
    ///
    /// let machine = Machine::alpha_beta_gamma(100.0, 2.0, 1.0);
    /// let time = simulate(&simple_exchange(16, 10), &machine).unwrap().total;
    /// assert_eq!(time, 4.0 * (100.0 + 10.0 * (2.0 + 1.0)));
    /// ```
    pub const fn alpha_beta_gamma(alpha: f64, beta: f64, gamma: f64) -> Machine {
        let link = Link {
            latency: alpha,
            overhead: 0.0,
            gap: alpha,
            per_byte: beta,
        };
        Machine::flat(link).fold_cost(gamma)
    }

    /// The same machine where the ranks of a node share one link to the other nodes: g and G hold for all of
    /// them together, each way, as where they share a network card or the link of a package.
    ///
    /// A message that leaves its node begins when the link out of it, and that into the other node, are free;
    /// both are then taken for `max(o, g) + b G`. Those that come to a step at the same time take turns by
    /// rank, and messages of one step go before those of later steps.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::collective::simple_exchange;
    /// use rankfold::simulate::{Link, Machine, simulate};
    ///
    /// let link = Link { latency: 3.0, overhead: 1.0, gap: 2.0, per_byte: 0.0 };
    /// let machine = Machine::two_level(4, link, link);
    /// let time = |machine: &Machine| simulate(&simple_exchange(8, 1), machine).unwrap().total;
    /// assert_eq!(time(&machine), 3.0 * 5.0);
    /// assert_eq!(time(&machine.shared_links()), 3.0 * 5.0 + 3.0 * 2.0); // the last of four waits for three
    /// ```
    pub const fn shared_links(self) -> Machine {
        Machine {
            shared: true,
            ..self
        }
    }

    /// The same machine where folding one element into another takes so many seconds.
    pub const fn fold_cost(self, seconds: f64) -> Machine {
        Machine {
            fold: seconds,
            ..self
        }
    }

    /// The same machine with elements of so many bytes.
    pub const fn element_bytes(self, bytes: usize) -> Machine {
        Machine {
            element_bytes: bytes,
            ..self
        }
    }

    /// What a message between two ranks costs.
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

    /// The bytes of so many elements.
    pub(super) fn bytes(&self, elements: u128) -> u128 {
        elements.saturating_mul(self.element_bytes as u128)
    }

    /// Whether times come out as numbers.
    fn check(&self) -> Result<(), Fault> {
        let link = |link: Link| [link.latency, link.overhead, link.gap, link.per_byte];
        let names = ["latency", "overhead", "gap", "time per byte"];
        let all = [link(self.inside), link(self.between)];
        let links = all.iter().flat_map(|link| names.iter().zip(link));
        for (&what, &value) in links.chain([(&"fold cost", &self.fold)]) {
            if !(value.is_finite() && value >= 0.0) {
                return Err(Fault::NoTime { what, value });
            }
        }
        if self.node == 0 {
            return Err(Fault::EmptyNodes);
        }
        Ok(())
    }
}

/// A model, not a measurement: round figures of the order of threads on one machine. Latency 100 ns,
/// overhead and gap 50 ns, 10 GB/s a port, 0.2 ns a fold, elements of 8 bytes.
impl Default for Machine {
    fn default() -> Machine {
        let link = Link {
            latency: 100e-9,
            overhead: 50e-9,
            gap: 50e-9,
            per_byte: 0.1e-9,
        };
        Machine::flat(link).fold_cost(0.2e-9).element_bytes(8)
    }
}

/// A number of elements. Signed numbers are quicker to turn into floats.
#[inline]
fn real(elements: usize) -> f64 {
    elements.min(isize::MAX as usize) as isize as f64
}

/// A link in the numbers that a step needs.
#[derive(Clone, Copy)]
pub(super) struct Toll {
    /// A message takes a port for this and its elements.
    port: f64,
    /// It is in after this and its elements.
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

    /// How long a message takes a port.
    #[inline]
    pub(super) fn port(&self, elements: usize) -> f64 {
        self.port + real(elements) * self.element
    }

    /// How long it is on its way.
    #[inline]
    pub(super) fn travel(&self, elements: usize) -> f64 {
        self.travel + real(elements) * self.element
    }
}

/// A machine in the numbers that a step needs.
#[derive(Clone, Copy)]
pub(super) struct Tolls {
    inside: Toll,
    between: Toll,
    /// `usize::MAX` where there is one node.
    node: usize,
    shared: bool,
    fold: f64,
}

impl Tolls {
    pub(super) fn new(machine: &Machine) -> Result<Tolls, Fault> {
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

    /// The nodes of two ranks whose message takes shared links.
    pub(super) fn shared(&self, from: Rank, to: Rank) -> Option<(usize, usize)> {
        if !self.shared || self.node == usize::MAX {
            return None;
        }
        let (out, into) = (from / self.node, to / self.node);
        (out != into).then_some((out, into))
    }

    /// How many nodes share links.
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
