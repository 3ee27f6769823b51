//! All ranks, step by step: which ranks act, in what way, and when each is done.
//!
//! A rank's only state is its clock. The events of a step follow from the clocks before it, so the ranks of one step
//! can be processed in any order, also concurrently, and no rank can wait for a later event.

use std::num::NonZero;
use std::panic::resume_unwind;
use std::{io, thread};

use super::agenda::Agenda;
use super::machine::{MachineModel, Tolls};
use super::tally::{Sums, Tally};
use super::visit::{Visit, Watch};
use super::wires::Wires;
use super::{MOST_RANKS, SimulateError, blame};
use crate::Rank;
use crate::schedule::Schedule;

/// The minimum number of ranks per thread.
const SHARE: usize = 1 << 15;

/// One step before it is run.
#[derive(Clone, Copy)]
pub(super) struct Moment<'a> {
    tolls: &'a Tolls,
    /// The time at which each rank reaches the step.
    clock: &'a [f64],
    /// The links that nodes share, on which the messages of the step have their turns.
    wires: &'a Wires,
    step: usize,
}

/// The loops over the ranks of a step without an observer, compiled for the type of the schedule: the only part of a
/// run where the type counts. The rest may be compiled once, for `dyn Schedule`.
pub(super) trait Loops: Sync {
    fn sweep(&self, moment: Moment<'_>, first: Rank, ended: &mut [f64]) -> Tally;

    fn call(&self, moment: Moment<'_>, ranks: &[u32], ended: &mut [f64]) -> Tally;
}

impl<S: Schedule + ?Sized> Loops for &S {
    fn sweep(&self, moment: Moment<'_>, first: Rank, ended: &mut [f64]) -> Tally {
        Scene::new(*self, moment).sweep_own(first, ended, &mut ())
    }

    fn call(&self, moment: Moment<'_>, ranks: &[u32], ended: &mut [f64]) -> Tally {
        Scene::new(*self, moment).call_own(ranks, ended, &mut ())
    }
}

/// A schedule at that step.
struct Scene<'a, S: ?Sized> {
    schedule: &'a S,
    /// The loops for the schedule's own type, if `S` is not that type.
    loops: Option<&'a dyn Loops>,
    moment: Moment<'a>,
}

impl<'a, S: Schedule + ?Sized> Scene<'a, S> {
    fn new(schedule: &'a S, moment: Moment<'a>) -> Scene<'a, S> {
        Scene {
            schedule,
            loops: None,
            moment,
        }
    }

    /// Computes the times at which all ranks complete the step, with at most `threads` threads.
    fn spread(&self, threads: usize, ended: &mut [f64]) -> io::Result<Tally> {
        let share = ended.len().div_ceil(threads).max(SHARE);
        let work = |(i, ended)| move || self.sweep(i * share, ended, &mut ());
        thread::scope(|scope| {
            let mut shares = ended.chunks_mut(share).enumerate().map(work);
            let own = shares.next();
            let spawn = |work| thread::Builder::new().spawn_scoped(scope, work);
            let others: Vec<_> = shares.map(spawn).collect::<io::Result<_>>()?;
            let mut tally = own.map_or_else(Tally::default, |work| work());
            for other in others {
                tally += other.join().unwrap_or_else(|panic| resume_unwind(panic));
            }
            Ok(tally)
        })
    }

    /// Computes the times at which the ranks from `first` on complete the step, one for each entry of `ended`.
    fn sweep<W: Watch>(&self, first: Rank, ended: &mut [f64], watch: &mut W) -> Tally {
        match self.loops {
            Some(loops) if !W::LOOKS => loops.sweep(self.moment, first, ended),
            _ => self.sweep_own(first, ended, watch),
        }
    }

    #[inline(never)] // values shared by all ranks can leave the loop only if nothing else is written to
    fn sweep_own(&self, first: Rank, ended: &mut [f64], watch: &mut impl Watch) -> Tally {
        let mut tally = Tally::default();
        for (rank, end) in (first..).zip(ended) {
            *end = self.visit(rank, &mut tally, watch);
        }
        tally
    }

    /// The same for listed ranks.
    fn call<W: Watch>(&self, ranks: &[u32], ended: &mut [f64], watch: &mut W) -> Tally {
        match self.loops {
            Some(loops) if !W::LOOKS => loops.call(self.moment, ranks, ended),
            _ => self.call_own(ranks, ended, watch),
        }
    }

    #[inline(never)]
    fn call_own(&self, ranks: &[u32], ended: &mut [f64], watch: &mut impl Watch) -> Tally {
        let mut tally = Tally::default();
        for (&rank, end) in ranks.iter().zip(ended) {
            *end = self.visit(rank as Rank, &mut tally, watch);
        }
        tally
    }

    /// The time at which the rank completes the step.
    #[inline(always)]
    fn visit(&self, rank: Rank, tally: &mut Tally, watch: &mut impl Watch) -> f64 {
        let Moment {
            tolls,
            clock,
            wires,
            step: number,
        } = self.moment;
        let step = self.schedule.step(rank, number);
        let start = clock[rank];
        if step.is_idle() {
            return start;
        }
        tally.count(rank, &step);
        let sender = step.recv.map_or(rank, |recv| recv.peer);
        let Some(&sender_start) = clock.get(sender) else {
            tally.broken = true;
            return start;
        };
        // A sender without a message is detected when the step is settled.
        let sender_start = match wires.begin(sender).filter(|_| step.recv.is_some()) {
            Some(begin) => begin.max(sender_start),
            None => sender_start,
        };
        let visit = Visit::new(tolls, rank, &step, start, sender_start);
        watch.saw(rank, number, &visit);
        visit.end
    }
}

/// The ranks that act next.
enum NextRanks {
    /// All ranks, in every step: if at least half of the ranks act, it costs more to find out which ones do.
    All,
    /// The ranks with the least next step.
    Listed(Agenda),
}

/// A state from which a run can be resumed.
pub(super) struct Checkpoint {
    /// The first step that is not done.
    pub(super) step: usize,
    pub(super) clock: Vec<f64>,
    wires: Wires,
}

/// The state between two steps.
pub(super) struct Simulation<'a, S: ?Sized> {
    schedule: &'a S,
    loops: Option<&'a dyn Loops>,
    tolls: Tolls,
    steps: usize,
    /// The first step that is not done.
    next: usize,
    turn: NextRanks,
    /// The time at which each rank completed its latest step.
    clock: Vec<f64>,
    /// The times at which the ranks that act complete this step, and the ranks' numbers.
    ended: Vec<f64>,
    up: Vec<u32>,
    /// The links that nodes share.
    wires: Wires,
    pub(super) sums: Sums,
    /// The number of threads that can work concurrently.
    threads: usize,
}

impl<'a, S: Schedule + ?Sized> Simulation<'a, S> {
    pub(super) fn new(
        schedule: &'a S,
        machine: &MachineModel,
    ) -> Result<Simulation<'a, S>, SimulateError> {
        let ranks = schedule.ranks();
        match ranks {
            0 => return Err(SimulateError::NoRanks),
            1..=MOST_RANKS => {}
            _ => return Err(SimulateError::TooManyRanks { ranks }),
        }
        let tolls = Tolls::new(machine)?;
        let mark = Checkpoint {
            step: 0,
            clock: vec![0.0; ranks],
            wires: Wires::new(&tolls, ranks),
        };
        Ok(Simulation::resume(schedule, tolls, mark))
    }

    pub(super) fn resume(schedule: &'a S, tolls: Tolls, mark: Checkpoint) -> Simulation<'a, S> {
        Simulation {
            schedule,
            loops: None,
            tolls,
            steps: schedule.steps(),
            next: mark.step,
            turn: NextRanks::All,
            clock: mark.clock,
            wires: mark.wires,
            ended: Vec::new(),
            up: Vec::new(),
            sums: Sums::default(),
            threads: thread::available_parallelism().map_or(1, NonZero::get),
        }
    }

    /// The same simulation with the loops for the schedule's own type.
    pub(super) fn with(self, loops: &'a dyn Loops) -> Self {
        Simulation {
            loops: Some(loops),
            ..self
        }
    }

    pub(super) fn mark(&self) -> Checkpoint {
        Checkpoint {
            step: self.next,
            clock: self.clock.clone(),
            wires: self.wires.clone(),
        }
    }

    /// The first step that is not done.
    pub(super) fn next(&self) -> usize {
        self.next
    }

    /// Runs all remaining steps.
    pub(super) fn finish(&mut self, watch: &mut impl Watch) -> Result<(), SimulateError> {
        while self.advance(watch)? {}
        Ok(())
    }

    /// Runs the next step in which any rank may act; returns false if there is none.
    pub(super) fn advance(&mut self, watch: &mut impl Watch) -> Result<bool, SimulateError> {
        match std::mem::replace(&mut self.turn, NextRanks::All) {
            NextRanks::All => self.all(watch),
            NextRanks::Listed(agenda) => self.listed(agenda, watch),
        }
    }

    fn all<W: Watch>(&mut self, watch: &mut W) -> Result<bool, SimulateError> {
        let step = self.next;
        if step >= self.steps {
            return Ok(false);
        }
        let ranks = self.clock.len();
        self.take_turns(step, 0..ranks);
        let mut ended = std::mem::take(&mut self.ended);
        ended.resize(ranks, 0.0);
        let scene = self.scene(step);
        let tally = if W::LOOKS || ranks < 2 * SHARE {
            scene.sweep(0, &mut ended, watch)
        } else {
            let spread = scene.spread(self.threads, &mut ended);
            // If no more threads can be created, one does all the work.
            spread.unwrap_or_else(|_| scene.sweep(0, &mut ended, watch))
        };
        self.ended = std::mem::replace(&mut self.clock, ended);
        let active = tally.sums.visits;
        self.settle(step, tally, None)?;
        if 2 * active < ranks as u64 {
            self.turn = NextRanks::Listed(self.list(step)?);
        }
        Ok(true)
    }

    fn listed(
        &mut self,
        mut agenda: Agenda,
        watch: &mut impl Watch,
    ) -> Result<bool, SimulateError> {
        let mut up = std::mem::take(&mut self.up);
        let Some(step) = agenda.pop(&mut up) else {
            self.next = self.steps;
            return Ok(false);
        };
        self.take_turns(step, up.iter().map(|&rank| rank as Rank));
        let mut ended = std::mem::take(&mut self.ended);
        ended.resize(up.len(), 0.0);
        let tally = self.scene(step).call(&up, &mut ended, watch);
        for (&rank, &end) in up.iter().zip(&ended) {
            self.clock[rank as usize] = end;
        }
        self.ended = ended;
        self.settle(step, tally, Some(&up))?;
        if 2 * up.len() < self.clock.len() {
            for &rank in &up {
                self.enlist(rank as Rank, step, &mut agenda)?;
            }
            self.turn = NextRanks::Listed(agenda);
        }
        self.up = up;
        Ok(true)
    }

    fn scene(&self, step: usize) -> Scene<'_, S> {
        let moment = Moment {
            tolls: &self.tolls,
            clock: &self.clock,
            wires: &self.wires,
            step,
        };
        Scene {
            loops: self.loops,
            ..Scene::new(self.schedule, moment)
        }
    }

    /// Schedules the messages of a step on the links that nodes share.
    fn take_turns(&mut self, step: usize, up: impl Iterator<Item = Rank>) {
        if !self.wires.shared() {
            return;
        }
        for rank in up {
            if let Some(send) = self.schedule.step(rank, step).send {
                self.wires
                    .queue(self.clock[rank], rank, send.peer, send.region.elements());
            }
        }
        self.wires.go(&self.tolls);
    }

    /// Checks that all messages of a step have both their ends; the step is then done.
    fn settle(
        &mut self,
        step: usize,
        tally: Tally,
        up: Option<&[u32]>,
    ) -> Result<(), SimulateError> {
        if tally.broken || tally.open != 0 {
            return Err(blame::find(self.schedule, step, up));
        }
        self.next = step + 1;
        self.sums += tally.sums;
        Ok(())
    }

    /// All ranks that act after a step.
    fn list(&self, after: usize) -> Result<Agenda, SimulateError> {
        let mut agenda = Agenda::new(after);
        for rank in 0..self.clock.len() {
            self.enlist(rank, after, &mut agenda)?;
        }
        Ok(agenda)
    }

    fn enlist(&self, rank: Rank, after: usize, agenda: &mut Agenda) -> Result<(), SimulateError> {
        match self.schedule.next_active(rank, Some(after)) {
            None => Ok(()),
            Some(next) if next <= after || next >= self.steps => {
                Err(SimulateError::WrongNext { rank, after, next })
            }
            Some(next) => {
                agenda.push(next, rank as u32);
                Ok(())
            }
        }
    }

    /// The time at which each rank is done.
    pub(super) fn into_clock(self) -> Vec<f64> {
        self.clock
    }

    pub(super) fn clock(&self) -> &[f64] {
        &self.clock
    }
}

#[cfg(test)]
mod tests {
    use super::{MachineModel, SHARE, SimulateError, Simulation, Watch};
    use crate::Rank;
    use crate::schedule::{FoldAlong, Lengths, Schedule, Step};
    use crate::topology::Circle;

    /// A circle in which one rank sends nothing in the first step.
    struct Lame {
        inner: FoldAlong<Circle>,
        lame: Rank,
    }

    impl Schedule for Lame {
        fn ranks(&self) -> usize {
            self.inner.ranks()
        }
        fn steps(&self) -> usize {
            self.inner.steps()
        }
        fn step(&self, rank: Rank, step: usize) -> Step {
            let whole = self.inner.step(rank, step);
            if (rank, step) == (self.lame, 0) {
                Step {
                    send: None,
                    ..whole
                }
            } else {
                whole
            }
        }
        fn lengths(&self, rank: Rank) -> Lengths {
            self.inner.lengths(rank)
        }
    }

    const RANKS: usize = 3 * SHARE + 17;

    /// An observer, which forces the run onto one thread.
    struct Onlooker;

    impl Watch for Onlooker {
        fn saw(&mut self, _: Rank, _: usize, _: &super::Visit) {}
    }

    fn clocks(threads: usize, watch: &mut impl Watch) -> (Vec<f64>, u64, u128) {
        let circle = FoldAlong::new(Circle::new(RANKS), 3);
        let mut run = Simulation::new(&circle, &MachineModel::default()).unwrap();
        run.threads = threads;
        for (rank, clock) in run.clock.iter_mut().enumerate() {
            *clock = (rank % 1013) as f64 * 1e-7;
        }
        for _ in 0..3 {
            assert!(run.advance(watch).unwrap());
        }
        (run.clock, run.sums.visits, run.sums.elements)
    }

    #[test]
    fn however_many_threads_there_are_times_are_the_same() {
        let want = clocks(1, &mut Onlooker);
        for threads in [1, 2, 3, 4, 64] {
            assert!(clocks(threads, &mut ()) == want, "{threads} threads");
        }
    }

    #[test]
    fn a_fault_is_found_whichever_thread_comes_to_it() {
        for lame in [0, SHARE, 2 * SHARE - 1, RANKS - 1] {
            let inner = FoldAlong::new(Circle::new(RANKS), 3);
            let schedule = Lame { inner, lame };
            let mut run = Simulation::new(&schedule, &MachineModel::default()).unwrap();
            run.threads = 4;
            let found = run.finish(&mut ());
            let rank = (lame + 1) % RANKS;
            let fault = SimulateError::NoSend {
                rank,
                step: 0,
                peer: lame,
            };
            assert_eq!(found, Err(fault));
        }
    }
}
