//! What a rank puts into other parts during an epoch, until the epoch ends.

use std::cell::RefCell;

use super::{Window, check_fold, outside, refuse};
use crate::Rank;
use crate::error::{Result, Site};
use crate::op::{Element, Operator};
use crate::transport::memory::puts::{EpochEnd, Puts};

/// The puts of an epoch, for each target.
pub(super) struct Outbox<T>(RefCell<Vec<(Rank, Puts<T>)>>);

impl<T: Element> Outbox<T> {
    pub(super) fn new() -> Self {
        Outbox(RefCell::default())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.borrow().is_empty()
    }

    pub(super) fn put(
        &self,
        window: &Window<T>,
        (target, at): (Rank, usize),
        elements: &[T],
        site: Site,
    ) -> Result<()> {
        let show = || format!("put(part {target}, at {at}, {} elements)", elements.len());
        check(window, (target, at, elements.len()), site, &show)?;
        self.to(target, |puts| puts.put(at, elements));
        Ok(())
    }

    pub(super) fn accumulate(
        &self,
        window: &Window<T>,
        (target, at): (Rank, usize),
        elements: &[T],
        op: impl Operator<T> + Send + 'static,
        site: Site,
    ) -> Result<()> {
        let count = elements.len();
        let show = || format!("accumulate(part {target}, at {at}, {count} elements)");
        check(window, (target, at, count), site, &show)?;
        if let Err(error) = check_fold(&op) {
            return refuse(&window.comm, site, &show, error);
        }
        self.to(target, |puts| puts.accumulate(at, elements, op));
        Ok(())
    }

    fn to(&self, target: Rank, add: impl FnOnce(&mut Puts<T>)) {
        let mut all = self.0.borrow_mut();
        let place = all.iter().rposition(|(rank, _)| *rank == target);
        let place = place.unwrap_or_else(|| {
            all.push((target, Puts::new()));
            all.len() - 1
        });
        add(&mut all[place].1);
    }

    /// Hands everything to the owners of the parts, who write it at the end of their epochs.
    pub(super) fn deliver(&self, window: &Window<T>, end: impl Fn(Rank) -> EpochEnd) {
        for (target, puts) in self.0.take() {
            let inbox = &window.table.parts[target].inbox;
            inbox.deliver(window.rank(), end(target), puts);
        }
    }
}

/// Checks that there are such elements in a part.
fn check<T: Element>(
    window: &Window<T>,
    (target, at, count): (Rank, usize, usize),
    site: Site,
    show: &dyn Fn() -> String,
) -> Result<()> {
    let length = match window.part(target) {
        Ok(part) => part.len(),
        Err(error) => return refuse(&window.comm, site, show, error),
    };
    match at.checked_add(count).is_some_and(|end| end <= length) {
        true => Ok(()),
        false => refuse(&window.comm, site, show, outside(target, at, count, length)),
    }
}
