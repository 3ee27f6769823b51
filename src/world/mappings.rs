//! How many threads the memory mappings of a process have room for. Linux counts them (`vm.max_map_count`), and std
//! aborts the process, in the thread that has just begun, if there is none left for the guard of its signal stack. So a
//! world that needs too many is refused before its first thread begins. Worlds that begin at the same time are not added
//! up.

use std::fs;

/// Worlds of at most so many ranks are not refused: nothing is read for them.
const FEW: usize = 1000;

/// The mappings of a thread: its stack, the stack for signals, and the guard of each.
const OF_A_THREAD: usize = 4;

/// What is left to the program: the arenas of its allocator, and large vectors.
const SPARE: usize = 4096;

/// Says why a world of so many ranks, with a thread for each, cannot start, if it cannot.
pub(super) fn refusal(ranks: usize) -> Option<String> {
    if ranks <= FEW {
        return None;
    }
    let limit = fs::read_to_string("/proc/sys/vm/max_map_count").ok()?;
    let limit: usize = limit.trim().parse().ok()?;
    let maps = fs::read("/proc/self/maps").ok()?;
    let used = maps.iter().filter(|byte| **byte == b'\n').count();
    let most = room(limit, used);
    (ranks > most).then(|| {
        format!(
            "{ranks} ranks are more threads than this process has memory mappings for: a world may have {most} with the \
             limit of {limit} (sysctl vm.max_map_count), of which {used} are used"
        )
    })
}

/// The number of threads that can start. The few that need no test are left to the system.
fn room(limit: usize, used: usize) -> usize {
    (limit.saturating_sub(used + SPARE) / OF_A_THREAD).max(FEW)
}

#[cfg(test)]
mod tests {
    use super::{FEW, refusal, room};

    #[test]
    fn a_thread_takes_four_mappings_and_some_are_spared() {
        assert_eq!(room(65_530, 434), 15_250);
        assert_eq!(room(65_530, 70_000), FEW);
    }

    #[test]
    fn few_ranks_are_never_refused() {
        assert_eq!(refusal(FEW), None);
    }
}
