//! The CPUs that this process may actually use: its affinity mask, and the quota of its control group.

use std::fmt;
use std::path::Path;
use std::thread::available_parallelism;

use super::ranges::Ranges;
use super::{cgroup, mask};

/// The CPUs that this process may use, and for how much time.
///
/// The two limits differ in kind. The mask determines *where* threads may run; the quota determines *how long* all of
/// them together may run. A quota of 2 on 64 CPUs lets 64 threads run at once, and then stops all of them for most of
/// every period: a thread that spins pays for it twice.
///
/// # Examples
///
/// It is plain data, so a machine can be made up:
///
/// ```
/// use rankfold::machine::Cpus;
///
/// let cpus = Cpus { mask: vec![0, 1, 2, 8], quota: Some(2.5) };
/// assert_eq!(cpus.usable(), 2);
/// assert_eq!(cpus.to_string(), "4 CPUs (0-2,8), quota 2.50, 2 usable");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Cpus {
    /// The numbers of the CPUs that threads may run on: ascending, without duplicates. Empty if unknown.
    pub mask: Vec<usize>,
    /// The CPU time of the process in CPUs, above 0. `None` if no limit is known.
    pub quota: Option<f64>,
}

impl Cpus {
    /// Asks the system for the mask of the calling thread, and for the tightest quota over its control group and all
    /// enclosing groups.
    ///
    /// Call this once, on a thread that is not pinned: a pinned thread, and every thread that it spawns, sees only its
    /// own CPU. The mask is unknown on a Linux machine that may get more than 1024 CPUs. On Windows it is within one
    /// processor group, which has at most 64 CPUs.
    ///
    /// # Examples
    ///
    /// ```
    /// let cpus = rankfold::machine::Cpus::here();
    /// println!("{cpus}");
    /// assert!(cpus.usable() >= 1);
    /// ```
    pub fn here() -> Cpus {
        Cpus {
            mask: mask::mask(),
            quota: cgroup::quota_under(Path::new("/")),
        }
    }

    /// [`here`](Self::here), with a quota that may be a tenth of a second old.
    pub(crate) fn here_recently() -> Cpus {
        Cpus {
            mask: mask::mask(),
            quota: cgroup::recent_quota(),
        }
    }

    /// The number of threads that can run at once without interruption: the CPUs of the mask or the whole CPUs of the
    /// quota, whichever is less, and at least 1.
    ///
    /// If the mask is unknown, [`available_parallelism`] replaces it.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::machine::Cpus;
    ///
    /// assert_eq!(Cpus { mask: vec![0, 1], quota: None }.usable(), 2);
    /// assert_eq!(Cpus { mask: vec![0, 1], quota: Some(0.5) }.usable(), 1);
    /// ```
    pub fn usable(&self) -> usize {
        // The cast rounds down and saturates.
        let quota = self.quota.map_or(usize::MAX, |cpus| cpus as usize);
        self.places().min(quota).max(1)
    }

    /// The number of threads that can run at the same time while the quota lasts: the CPUs of the mask.
    ///
    /// If the mask is unknown, [`available_parallelism`] replaces it.
    pub(crate) fn places(&self) -> usize {
        match self.mask.len() {
            0 => available_parallelism().map_or(1, |n| n.get()),
            known => known,
        }
    }
}

impl fmt::Display for Cpus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.mask.len() {
            0 => f.write_str("mask unknown")?,
            1 => write!(f, "1 CPU ({})", self.mask[0])?,
            n => write!(f, "{n} CPUs ({})", Ranges(&self.mask))?,
        }
        match self.quota {
            Some(cpus) => write!(f, ", quota {cpus:.2}")?,
            None => f.write_str(", no quota")?,
        }
        write!(f, ", {} usable", self.usable())
    }
}
