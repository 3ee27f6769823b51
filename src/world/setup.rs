//! The settings of a world, and what its ranks need to begin: decided before any rank begins.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

#[cfg(all(unix, feature = "signal"))]
use super::dump;
use super::node::Share;
use super::placed::Placed;
use super::rank::{NotYet, Pin, Start};
#[cfg(feature = "mpi")]
use super::spread::{self, Joined};
use super::verdict::Refused;
use super::{World, carrier, mappings, stand_in, tuning};
use crate::Rank;
use crate::collective::TuningTable;
use crate::machine::{Cpus, Near, PinError, Placement};
use crate::names::Transport;
#[cfg(feature = "mpi")]
use crate::transport::processes::Far;
use crate::transport::progress::cpu_collision::WaitingCpus;
use crate::transport::progress::live::{Live, are_crowded};
use crate::transport::{Fabric, Settings};
use crate::unwind;

/// No system gives one process more threads than this.
const MAX_RANKS: usize = 1 << 16;

/// The settings of a world, and the CPUs it found.
pub(super) struct Setup {
    pub settings: Settings,
    pub placement: Placement,
    cpus: Arc<Cpus>,
    /// The number of threads that can spin without taking time from each other, wherever they run.
    pub room: usize,
    pub strict: bool,
    #[cfg(all(unix, feature = "signal"))]
    dump: bool,
    /// The world as it was opened together with other processes, if it is spread over them.
    #[cfg(feature = "mpi")]
    far: Option<Arc<Far>>,
    _open: Open,
}

impl Setup {
    /// Finds the CPUs of a world that runs once, or on seats.
    pub(super) fn new(world: &World) -> Result<Setup, Refused> {
        Setup::open(world, false, world.on_seats)
    }

    /// The same for a team. With `caller`, the thread that calls a run is one of the ranks.
    pub(super) fn of_team(world: &World, caller: bool) -> Result<Setup, Refused> {
        Setup::open(world, caller, true)
    }

    /// The same; `lasts` says whether the world may have several runs, or its ranks threads of the program.
    fn open(world: &World, caller: bool, lasts: bool) -> Result<Setup, Refused> {
        // Done here, and not on the threads of ranks: this thread may be in a panic hook that waits for them.
        unwind::install_hook();
        let means = Means::of(world);
        #[cfg(feature = "mpi")]
        let joined = spread::join(world, lasts, means.as_ref().err());
        #[cfg(not(feature = "mpi"))]
        let _ = lasts;
        let means = means?;
        #[cfg(feature = "mpi")]
        if let Some(Joined { far, share }) = joined? {
            let faults = check_faults(world, far.ranks());
            let setup = faults.and_then(|()| Setup::among(world, caller, means, share));
            return match setup {
                Ok(setup) => Ok(Setup {
                    far: Some(far),
                    ..setup
                }),
                Err(refused) => {
                    far.cannot_start(&refused.to_string());
                    Err(refused)
                }
            };
        }
        check_faults(world, world.ranks)?;
        Setup::among(world, caller, means, Share::whole(Cpus::here_recently()))
    }

    /// The same for the share that this process has of its machine.
    fn among(world: &World, caller: bool, means: Means, share: Share) -> Result<Setup, Refused> {
        let (open, first) = Open::new();
        // Seats that were entered are ranks, even if the world that created them is closed.
        let alone = first && Live::count() == 0 && !unwind::is_rank();
        let placed = Placed::of(world, caller, alone, &share)?;
        let of_share = |room: usize| share.room.map_or(room, |most| room.min(most));
        let cpus = (of_share(placed.room), covered(&placed.cpus));
        let spots = spots(world, &placed.placement, caller, cpus.0);
        let near = placed.near.clone();
        Ok(Setup {
            settings: Settings {
                in_turns: share.in_turns,
                planned: of_share(placed.planned),
                ..settings(world, cpus, near, spots, means)
            },
            placement: placed.placement.clone(),
            cpus: placed.cpus.clone(),
            room: of_share(placed.whole),
            strict: world.strict,
            #[cfg(all(unix, feature = "signal"))]
            dump: world.dump,
            #[cfg(feature = "mpi")]
            far: None,
            _open: open,
        })
    }

    /// Whether a fabric may serve several runs: nothing else watches it.
    pub(super) fn is_lasting(&self) -> bool {
        #[cfg(all(unix, feature = "signal"))]
        return !self.dump;
        #[cfg(not(all(unix, feature = "signal")))]
        true
    }

    pub(super) fn ranks(&self) -> usize {
        self.placement.cpu.len()
    }

    /// The state that the ranks of a new run share; nothing of an earlier run is left in it.
    pub(super) fn fabric(&self) -> Arc<Fabric> {
        let fabric = self.new_fabric();
        #[cfg(all(unix, feature = "signal"))]
        if self.dump {
            dump::watch(&fabric);
        }
        fabric
    }

    fn new_fabric(&self) -> Arc<Fabric> {
        #[cfg(feature = "mpi")]
        if let Some(far) = &self.far {
            return Fabric::spread(far.clone(), self.settings.clone());
        }
        Fabric::new(self.ranks(), self.settings.clone())
    }

    /// The CPUs that the process may use.
    pub(super) fn cpus(&self) -> &Cpus {
        &self.cpus
    }

    /// The state that each rank needs to begin.
    pub(super) fn starts(&self, fabric: &Arc<Fabric>) -> Vec<Start> {
        let start = |(rank, pin)| Start {
            fabric: fabric.clone(),
            rank,
            pin,
        };
        fabric.near().zip(self.pins()).map(start).collect()
    }

    /// The CPUs of the ranks, except those that could not be pinned.
    pub(super) fn placement(
        &self,
        refused: impl IntoIterator<Item = (Rank, PinError)>,
    ) -> Placement {
        let mut placement = self.placement.clone();
        for (rank, why) in refused {
            placement.refuse(rank, why);
        }
        placement
    }

    /// The CPU to which each rank is to be pinned.
    pub(super) fn pins(&self) -> Vec<Option<Pin>> {
        let cpus = &self.cpus;
        let all = NotYet::default();
        let pin = |cpu| Pin {
            cpu,
            cpus: cpus.clone(),
            all: all.clone(),
        };
        self.placement.cpu.iter().map(|cpu| cpu.map(pin)).collect()
    }
}

/// What a world is told by its settings and the environment, which may be wrong.
struct Means {
    transport: Transport,
    tuning: Option<Arc<TuningTable>>,
}

impl Means {
    fn of(world: &World) -> Result<Means, Refused> {
        check_size(world)?;
        stand_in::check(world).map_err(Refused::Usage)?;
        Ok(Means {
            tuning: tuning::of(world).map_err(Refused::Usage)?,
            transport: carrier::of(world).map_err(Refused::Usage)?,
        })
    }
}

fn check_size(world: &World) -> Result<(), Refused> {
    let ranks = world.ranks;
    let refusal = match ranks {
        0 => Some("a world has at least one rank".into()),
        // The program has started these, or will.
        1..=MAX_RANKS if world.on_seats => None,
        1..=MAX_RANKS => mappings::refusal(ranks),
        _ => Some(format!(
            "{ranks} ranks are more threads than a process can have; at most {MAX_RANKS}"
        )),
    };
    refusal.map_or(Ok(()), |what| Err(Refused::Usage(what)))
}

/// Checks that each fault can happen in a world of `ranks` ranks, those of other processes among them.
fn check_faults(world: &World, ranks: usize) -> Result<(), Refused> {
    let refused = |rank, nth, why| {
        let what = format!("a fault at operation {nth} of rank {rank}: {why}");
        Err(Refused::Usage(what))
    };
    let mut all: Vec<_> = (world.faults.iter())
        .map(|(rank, nth, _)| (*rank, *nth))
        .collect();
    all.sort_unstable();
    for (rank, nth) in all.iter().copied() {
        if rank >= ranks {
            return refused(rank, nth, format!("there are {ranks} ranks"));
        }
        if nth == 0 {
            return refused(rank, nth, "operations are counted from 1".into());
        }
    }
    match all.windows(2).find(|two| two[0] == two[1]) {
        Some(two) => refused(two[0].0, two[0].1, "there is another one".into()),
        None => Ok(()),
    }
}

/// The CPUs on which ranks wait, if they may have to move apart: a pinned rank stays where it is, and the threads of
/// seats are not ours to move.
fn spots(
    world: &World,
    placement: &Placement,
    caller: bool,
    usable: usize,
) -> Option<Arc<WaitingCpus>> {
    let ranks = world.ranks;
    let unpinned = placement.cpu.iter().all(Option::is_none) && !world.on_seats;
    let may_part = unpinned && ranks > 1 && !are_crowded(ranks, usable);
    may_part.then(|| Arc::new(WaitingCpus::new(ranks, usize::from(caller), usable)))
}

fn settings(
    world: &World,
    (cpus, covered): (usize, usize),
    near: Arc<Near>,
    spots: Option<Arc<WaitingCpus>>,
    means: Means,
) -> Settings {
    Settings {
        cpus,
        planned: cpus,
        in_turns: false,
        covered,
        timeout: world.timeout,
        check: world.check,
        record: world.record,
        trace: world.trace,
        faults: world.faults.clone(),
        chooser: world.chooser.clone(),
        seed: world.seed,
        buffering: world.buffering,
        transport: means.transport,
        near,
        spots,
        tuning: means
            .tuning
            .map(|table| -> Arc<dyn Any + Send + Sync> { table }),
    }
}

/// The number of ranks for which the CPU quota lasts if they all run without interruption.
fn covered(cpus: &Cpus) -> usize {
    // The cast rounds down and saturates.
    cpus.quota
        .map_or(usize::MAX, |quota| (quota as usize).max(1))
}

/// Counts the open worlds of this process.
struct Open(());

static OPEN: AtomicUsize = AtomicUsize::new(0);

impl Open {
    /// Counts a new world; the flag says whether it is the only open one.
    fn new() -> (Open, bool) {
        (Open(()), OPEN.fetch_add(1, Ordering::Relaxed) == 0)
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        OPEN.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quota_covers_its_whole_cpus_and_at_least_one() {
        let quota = |quota| Cpus {
            mask: vec![0, 1, 2, 3],
            quota,
        };
        assert_eq!(covered(&quota(None)), usize::MAX);
        assert_eq!(covered(&quota(Some(2.5))), 2);
        assert_eq!(covered(&quota(Some(0.5))), 1);
    }
}
