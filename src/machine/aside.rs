//! The CPU that a thread currently runs on, and a move to another CPU without pinning.
//!
//! Only Linux is known to report the CPU cheaply and to move a thread at once.

/// The CPU that this thread currently runs on, if the system tells.
#[cfg(target_os = "linux")]
pub(crate) fn cpu() -> Option<usize> {
    Some(rustix::thread::sched_getcpu())
}

/// Moves this thread to a permitted CPU that is not in `taken`, if there is one. Its affinity mask is the same
/// afterwards.
#[cfg(target_os = "linux")]
pub(crate) fn step_aside(taken: impl Iterator<Item = usize>) -> bool {
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

    // The call fails if there are more CPUs than a set of this size can hold.
    let Ok(allowed) = sched_getaffinity(None) else {
        return false;
    };
    let mut free = allowed;
    taken
        .filter(|cpu| *cpu < CpuSet::MAX_CPU)
        .for_each(|cpu| free.unset(cpu));
    if free.count() == 0 || sched_setaffinity(None, &free).is_err() {
        return false;
    }
    // If the process has just lost CPUs, this may fail, and the thread then keeps the smaller mask.
    sched_setaffinity(None, &allowed).is_ok()
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn cpu() -> Option<usize> {
    None
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn step_aside(_: impl Iterator<Item = usize>) -> bool {
    false
}

#[cfg(all(test, target_os = "linux", not(loom)))]
mod tests {
    use std::thread;

    use super::*;
    use crate::machine::Cpus;

    #[test]
    fn a_thread_goes_elsewhere_if_there_is_a_place_and_may_run_where_it_might_before() {
        let mask = Cpus::here().mask;
        for &taken in &mask {
            let there = move || {
                let moved = step_aside([taken].into_iter());
                (moved, Cpus::here().mask)
            };
            let (moved, after) = thread::spawn(there).join().unwrap();
            assert_eq!((moved, after), (mask.len() > 1, mask.clone()));
        }
    }

    #[test]
    fn it_stays_where_all_places_are_taken() {
        let mask = Cpus::here().mask;
        assert!(!step_aside(mask.iter().copied().chain([1 << 20])));
        assert_eq!(Cpus::here().mask, mask);
    }
}
