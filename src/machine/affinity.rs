//! The only place where a thread is pinned.
//!
//! `core_affinity` answers only yes or no, and has two pitfalls that this file avoids before calling it: it aborts the
//! process for CPU numbers of 1024 or more (libc's `CPU_SET` panics where it cannot unwind), and it lets a thread leave
//! the mask that `taskset` gave the process.

use std::cell::Cell;
use std::error::Error;
use std::fmt;
use std::marker::PhantomData;

use core_affinity::CoreId;

use super::mask::{Mask, mask};
use super::ranges::Ranges;
use super::{Cpus, aside};

/// The first CPU number that does not fit in libc's `cpu_set_t`.
const CPU_LIMIT: usize = 1024;

/// Whether this system can pin a thread to one CPU and verify the pin.
///
/// macOS only accepts hints. On Windows `core_affinity` reads the mask of the process rather than the thread, so a pin
/// could not be verified there.
const CAN_PIN: bool = cfg!(any(target_os = "linux", target_os = "android"));

/// Pins the calling thread to the CPU `cpu` of `cpus`, and verifies the pin.
///
/// Threads that this thread spawns afterwards inherit the pin.
///
/// # Errors
///
/// See [`PinError`]. After [`PinError::Refused`] and after argument errors the thread's mask is unchanged.
///
/// # Examples
///
/// ```
/// use rankfold::machine::{Cpus, PinError, pin};
///
/// let cpus = Cpus { mask: vec![0, 1], quota: None };
/// let refused = pin(7, &cpus).unwrap_err();
/// assert_eq!(refused.to_string(), "cannot pin to CPU 7: the mask is 0-1");
/// ```
pub fn pin(cpu: usize, cpus: &Cpus) -> Result<(), PinError> {
    check(cpu, cpus)?;
    if !core_affinity::set_for_current(CoreId { id: cpu }) {
        return Err(PinError::Refused { cpu });
    }
    verify(cpu, mask())
}

fn check(cpu: usize, cpus: &Cpus) -> Result<(), PinError> {
    if cpu >= CPU_LIMIT {
        return Err(PinError::TooLarge { cpu });
    }
    if !cpus.mask.contains(&cpu) {
        let mask = cpus.mask.clone();
        return Err(PinError::OutsideMask { cpu, mask });
    }
    if CAN_PIN {
        Ok(())
    } else {
        Err(PinError::Unsupported)
    }
}

fn verify(cpu: usize, mask: Vec<usize>) -> Result<(), PinError> {
    if mask == [cpu] {
        Ok(())
    } else {
        Err(PinError::Ignored { cpu, mask })
    }
}

/// While this value lives, the thread that made it is pinned to a CPU. Afterwards it may run where it might before.
///
/// Returned by [`Team::pin_caller`](crate::Team::pin_caller). Of several values, drop the last one first.
#[derive(Debug)]
#[must_use = "the thread is pinned only while this value lives"]
pub struct PinnedCaller {
    before: Mask,
    /// The CPU to which an earlier value has pinned the thread.
    outer: Option<usize>,
    /// The value stays on its thread.
    _here: PhantomData<*const ()>,
}

thread_local! {
    /// The CPU to which a [`PinnedCaller`] has pinned this thread.
    static PINNED_TO: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Whether a [`PinnedCaller`] has pinned the calling thread to this CPU, and it is there: another mask may have been set
/// since.
#[inline]
pub(crate) fn is_pinned_to(cpu: usize) -> bool {
    let pinned = PINNED_TO.try_with(Cell::get).ok().flatten();
    pinned == Some(cpu) && aside::cpu() == pinned
}

impl PinnedCaller {
    /// As [`pin`].
    pub(crate) fn new(cpu: usize, cpus: &Cpus) -> Result<PinnedCaller, PinError> {
        // If the pin does not hold, it is taken back.
        let pinned = PinnedCaller {
            before: Mask::here().ok_or(PinError::Unsupported)?,
            outer: PINNED_TO.get(),
            _here: PhantomData,
        };
        pin(cpu, cpus)?;
        PINNED_TO.set(Some(cpu));
        Ok(pinned)
    }
}

impl Drop for PinnedCaller {
    fn drop(&mut self) {
        // A thread that ends may have lost it already.
        let _ = PINNED_TO.try_with(|cpu| cpu.set(self.outer));
        self.before.restore();
    }
}

/// The reason why a thread was not pinned.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PinError {
    /// The number is 1024 or more, which the system's fixed-size masks cannot represent.
    TooLarge {
        /// The CPU requested.
        cpu: usize,
    },
    /// The process may not run on this CPU.
    OutsideMask {
        /// The CPU requested.
        cpu: usize,
        /// The CPUs that the process may run on, as passed to [`pin`].
        mask: Vec<usize>,
    },
    /// The system refused, as it does when the CPU has gone offline or left the cpuset.
    Refused {
        /// The CPU requested.
        cpu: usize,
    },
    /// The system reported success, but the thread's mask is not this CPU alone.
    Ignored {
        /// The CPU requested.
        cpu: usize,
        /// The CPUs that the thread may run on now.
        mask: Vec<usize>,
    },
    /// Threads cannot be pinned to a CPU on this system, or not verifiably.
    Unsupported,
}

impl fmt::Display for PinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PinError::TooLarge { cpu } => write!(
                f,
                "cannot pin to CPU {cpu}: the last possible is {}",
                CPU_LIMIT - 1
            ),
            PinError::OutsideMask { cpu, mask } => {
                write!(f, "cannot pin to CPU {cpu}: the mask is {}", Ranges(mask))
            }
            PinError::Refused { cpu } => write!(f, "cannot pin to CPU {cpu}: the system refused"),
            PinError::Ignored { cpu, mask } => {
                write!(f, "pinned to CPU {cpu}, but the mask is {}", Ranges(mask))
            }
            PinError::Unsupported => f.write_str("threads cannot be pinned on this system"),
        }
    }
}

impl Error for PinError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pin_that_did_not_hold_is_told_from_one_that_did() {
        assert_eq!(verify(3, vec![3]), Ok(()));
        for mask in [vec![], vec![2], vec![2, 3]] {
            assert_eq!(
                verify(3, mask.clone()),
                Err(PinError::Ignored { cpu: 3, mask })
            );
        }
    }
}
