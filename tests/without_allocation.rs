//! Choosing an algorithm and querying its schedule allocates nothing, except for the tables of two trees, because it
//! happens in every call.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use rankfold::collective::{Algorithm, Call, Collective, WithSchedule};
use rankfold::schedule::Schedule;
use rankfold::span::Blocks;
use rankfold::topology::Levels;

/// The system's allocator, with a counter for each thread.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: everything is the system allocator's own; the count is a plain cell without a destructor.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static GLOBAL: Counting = Counting;

/// Queries every action of every rank.
struct Ask;

impl WithSchedule for Ask {
    type Out = usize;

    fn with<S: Schedule + 'static>(self, schedule: S) -> usize {
        let mut messages = 0;
        for rank in 0..schedule.ranks() {
            let mut next = schedule.next_active(rank, None);
            while let Some(step) = next {
                messages += usize::from(schedule.step(rank, step).send.is_some());
                next = schedule.next_active(rank, Some(step));
            }
            assert!(schedule.lengths(rank).input <= 1000);
        }
        messages
    }
}

#[test]
fn no_schedule_allocates() {
    let uneven = Blocks::of(&[100, 0, 7, 300, 1]).unwrap();
    for collective in Collective::all() {
        let even = [1, 5, 8].map(|p| Call::new(collective, p, 100));
        let counted = Call::new(collective, 0, 0).with_blocks(uneven.clone());
        let grouped = Call::new(collective, 12, 100).on(Levels::runs(12, &[2, 3]));
        for call in even.into_iter().chain([counted, grouped]) {
            let calls = [call.clone(), call.clone().commuting(), call.from_input()];
            for algorithm in Algorithm::all(collective) {
                for call in &calls {
                    let before = ALLOCATIONS.get();
                    let asked = algorithm.visit(call, Ask);
                    let allocated = ALLOCATIONS.get() - before;
                    // Colours, and the steps that follow from them.
                    let tables = match algorithm {
                        Algorithm::TwoTree { .. } => 2,
                        _ => 0,
                    };
                    assert!(
                        allocated <= tables,
                        "{algorithm} for {call:?}: {asked:?} after {allocated}"
                    );
                }
            }
        }
    }
}
