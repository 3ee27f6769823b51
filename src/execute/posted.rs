//! The posted receives of a started call.

use std::collections::VecDeque;
use std::rc::Rc;

use crate::schedule::{Combine, Transfer};
use crate::transport::matching::posted_receives::Slot;

/// The posted receives of a call, in the order of their steps. The first one lies here, so that a call that posts them
/// one by one allocates nothing.
#[derive(Default)]
pub(super) struct Queue {
    pub(super) first: Option<Posted>,
    /// Empty if there is no first one.
    pub(super) rest: VecDeque<Posted>,
}

impl Queue {
    pub(super) fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    pub(super) fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.rest.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Posted> {
        self.first.iter().chain(&self.rest)
    }

    /// Made in place: a move of what was just written would stall.
    #[inline(always)]
    pub(super) fn push(&mut self, recv: &Transfer, combine: Combine, slot: Rc<Slot>) {
        let recv = *recv;
        match &self.first {
            None => {
                self.first = Some(Posted {
                    recv,
                    combine,
                    slot,
                });
            }
            Some(_) => self.rest.push_back(Posted {
                recv,
                combine,
                slot,
            }),
        }
    }

    /// Removes the first one.
    #[inline]
    pub(super) fn drop_first(&mut self) {
        self.first = match self.rest.is_empty() {
            true => None,
            false => self.rest.pop_front(),
        };
    }
}

/// A posted receive of a step that has begun.
pub(super) struct Posted {
    pub(super) recv: Transfer,
    pub(super) combine: Combine,
    pub(super) slot: Rc<Slot>,
}
