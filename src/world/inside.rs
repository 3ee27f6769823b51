//! The teams of which a thread is a rank: it may not run one of them.

use std::cell::RefCell;

thread_local! {
    /// The teams of which this thread is a rank, as the addresses of their worker pools.
    static INSIDE: RefCell<Vec<*const ()>> = const { RefCell::new(Vec::new()) };
}

/// While this value lives, its thread is a rank of a team. Made by [`enter`](Self::enter) alone.
pub(super) struct Inside(());

impl Inside {
    pub(super) fn enter(pool: *const ()) -> Inside {
        INSIDE.with_borrow_mut(|teams| teams.push(pool));
        Inside(())
    }
}

/// Whether this thread can become a rank of a team: one that ends may have lost its list already.
pub(super) fn can_be_inside() -> bool {
    INSIDE.try_with(|_| ()).is_ok()
}

/// Whether this thread is a rank of the team whose worker pool lies there.
pub(super) fn is_inside(pool: *const ()) -> bool {
    // A thread that has already lost the list is in no team.
    let inside = INSIDE.try_with(|teams| teams.borrow().contains(&pool));
    inside.unwrap_or(false)
}

impl Drop for Inside {
    fn drop(&mut self) {
        // A thread that is ending may have lost the list already.
        let _ = INSIDE.try_with(|teams| teams.borrow_mut().pop());
    }
}
