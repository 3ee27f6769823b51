//! An asymmetric fence: free for posters, expensive for the rank that goes to sleep.
//!
//! A store and a later load of another word may be reordered. A post and the poster's look at the sleeping flag must
//! not be, nor may the sleeper's store of that flag and its last look for a post. Two fences keep both in order, but
//! then every post pays for one: it waits until the cache line that was just written belongs to this CPU, which is as
//! long as the message itself takes.
//!
//! # Why half a fence is enough
//!
//! ```text
//! poster:   post;          light();  load flag
//! sleeper:  store ASLEEP;  heavy();  look for a post
//! ```
//!
//! `light` is a compiler fence: it keeps the two instructions in program order. `heavy` asks Linux (`membarrier`,
//! private expedited) to execute a full barrier on every CPU that runs a thread of this process, between the call and
//! its return; a thread that does not run executes one when it is switched in or out. So the poster has executed a full
//! barrier somewhere in its program, at one of two places:
//!
//! - after its load of the flag, or between post and load: the post is in memory before `heavy` returns, and the look
//!   after it sees the post;
//! - before its post, or between post and load: the load comes after the barrier began, hence after `ASLEEP` was in
//!   memory, and sees it (or something newer).
//!
//! The two real fences promise exactly that, so every proof about them holds here too, including the loom models. In
//! the models, and wherever the call is not available (another system, an old kernel, a filter of system calls, a
//! processor on which this has not been tested), both halves are the real fence. The choice is made once for the
//! process, before its first rank is created: a mixture would promise nothing.

use crate::sync::{Ordering, fence};

pub(in crate::transport) use split::prepare;

/// The poster's half, between its post and its look at the flag.
#[inline]
pub(in crate::transport) fn light() {
    if split::is_on() {
        // Pairs with the barrier in `heavy`, which is executed on this CPU too.
        std::sync::atomic::compiler_fence(Ordering::SeqCst);
    } else {
        // Pairs with the fence in `heavy`.
        fence(Ordering::SeqCst);
    }
}

/// The sleeper's half, between its store of the flag and its last look.
pub(in crate::transport) fn heavy() {
    // Pairs with `light`, in either form.
    fence(Ordering::SeqCst);
    if split::is_on() {
        split::everywhere();
    }
}

/// For systems that can make all CPUs execute a barrier.
#[cfg(all(target_os = "linux", target_arch = "x86_64", not(all(test, loom))))]
mod split {
    use std::sync::Once;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread::sleep;
    use std::time::Duration;

    use crossbeam_utils::CachePadded;
    use rustix::thread::{MembarrierCommand, membarrier};

    use crate::environment;

    /// If this variable is set, and not to 0, both halves are real fences.
    const STRICT: &str = "RANKFOLD_STRICT_FENCES";

    static DECIDED: Once = Once::new();
    /// Read with every post: it shares its cache line with nothing that is written.
    static ON: CachePadded<AtomicBool> = CachePadded::new(AtomicBool::new(false));

    /// Decides for the process. In a process that has threads already, Linux takes some ten milliseconds for the first
    /// call.
    pub(in crate::transport) fn prepare() {
        DECIDED.call_once(|| {
            let strict = environment::is_on(STRICT);
            // Both commands are tried: a filter may refuse one and not the other.
            let register = || membarrier(MembarrierCommand::RegisterPrivateExpedited);
            let barrier = || membarrier(MembarrierCommand::PrivateExpedited);
            let on = !strict && register().and_then(|()| barrier()).is_ok();
            // Relaxed: every reader has been handed something that was created after this.
            ON.store(on, Ordering::Relaxed);
        });
    }

    /// Whether the halves differ. Every caller has been handed something that was created after `prepare`.
    #[inline]
    pub(in crate::transport) fn is_on() -> bool {
        ON.load(Ordering::Relaxed)
    }

    /// A barrier on all CPUs.
    pub(in crate::transport) fn everywhere() {
        if membarrier(MembarrierCommand::PrivateExpedited).is_err() {
            // The call succeeded before, so it has been forbidden since. A store reaches memory by itself, long before
            // this sleep is over.
            sleep(Duration::from_millis(1));
        }
    }
}

/// For systems that cannot, or on which this has not been tested.
#[cfg(not(all(target_os = "linux", target_arch = "x86_64", not(all(test, loom)))))]
mod split {
    pub(in crate::transport) fn prepare() {}

    #[inline]
    pub(in crate::transport) fn is_on() -> bool {
        false
    }

    pub(in crate::transport) fn everywhere() {}
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::hint::spin_loop;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::thread;

    use crossbeam_utils::CachePadded;
    use crossbeam_utils::sync::Parker;

    use super::*;
    use crate::transport::wakeup::sleeper::Sleeper;

    const TIMES: u64 = 30_000;

    /// Number of yields after which the threads stop: where other programs use the CPUs, each of them takes as long as
    /// theirs do.
    const YIELDS: u64 = 12_000;

    /// Releases two threads at the same moment, repeatedly.
    #[derive(Default)]
    struct Gun {
        times: [CachePadded<AtomicU64>; 2],
        /// Number of yields of thread 0.
        yields: AtomicU64,
        /// The meeting before which thread 0 had yielded often enough; 0: none.
        last: AtomicU64,
    }

    impl Gun {
        /// Returns whether there is to be another meeting: the same to both threads.
        fn meet(&self, me: usize, time: u64) -> bool {
            if me == 0 && self.yields.load(Ordering::Relaxed) > YIELDS {
                let _ = self
                    .last
                    .compare_exchange(0, time, Ordering::Relaxed, Ordering::Relaxed);
            }
            self.times[me].store(time, Ordering::Release);
            let mut looks = 0u64;
            while self.times[1 - me].load(Ordering::Acquire) < time {
                looks += 1;
                if looks.is_multiple_of(200) {
                    thread::yield_now();
                    self.yields.fetch_add(1 - me as u64, Ordering::Relaxed);
                }
                spin_loop();
            }
            let last = self.last.load(Ordering::Relaxed);
            last == 0 || time < last
        }
    }

    /// Spins for a varying time, so that neither thread is always first.
    fn dither(me: usize, time: u64) {
        (0..time * (7 + 6 * me as u64) % 23).for_each(|_| spin_loop());
    }

    fn both(life: impl Fn(usize) + Sync) {
        prepare();
        thread::scope(|scope| {
            scope.spawn(|| life(1));
            life(0);
        });
    }

    #[test]
    fn of_a_light_and_a_heavy_half_one_sees_what_came_before_the_other() {
        let (gun, words, seen) = <(Gun, [CachePadded<AtomicU64>; 2], [AtomicU64; 2])>::default();
        both(|me| {
            for time in 1..=TIMES {
                gun.meet(me, 2 * time - 1);
                dither(me, time);
                words[me].store(time, Ordering::Relaxed);
                [light, heavy][me]();
                let other = words[1 - me].load(Ordering::Relaxed);
                seen[me].store(other, Ordering::Relaxed);
                let goes_on = gun.meet(me, 2 * time);
                let missed = |of: usize| seen[of].load(Ordering::Relaxed) < time;
                assert!(!missed(0) || !missed(1), "both missed the other's store");
                if !goes_on {
                    break;
                }
            }
        });
    }

    #[test]
    fn nobody_sleeps_through_a_post_that_comes_as_it_lies_down() {
        let (gun, mail) = <(Gun, CachePadded<AtomicU64>)>::default();
        let parker = std::sync::Mutex::new(Parker::new());
        let sleeper = CachePadded::new(Sleeper::new(&parker.lock().unwrap()));
        let post = |time| {
            mail.store(time, Ordering::Relaxed);
            sleeper.rouse();
        };
        let sleep = |time| {
            let come = || mail.load(Ordering::Relaxed) >= time;
            while !come() {
                sleeper.lie_down();
                if !come() {
                    // A lost post hangs here.
                    parker.lock().unwrap().park();
                }
                sleeper.get_up();
            }
        };
        both(|me| {
            for time in 1..=TIMES {
                if !gun.meet(me, time) {
                    break;
                }
                dither(me, time);
                [&post as &dyn Fn(u64), &sleep][me](time);
            }
        });
    }
}
