//! Post, start, complete, wait: an epoch of some targets and some origins (generalised active target).

use std::fmt;
use std::mem;
use std::panic::Location;

use super::outbox::Outbox;
use super::waiting::{Shown, look_for, wait_for};
use super::{Window, refuse};
use crate::Rank;
use crate::comm::group::check_members;
use crate::error::{Error, Result, Site};
use crate::op::{Element, Operator};
use crate::transport::deadlock::past::SyncPoint;
use crate::transport::memory::puts::EpochEnd;
use crate::transport::memory::window::SharedElements;
use crate::transport::port::Port;

/// The exposure of the own part to some ranks; see [`Window::post`].
///
/// If it is dropped without [`wait`](Self::wait), the part remains exposed, and cannot be exposed again.
#[must_use = "it ends by `wait`"]
pub struct ExposureEpoch<'w, T: Element> {
    window: &'w Window<T>,
    number: u64,
    /// Whether a test has ended it.
    over: bool,
}

impl<T: Element> fmt::Debug for ExposureEpoch<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.window.comm.show(f, "ExposureEpoch")
    }
}

/// The access to the parts of some ranks; see [`Window::start`].
///
/// If it is dropped without [`complete`](Self::complete), what was put is lost, and the targets wait for a `complete`
/// that does not come: they get an error that names this rank.
#[must_use = "it ends by `complete`"]
pub struct AccessEpoch<'w, T: Element> {
    window: &'w Window<T>,
    targets: Vec<Target<'w, T>>,
    outbox: Outbox<T>,
}

impl<T: Element> fmt::Debug for AccessEpoch<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.window.comm.show(f, "AccessEpoch")
    }
}

/// A target's part, and the number of its exposure.
struct Target<'w, T: Element> {
    rank: Rank,
    exposure: u64,
    part: SharedElements<'w, T>,
}

impl<T: Element> Window<T> {
    /// Exposes the own part to these ranks, the origins, each of which [starts](Self::start) an access. It does not
    /// wait.
    ///
    /// # Errors
    ///
    /// [`Usage`](crate::ErrorKind::Usage) if there is no such rank, if one occurs twice, or if the part is exposed
    /// already.
    ///
    /// # Examples
    ///
    /// Each rank puts its number into its right neighbour's part, and only these two synchronise:
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// let parts = World::new(4).run(|comm| {
    ///     let (me, ranks) = (comm.rank(), comm.size());
    ///     let (left, right) = ((me + ranks - 1) % ranks, (me + 1) % ranks);
    ///     let win = comm.window(vec![0; 1])?;
    ///     let exposure = win.post(&[left])?;
    ///     let access = win.start(&[right])?;
    ///     access.put(right, 0, &[me])?;
    ///     access.complete()?;
    ///     exposure.wait()?;
    ///     Ok(win.local_mut()?[0])
    /// })?;
    /// assert_eq!(parts, [3, 0, 1, 2]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[doc(alias = "MPI_Win_post")]
    #[track_caller]
    pub fn post(&self, origins: &[Rank]) -> Result<ExposureEpoch<'_, T>> {
        let site = Location::caller();
        self.comm.op(site, &|| list("post", origins), || {
            check_members(origins, self.size())?;
            self.port().precede(|| self.posted(self.rank()));
            let posted = self.table.exposures[self.rank()].post(origins, site);
            let number = posted.map_err(exposed_already)?;
            self.part(self.rank())?.inbox.drop_before(number);
            origins
                .iter()
                .for_each(|rank| self.comm.shared.rouse(*rank));
            Ok(ExposureEpoch {
                window: self,
                number,
                over: false,
            })
        })
    }

    /// Begins an access to the parts of these ranks, the targets. It waits until each of them has
    /// [exposed](Self::post) its part to this rank.
    ///
    /// # Errors
    ///
    /// As [`lock_shared`](Self::lock_shared), and [`Usage`](crate::ErrorKind::Usage) if a rank occurs twice.
    #[doc(alias = "MPI_Win_start")]
    #[track_caller]
    pub fn start(&self, targets: &[Rank]) -> Result<AccessEpoch<'_, T>> {
        let (show, site) = (&|| list("start", targets), Location::caller());
        self.comm.op(site, show, || {
            check_members(targets, self.size())?;
            let call = Shown { show, site };
            let mut access = AccessEpoch {
                window: self,
                targets: Vec::with_capacity(targets.len()),
                outbox: Outbox::new(),
            };
            let begun = targets
                .iter()
                .try_for_each(|&target| access.begin(target, call));
            match begun {
                Ok(()) => Ok(access),
                Err(error) => {
                    access.withdraw();
                    Err(error)
                }
            }
        })
    }

    fn await_post(&self, target: Rank, call: Shown<'_>) -> Result<u64> {
        let (exposure, me, mut number) = (&self.table.exposures[target], self.rank(), None);
        let started = || {
            number = exposure.start(me);
            number.is_some()
        };
        wait_for(&self.comm, call, &|| vec![target], started)?;
        self.port().follow(|| self.posted(target));
        Ok(number.expect("the wait ends well after a start"))
    }

    /// Ends the exposure of the own part, through which all origins are, and writes what they have put.
    fn conclude(&self, number: u64, call: Shown<'_>) -> Result<()> {
        self.port().follow(|| self.completed(self.rank()));
        self.write_puts(EpochEnd::Exposure(number), call)
    }

    fn port(&self) -> &Port {
        &self.comm.core.port
    }

    fn posted(&self, part: Rank) -> SyncPoint {
        SyncPoint::Posted(self.comm.shared.context, part)
    }

    fn completed(&self, part: Rank) -> SyncPoint {
        SyncPoint::Completed(self.comm.shared.context, part)
    }
}

#[cold]
fn exposed_already(site: Site) -> Error {
    Error::usage(format!(
        "the part is exposed already, since {site}: wait for the end of that first"
    ))
}

impl<T: Element> ExposureEpoch<'_, T> {
    /// Waits until every origin has [completed](AccessEpoch::complete) its access, and writes what they have put.
    /// Returns at once if [`test`](Self::test) has ended the epoch.
    ///
    /// # Errors
    ///
    /// [`RankGone`](crate::ErrorKind::RankGone) if an origin has ended without that, and
    /// [`Deadlock`](crate::ErrorKind::Deadlock) if one waits for this rank; and those of a lock of the own part, if something
    /// was put there. The epoch is over after any error: what was put, or is put later by origins that have not completed
    /// their access, is lost, and the part can be exposed again.
    #[doc(alias = "MPI_Win_wait")]
    #[track_caller]
    pub fn wait(mut self) -> Result<()> {
        let (window, show, site) = (self.window, &|| "wait".into(), Location::caller());
        let exposure = &window.table.exposures[window.rank()];
        let waited = window.comm.op(site, show, || {
            if self.over {
                return Ok(());
            }
            let call = Shown { show, site };
            let through = || exposure.incomplete().is_empty();
            wait_for(&window.comm, call, &|| exposure.incomplete(), through)?;
            self.end();
            window.conclude(self.number, call)
        });
        // Also if the call was refused.
        self.end();
        waited
    }

    /// Ends the exposure, if that has not been done.
    fn end(&mut self) {
        if !mem::replace(&mut self.over, true) {
            self.window.table.exposures[self.window.rank()].end();
        }
    }

    /// Returns whether the epoch is over: it ends it, as [`wait`](Self::wait) does, if every origin has completed its
    /// access by now. It waits for no origin, but for ranks that have the part locked, if something was put there.
    ///
    /// # Errors
    ///
    /// As [`wait`](Self::wait), except for deadlocks with the origins: a rank that polls is running.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// let parts = World::new(2).run(|comm| {
    ///     let win = comm.window(vec![0; 1])?;
    ///     if comm.rank() == 1 {
    ///         let access = win.start(&[0])?;
    ///         access.put(0, 0, &[7])?;
    ///         access.complete()?;
    ///     } else {
    ///         let mut exposure = win.post(&[1])?;
    ///         while !exposure.test()? { /* ... other work ... */ }
    ///     }
    ///     Ok(win.local_mut()?[0])
    /// })?;
    /// assert_eq!(parts, [7, 0]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[doc(alias = "MPI_Win_test")]
    #[track_caller]
    pub fn test(&mut self) -> Result<bool> {
        let (window, show, site) = (self.window, &|| "test".into(), Location::caller());
        let exposure = &window.table.exposures[window.rank()];
        let tested = window.comm.op(site, show, || {
            let call = Shown { show, site };
            let through = || exposure.incomplete().is_empty();
            if self.over {
                return Ok(true);
            }
            if !look_for(&window.comm, call, &|| exposure.incomplete(), through)? {
                return Ok(false);
            }
            self.end();
            window.conclude(self.number, call).map(|()| true)
        });
        // Also if the call was refused.
        tested.inspect_err(|_| self.end())
    }
}

impl<T: Element> AccessEpoch<'_, T> {
    /// Waits until a target has exposed its part, and locks that.
    fn begin(&mut self, target: Rank, call: Shown<'_>) -> Result<()> {
        let number = self.window.await_post(target, call)?;
        let exposure = &self.window.table.exposures[target];
        let locked = self.window.shared(target, call);
        let part = locked.inspect_err(|_| exposure.withdraw(self.window.rank(), number))?;
        self.targets.push(Target {
            rank: target,
            exposure: number,
            part,
        });
        Ok(())
    }

    /// Gives up what was begun, so that it can be begun again.
    fn withdraw(self) {
        for Target { rank, exposure, .. } in &self.targets {
            self.window.table.exposures[*rank].withdraw(self.window.rank(), *exposure);
        }
    }

    /// Returns the part of a target.
    ///
    /// # Errors
    ///
    /// [`Usage`](crate::ErrorKind::Usage) if the rank is not one of the targets.
    #[track_caller]
    pub fn read(&self, target: Rank) -> Result<&[T]> {
        let show = || format!("read(part {target})");
        self.check_target(target, Location::caller(), &show)
    }

    /// Puts elements into the part of rank `target`, from its element `at` on. They are written when the target
    /// [waits](ExposureEpoch::wait).
    ///
    /// # Errors
    ///
    /// [`Usage`](crate::ErrorKind::Usage) if the rank is not one of the targets, or if the elements do not fit there.
    #[track_caller]
    pub fn put(&self, target: Rank, at: usize, elements: &[T]) -> Result<()> {
        let (site, place) = (Location::caller(), (target, at));
        self.check_target(target, site, &|| format!("put(part {target})"))?;
        self.outbox.put(self.window, place, elements, site)
    }

    /// Folds elements into the part of rank `target`; see [`FenceEpoch::accumulate`](super::FenceEpoch::accumulate).
    ///
    /// # Errors
    ///
    /// As [`put`](Self::put), and [`Usage`](crate::ErrorKind::Usage) for [`op::SumExact`](crate::op::SumExact).
    #[track_caller]
    pub fn accumulate(
        &self,
        target: Rank,
        at: usize,
        elements: &[T],
        op: impl Operator<T> + Send + 'static,
    ) -> Result<()> {
        let (site, place) = (Location::caller(), (target, at));
        self.check_target(target, site, &|| format!("accumulate(part {target})"))?;
        self.outbox
            .accumulate(self.window, place, elements, op, site)
    }

    /// Ends the access, and lets the targets go on. It does not wait.
    ///
    /// # Errors
    ///
    /// None of its own. If it is refused, inside an operator or by [`World::inject`](crate::World::inject), that is as if
    /// the epoch had been dropped.
    #[doc(alias = "MPI_Win_complete")]
    #[track_caller]
    pub fn complete(self) -> Result<()> {
        let (window, site) = (self.window, Location::caller());
        window.comm.op(site, &|| "complete".into(), || {
            let end = |rank| {
                let mut targets = self.targets.iter();
                let exposure = targets.find_map(|it| (it.rank == rank).then_some(it.exposure));
                EpochEnd::Exposure(exposure.expect("only targets are put into"))
            };
            self.outbox.deliver(window, end);
            for target in self.targets {
                drop(target.part);
                window.port().precede(|| window.completed(target.rank));
                window.table.exposures[target.rank].complete(window.rank(), target.exposure);
                window.comm.shared.rouse(target.rank);
            }
            Ok(())
        })
    }

    /// The part of a rank, which must be a target.
    fn check_target(&self, rank: Rank, site: Site, show: &dyn Fn() -> String) -> Result<&[T]> {
        match self.targets.iter().find(|target| target.rank == rank) {
            Some(target) => Ok(target.part.elements()),
            None => {
                let targets: Vec<Rank> = self.targets.iter().map(|target| target.rank).collect();
                let error = format!("rank {rank} is not one of the targets {targets:?}");
                refuse(&self.window.comm, site, show, Error::usage(error))
            }
        }
    }
}

/// A call with a list of ranks, as errors print it: the first ranks, and how many there are.
fn list(call: &str, ranks: &[Rank]) -> String {
    const SHOWN: usize = 16;
    match ranks.get(..SHOWN) {
        Some(first) if ranks.len() > SHOWN => {
            format!("{call}({first:?} and {} more)", ranks.len() - SHOWN)
        }
        _ => format!("{call}({ranks:?})"),
    }
}
