//! The affinity mask of the calling thread.

/// The CPUs that the calling thread may run on, ascending; empty if the system does not tell.
#[cfg(target_os = "linux")]
pub(super) fn mask() -> Vec<usize> {
    use rustix::thread::{CpuSet, sched_getaffinity};

    let Ok(set) = sched_getaffinity(None) else {
        return Vec::new();
    };
    let cpus = (0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu));
    // Stops at the last one: few machines have as many as fit.
    cpus.take(set.count() as usize).collect()
}

/// The same by what works elsewhere.
#[cfg(not(target_os = "linux"))]
pub(super) fn mask() -> Vec<usize> {
    let cores = core_affinity::get_core_ids().unwrap_or_default();
    let mut mask: Vec<usize> = cores.into_iter().map(|core| core.id).collect();
    mask.sort_unstable();
    mask
}

/// The CPUs that a thread may run on, to be restored.
#[cfg(target_os = "linux")]
#[derive(Debug)]
pub(super) struct Mask(rustix::thread::CpuSet);

#[cfg(target_os = "linux")]
impl Mask {
    /// That of the calling thread, if the system tells.
    pub(super) fn here() -> Option<Mask> {
        rustix::thread::sched_getaffinity(None).ok().map(Mask)
    }

    /// Makes it that of the calling thread. If the process has lost all of these CPUs, the thread's mask stays as it is.
    pub(super) fn restore(&self) {
        let _ = rustix::thread::sched_setaffinity(None, &self.0);
    }
}

/// No thread can be pinned here.
#[cfg(not(target_os = "linux"))]
#[derive(Debug)]
pub(super) struct Mask(());

#[cfg(not(target_os = "linux"))]
impl Mask {
    pub(super) fn here() -> Option<Mask> {
        None
    }

    pub(super) fn restore(&self) {}
}
