//! The world of a test: as threads, and spread over processes.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use real::collective::TuningTable;
use real::machine::{Machine, ObjectKind};
use real::{
    Bind, Buffering, Comm, Error, Fault, Rank, Report, Seats, Spread, Transport, WorldError,
};

use crate::Team;
use crate::combined::{self, Near};

/// A world of ranks, as `rankfold::World`.
#[derive(Clone, Debug)]
pub struct World {
    here: real::World,
    /// The same over the processes of this launch, and the ranks that are in this one.
    spread: Option<(real::World, Range<Rank>)>,
}

/// What the launcher says: the number of this process, and how many there are.
fn process() -> Option<(usize, usize)> {
    let of = |names: [&str; 2]| -> Option<(usize, usize)> {
        let [me, all] = names.map(|name| std::env::var(name).ok()?.parse().ok());
        Some((me?, all?))
    };
    of(["OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"]).or_else(|| of(["PMI_RANK", "PMI_SIZE"]))
}

/// The ranks of a process, if each process gets one at least.
fn share(ranks: usize, (me, all): (usize, usize)) -> Option<Range<Rank>> {
    let first = |process: usize| process * (ranks / all) + process.min(ranks % all);
    (ranks >= all).then(|| first(me)..first(me + 1))
}

impl World {
    pub fn new(ranks: usize) -> World {
        let near = process().and_then(|process| share(ranks, process));
        let spread = near.map(|near| {
            // Only a fault waits as long.
            let world = real::World::new(near.len()).timeout(Duration::from_secs(60));
            (world.spread(Spread::Must), near)
        });
        World {
            here: real::World::new(ranks),
            spread,
        }
    }

    fn with(self, set: impl Fn(real::World) -> real::World) -> World {
        World {
            here: set(self.here),
            spread: self.spread.map(|(world, near)| (set(world), near)),
        }
    }

    /// The same, which runs as threads alone.
    fn alone(self, here: impl FnOnce(real::World) -> real::World) -> World {
        World {
            here: here(self.here),
            spread: None,
        }
    }

    pub fn bind(self, bind: Bind) -> World {
        self.with(|world| world.bind(bind.clone()))
    }

    pub fn machine(self, machine: Machine) -> World {
        self.alone(|world| world.machine(machine))
    }

    pub fn levels(self, kinds: &[ObjectKind]) -> World {
        self.with(|world| world.levels(kinds))
    }

    pub fn tuned(self, table: impl Into<Arc<TuningTable>>) -> World {
        let table = table.into();
        self.with(|world| world.tuned(table.clone()))
    }

    pub fn timeout(self, patience: Duration) -> World {
        self.with(|world| world.timeout(patience))
    }

    pub fn check(self, check: bool) -> World {
        self.with(|world| world.check(check))
    }

    pub fn buffering(self, buffering: Buffering) -> World {
        match buffering {
            Buffering::Unbounded => self.with(|world| world.buffering(buffering)),
            _ => self.alone(|world| world.buffering(buffering)),
        }
    }

    pub fn transport(self, transport: Transport) -> World {
        self.with(|world| world.transport(transport))
    }

    pub fn record(self, record: bool) -> World {
        self.with(|world| world.record(record))
    }

    pub fn trace(self, trace: bool) -> World {
        self.with(|world| world.trace(trace))
    }

    pub fn strict(self) -> World {
        self.with(real::World::strict)
    }

    pub fn inject(self, rank: Rank, nth: u64, fault: Fault) -> World {
        self.with(|world| world.inject(rank, nth, fault))
    }

    pub fn seed(self, seed: u64) -> World {
        self.alone(|world| world.seed(seed))
    }

    /// The run over processes, if there is one, and the ranks that it has here.
    pub(crate) fn spread_run<T>(&self, run: impl FnOnce(&real::World) -> T) -> Option<Near<T>> {
        let (world, near) = self.spread.as_ref()?;
        let ran = run(world);
        Some(Near {
            ran,
            ranks: near.clone(),
        })
    }

    pub fn run<R: Send>(
        &self,
        f: impl Fn(&Comm) -> real::Result<R> + Sync,
    ) -> Result<Vec<R>, WorldError> {
        self.try_run(f)
    }

    pub fn try_run<R: Send, E: Send + fmt::Display>(
        &self,
        f: impl Fn(&Comm) -> Result<R, E> + Sync,
    ) -> Result<Vec<R>, WorldError<E>> {
        let spread = self.spread_run(|world| world.try_run(&f));
        combined::results(spread, self.here.try_run(&f))
    }

    pub fn run_each<R: Send>(
        &self,
        f: impl Fn(&Comm) -> real::Result<R> + Sync,
    ) -> Report<R, Error> {
        self.try_run_each(f)
            .unwrap_or_else(|error| panic!("{error}"))
    }

    pub fn try_run_each<R: Send, E: Send + fmt::Display>(
        &self,
        f: impl Fn(&Comm) -> Result<R, E> + Sync,
    ) -> Result<Report<R, E>, WorldError<E>> {
        let spread = self.spread_run(|world| world.try_run_each(&f));
        combined::reports(spread, self.here.try_run_each(&f))
    }

    pub fn start(&self) -> Result<Team, WorldError> {
        Ok(Team {
            here: self.here.start()?,
            world: self.clone(),
        })
    }

    pub fn connect(ranks: usize) -> Seats {
        real::World::connect(ranks)
    }

    pub fn seats(&self) -> Result<Seats, WorldError> {
        self.here.seats()
    }
}
