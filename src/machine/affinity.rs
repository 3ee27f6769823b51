//! The only place where a thread is pinned.
//!
//! `core_affinity` answers only yes or no, and has two pitfalls that this file avoids before calling it: it aborts the
//! process for CPU numbers of 1024 or more (libc's `CPU_SET` panics where it cannot unwind), and it lets a thread leave
//! the mask that `taskset` gave the process.

use std::cell::{Cell, RefCell};
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
pub(crate) const CAN_PIN: bool = cfg!(any(target_os = "linux", target_os = "android"));

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
/// Returned by [`Team::pin_caller`](crate::Team::pin_caller). Of several values of a thread, the one that was made last
/// decides.
#[derive(Debug)]
#[must_use = "the thread is pinned only while this value lives"]
pub struct PinnedCaller {
    number: u64,
    /// The value stays on its thread.
    _here: PhantomData<*const ()>,
}

thread_local! {
    /// The CPU to which a [`PinnedCaller`] has pinned this thread.
    static PINNED_TO: Cell<Option<usize>> = const { Cell::new(None) };
    static PINS: RefCell<Pins> = const { RefCell::new(Pins::NONE) };
}

/// The values of a thread that live.
struct Pins {
    /// Where the thread might run before there were any.
    before: Option<Mask>,
    /// The number of each, and its CPU, in the order in which they were made.
    open: Vec<(u64, usize)>,
    made: u64,
}

/// Whether a [`PinnedCaller`] has pinned the calling thread to this CPU, and it is there: another mask may have been set
/// since.
#[inline]
pub(crate) fn is_pinned_to(cpu: usize) -> bool {
    let pinned = PINNED_TO.get();
    pinned == Some(cpu) && aside::cpu() == pinned
}

impl PinnedCaller {
    /// As [`pin`].
    pub(crate) fn new(cpu: usize, cpus: &Cpus) -> Result<PinnedCaller, PinError> {
        let opened = PINS.try_with(|pins| {
            let before = Mask::here().ok_or(PinError::Unsupported)?;
            if let Err(refused) = pin(cpu, cpus) {
                before.restore();
                return Err(refused);
            }
            Ok(pins.borrow_mut().open(before, cpu))
        });
        // A thread that ends may have lost them already; it is not pinned then, as nothing would restore its mask.
        let number = opened.unwrap_or(Err(PinError::Unsupported))?;
        Ok(PinnedCaller {
            number,
            _here: PhantomData,
        })
    }
}

impl Drop for PinnedCaller {
    fn drop(&mut self) {
        // As above.
        let _ = PINS.try_with(|pins| pins.borrow_mut().close(self.number));
    }
}

impl Pins {
    const NONE: Pins = Pins {
        before: None,
        open: Vec::new(),
        made: 0,
    };

    /// The thread is pinned to a CPU. Returns the number of the new value.
    fn open(&mut self, before: Mask, cpu: usize) -> u64 {
        self.before.get_or_insert(before);
        self.made += 1;
        self.open.push((self.made, cpu));
        PINNED_TO.set(Some(cpu));
        self.made
    }

    /// The value with this number is dropped: if it was the last one, the thread goes where the one before it says.
    fn close(&mut self, number: u64) {
        let was_last = self.open.last().is_some_and(|(last, _)| *last == number);
        self.open.retain(|(one, _)| *one != number);
        if !was_last {
            return;
        }
        let next = self.open.last().map(|(_, cpu)| *cpu);
        PINNED_TO.set(next);
        match next {
            Some(id) => _ = core_affinity::set_for_current(CoreId { id }),
            None => self.before.take().iter().for_each(Mask::restore),
        }
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

    /// At the end of a thread, after [`PINS`] if it was there first: tells what the thread may run on before and after a
    /// try to pin it.
    #[cfg(target_os = "linux")]
    struct PinsAtEnd(std::sync::mpsc::Sender<(Vec<usize>, Vec<usize>)>);

    #[cfg(target_os = "linux")]
    impl Drop for PinsAtEnd {
        fn drop(&mut self) {
            let cpus = Cpus::here();
            if PINS.try_with(|_| ()).is_err() && PinnedCaller::new(cpus.mask[0], &cpus).is_err() {
                let _ = self.0.send((cpus.mask, mask()));
            }
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_thread_that_has_lost_its_pins_is_not_pinned() {
        thread_local! {
            static AT_END: RefCell<Option<PinsAtEnd>> = const { RefCell::new(None) };
        }
        let (tell, told) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            AT_END.set(Some(PinsAtEnd(tell)));
            PINS.with(|_| ());
        });
        thread.join().unwrap();
        // Nothing is told where the thread ended in another order.
        if let Ok((before, after)) = told.recv() {
            assert_eq!(after, before);
        }
    }

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
