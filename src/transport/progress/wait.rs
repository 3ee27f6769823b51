//! The one place where ranks wait: spin with `pause`, then yield, then park.
//!
//! A rank spins only while all running ranks of the process, over all worlds, fit on the CPUs they share. A rank whose
//! spins fail spins half as long next time. A yield costs about a tenth of putting a thread to sleep and waking it, so
//! parking comes late, and later if ranks that take turns have parked for a moment only: many that park delay each other
//! until all park in each wait, though yielding alone would end it sooner. Only the last stage checks for failures, and
//! ranks that yield for long go there soon after the first end of a run.
//!
//! Under a CPU quota that is too small for all ranks, each of which has a CPU, ranks spin as well: a yield gives the CPU
//! to no other rank there, and uses up the quota like a spin. Parking comes at once then, since a rank that waits for
//! long must leave the quota to the ranks that compute.

use std::cell::Cell;
use std::hint::spin_loop;
use std::io::{self, Write};
use std::thread::yield_now;
use std::time::{Duration, Instant};

use crate::error::{Error, ErrorKind, Result};
use crate::transport::deadlock::registry::Wait;
use crate::transport::deadlock::scheduler::Scheduler;
use crate::transport::deadlock::wait_for_graph::Needs;
use crate::transport::port::Port;
use crate::transport::progress::live::Live;
use crate::transport::progress::reason::Reason;
use crate::transport::progress::yielding::{Yielding, YieldingStage};

/// Maximum number of looks in one spin: some tens of microseconds.
pub(in crate::transport) const SPINS: u32 = 2000;
/// Minimum number, so that a rank notices when spinning has become worthwhile again.
pub(in crate::transport) const FEW_SPINS: u32 = 16;
/// Loom models go to sleep at once: repeated looks would hide a lost post.
pub(in crate::transport) const PATIENT: bool = !cfg!(all(test, loom));

/// Runs a wait whose look only reports whether it has found something, and returns what the last look found.
#[inline]
fn find<R>(
    mut look: impl FnMut() -> Option<R>,
    wait: impl FnOnce(&mut dyn FnMut() -> bool) -> Result<()>,
) -> Result<R> {
    let mut found = None;
    wait(&mut || {
        found = look();
        found.is_some()
    })?;
    Ok(found
        .unwrap_or_else(|| unreachable!("a wait ends well after a look that has found something")))
}

impl Port {
    /// Waits until `look` finds something.
    #[inline]
    pub(crate) fn wait<R>(
        &self,
        reason: &Reason<'_>,
        mut look: impl FnMut() -> Option<R>,
    ) -> Result<R> {
        // In a controlled world the next choice is made when all ranks are asleep.
        let spins = !self.has_started() && !self.fabric.is_controlled();
        // Where ranks take turns, every look at MPI delays those for which this one waits.
        let pumps = self.has_far() && !(self.crowded() && reason.is_in_near_part());
        if spins && let Some(found) = self.spin_by(&self.spins, pumps, &mut look) {
            return Ok(found);
        }
        find(look, |look| self.go_on_waiting(reason, look))
    }

    /// The same with a look that takes in itself what arrives from other processes, where it is told that it may.
    #[inline]
    pub(crate) fn wait_taking_in<R>(
        &self,
        reason: &Reason<'_>,
        mut look: impl FnMut(bool) -> Option<R>,
    ) -> Result<R> {
        let spins = !self.has_started() && !self.fabric.is_controlled();
        if spins && let Some(found) = self.spin_by(&self.spins, false, &mut || look(true)) {
            return Ok(found);
        }
        // The registry may be open where it looks before it sleeps.
        find(|| look(false), |look| self.go_on_waiting(reason, look))
    }

    /// What is left of a wait that has spun, or all of one while started collectives are open.
    #[inline(never)]
    fn go_on_waiting(&self, reason: &Reason<'_>, look: &mut dyn FnMut() -> bool) -> Result<()> {
        match self.has_started() {
            true => self.wait_advancing(look, &|look| self.wait_plainly(reason, look)),
            false => self.wait_long(reason, look),
        }
    }

    /// A wait with all its stages that advances nothing.
    fn wait_plainly(&self, reason: &Reason<'_>, look: &mut dyn FnMut() -> bool) -> Result<()> {
        let found = !self.fabric.is_controlled() && {
            let mut found = || look().then_some(());
            self.spin(&self.spins, &mut found).is_some()
        };
        match found {
            true => Ok(()),
            false => self.wait_long(reason, look),
        }
    }

    /// The wait after spinning, compiled once for all kinds of waits; counts how long it takes.
    fn wait_long(&self, reason: &Reason<'_>, look: &mut dyn FnMut() -> bool) -> Result<()> {
        if self.fabric.is_controlled() {
            return self.sleep_until(reason, look);
        }
        let begin = Instant::now();
        let done = match self.give_way(begin, reason.deadline, look) {
            true => Ok(()),
            false => {
                let done = self.sleep_until(reason, look);
                self.yielding.set(self.next_yielding(begin, done.is_ok()));
                done
            }
        };
        self.count_wait(begin);
        done
    }

    /// How long the next wait yields, after one in which this rank has parked. A failure is noticed by ranks that park; ranks
    /// that yield take in messages of other processes.
    fn next_yielding(&self, begin: Instant, well: bool) -> Yielding {
        match well && self.crowded() && !self.has_far() {
            true => Yielding::after(begin.elapsed(), Live::count(), self.fabric.settings.cpus),
            false => Yielding::FIRST,
        }
    }

    /// Sleeps until `look` finds something.
    pub(in crate::transport) fn sleep<R>(
        &self,
        reason: &Reason<'_>,
        look: impl FnMut() -> Option<R>,
    ) -> Result<R> {
        find(look, |look| match self.has_started() {
            true => self.wait_advancing(look, &|look| self.sleep_until(reason, look)),
            false => self.sleep_until(reason, look),
        })
    }

    pub(in crate::transport) fn count_wait(&self, begin: Instant) {
        let waited = begin.elapsed().as_nanos() as u64;
        crate::transport::Tally::add(&self.endpoint.tally.waited, waited);
    }

    /// Looks repeatedly, for a time that grows with success and shrinks with failure.
    #[inline]
    pub(in crate::transport) fn spin<R>(
        &self,
        budget: &Cell<u32>,
        look: &mut impl FnMut() -> Option<R>,
    ) -> Option<R> {
        // Asked once: a look takes a few nanoseconds.
        self.spin_by(budget, self.has_far(), look)
    }

    /// The same, where each look `pumps` first, or takes in itself what arrives from other processes.
    #[inline]
    fn spin_by<R>(
        &self,
        budget: &Cell<u32>,
        pumps: bool,
        look: &mut impl FnMut() -> Option<R>,
    ) -> Option<R> {
        let spins = match PATIENT {
            true if self.crowded() => {
                if pumps {
                    self.pump();
                }
                return look();
            }
            true => budget.get(),
            false => 0,
        };
        for _ in 0..spins {
            if pumps {
                self.pump_one();
            }
            if let Some(found) = look() {
                budget.set((budget.get() * 2).min(SPINS));
                return Some(found);
            }
            spin_loop();
        }
        budget.set((budget.get() / 2).max(FEW_SPINS));
        None
    }

    /// Yields and looks in turns for some time from `start` on, to the deadline at most and far less than the watchdog's limit.
    pub(in crate::transport) fn give_way(
        &self,
        start: Instant,
        deadline: Option<Instant>,
        look: &mut dyn FnMut() -> bool,
    ) -> bool {
        let time = match (self.is_rationed(), self.crowded()) {
            (true, _) => Duration::ZERO,
            (_, true) => self.yielding.get().time(),
            _ => Yielding::FIRST.time(),
        };
        let left = deadline.map(|deadline| deadline.saturating_duration_since(start));
        let watched = self.fabric.settings.timeout.map(|timeout| timeout / 4);
        let time = left.into_iter().chain(watched).fold(time, Duration::min);
        self.give_way_for(time, start, look)
    }

    pub(in crate::transport) fn give_way_for(
        &self,
        time: Duration,
        start: Instant,
        look: &mut dyn FnMut() -> bool,
    ) -> bool {
        self.recorder.catch_up();
        if let Some(spots) = self.fabric.settings.spots.as_ref().filter(|_| PATIENT) {
            spots.part(self.me - self.fabric.near().start);
        }
        let mut stage = YieldingStage::new(&self.fabric, time);
        while PATIENT && stage.goes_on(|| start.elapsed()) {
            yield_now();
            // First for what ranks of this process do, for which messages need not be taken in.
            if self.has_far() && look() {
                return true;
            }
            self.pump();
            if look() {
                return true;
            }
        }
        false
    }

    /// Parks until woken, looks, and parks again, unless what it waits for can no longer arrive.
    #[cold]
    fn sleep_until(&self, reason: &Reason<'_>, look: &mut dyn FnMut() -> bool) -> Result<()> {
        self.recorder.catch_up();
        let since = Instant::now();
        let begun = self.begun_by_all();
        crate::transport::Tally::add(&self.endpoint.tally.sleeps, 1);
        let mut naps = 0;
        loop {
            self.pump();
            let describe = &mut || self.describe(reason, since, &begun);
            if self.fabric.lie_down(self.me, describe, look)? {
                return Ok(());
            }
            if let Some(error) = self.fabric.silenced(Some(self.me)) {
                return Err(error);
            }
            let nap = self.nap(naps);
            naps += 1;
            match self.limit(reason, since).into_iter().chain(nap).min() {
                Some(limit) => self.parker.park_deadline(limit),
                None => self.parker.park(),
            }
            if let Some(verdict) = self.fabric.get_up(self.me) {
                return Err(verdict);
            }
            let too_late = |scheduler: &Scheduler| scheduler.is_too_late(self.me);
            let passed = |limit| limit <= Instant::now();
            if self.fabric.scheduler.as_ref().is_some_and(too_late)
                || self.limit(reason, since).is_some_and(passed)
            {
                return match look() {
                    true => Ok(()),
                    false => Err(self.timed_out(reason, since, &begun)),
                };
            }
        }
    }

    /// When this wait must end: at the call's own deadline or at the watchdog's.
    pub(crate) fn limit(&self, reason: &Reason<'_>, since: Instant) -> Option<Instant> {
        let watchdog = self
            .fabric
            .settings
            .timeout
            .and_then(|timeout| since.checked_add(timeout));
        // In controlled worlds time passes only when nothing else does.
        let own = reason.deadline.filter(|_| !self.fabric.is_controlled());
        own.into_iter().chain(watchdog).min()
    }

    pub(crate) fn timed_out(&self, reason: &Reason<'_>, since: Instant, begun: &[u64]) -> Error {
        let mine = self.describe(reason, since, begun);
        let picture = self.fabric.picture(Some((self.me, &mine)));
        Error::new(ErrorKind::TimedOut {
            waited: since.elapsed(),
            picture,
        })
    }

    /// Number of operations that each rank has begun, if there is a watchdog to report them.
    pub(crate) fn begun_by_all(&self) -> Vec<u64> {
        let watched = self.fabric.settings.timeout.is_some();
        let endpoints = self.fabric.endpoints.iter().filter(|_| watched);
        let run = self.run();
        endpoints.map(|endpoint| endpoint.begun_in(run)).collect()
    }

    /// Describes a wait; `begun` holds the operations that each rank had begun when the wait began.
    pub(in crate::transport) fn describe(
        &self,
        reason: &Reason<'_>,
        since: Instant,
        begun: &[u64],
    ) -> Wait {
        Wait {
            call: (reason.call)(),
            site: reason.site,
            needs: (reason.needs)(),
            // A collective has no deadline of its own: one with a deadline is over already, and only waits to hear of
            // other ranks.
            ends_by_itself: reason.deadline.is_some() && reason.collective.is_none(),
            comm: reason.comm.cloned(),
            also: reason.also.to_vec(),
            collective: reason.collective,
            turn: reason.turn,
            choice: self.eligible(reason),
            needs_buffer: reason.needs_buffer,
            since,
            begun: begun.to_vec(),
            awaiting: self.awaiting(),
        }
    }

    /// Waits until `done`, which the ranks in `needs` bring about. Nothing ends this wait early, since other ranks may
    /// access this rank's memory until it is over. Those ranks do not wait meanwhile, or should not. The deadlock
    /// detector knows of this wait, and fails whatever they wait for if it can never end.
    /// [`World::timeout`](crate::World::timeout) cannot end the wait; it only prints where all ranks are.
    #[inline]
    pub(crate) fn wait_bound(&self, needs: &dyn Fn() -> Needs, mut done: impl FnMut() -> bool) {
        let mut look = || done().then_some(());
        if self.spin(&self.spins, &mut look).is_none() {
            self.wait_bound_long(needs, &mut done);
        }
    }

    #[inline(never)]
    pub(in crate::transport) fn wait_bound_long(
        &self,
        needs: &dyn Fn() -> Needs,
        done: &mut dyn FnMut() -> bool,
    ) {
        let begin = Instant::now();
        if !self.give_way(begin, None, done) {
            self.sleep_bound(needs, done);
        }
        self.count_wait(begin);
    }

    /// Sleeps until `done`.
    #[cold]
    pub(in crate::transport) fn sleep_bound(
        &self,
        needs: &dyn Fn() -> Needs,
        mut done: impl FnMut() -> bool,
    ) {
        let since = Instant::now();
        crate::transport::Tally::add(&self.endpoint.tally.sleeps, 1);
        let timeout = self.fabric.settings.timeout;
        let mut limit = timeout.and_then(|timeout| since.checked_add(timeout));
        while !done() && !self.fabric.lie_down_bound(self.me, since, needs, &mut done) {
            match limit {
                Some(limit) => self.parker.park_deadline(limit),
                None => self.parker.park(),
            }
            self.fabric.get_up_bound(self.me);
            if limit.is_some_and(|limit| limit <= Instant::now()) && !done() {
                limit = None;
                self.tell_bound(since);
            }
        }
    }

    /// Prints to standard error, once a wait, that the wait exceeds the watchdog's limit and cannot be ended.
    #[cold]
    pub(in crate::transport) fn tell_bound(&self, since: Instant) {
        let waited = since.elapsed();
        let picture = self.fabric.picture(None);
        // A standard error that is closed must not end the process: there is no way back from this wait.
        let _ = writeln!(
            io::stderr(),
            "rankfold: rank {} has waited {waited:.1?} and must go on: another rank uses its memory, perhaps in an \
             operator that does not end\n{picture}",
            self.me
        );
    }
}
