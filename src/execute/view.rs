//! A room of a rank as memory to write, except for a run that is read meanwhile.

use std::ops::Range;

use crate::engine::combine::{combined, wrong};
use crate::error::{Error, Result};
use crate::op::{Element, Operator};
use crate::schedule::{Combine, Region};

/// A room that may be written, except for a gap in it.
pub(super) struct View<'v, T> {
    left: &'v mut [T],
    /// The elements from `gap_end` to the end.
    right: &'v mut [T],
    gap_end: usize,
}

impl<'v, T> View<'v, T> {
    #[inline]
    pub(super) fn whole(left: &'v mut [T]) -> Self {
        View {
            gap_end: left.len(),
            left,
            right: &mut [],
        }
    }

    /// The elements of the gap, and a view of all others.
    pub(super) fn around(room: &'v mut [T], gap: Range<usize>) -> Result<(&'v [T], Self)> {
        let (front, right) = room.split_at_mut_checked(gap.end).ok_or_else(nothing)?;
        let (left, held) = front.split_at_mut_checked(gap.start).ok_or_else(nothing)?;
        let gap_end = gap.end;
        Ok((
            held,
            View {
                left,
                right,
                gap_end,
            },
        ))
    }

    pub(super) fn reborrow(&mut self) -> View<'_, T> {
        View {
            left: self.left,
            right: self.right,
            gap_end: self.gap_end,
        }
    }

    #[inline]
    pub(super) fn get_mut(&mut self, run: Range<usize>) -> Option<&mut [T]> {
        match run.start.checked_sub(self.gap_end) {
            Some(start) if !self.right.is_empty() => {
                self.right.get_mut(start..run.end - self.gap_end)
            }
            _ => self.left.get_mut(run),
        }
    }
}

/// Combines the elements of a message with those of a region.
#[inline]
pub(super) fn fold<T: Element>(
    mut view: View<'_, T>,
    region: Region,
    combine: Combine,
    mut data: &[T],
    op: &impl Operator<T>,
) -> Result<()> {
    for run in region.runs() {
        let (part, rest) = data.split_at_checked(run.len()).ok_or_else(nothing)?;
        let held = view.get_mut(run).ok_or_else(|| not_there(region))?;
        combined(combine, held, part, op);
        data = rest;
    }
    Ok(())
}

/// The only run of a region.
#[inline]
pub(super) fn run_of(region: Region) -> Range<usize> {
    region.start..region.start.saturating_add(region.length)
}

#[cold]
pub(super) fn not_there(region: Region) -> Error {
    wrong(format!("names {region}, which is not there"))
}

#[cold]
pub(super) fn nothing() -> Error {
    wrong("names elements that are not there".into())
}
