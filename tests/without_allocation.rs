//! A schedule allocates a box for each schedule that it combines and the tables of two trees, and querying it allocates
//! nothing, because it happens in every call.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use rankfold::collective::{Algorithm, Call, Collective};
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

/// The most schedules that one combines, itself included.
const COMBINED: usize = 7;

#[global_allocator]
static GLOBAL: Counting = Counting;

/// Queries every action of every rank: the number of messages.
fn ask(schedule: &dyn Schedule) -> usize {
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

#[test]
fn a_schedule_is_few_allocations_and_its_steps_are_none() {
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
                    let Ok(schedule) = algorithm.schedule(call) else {
                        continue;
                    };
                    let made = ALLOCATIONS.get();
                    // Colours, and the steps that follow from them.
                    let tables = match algorithm {
                        Algorithm::TwoTree { .. } => 2,
                        _ => 0,
                    };
                    let messages = ask(&*schedule);
                    let (making, asking) = (made - before, ALLOCATIONS.get() - made);
                    assert!(
                        making <= COMBINED + tables && asking == 0,
                        "{algorithm} for {call:?}, {messages} messages: {making}, then {asking}"
                    );
                }
            }
        }
    }
}
