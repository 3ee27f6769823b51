//! The CPUs this process may really use: its affinity mask, and the quota of its control group.

use std::fmt;
use std::path::Path;
use std::thread::available_parallelism;

use super::ranges::Ranges;
use super::{affinity, cgroup};

/// The CPUs this process may use, and how much of them.
///
/// The two limits are different in kind. The mask says *where* threads may run; the quota says *how
/// long* all of them together may run. A quota of 2 on 64 CPUs lets 64 threads run at once, and then
/// stops all of them for most of every period: whoever spins there pays for it twice.
///
/// # Examples
///
/// Plain data, so a machine can be made up:
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
    /// The numbers of the CPUs threads may run on: ascending, no number twice. Empty: not known.
    pub mask: Vec<usize>,
    /// How many CPUs' worth of time the process gets, above 0. `None`: no limit is known.
    pub quota: Option<f64>,
}

impl Cpus {
    /// Asks the system: the mask of the calling thread, and the tightest quota over its control
    /// group and all the groups around that.
    ///
    /// Ask once, on a thread that is not pinned: a pinned thread, and every thread it spawns, sees
    /// only the CPU it is pinned to. The mask is not known on a Linux kernel built for more than
    /// 1024 CPUs.
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
            mask: affinity::mask(),
            quota: cgroup::quota_under(Path::new("/")),
        }
    }

    /// How many threads can run at once and keep running: the mask's CPUs, or the whole CPUs of the
    /// quota if those are fewer, and at least 1.
    ///
    /// Where the mask is not known, [`available_parallelism`] stands in for it.
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
        // The cast rounds down, and stops at the ends of the range.
        let quota = self.quota.map_or(usize::MAX, |cpus| cpus as usize);
        self.count().min(quota).max(1)
    }

    fn count(&self) -> usize {
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
