//! The executor: one short loop between a schedule and the lanes.
//!
//! For each step it asks the schedule what this rank does, posts or lends what is sent, and folds what arrives into its
//! region. The schedule is pure data, and the call that moves the messages ([`InCall`]) knows neither steps nor
//! regions; this is the only place where the two meet.
//!
//! - *Short* messages are copied into their packet before anything arrives, so the elements may be folded in place.
//! - *Long* messages are lent: the receiver reads them out of the sender's buffer. The step ends when the loan is
//!   settled, so no later step writes elements that a message of an earlier step still carries.
//! - A rank that sends and folds the same elements in one step, as exchanges do, folds *out of place*: into a second
//!   room, which then holds these elements until they are moved again or the call ends.
//!
//! Short vectors do without steps (`cells`, `over_cells`), and so do long ones that the ranks access where they lie
//! (`direct`).
//!
//! `started` executes the schedule of a started collective, which stops wherever a message has not arrived; `member` is its
//! rank as the messages show it, `posted` are the receives that it has posted, and `owned_buffers` its buffers, which it
//! lends.
//!
//! `buffers` knows where elements are.

mod buffers;
mod cells;
mod direct;
mod halves;
mod member;
pub(crate) mod over_cells;
mod owned_buffers;
mod posted;
mod started;
mod view;

pub(crate) use buffers::Buffers;
pub(crate) use cells::{Contribution, RankAtCells, over_cells};
pub(crate) use started::Started;

use crate::Rank;
use crate::engine::call::InCall;
use crate::engine::combine::wrong;
use crate::engine::resolved::Steps;
use crate::error::{Error, Result};
use crate::op::folds::Folds;
use crate::schedule::Schedule;

/// Runs the steps of `rank` in a schedule.
///
/// # Errors
///
/// Those of the link; a usage error if a step cannot be run.
pub(crate) fn execute(
    schedule: &dyn Schedule,
    rank: Rank,
    link: &InCall<'_>,
    mut buffers: Buffers<'_, '_>,
    folds: &dyn Folds,
) -> Result<()> {
    let (steps, mut next) = (schedule.steps(), schedule.next_active(rank, None));
    while let Some(step) = next {
        if step >= steps {
            return Err(goes_on(step, steps));
        }
        buffers.run(link, schedule.step(rank, step), folds)?;
        next = schedule.next_active(rank, Some(step));
        if next.is_some_and(|later| later <= step) {
            return Err(goes_back(step));
        }
    }
    buffers.bring_home();
    Ok(())
}

/// Runs the steps of a plan.
///
/// # Errors
///
/// As [`execute`].
pub(crate) fn execute_steps(
    steps: &Steps,
    link: &InCall<'_>,
    mut buffers: Buffers<'_, '_>,
    folds: &dyn Folds,
) -> Result<()> {
    let mut next = steps.next(None);
    while let Some(number) = next {
        let step = *steps.step(number, &mut None);
        buffers.run(link, step, folds)?;
        next = steps.next(Some(number));
    }
    buffers.bring_home();
    Ok(())
}

#[cold]
fn goes_back(step: usize) -> Error {
    wrong(format!("goes back after step {step}"))
}

#[cold]
fn goes_on(step: usize, steps: usize) -> Error {
    wrong(format!("goes on with step {step}, of {steps} steps"))
}
