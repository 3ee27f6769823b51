//! The one place where a thread is pinned.
//!
//! `core_affinity` answers only yes or no, and has two traps, closed here before it is called: it
//! aborts the process for CPU numbers from 1024 on (libc's `CPU_SET` panics where it cannot unwind),
//! and it lets a thread out of the mask that `taskset` gave the process.

use std::error::Error;
use std::fmt;

use core_affinity::CoreId;

use super::Cpus;
use super::ranges::Ranges;

/// The first CPU number that does not fit in libc's `cpu_set_t`.
const CPU_LIMIT: usize = 1024;

/// Whether a thread can be tied to one CPU, and asked whether it is.
///
/// macOS only takes hints. On Windows `core_affinity` reads the mask of the process, not of the
/// thread, so there a pin could not be verified.
const CAN_PIN: bool = cfg!(any(target_os = "linux", target_os = "android"));

/// Ties the calling thread to one CPU of `cpus`, and makes sure that it is tied.
///
/// Threads spawned from here on by this thread start with the same pin.
///
/// # Errors
///
/// See [`PinError`]. After [`PinError::Refused`] and the errors of arguments the thread runs where
/// it ran before.
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

/// The CPUs the calling thread may run on, ascending; empty when the system does not say.
pub(super) fn mask() -> Vec<usize> {
    let mut mask: Vec<usize> = core_affinity::get_core_ids()
        .unwrap_or_default()
        .into_iter()
        .map(|core| core.id)
        .collect();
    mask.sort_unstable();
    mask
}

/// Why a thread was not pinned.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PinError {
    /// The number is 1024 or more, which the system's fixed-size masks cannot say.
    TooLarge {
        /// The CPU asked for.
        cpu: usize,
    },
    /// The process may not run on that CPU.
    OutsideMask {
        /// The CPU asked for.
        cpu: usize,
        /// The CPUs the process may run on, as given to [`pin`].
        mask: Vec<usize>,
    },
    /// The system said no, as it does when the CPU has gone offline or left the cpuset.
    Refused {
        /// The CPU asked for.
        cpu: usize,
    },
    /// The system said yes, but the thread's mask is not that CPU alone.
    Ignored {
        /// The CPU asked for.
        cpu: usize,
        /// The CPUs the thread may run on now.
        mask: Vec<usize>,
    },
    /// Threads cannot be tied to a CPU on this system, or not so that it can be verified.
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
