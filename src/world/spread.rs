//! Worlds whose ranks are in several processes: whether a world is one, and what it brings when it opens.

use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use super::node::{OnNode, Share};
use super::verdict::Refused;
use super::{World, stand_in};
use crate::machine::Cpus;
use crate::mpi::{Launched, lacks_pmi, launched};
use crate::op::plain::{self, Plain};
use crate::transport::memory::eager_limit::Buffering;
use crate::transport::processes::{Far, Hello};
use crate::unwind;

/// Whether the ranks of a world are spread over the processes that an MPI launcher has started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Spread {
    /// They are threads of this process alone, and no MPI library is used.
    #[default]
    Off,
    /// They are spread if the process was started by `mpirun`, `mpiexec` or `srun`, and are threads of this process
    /// alone otherwise. Several tasks to which `srun` has given no PMI cannot open such a world.
    Auto,
    /// They are spread; a process that was started alone cannot open such a world.
    Must,
}

/// # Several processes
impl World {
    /// Sets whether the world is spread over the processes that an MPI launcher has started: then each process runs as
    /// many ranks as its [`World::new`] says, and all are numbered together, those of process 0 first. Default:
    /// [`Spread::Off`].
    ///
    /// The MPI library of the launcher, Open MPI or one with the interface of MPICH or the standard ABI of MPI 5, is found
    /// when the first such world runs; `RANKFOLD_MPI` in the environment names another one, or is `off`. Without a
    /// launcher none is ever loaded. MPI is initialized once, and finalized when the process exits.
    ///
    /// All processes run the same spread worlds in the same order, one at a time, and not inside a rank. A
    /// [run](World::run) returns the results of the ranks of its own process; it fails in every process if a rank of any
    /// of them has failed. [Teams](World::start), [seats](World::seats), limited [buffering](World::buffering),
    /// [seeds](World::seed) and [stand-ins](World::machine) are refused. Messages and collectives of [plain](Plain)
    /// elements, [`dup`](crate::Comm::dup) and [`split`](crate::Comm::split) are for all ranks; what needs shared memory
    /// is refused among ranks of several processes. A deadlock of ranks of several processes is found once every rank of
    /// every process has ended or sleeps. Under a launcher a usage error, such as a world of 0 ranks, a bad tuning file or
    /// a bad transport, is told once all processes open their world. `docs/cluster.md` says more.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::{Spread, World, op};
    ///
    /// // On two nodes: mpirun -n 2 --map-by node program
    /// let sums = World::new(4).spread(Spread::Auto).run(|comm| {
    ///     let mut sum = [1];
    ///     comm.all_reduce(&mut sum, op::Sum)?;
    ///     assert_eq!(sum[0], 4 * comm.processes());
    ///     Ok(sum[0])
    /// })?;
    /// assert_eq!(sums.len(), 4);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    pub fn spread(mut self, spread: Spread) -> World {
        self.spread = spread;
        self
    }

    /// Makes a type known whose values may be sent to other processes. All processes do so before the world runs.
    ///
    /// # Panics
    ///
    /// Panics if the type is aligned to more than 16 bytes.
    ///
    /// # Examples
    ///
    /// See [`Plain`].
    #[track_caller]
    pub fn plain<T: Plain>(self) -> World {
        plain::know::<T>();
        self
    }
}

/// A world that this process has opened together with others.
pub(super) struct Joined {
    pub far: Arc<Far>,
    pub share: Share,
}

/// Opens the world together with the other processes, if it is spread. `lasts` as in [`Setup`](super::setup::Setup). With
/// `refusal`, or if no world over processes can be like that, it cannot open here, of which the others learn.
pub(super) fn join(
    world: &World,
    lasts: bool,
    refusal: Option<&Refused>,
) -> Result<Option<Joined>, Refused> {
    let Some(launched) = wanted(world).map_err(Refused::Usage)? else {
        return Ok(None);
    };
    let unfit = refused(world, lasts).map(|what| {
        Refused::Usage(format!(
            "{what}: not in a world that is spread over processes"
        ))
    });
    let opened = open(world, &launched, refusal.or(unfit.as_ref()));
    match unfit {
        Some(unfit) => Err(unfit),
        None => opened.map(Some),
    }
}

fn open(world: &World, launched: &Launched, refusal: Option<&Refused>) -> Result<Joined, Refused> {
    let cpus = Cpus::here();
    let hello = Hello {
        // Of what is refused nothing counts.
        ranks: if refusal.is_some() { 0 } else { world.ranks },
        machine: machine(),
        // Drawn by the standard library, for each process and each time.
        mark: RandomState::new().hash_one(std::process::id()),
        cpus: cpus.mask.clone(),
        refused: refusal.map(|refusal| refusal.to_string().into()),
    };
    let (far, all) = Far::open(launched, &hello).map_err(Refused::Usage)?;
    let on_node = |hello: &Hello| OnNode {
        machine: hello.machine,
        ranks: hello.ranks,
        cpus: hello.cpus.clone(),
    };
    let processes: Vec<OnNode> = all.iter().map(on_node).collect();
    let share = Share::of(&processes, far.process().0, cpus).among(&processes);
    Ok(Joined { far, share })
}

/// The launcher, if the world is to be spread.
fn wanted(world: &World) -> Result<Option<Launched>, String> {
    let found = match world.spread {
        Spread::Off => None,
        // A rank that opens a world of its own does so alone.
        Spread::Auto if unwind::is_rank() => None,
        Spread::Auto => launcher()?.filter(|found| found.processes != Some(1)),
        Spread::Must if unwind::is_rank() => {
            return Err("a rank cannot open a world that is spread over processes".into());
        }
        Spread::Must => Some(launcher()?.ok_or(
            "the world must be spread over processes, and no MPI launcher has started this one: run it with mpirun",
        )?),
    };
    Ok(found)
}

/// The launcher; the error if it has started several processes that cannot find each other.
fn launcher() -> Result<Option<Launched>, String> {
    let found = launched();
    match found.is_none().then(lacks_pmi).flatten() {
        Some(why) => Err(why),
        None => Ok(found),
    }
}

/// What of a world's settings other processes cannot take part in.
fn refused(world: &World, lasts: bool) -> Option<&'static str> {
    if lasts {
        Some("teams and seats")
    } else if world.chooser.is_some() {
        Some("a seed, and any other order of messages that is chosen")
    } else if world.buffering != Buffering::Unbounded {
        Some("limited buffering")
    } else if stand_in::of(world).is_some() {
        Some("a machine that stands in for this one (`World::machine`, or `RANKFOLD_MACHINE`)")
    } else {
        None
    }
}

/// A number for the machine that this process runs on: the same for all processes on it.
fn machine() -> u64 {
    let read = |path| fs::read_to_string(path).unwrap_or_default();
    let names = [
        read("/proc/sys/kernel/random/boot_id"),
        read("/proc/sys/kernel/hostname"),
    ];
    let bytes = names[if names[0].is_empty() { 1 } else { 0 }].bytes();
    // FNV-1a.
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
