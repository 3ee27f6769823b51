//! What is too large to be drawn, and what to do instead.

use std::{error, fmt};

use crate::machine::Machine;
use crate::schedule::Schedule;
use crate::topology::Topology;

/// The most ranks of a tree.
const TREE_RANKS: usize = 512;
/// The most ranks of a space-time diagram.
const RANKS: usize = 128;
/// The most steps of a space-time diagram; with as many ranks as there may be, some 10 MB of SVG.
const STEPS: usize = 256;
/// The most calls or messages of a run.
const EVENTS: usize = 4096;

/// The most CPUs of a machine.
const CPUS: usize = 1024;
/// The most pixels each way: what paints pictures counts them in 16 bits with a sign.
const PIXELS: u64 = 32_767;

/// A drawing that nobody could read.
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
        /// How many there are.
        found: usize,
        /// How many there may be.
        limit: usize,
    },
    /// Too many steps.
    Steps {
        /// How many there are.
        found: usize,
        /// How many there may be.
        limit: usize,
    },
    /// Too many calls or messages of a run.
    Events {
        /// How many there are.
        found: usize,
        /// How many there may be.
        limit: usize,
    },
    /// Too many CPUs.
    Cpus {
        /// How many there are.
        found: usize,
        /// How many there may be.
        limit: usize,
    },
    /// Too many pixels.
    Pixels {
        /// How wide it is.
        width: u64,
        /// How high it is.
        height: u64,
        /// How wide and how high it may be.
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

/// Whether a tree can be drawn.
pub(super) fn tree(topology: &Topology) -> Result<(), TooLarge> {
    ranks(topology.ranks(), TREE_RANKS)
}

/// Whether so many steps of a schedule can be drawn.
pub(super) fn diagram(schedule: &dyn Schedule, steps: usize) -> Result<(), TooLarge> {
    ranks(schedule.ranks(), RANKS)?;
    if steps > STEPS {
        let (found, limit) = (steps, STEPS);
        return Err(TooLarge::Steps { found, limit });
    }
    Ok(())
}

/// Whether a run with so many calls or messages can be drawn.
pub(super) fn run(found_ranks: usize, found: usize) -> Result<(), TooLarge> {
    ranks(found_ranks, RANKS)?;
    let limit = EVENTS;
    match found > limit {
        true => Err(TooLarge::Events { found, limit }),
        false => Ok(()),
    }
}

/// Whether viewers show a picture so wide and so high.
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

/// Whether a machine can be drawn.
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
