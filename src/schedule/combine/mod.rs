//! Schedules made from schedules. None of them inspects what the inner schedule does; the checker decides whether the
//! result is correct.
//!
//! - `time`: reversed, in sequence, in parallel;
//! - `pipelined`: a vector in segments;
//! - `ranks`: more ranks than a power of two, another root;
//! - `placed`: in place, or from an input.

mod pipelined;
mod placed;
mod ranks;
mod time;

pub use pipelined::Pipelined;
pub(crate) use placed::swap;
pub use placed::{Copied, Fresh, FromBlocks, Keep, Placed, Swapped};
pub use ranks::{HandOut, Proxied, Rooted};
pub use time::{Overlay, Reversed, Then};

use super::Schedule;

#[track_caller]
fn assert_same_ranks(a: &impl Schedule, b: &impl Schedule) {
    let (a, b) = (a.ranks(), b.ranks());
    assert!(a == b, "a schedule for {a} ranks and one for {b}");
}
