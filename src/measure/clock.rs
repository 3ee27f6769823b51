//! Processor time of a thread and of the whole process.

/// Returns the seconds for which the calling thread has run; 0 where the system does not say.
///
/// # Cost
///
/// A system call, some 0.2 µs.
pub fn thread_cpu() -> f64 {
    imp::thread()
}

/// Returns the seconds for which all threads of the process have run; 0 where the system does not say.
pub fn process_cpu() -> f64 {
    imp::process()
}

#[cfg(target_os = "linux")]
mod imp {
    use rustix::time::{ClockId, clock_gettime};

    fn seconds(clock: ClockId) -> f64 {
        let time = clock_gettime(clock);
        time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
    }

    pub(super) fn thread() -> f64 {
        seconds(ClockId::ThreadCPUTime)
    }

    pub(super) fn process() -> f64 {
        seconds(ClockId::ProcessCPUTime)
    }
}

#[cfg(not(target_os = "linux"))]
mod imp {
    pub(super) fn thread() -> f64 {
        0.0
    }

    pub(super) fn process() -> f64 {
        0.0
    }
}
