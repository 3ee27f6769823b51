//! Schedules made from schedules. None of them looks at what is inside; whether the result is right
//! is the checker's to say.
//!
//! - `time`: backwards, one after the other, side by side;
//! - `pipelined`: a vector in segments;
//! - `ranks`: ranks beyond a power of two, another root;
//! - `placed`: in place, or from an input.

mod pipelined;
mod placed;
mod ranks;
mod time;

pub use pipelined::Pipelined;
pub use placed::{Copied, Fresh, FromBlocks, Keep, Placed, Swapped};
pub use ranks::{HandOut, Proxied, Rooted};
pub use time::{Overlay, Reversed, Then};

use super::Schedule;

#[track_caller]
fn assert_same_ranks(a: &impl Schedule, b: &impl Schedule) {
    let (a, b) = (a.ranks(), b.ranks());
    assert!(a == b, "a schedule for {a} ranks and one for {b}");
}
