//! Partitioned messages: persistent messages whose parts are handed over one by one (MPI's partitioned communication).
//!
//! [`SendParts`] and [`RecvParts`] describe the two ends of a message, with their buffers, once. After each
//! [`start`](SendParts::start) the sender declares its parts [`ready`](SendParts::ready), in any order, and each leaves
//! at once. The receiver asks which of its parts [have arrived](RecvParts::arrived), and reads these while others are
//! still on the way.
//!
//! ```
//! use rankfold::World;
//! use rankfold::partitioned::{RecvParts, SendParts};
//!
//! World::new(2).run(|comm| {
//!     if comm.rank() == 0 {
//!         let mut sent = SendParts::new(comm, 1, 7, 3, vec![0; 12])?;
//!         for turn in 0..10 {
//!             sent.start()?;
//!             for part in [2, 0, 1] {
//!                 sent.part_mut(part)?.fill(turn + part);
//!                 sent.ready(part)?;
//!             }
//!             sent.wait()?;
//!         }
//!     } else {
//!         let mut received = RecvParts::new(comm, 0, 7, 3, vec![0_usize; 12])?;
//!         for turn in 0..10 {
//!             received.start()?;
//!             while !received.arrived(2)? { /* ... other work ... */ }
//!             assert_eq!(received.part(2)?, [turn + 2; 4]);
//!             received.wait()?;
//!             assert_eq!(received.elements()?[..4], [turn; 4]);
//!         }
//!     }
//!     Ok(())
//! })?;
//! # Ok::<(), rankfold::WorldError>(())
//! ```
//!
//! # Threads
//!
//! [`SendParts::split`] gives each part to one thread of the program, which fills it and declares it ready; the thread
//! of the rank sends the parts as they become ready. A part that is ready cannot be written any more:
//!
//! ```compile_fail,E0382
//! # use rankfold::partitioned::SendParts;
//! # rankfold::World::new(1).run(|comm| {
//! let mut sent = SendParts::new(comm, 0, 0, 1, vec![0; 4])?;
//! sent.start()?;
//! let (mut parts, ready) = sent.split()?;
//! let mut part = parts.remove(0);
//! part.ready();
//! part[0] = 1; // it was moved
//! # ready.send()
//! # });
//! ```
//!
//! # Matching
//!
//! A start of the sender matches a start of the receiver that names it, with the same tag on the same communicator, in
//! order. These messages match no other receives. The ends agree on the type and the number of elements of the whole
//! message; the number of parts may differ. A part too many is an error, or a message that was never received; who
//! waits for parts that do not come is in a deadlock, which is reported, or learns that the sender has ended. Between
//! one pair of ranks, use another tag for each partitioned message: a part of one is refused while parts of another with the
//! same tag have left and not all of them. If a sender drops a message of which some parts have left, the receiver refuses
//! the parts of its next one: the first part of each start is marked. If a receiver drops a message of which some parts
//! have come, the next one passes over the rest, which was never received; while that receive is there, or if it was
//! forgotten, the next one refuses the rest.
//!
//! # MPI's calls
//!
//! | MPI | here |
//! |---|---|
//! | `MPI_Psend_init`, `MPI_Precv_init` | [`SendParts::new`], [`RecvParts::new`] |
//! | `MPI_Start`, `MPI_Wait`, `MPI_Test` | `start`, `wait`, `test` |
//! | `MPI_Pready`, also from other threads | [`SendParts::ready`], [`Part::ready`] |
//! | `MPI_Pready_range`, `_list` | a loop |
//! | `MPI_Parrived` | [`RecvParts::arrived`] |

mod receive;
mod send;
mod sending;
mod threads;

use std::ops::Range;

use crate::error::{Error, Result};

pub use receive::RecvParts;
pub use send::SendParts;
pub use threads::{Part, ReadyParts};

/// How a buffer is cut into parts of the same length.
#[derive(Clone, Copy)]
struct Cut {
    parts: usize,
    length: usize,
}

impl Cut {
    fn new(parts: usize, elements: usize) -> Result<Cut> {
        if !(1..=1 << PART_BITS).contains(&parts) {
            let most = 1 << PART_BITS;
            return Err(Error::usage(format!(
                "a message has 1 to {most} parts, and not {parts}"
            )));
        }
        match elements.is_multiple_of(parts) {
            true => Ok(Cut {
                parts,
                length: elements / parts,
            }),
            false => Err(Error::usage(format!(
                "{elements} elements are not {parts} parts of the same length"
            ))),
        }
    }

    fn check(self, part: usize) -> Result<()> {
        match part < self.parts {
            true => Ok(()),
            false => Err(Error::usage(format!(
                "part {part} is not one of the {} parts",
                self.parts
            ))),
        }
    }

    fn range(self, part: usize) -> Range<usize> {
        part * self.length..(part + 1) * self.length
    }
}

/// The bits of a [`PartLabel`] that hold the number of the part.
const PART_BITS: u32 = 20;

/// What a message says of the part that it carries: its number, and whether it is the first one that has left since the
/// sender's start.
///
/// The parts of two starts with one tag are never mixed by their sender, and keep their order. So the receiver needs to
/// know no more to tell them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PartLabel(u32);

impl PartLabel {
    fn new(first: bool, part: usize) -> PartLabel {
        PartLabel(u32::from(first) << PART_BITS | part as u32)
    }

    fn part(self) -> usize {
        (self.0 % (1 << PART_BITS)) as usize
    }

    fn is_first(self) -> bool {
        self.0 >> PART_BITS != 0
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_label_has_the_part_and_whether_it_is_the_first() {
        for first in [false, true] {
            for part in [0, 1, (1 << PART_BITS) - 1] {
                let label = PartLabel::new(first, part);
                assert_eq!((label.is_first(), label.part()), (first, part));
            }
        }
    }
}
