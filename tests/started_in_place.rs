//! A started all-reduce of two ranks copies nothing: each folds a half for the other where it lies, and stores the result
//! there. Counted by a custom allocator, in a process of its own, with vectors that are too long for memory that was kept.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::thread;

use rankfold::collective::Algorithm;
use rankfold::{Comm, Result, Transport, World, op};

thread_local! {
    static LONG: Cell<usize> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: all calls are forwarded to the system's allocator unchanged; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let long = usize::from(layout.size() >= SHORTEST * size_of::<u64>() / 2);
        let _ = LONG.try_with(|count| count.set(count.get() + long));
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(ptr, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Numbers of elements of the vectors, of which half is lent.
const SHORTEST: usize = 8 << 10;
const LONGEST: usize = 1 << 20;

/// Returns the number of long allocations in calls of growing lengths.
fn allocated(comm: &Comm) -> Result<usize> {
    let (mut n, mut count) = (SHORTEST, 0);
    while n <= LONGEST {
        let mine = vec![comm.rank() as u64 + 1; n];
        let place = mine.as_ptr();
        let before = LONG.get();
        let sum = comm
            .using(Algorithm::Halving)
            .iall_reduce(mine, op::Sum)?
            .wait()?;
        count += LONG.get() - before;
        assert_eq!(sum.as_ptr(), place);
        assert!(sum.iter().all(|&one| one == 3));
        n *= 4;
    }
    Ok(count)
}

#[test]
fn results_are_stored_where_the_halves_lie() {
    let copied = World::new(2).transport(Transport::Channels).run(allocated);
    assert!(copied.unwrap().iter().all(|&count| count > 0));
    // Where ranks take turns on a CPU, they copy; tests without optimization lend there too.
    if cfg!(debug_assertions) || thread::available_parallelism().is_ok_and(|cpus| cpus.get() > 1) {
        let lent = World::new(2).transport(Transport::Memory).run(allocated);
        assert_eq!(lent.unwrap(), [0, 0]);
    }
}
