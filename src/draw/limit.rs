//! The maximum size of a drawing, and the advice for schedules that exceed it.

use std::{error, fmt};

use crate::machine::Machine;
use crate::schedule::{Lengths, Schedule};
use crate::topology::{Formal, Topology};

/// Maximum ranks of a tree.
const TREE_RANKS: usize = 512;
/// Maximum ranks of a space-time diagram.
const RANKS: usize = 128;
/// Maximum steps of a space-time diagram; with the maximum number of ranks, some 10 MB of SVG.
const STEPS: usize = 256;
/// Maximum elements of all ranks before and after all steps.
const LABELS: usize = 1 << 14;
/// Maximum calls or messages of a run.
const EVENTS: usize = 4096;

/// Maximum CPUs of a machine.
const CPUS: usize = 1024;
/// Maximum pixels in each direction: renderers count them in signed 16-bit integers.
const PIXELS: u64 = 32_767;

/// The error of a drawing that is too large to be read.
///
/// # Examples
///
/// ```
/// use rankfold::{draw, topology::Topology};
///
/// let refused = draw::tree(&Topology::binomial(1 << 20)).unwrap_err();
/// assert_eq!(
///     refused.to_string(),
///     "1048576 ranks are too many to draw, 512 is the limit: draw the same for fewer ranks"
/// );
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TooLarge {
    /// Too many ranks.
    Ranks {
        /// The number found.
        found: usize,
        /// The limit.
        limit: usize,
    },
    /// Too many steps.
    Steps {
        /// The number found.
        found: usize,
        /// The limit.
        limit: usize,
    },
    /// Too many calls or messages of a run.
    Events {
        /// The number found.
        found: usize,
        /// The limit.
        limit: usize,
    },
    /// Too many labels: elements of all ranks before and after each step.
    Labels {
        /// The number found.
        found: usize,
        /// The limit.
        limit: usize,
    },
    /// Too many CPUs.
    Cpus {
        /// The number found.
        found: usize,
        /// The limit.
        limit: usize,
    },
    /// Too many pixels.
    Pixels {
        /// The width.
        width: u64,
        /// The height.
        height: u64,
        /// The limit of both.
        limit: u64,
    },
}

impl fmt::Display for TooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (found, limit, what, instead) = match self {
            TooLarge::Ranks { found, limit } => {
                (found, limit, "ranks", "draw the same for fewer ranks")
            }
            TooLarge::Cpus { found, limit } => {
                (found, limit, "CPUs", "print the machine without its places")
            }
            TooLarge::Labels { found, limit } => {
                let instead = "draw the same for fewer ranks or elements";
                (found, limit, "labels", instead)
            }
            TooLarge::Steps { found, limit } => (found, limit, "steps", "draw a window of them"),
            TooLarge::Events { found, limit } => {
                let instead = "trace a shorter run, or look at the trace in Perfetto";
                (found, limit, "calls or messages", instead)
            }
            TooLarge::Pixels {
                width,
                height,
                limit,
            } => {
                return write!(
                    f,
                    "a picture of {width} x {height} pixels is more than viewers show, which is {limit} each way: draw fewer \
                     ranks or steps, or draw it as text"
                );
            }
        };
        write!(
            f,
            "{found} {what} are too many to draw, {limit} is the limit: {instead}"
        )
    }
}

impl error::Error for TooLarge {}

/// Checks that a tree can be drawn.
pub(super) fn tree(topology: &Topology) -> Result<(), TooLarge> {
    ranks(topology.ranks(), TREE_RANKS)
}

/// Checks that the tree of nodes of a definition can be drawn.
pub(super) fn nodes(formal: &Formal) -> Result<(), TooLarge> {
    ranks(formal.ranks().max(formal.nodes().len()), TREE_RANKS)
}

/// Checks that this many steps of a schedule can be drawn.
pub(super) fn diagram(schedule: &dyn Schedule, steps: usize) -> Result<(), TooLarge> {
    ranks(schedule.ranks(), RANKS)?;
    if steps > STEPS {
        let (found, limit) = (steps, STEPS);
        return Err(TooLarge::Steps { found, limit });
    }
    Ok(())
}

/// Checks that a run with this many ranks and calls or messages can be drawn.
pub(super) fn run(found_ranks: usize, found: usize) -> Result<(), TooLarge> {
    ranks(found_ranks, RANKS)?;
    let limit = EVENTS;
    match found > limit {
        true => Err(TooLarge::Events { found, limit }),
        false => Ok(()),
    }
}

/// Checks that viewers show a picture of this width and height.
pub(super) fn pixels((width, height): (f64, f64)) -> Result<(), TooLarge> {
    let (width, height, limit) = (width as u64, height as u64, PIXELS);
    match width.max(height) > limit {
        true => Err(TooLarge::Pixels {
            width,
            height,
            limit,
        }),
        false => Ok(()),
    }
}

/// Checks that the origins of all elements at this many moments can be drawn.
pub(super) fn origins(lengths: &[Lengths], moments: usize) -> Result<(), TooLarge> {
    let of = |all: &Lengths| {
        all.input
            .saturating_add(all.output)
            .saturating_add(all.scratch)
    };
    let elements = lengths.iter().map(of).fold(0, usize::saturating_add);
    match elements.saturating_mul(moments) {
        found if found > LABELS => Err(TooLarge::Labels {
            found,
            limit: LABELS,
        }),
        _ => Ok(()),
    }
}

/// Checks that a machine can be drawn.
pub(super) fn machine(machine: &Machine) -> Result<(), TooLarge> {
    match machine.tree.cpus.len() {
        found if found > CPUS => Err(TooLarge::Cpus { found, limit: CPUS }),
        _ => Ok(()),
    }
}

fn ranks(found: usize, limit: usize) -> Result<(), TooLarge> {
    if found > limit {
        return Err(TooLarge::Ranks { found, limit });
    }
    Ok(())
}
