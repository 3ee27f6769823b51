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
