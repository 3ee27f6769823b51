//! The executor: one short loop between a schedule and the lanes.
//!
//! For each step it asks the schedule what this rank does, posts or lends what is sent, and folds what arrives into its
//! region. The schedule is pure data and the [`Link`] knows neither steps nor regions; this is the only place where the
//! two meet.
//!
//! - *Short* messages are copied into their packet before anything arrives, so the elements may be folded in place.
//! - *Long* messages are lent: the receiver reads them out of the sender's buffer. The step ends when the loan is
//!   settled, so no later step writes elements that a message of an earlier step still carries.
//! - A rank that sends and folds the same elements in one step, as exchanges do, folds *out of place*: into a second
//!   room, which then holds these elements until they are moved again or the call ends.
//!
//! Short vectors do without steps: `cells`.
//!
//! `buffers` knows where elements are, `rooms` is the memory that calls use one after the other.

mod buffers;
mod cells;
mod rooms;
mod view;

pub(crate) use buffers::Buffers;
pub(crate) use cells::{AtCells, Early, Read, Readers, combined, over_cells};
pub(crate) use rooms::Workspace;

use crate::Rank;
use crate::error::{Error, Result};
use crate::op::{Element, Operator};
use crate::schedule::Schedule;
use crate::transport::lanes::lane::Form;

/// Moves the messages of one call between this rank and others.
pub(crate) trait Link {
    /// Posts a copy of a short message. `false` if it is not short, or if there is no room; the caller then lends it.
    fn post<T: Element>(&self, to: Rank, form: Form, data: &[T]) -> Result<bool>;

    /// Lends elements to their receiver, and returns when the loan is settled. `meanwhile` runs after the post.
    fn lend<T: Element>(
        &self,
        to: Rank,
        form: Form,
        data: &[T],
        meanwhile: &mut dyn FnMut() -> Result<()>,
    ) -> Result<()>;

    /// Shows the next message from a rank, which has `count` elements, to `arrived`.
    fn receive<T: Element>(
        &self,
        from: Rank,
        form: Form,
        count: usize,
        arrived: &mut dyn FnMut(&[T]) -> Result<()>,
    ) -> Result<()>;
}

/// Runs the steps of `rank` in a schedule.
///
/// # Errors
///
/// Those of the link; a usage error if a step cannot be run.
#[inline]
pub(crate) fn execute<T: Element>(
    schedule: &(impl Schedule + ?Sized),
    rank: Rank,
    link: &impl Link,
    mut buffers: Buffers<'_, T>,
    op: &impl Operator<T>,
) -> Result<()> {
    let mut next = schedule.next_active(rank, None);
    while let Some(step) = next {
        buffers.run(link, schedule.step(rank, step), op)?;
        next = schedule.next_active(rank, Some(step));
        if next.is_some_and(|later| later <= step) {
            return Err(goes_back(step));
        }
    }
    buffers.bring_home();
    Ok(())
}

#[cold]
fn goes_back(step: usize) -> Error {
    wrong(format!("goes back after step {step}"))
}

/// The error for a schedule that cannot be run.
#[cold]
fn wrong(what: String) -> Error {
    Error::usage(format!(
        "the schedule {what}: `check` it, or run it in a world that checks"
    ))
}
