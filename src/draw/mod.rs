//! Drawings of topologies and schedules, as SVG and as text.
//!
//! A topology is drawn as its tree: the root on top, and on every edge the step in which the lower rank sends to the
//! upper one. A schedule is drawn as a space-time diagram: ranks from top to bottom, steps from left to right, an arrow
//! for every message. Drawings only read a schedule. They show its errors as they are: a send without a receive has an
//! open end.
//!
//! The SVG needs no fonts, scripts or other files, and conveys nothing by colour alone: folded and replaced elements
//! also differ in line, arrowhead and label.
//!
//! The files, one idea each:
//! - `limit`: what is too large to be drawn;
//! - `traffic`: the messages of a schedule, each with both of its ends;
//! - `notation`: how a message, a copy and a region are written, and what the signs mean;
//! - `chart`: curves of times over lengths; `axis`: its axes; `crossing`: where curves cross; `letters`: the same as text;
//! - `heat`: a number for each pair, as shaded cells;
//! - `machine`: a machine with ranks in their places;
//! - `hung`: what is drawn as a tree, ranks or nodes;
//! - `tree`, `space_time`: pictures as data, laid out; `outline`, `table`: the same as text;
//! - `origins`: whose contributions each value is folded from; `strips`: the same as a picture;
//! - `timeline`: the calls and messages of a run, as a picture;
//! - `legend`: the signs under a picture; `figure`: shapes and their places; `svg`: their SVG.
//!
//! # Examples
//!
//! ```
//! use rankfold::collective::simple_exchange;
//! use rankfold::{draw, topology::Topology};
//!
//! let tree = draw::tree(&Topology::binomial(4))?;
//! assert_eq!(tree.text().lines().skip(1).collect::<Vec<_>>(), [
//!     "0",
//!     "├─0─ 1",
//!     "└─1─ 2",
//!     "     └─0─ 3",
//! ]);
//! let exchange = draw::space_time("exchange", &simple_exchange(4, 16))?;
//! assert!(exchange.svg().starts_with("<svg"));
//! # Ok::<(), draw::TooLarge>(())
//! ```

use std::ops::Range;

use crate::machine::{Machine, Placement};
use crate::schedule::Schedule;
use crate::topology::{Formal, Topology};

mod arrow;
mod axis;
mod chart;
mod crossing;
mod figure;
mod heat;
mod hung;
mod legend;
mod letters;
mod limit;
mod machine;
mod notation;
mod origins;
mod outline;
mod space_time;
mod strips;
mod svg;
mod table;
pub(crate) mod timeline;
mod traffic;
mod tree;

pub use axis::Axis;
pub use chart::{Chart, Curve, Intervals};
pub use crossing::Crossing;
pub use heat::Heat;
pub use limit::TooLarge;

use axis::Unit;
use figure::Figure;
use hung::Hung;
use origins::Origins;
use traffic::Traffic;

/// A finished drawing, as SVG and as text.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawing {
    figure: Figure,
    text: String,
}

impl Drawing {
    /// Returns the drawing as an SVG document, to be written to a file or embedded in a page as it is. Viewers may show
    /// nothing, or only a part, of a very large one: see [`try_svg`](Drawing::try_svg).
    pub fn svg(&self) -> String {
        svg::write(&self.figure)
    }

    /// Like [`svg`](Drawing::svg), but fails for a drawing that viewers do not show.
    ///
    /// # Errors
    ///
    /// [`TooLarge::Pixels`] if it is wider or higher than 32,767 pixels, the limit of browsers and of libraries that
    /// render SVG.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::collective::RingReduceScatter;
    /// use rankfold::draw;
    ///
    /// let ring = draw::space_time("ring", &RingReduceScatter::new(128, 128))?;
    /// assert!(ring.try_svg().is_err());
    /// assert!(draw::window("ring", &RingReduceScatter::new(128, 128), 0..9)?.try_svg().is_ok());
    /// # Ok::<(), draw::TooLarge>(())
    /// ```
    pub fn try_svg(&self) -> Result<String, TooLarge> {
        limit::pixels(svg::size(&self.figure))?;
        Ok(self.svg())
    }

    /// Returns the drawing in box characters, for a terminal of 100 columns. Every line ends with a newline.
    ///
    /// A schedule of many steps is continued below. Lines are longer only for a single wide cell, a deep tree or a long
    /// title.
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// Draws the tree of a topology: the root on top, and on every edge the step in which the lower rank sends to the upper
/// one. The children of a rank are in the order in which it serves them.
///
/// # Errors
///
/// If there are more than 512 ranks.
///
/// # Examples
///
/// ```
/// use rankfold::{draw, topology::Topology};
///
/// let chain = draw::tree(&Topology::chain(3))?;
/// assert_eq!(chain.text(), "\
/// chain: 3 ranks, 2 steps; on an edge, the step in which the lower rank sends to the upper one
/// 0
/// └─1─ 1
///      └─0─ 2
/// ");
/// # Ok::<(), draw::TooLarge>(())
/// ```
///
/// # Source
///
/// Xiong, *Towards Unified Description for Reduction Algorithms*, 2015: the figures.
pub fn tree(topology: &Topology) -> Result<Drawing, TooLarge> {
    limit::tree(topology)?;
    Ok(Drawing {
        figure: tree::figure(&Hung::ranks(topology)),
        text: outline::text(&Hung::ranks(topology)),
    })
}

/// Draws the weighted tree of a formal definition: its nodes as sets of ranks, the root's on top, and on every edge its
/// weight and the process that the association map gives for it. Nodes whose path does not end at the first are left
/// out of the text.
///
/// # Errors
///
/// If there are more than 512 ranks or nodes.
///
/// # Examples
///
/// ```
/// use rankfold::{draw, topology::Topology};
///
/// let tree = draw::nodes(&Topology::k_tree(8, 2).formal())?;
/// assert_eq!(tree.text().lines().skip(1).collect::<Vec<_>>(), [
///     "{0}",
///     "├─0→0─ {1,2}",
///     "└─1→0─ {3,6}",
///     "       ├─0→3─ {4,5}",
///     "       └─0→6─ {7}",
/// ]);
/// # Ok::<(), draw::TooLarge>(())
/// ```
///
/// # Source
///
/// Xiong 1999 and 2015: Fig. 1.
pub fn nodes(formal: &Formal) -> Result<Drawing, TooLarge> {
    limit::nodes(formal)?;
    let tree = Hung::nodes(formal);
    Ok(Drawing {
        figure: tree::figure(&tree),
        text: outline::text(&tree),
    })
}

/// Draws curves as an SVG document with logarithmic axes; the horizontal axis is marked in powers of two.
///
/// `axes` are the names of the axes, the horizontal one first. Points with a coordinate that is not above 0 are left
/// out.
///
/// # Examples
///
/// ```
/// use rankfold::draw::{Curve, chart};
///
/// let line = Curve { name: "a line".into(), points: vec![(1.0, 2.0), (1024.0, 2048.0)] };
/// assert!(chart("growth", ("bytes", "time/us"), &[line]).contains(">a line</text>"));
/// ```
pub fn chart(title: &str, axes: (&str, &str), curves: &[Curve]) -> String {
    let (right, up) = axes;
    let (x, y) = (Axis::new(right, Unit::Binary), Axis::new(up, Unit::Decimal));
    let mut chart = Chart::new(title, x, y);
    chart.curves = curves.to_vec();
    chart.svg()
}

/// Draws a machine with ranks in their places: boxes inside boxes, from packages to CPUs.
///
/// In text, a CPU that this process may not use is in parentheses. An only child shares the line or box of its parent.
///
/// # Errors
///
/// If the machine has more than 1024 CPUs.
///
/// # Examples
///
/// ```
/// use rankfold::draw;
/// use rankfold::machine::{Bind, Machine};
///
/// let machine = Machine::from_text("package:2 l3:1(size=32MiB) core:2 cpu:2 mask=0-5")?;
/// let drawing = draw::machine(&machine, &machine.place(3, &Bind::Core, true)?)?;
/// assert_eq!(drawing.text(), "\
/// machine: 8 CPUs, 3 ranks
/// ├─ package 0, l3 32 MiB
/// │  ├─ core 0: cpu 0 ◀ rank 0  cpu 1
/// │  └─ core 1: cpu 2 ◀ rank 1  cpu 3
/// └─ package 1, l3 32 MiB
///    ├─ core 2: cpu 4 ◀ rank 2  cpu 5
///    └─ core 3: (cpu 6)  (cpu 7)
/// usable: 6 CPUs (0-5), no quota, 6 usable
/// ");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn machine(machine: &Machine, placement: &Placement) -> Result<Drawing, TooLarge> {
    limit::machine(machine)?;
    Ok(Drawing {
        figure: machine::figure(machine, placement),
        text: machine::text(machine, placement),
    })
}

/// Draws a schedule as a space-time diagram: ranks from top to bottom, steps from left to right, and an arrow from
/// sender to receiver for every message, with its region at both ends.
///
/// # Errors
///
/// If there are more than 128 ranks or 256 steps.
///
/// # Panics
///
/// If a step of the schedule panics.
///
/// # Examples
///
/// ```
/// use rankfold::collective::RingReduceScatter;
/// use rankfold::draw;
///
/// let ring = draw::space_time("ring", &RingReduceScatter::new(3, 6))?;
/// let text: Vec<_> = ring.text().lines().take(6).collect();
/// assert_eq!(text, [
///     "ring: 3 ranks, 2 steps, 6 messages",
///     "rank  step 0   step 1",
///     "   0  →1 4..6  →1 2..4",
///     "      2⊕ 2..4  2⊕ 0..2",
///     "   1  →2 0..2  →2 4..6",
///     "      0⊕ 4..6  0⊕ 2..4",
/// ]);
/// # Ok::<(), draw::TooLarge>(())
/// ```
pub fn space_time(title: &str, schedule: &dyn Schedule) -> Result<Drawing, TooLarge> {
    window(title, schedule, 0..schedule.steps())
}

/// Draws some steps of a schedule, as [`space_time`] draws all of them. Steps that the schedule does not have are left
/// out.
///
/// # Errors
///
/// If there are more than 128 ranks, or more than 256 steps in the window.
///
/// # Panics
///
/// If a step of the schedule panics.
///
/// # Examples
///
/// ```
/// use rankfold::schedule::{FoldAlong, Schedule};
/// use rankfold::{draw, topology::OwnSteps, topology::Topology};
///
/// let chain = OwnSteps::new(Topology::chain(4));
/// let pipeline = FoldAlong::new(chain, 1000).pipelined(1000, 1);
/// assert!(draw::space_time("pipeline", &pipeline).is_err());
/// let start = draw::window("pipeline", &pipeline, 0..3)?;
/// assert_eq!(start.text().lines().nth(1).unwrap().trim_end(), "rank  step 0   step 1   step 2");
/// # Ok::<(), draw::TooLarge>(())
/// ```
pub fn window(
    title: &str,
    schedule: &dyn Schedule,
    steps: Range<usize>,
) -> Result<Drawing, TooLarge> {
    diagram(&[Traffic::read(title, schedule, steps)?])
}

/// Draws two schedules side by side, with their titles, on one scale: rows, steps and the thickness of arrows mean the
/// same in both.
///
/// # Errors
///
/// If one of them has more than 128 ranks or 256 steps.
///
/// # Panics
///
/// If a step of a schedule panics.
///
/// # Examples
///
/// ```
/// use rankfold::collective::{halving_all_reduce, simple_exchange};
/// use rankfold::draw;
///
/// let (exchange, halving) = (simple_exchange(8, 64), halving_all_reduce(8, 64));
/// let both = draw::beside(("exchange", &exchange), ("halving", &halving))?;
/// assert!(both.text().lines().next().unwrap().contains("halving: 8 ranks, 6 steps"));
/// # Ok::<(), draw::TooLarge>(())
/// ```
pub fn beside(
    left: (&str, &dyn Schedule),
    right: (&str, &dyn Schedule),
) -> Result<Drawing, TooLarge> {
    let read = |(title, schedule): (&str, &dyn Schedule)| {
        Traffic::read(title, schedule, 0..schedule.steps())
    };
    diagram(&[read(left)?, read(right)?])
}

/// Draws the origins of all values: for each rank, before the first step and after each, the ranks whose contributions
/// each element is folded from. `0.1` is folded from ranks 0 and 1, `R` from all, and `·` is replaced before it is
/// read. Of a buffer of more than 8 elements, neighbours of one origin share a label, as `0.1×16`.
///
/// # Errors
///
/// If there are more than 128 ranks, 256 steps or 16,384 labels.
///
/// # Panics
///
/// If a step of the schedule panics.
///
/// # Examples
///
/// Foster's Fig. 11.2:
///
/// ```
/// use rankfold::collective::halving_all_reduce;
/// use rankfold::draw;
///
/// let halving = draw::origins("halving", &halving_all_reduce(4, 4))?;
/// let text: Vec<_> = halving.text().lines().skip(1).take(3).collect();
/// assert_eq!(text, [
///     "rank  before   after step 0  after step 1  after step 2  after step 3",
///     "   0  0 0 0 0  0.1 0.1 · ·   R · · ·       R R · ·       R R R R",
///     "   1  1 1 1 1  · · 0.1 0.1   · · R ·       · · R R       R R R R",
/// ]);
/// # Ok::<(), draw::TooLarge>(())
/// ```
///
/// # Source
///
/// Foster, *Designing and Building Parallel Programs*, Figs. 11.1 and 11.2.
pub fn origins(title: &str, schedule: &dyn Schedule) -> Result<Drawing, TooLarge> {
    let origins = Origins::read(title, schedule)?;
    Ok(Drawing {
        figure: strips::figure(&origins),
        text: table::origins(&origins),
    })
}

/// Draws a run, see [`Trace::svg`](crate::Trace::svg).
pub(crate) fn timeline(run: &timeline::Timeline) -> Result<String, TooLarge> {
    timeline::check(run)?;
    Ok(svg::write(&timeline::figure(run)))
}

fn diagram(panels: &[Traffic]) -> Result<Drawing, TooLarge> {
    Ok(Drawing {
        figure: space_time::figure(panels),
        text: table::text(panels),
    })
}
