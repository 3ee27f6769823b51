//! A room of a rank as memory to write, except for a run that is read meanwhile.

use std::ops::Range;

use crate::engine::combine::{combined_elements, wrong};
use crate::error::{Error, Result};
use crate::op::elements::{Elements, ElementsMut};
use crate::op::folds::Folds;
use crate::schedule::{Combine, Region};

/// A room that may be written, except for a gap in it.
pub(super) struct View<'v> {
    left: ElementsMut<'v>,
    /// The elements from `gap_end` to the end.
    right: ElementsMut<'v>,
    gap_end: usize,
}

impl<'v> View<'v> {
    #[inline(always)]
    pub(super) fn whole(left: ElementsMut<'v>) -> Self {
        View {
            gap_end: left.len(),
            right: ElementsMut::none(left.info()),
            left,
        }
    }

    /// The elements of the gap, and a view of all others.
    pub(super) fn around(room: ElementsMut<'v>, gap: Range<usize>) -> Result<(Elements<'v>, Self)> {
        let (front, right) = room.split_at(gap.end).ok_or_else(nothing)?;
        let (left, held) = front.split_at(gap.start).ok_or_else(nothing)?;
        let gap_end = gap.end;
        Ok((
            held.into_shared(),
            View {
                left,
                right,
                gap_end,
            },
        ))
    }

    pub(super) fn reborrow(&mut self) -> View<'_> {
        View {
            left: self.left.reborrow(),
            right: self.right.reborrow(),
            gap_end: self.gap_end,
        }
    }

    #[inline(always)]
    pub(super) fn get_mut(&mut self, run: Range<usize>) -> Option<ElementsMut<'_>> {
        match run.start.checked_sub(self.gap_end) {
            Some(start) if !self.right.is_empty() => {
                self.right.reborrow().get(start..run.end - self.gap_end)
            }
            _ => self.left.reborrow().get(run),
        }
    }
}

/// Combines the elements of a message with those of a region.
#[inline(always)]
pub(super) fn fold(
    mut view: View<'_>,
    region: Region,
    combine: Combine,
    mut data: Elements<'_>,
    folds: &dyn Folds,
) -> Result<()> {
    for run in region.runs() {
        let (part, rest) = data.split_at(run.len()).ok_or_else(nothing)?;
        let held = view.get_mut(run).ok_or_else(|| not_there(region))?;
        combined_elements(combine, held, part, folds);
        data = rest;
    }
    Ok(())
}

/// The only run of a region.
#[inline(always)]
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
