//! The affinity mask of the calling thread.

/// The CPUs that the calling thread may run on, ascending; empty if the system does not tell.
pub(super) fn mask() -> Vec<usize> {
    let mut mask: Vec<usize> = core_affinity::get_core_ids()
        .unwrap_or_default()
        .into_iter()
        .map(|core| core.id)
        .collect();
    mask.sort_unstable();
    mask
}
