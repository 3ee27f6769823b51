//! The state that all ranks of a world share: their endpoints, the registry of waits, the communicators.

mod communicators;
mod settings;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize};

use crossbeam_utils::CachePadded;

use crate::Rank;
use crate::error::{Site, on};
use crate::names::Transport;
use crate::sync::{AtomicU32, AtomicU64, Mutex, Ordering, Parker};
use crate::transport::communicator::members::Members;
use crate::transport::communicator::shared::CommShared;
use crate::transport::deadlock::registry::Registry;
use crate::transport::deadlock::scheduler::Scheduler;
use crate::transport::endpoint::Endpoint;
use crate::transport::memory::copy_claims::CopyClaims;
use crate::transport::memory::eager_limit::Charge;
use crate::transport::memory::head::CONTEXTS;
use crate::transport::memory::lenders::Lenders;
use crate::transport::memory::loan::LoanWord;
use crate::transport::memory::packet::Packet;
use crate::transport::port::Port;
#[cfg(feature = "mpi")]
use crate::transport::processes::Far;
use crate::transport::trace::clock::Clock;
use crate::transport::trace::origin::{Former, Origin};
use crate::transport::trace::record::Record;
use crate::transport::trace::recorder::Recorder;
use crate::transport::wakeup::sleeper::RunNumber;
use crate::unwind;
pub use settings::Fault;
pub(crate) use settings::Settings;

/// Everything that the ranks of one world share.
pub(crate) struct Fabric {
    pub(in crate::transport) endpoints: Arc<[Arc<Endpoint>]>,
    /// Lock it with [`open_registry`](Self::open_registry).
    pub(in crate::transport) registry: Mutex<Registry>,
    /// Number of ranks that have gone to sleep with an entry in the registry.
    pub(in crate::transport) waiting: CachePadded<AtomicU32>,
    /// Whether a rank has ended in this run or a communicator has broken, for ranks that
    /// [yield for long](crate::transport::progress::yielding).
    pub(in crate::transport) has_ends: AtomicBool,
    /// The communicator of all ranks.
    pub(crate) all: Arc<CommShared>,
    /// All communicators that are still held, or that have something to report.
    pub(in crate::transport) comms: parking_lot::Mutex<Vec<Arc<CommShared>>>,
    /// Number of communicators that their last rank has let go since the last look for them.
    pub(in crate::transport) released: AtomicUsize,
    /// The names of forgotten communicators. Locked after `comms` where both are locked.
    pub(in crate::transport) former: parking_lot::Mutex<Former>,
    /// The next unused context.
    pub(in crate::transport) contexts: std::sync::atomic::AtomicU32,
    pub(crate) settings: Settings,
    pub(in crate::transport) present: CachePadded<Present>,
    /// The clock of the first run.
    pub(in crate::transport) clock: Clock,
    /// The ranks in other processes, if there are any.
    #[cfg(feature = "mpi")]
    pub(in crate::transport) far: Option<Arc<Far>>,
    /// Present in controlled worlds only.
    pub(in crate::transport) scheduler: Option<Scheduler>,
    /// Requests that were neither waited for nor cancelled.
    pub(crate) unfinished: parking_lot::Mutex<Vec<Unfinished>>,
    /// Whether a panic of this world has been printed.
    pub(crate) printed: Arc<AtomicBool>,
}

/// The state of the present run, in a cache line of its own: ranks read it, and nothing writes it while they run.
pub(in crate::transport) struct Present {
    pub(in crate::transport) run: crate::transport::wakeup::sleeper::Present,
    /// When the run began, as a [note](Clock::note) of the clock.
    pub(in crate::transport) begin: AtomicU64,
}

/// A request of a rank that was neither waited for nor cancelled.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unfinished {
    /// The rank that made the request.
    pub rank: Rank,
    /// The call that made it, as it prints.
    pub call: String,
    /// The source line of that call.
    pub site: Site,
    /// The communicator, as `dup of world at src/main.rs:7:20`; `None`: the world.
    pub comm: Option<Arc<str>>,
}

impl fmt::Display for Unfinished {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Unfinished {
            rank, call, site, ..
        } = self;
        write!(
            f,
            "rank {rank}, {call} at {site}{}",
            on(self.comm.as_deref())
        )
    }
}

impl Fabric {
    /// A fabric for `ranks` ranks.
    pub(crate) fn new(ranks: usize, settings: Settings) -> Arc<Fabric> {
        Arc::new(Fabric::alone(ranks, settings))
    }

    /// A fabric for the ranks of this process and those of others.
    #[cfg(feature = "mpi")]
    pub(crate) fn spread(far: Arc<Far>, settings: Settings) -> Arc<Fabric> {
        let mut fabric = Fabric::alone(far.ranks(), settings);
        let (ranks, spans) = (far.ranks(), far.near.len() < far.ranks());
        let (members, origin) = (Members::All(ranks), Origin::world());
        fabric.all = CommShared::new(0, members, origin, &fabric.endpoints, spans);
        fabric.comms = parking_lot::Mutex::new(vec![fabric.all.clone()]);
        fabric.contexts = std::sync::atomic::AtomicU32::new(far.first_context());
        fabric.far = Some(far.clone());
        far.begin(Some(&fabric));
        Arc::new(fabric)
    }

    fn alone(ranks: usize, settings: Settings) -> Fabric {
        crate::transport::wakeup::fences::prepare();
        let endpoint = |_| Arc::new(Endpoint::new(Parker::new()));
        let endpoints: Arc<[_]> = (0..ranks).map(endpoint).collect();
        let clock = Clock::new();
        let present = CachePadded::new(Present {
            run: crate::transport::wakeup::sleeper::Present::new(),
            begin: AtomicU64::new(clock.note()),
        });
        let all = CommShared::new(0, Members::All(ranks), Origin::world(), &endpoints, false);
        Fabric {
            endpoints,
            waiting: CachePadded::new(AtomicU32::new(0)),
            has_ends: Default::default(),
            printed: Arc::default(),
            registry: Mutex::new(Registry::new(ranks)),
            comms: parking_lot::Mutex::new(vec![all.clone()]),
            released: AtomicUsize::new(0),
            former: Default::default(),
            contexts: std::sync::atomic::AtomicU32::new(CONTEXTS),
            all,
            scheduler: settings
                .chooser
                .clone()
                .map(|chooser| Scheduler::new(chooser, ranks)),
            settings,
            unfinished: Default::default(),
            present,
            clock,
            #[cfg(feature = "mpi")]
            far: None,
        }
    }

    /// The clock of the current run.
    pub(crate) fn clock(&self) -> Clock {
        // Relaxed: it changes only while no rank runs.
        let begin = self.present.begin.load(Ordering::Relaxed);
        self.clock.beginning(begin)
    }

    #[inline]
    pub(in crate::transport) fn run(&self) -> RunNumber {
        self.present.run.run()
    }

    /// The first injected fault of rank `me` after its first `after` operations.
    pub(crate) fn next_fault(&self, me: Rank, after: u64) -> (u64, Fault) {
        let faults = self.settings.faults.iter();
        let mine = faults.filter(|(rank, at, _)| *rank == me && *at > after);
        let next = mine.min_by_key(|(_, at, _)| *at);
        next.map_or((u64::MAX, Fault::Error), |&(_, at, fault)| (at, fault))
    }

    /// What each rank has done: operations begun, messages of elements sent, their bytes, sleeps, nanoseconds waited.
    pub(crate) fn tallies(&self) -> impl Iterator<Item = [u64; 5]> {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let endpoints = self.endpoints.iter();
        endpoints.map(move |endpoint| endpoint.tally.counts().map(read))
    }

    /// Takes the port of `rank`; at most once for each rank.
    ///
    /// # Panics
    ///
    /// If the port has been taken already.
    pub(crate) fn port(self: &Arc<Self>, rank: Rank) -> Port {
        let parker = self.endpoints[rank].parker.lock().take();
        let parker = parker.expect("a rank has one port");
        Port::new(
            self.clone(),
            rank,
            parker,
            self.endpoints[rank]
                .inbox()
                .controlled(self.is_controlled()),
        )
    }

    /// Number of ranks in the world.
    #[cfg(all(unix, feature = "signal"))]
    pub(crate) fn ranks(&self) -> usize {
        self.endpoints.len()
    }

    /// The record of each rank, if it has one. A rank creates its record when it enters.
    pub(crate) fn records(&self) -> impl Iterator<Item = Option<Arc<Record>>> {
        self.endpoints
            .iter()
            .map(|endpoint| endpoint.record.get().cloned())
    }

    /// The recorder of `rank`. It records nothing unless the settings ask for it.
    pub(in crate::transport) fn recorder(&self, rank: Rank) -> Recorder {
        let Settings { record, trace, .. } = self.settings;
        let new = || Arc::new(Record::new(record, trace));
        let wanted = (record || trace).then(|| self.endpoints[rank].record.get_or_init(new));
        Recorder::new(wanted.cloned(), self.clock())
    }

    /// Posts a packet and wakes its receiver if it sleeps. Returns whether the receiver had not ended before the post.
    #[inline]
    pub(crate) fn post(&self, to: Rank, packet: Packet) -> bool {
        if let Some(scheduler) = &self.scheduler {
            scheduler.posted(to, packet.head);
        }
        if self.is_far(to) {
            return self.post_far(to, packet);
        }
        let endpoint = &self.endpoints[to];
        // Checked before the post: after it the receiver may have taken the packet and ended successfully.
        let there = !endpoint.sleeper.is_gone(self.run());
        // The receiving end lives as long as the endpoint, so a send cannot fail.
        let _ = endpoint.mail.send(packet);
        endpoint.sleeper.rouse();
        there
    }

    /// Reserves buffer space for a message to `to`; `None`: there is none, and the sender must wait until it is
    /// received.
    pub(crate) fn charge(&self, to: Rank, limit: u64, bytes: usize) -> Option<Charge> {
        self.endpoints[to].account.charge(limit, bytes)
    }

    /// Whether all messages go over channels.
    #[inline]
    pub(crate) fn is_over_channels(&self) -> bool {
        self.settings.transport == Transport::Channels
    }

    /// Checks in debug builds that no memory has carried data in a world whose transport is channels.
    pub(crate) fn assert_transport(&self, by_memory: impl FnOnce() -> Vec<&'static str>) {
        if cfg!(debug_assertions) && self.is_over_channels() {
            let found = by_memory();
            assert!(found.is_empty(), "over channels, {found:?} carried data");
        }
    }

    /// Whether the world has more ranks than CPUs.
    #[inline]
    pub(crate) fn is_crowded(&self) -> bool {
        self.near().len() > self.settings.planned
    }

    /// Whether a rank has not ended.
    #[inline]
    pub(crate) fn is_there(&self, rank: Rank) -> bool {
        !self.endpoints[rank].sleeper.is_gone(self.run())
    }

    /// Leaves a packet at the endpoint of a rank that has ended, for [`leftovers`](Self::leftovers).
    pub(in crate::transport) fn put_back(&self, rank: Rank, packet: Packet) {
        // The receiving end lives as long as the endpoint, so a send cannot fail.
        let _ = self.endpoints[rank].mail.send(packet);
    }

    /// The messages that were never received, rank by rank, once all ranks have ended.
    pub(crate) fn leftovers(&self) -> Vec<(Rank, Packet)> {
        let mut left = Vec::new();
        for (rank, endpoint) in self.endpoints.iter().enumerate() {
            for packet in endpoint.inbox().drain(self) {
                left.push((rank, packet));
            }
        }
        for comm in self.comms() {
            for (to, packet) in comm.lanes.drain() {
                if !packet.is_dead(self) {
                    left.push((comm.members.world(to), packet));
                }
            }
        }
        left.extend(self.left_by_far());
        left
    }
}

impl Drop for Fabric {
    /// Drops the messages that were never received one by one: a user's destructor that panics stops nothing else.
    fn drop(&mut self) {
        for endpoint in self.endpoints.iter() {
            let mut incoming = endpoint.incoming();
            while let Some(packet) = incoming.pop() {
                unwind::drop_quietly(packet);
            }
        }
    }
}

impl Lenders for Fabric {
    #[inline]
    fn word(&self, lender: Rank) -> &LoanWord {
        &self.endpoints[lender].loan
    }

    #[inline]
    fn claims(&self, lender: Rank) -> &CopyClaims {
        &self.endpoints[lender].claims
    }

    fn settled(&self, lender: Rank) {
        if self.is_far(lender) {
            return self.settled_far();
        }
        self.endpoints[lender].sleeper.rouse();
    }
}
