//! Runs a program in every order in which its messages can be received and its windows locked.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::chooser::Guide;
use super::order::{MessageOrder, ReceiveChoice};
use super::said::Said;
use super::trial::patience;
use crate::comm::Comm;
use crate::error::Result;
use crate::machine::Bind;
use crate::transport::deadlock::choice::noise;
use crate::world::{Team, World, WorldError};

/// Runs a program on `ranks` ranks in every order in which its receives from any source can take their messages, and in
/// which its ranks can lock windows. Where these are too many, it runs a thousand of them and another hundred drawn at random.
///
/// The short form of [`Explore::run`].
///
/// # Panics
///
/// Panics if a run fails, with its order and how to repeat it.
///
/// # Examples
///
/// ```should_panic
/// use rankfold::{Source, testing};
///
/// testing::explore(3, |comm| {
///     if comm.rank() > 0 {
///         return comm.send(0, 0, &[comm.rank()]);
///     }
///     let (first, _) = comm.recv::<usize>(Source::Any, 0)?;
///     comm.recv::<usize>(Source::Any, 0)?;
///     assert_eq!(first, [1]); // as it nearly always is
///     Ok(())
/// });
/// ```
#[track_caller]
pub fn explore<R: Send>(ranks: usize, f: impl Fn(&Comm) -> Result<R> + Sync) -> Explored {
    Explore::new(ranks).run(f)
}

/// The settings of an exploration.
///
/// A receive from any source takes one of the messages that can be there. An exploration tries each of these choices,
/// and so reaches every outcome of the program, once. Two runs differ in order if some receive takes another message, or
/// if two ranks lock a part in another order, of which one writes; the relative timing of receives on different ranks makes no difference.
///
/// Started collectives and requests take part: which of several requests is ready first is a choice. So do the locks of
/// windows, those inside their epochs too: which rank asks first for a lock is a choice, unless both ask to read. The
/// operations of an [`AtomicWindow`](crate::AtomicWindow) do not: their order is left to the scheduler of the threads,
/// and is not repeated by a seed.
///
/// Time is not explored. What looks without waiting finds a message or the end of a request if it can be there by then, and
/// not otherwise. [`wait_some`](crate::Request::wait_some) and [`test_some`](crate::Request::test_some) complete one
/// request at a time.
///
/// # Cost
///
/// One run for each order: k! for k messages that one rank receives from any source, or for k ranks that write under one
/// lock. Where several ranks do so and depend on each other, some additional runs are needed, which do not count as
/// orders. A program without such receives and locks has one order.
///
/// A rank that takes a message from any source or locks a part does so once all other ranks wait or have ended. So no rank
/// may wait for that one by other means than calls of rankfold: it must not poll an atomic of a window in a loop, or
/// block on a `std` barrier, until a rank has gone on that is about to lock. Such a run ends with its time limit.
///
/// # Examples
///
/// ```
/// use rankfold::{Source, testing::{Explore, MessageOrder}};
///
/// let found = Explore::new(3).find(|comm| {
///     if comm.rank() > 0 {
///         return comm.send(0, 0, &[comm.rank()]);
///     }
///     let (first, _) = comm.recv::<usize>(Source::Any, 0)?;
///     comm.recv::<usize>(Source::Any, 0)?;
///     assert_eq!(first, [1]);
///     Ok(())
/// });
/// let found = found.unwrap_err();
/// assert_eq!(found.order, MessageOrder::Choices(vec![1]));
/// assert_eq!((found.choices[0].rank, found.choices[0].took), (0, 2));
/// ```
#[derive(Clone, Debug)]
#[must_use = "nothing is explored until it is run"]
pub struct Explore {
    world: World,
    ranks: usize,
    runs: usize,
    seeds: usize,
    lenient: bool,
}

/// The result of an exploration without failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Explored {
    /// The number of different orders that were tried one by one, except those drawn at random.
    pub orders: u64,
    /// Whether these are all orders. Always false where a rank looked without waiting (as [`test`](crate::Request::test),
    /// [`is_done`](crate::Request::is_done) and [`iprobe`](Comm::iprobe) do), cancelled a request, or waited with a deadline,
    /// and where a wait was given up because a rank had failed: those depend on time, and are not tried both ways.
    pub complete: bool,
    /// The number of runs it took.
    pub runs: u64,
}

impl fmt::Display for Explored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (orders, s) = (self.orders, if self.orders == 1 { "" } else { "s" });
        match self.complete {
            true => write!(f, "{orders} order{s}, complete"),
            false => write!(f, "{orders} order{s}, not complete"),
        }
    }
}

/// An order in which the program fails.
#[non_exhaustive]
pub struct Found {
    /// The order, for [`Explore::repeat`] and `RANKFOLD_SEED`.
    pub order: MessageOrder,
    /// Why it failed.
    pub error: WorldError,
    /// Every receive from any source, and the message that it took; and every request for a lock.
    pub choices: Vec<ReceiveChoice>,
    /// The number of runs that succeeded before.
    pub after: u64,
    said: String,
}

/// An order in which a program fails that [`Explore::find_by`] runs.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FoundBy<E> {
    /// The order, for [`Explore::repeat_by`].
    pub order: MessageOrder,
    /// Why it failed.
    pub error: E,
    /// Every receive from any source, and the message that it took; and every request for a lock.
    pub choices: Vec<ReceiveChoice>,
    /// The number of runs that succeeded before.
    pub after: u64,
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.error)?;
        let (after, s) = (self.after, if self.after == 1 { "" } else { "s" });
        writeln!(f, "after {after} run{s} that went well, in this order:")?;
        for choice in &self.choices {
            writeln!(f, "  {choice}")?;
        }
        f.write_str(&self.said)?;
        write!(f, "RANKFOLD_SEED={} repeats it", self.order)
    }
}

impl fmt::Debug for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // `unwrap` prints this: the report serves better than the fields.
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Found {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.error.source()
    }
}

impl Explore {
    /// Creates an exploration with `ranks` ranks, in which lost messages are failures. It makes at most 1,000 runs to
    /// try all orders, then 100 runs with seeds if that was not enough.
    pub fn new(ranks: usize) -> Explore {
        Explore {
            world: World::new(ranks).bind(Bind::None).timeout(patience()),
            ranks,
            runs: 1000,
            seeds: 100,
            lenient: false,
        }
    }

    /// Changes the world in which the program runs, for example to inject faults or to set another
    /// [buffering](World::buffering).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::{Fault, testing::Explore};
    ///
    /// let explore = Explore::new(2).world(|world| world.inject(1, 1, Fault::Panic));
    /// assert!(explore.find(|comm| comm.barrier()).is_err());
    /// ```
    pub fn world(self, change: impl FnOnce(World) -> World) -> Explore {
        Explore {
            world: change(self.world),
            ..self
        }
    }

    /// Accepts lost messages.
    pub fn lenient(self) -> Explore {
        Explore {
            lenient: true,
            ..self
        }
    }

    /// Sets the maximum number of runs for trying all orders one by one.
    pub fn runs(self, runs: usize) -> Explore {
        Explore { runs, ..self }
    }

    /// Sets the number of seeds to try if not all orders were tried.
    pub fn seeds(self, seeds: usize) -> Explore {
        Explore { seeds, ..self }
    }

    /// Sets how long one wait may take; see [`World::timeout`].
    pub fn timeout(self, patience: Duration) -> Explore {
        self.world(|world| world.timeout(patience))
    }

    /// Explores, and panics at the first failure. If `RANKFOLD_SEED` is set, it runs only that order.
    ///
    /// # Panics
    ///
    /// Panics if a run fails, or if the program behaves differently when an order is repeated.
    #[track_caller]
    pub fn run<R: Send>(&self, f: impl Fn(&Comm) -> Result<R> + Sync) -> Explored {
        let explored = match MessageOrder::asked() {
            None => self.find(f),
            Some(order) => self.repeat(&order, f).map(|()| Explored {
                orders: 1,
                complete: false,
                runs: 1,
            }),
        };
        match explored {
            Ok(explored) => explored,
            Err(found) => panic!("{found}"),
        }
    }

    /// Explores until a run fails.
    ///
    /// # Errors
    ///
    /// The first order that fails.
    ///
    /// # Panics
    ///
    /// Panics if the world cannot start, or if the same choices lead to other choices when they are repeated: the
    /// program then depends on more than its messages.
    #[track_caller]
    pub fn find<R: Send>(
        &self,
        f: impl Fn(&Comm) -> Result<R> + Sync,
    ) -> Result<Explored, Box<Found>> {
        let guide = Arc::new(Guide::default());
        let mut session = self.begin(&guide);
        self.search(&guide, |order| session.run(order, &f))
    }

    /// Explores a program that is not a function of a communicator, such as one whose ranks are on
    /// [seats](crate::Seats): `run` runs it once, in the world that it is given.
    ///
    /// # Errors
    ///
    /// What `run` returned as an error, with the order of that run.
    ///
    /// # Panics
    ///
    /// As [`find`](Self::find).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::{Seat, Source, World, testing::{Explore, MessageOrder}};
    ///
    /// fn rank(seat: Seat) -> bool {
    ///     let comm = seat.enter();
    ///     match comm.rank() {
    ///         0 => comm.recv::<usize>(Source::Any, 0).unwrap().0 == [1],
    ///         me => comm.send(0, 0, &[me]).is_ok(),
    ///     }
    /// }
    ///
    /// let once = |world: &World| {
    ///     let threads: Vec<_> = world.seats().unwrap().into_iter().map(|seat| std::thread::spawn(|| rank(seat))).collect();
    ///     let well = threads.into_iter().all(|thread| thread.join().unwrap());
    ///     if well { Ok(()) } else { Err("the first message is not that of rank 1") }
    /// };
    /// let found = Explore::new(3).find_by(once).unwrap_err();
    /// assert_eq!(found.order, MessageOrder::Choices(vec![1]));
    /// assert!(Explore::new(3).repeat_by(&found.order, once).is_err());
    /// ```
    pub fn find_by<E>(
        &self,
        mut run: impl FnMut(&World) -> Result<(), E>,
    ) -> Result<Explored, FoundBy<E>> {
        let guide = Arc::new(Guide::default());
        let mut after = 0..;
        self.search(&guide, |order| {
            self.run_by(&guide, order, after.next().unwrap_or(0), &mut run)
        })
    }

    /// Runs one order of a program as [`find_by`](Self::find_by) does.
    ///
    /// # Errors
    ///
    /// What `run` returned as an error.
    pub fn repeat_by<E>(
        &self,
        order: &MessageOrder,
        mut run: impl FnMut(&World) -> Result<(), E>,
    ) -> Result<(), FoundBy<E>> {
        let guide = Arc::new(Guide::default());
        self.run_by(&guide, Some(order.clone()), 0, &mut run)
    }

    fn run_by<E>(
        &self,
        guide: &Arc<Guide>,
        order: Option<MessageOrder>,
        after: u64,
        run: &mut impl FnMut(&World) -> Result<(), E>,
    ) -> Result<(), FoundBy<E>> {
        guide.begin(order);
        let result = run(&self.controlled(guide));
        let (order, choices) = guide.end();
        result.map_err(|error| FoundBy {
            order,
            error,
            choices,
            after,
        })
    }

    /// Runs all orders one by one, and some that are drawn from seeds if those are too many. `run` runs one, or the next
    /// one of the search.
    fn search<E>(
        &self,
        guide: &Guide,
        mut run: impl FnMut(Option<MessageOrder>) -> Result<(), E>,
    ) -> Result<Explored, E> {
        let (mut orders, mut runs) = (0, 0);
        let all = loop {
            if runs >= self.runs as u64 {
                break false;
            }
            run(None)?;
            runs += 1;
            let (new, more) = guide.advance();
            orders += u64::from(new);
            if !more {
                break true;
            }
        };
        if !all || guide.has_passed() {
            for i in 0..self.seeds as u64 {
                run(Some(MessageOrder::Seed(noise(0, i) % 1_000_000)))?;
                runs += 1;
            }
        }
        Ok(Explored {
            orders,
            complete: all && !guide.has_passed() && !guide.has_looked(),
            runs,
        })
    }

    /// Runs one order.
    ///
    /// # Errors
    ///
    /// Returns the failure, if the run fails.
    ///
    /// # Panics
    ///
    /// Panics if the world cannot start.
    #[track_caller]
    pub fn repeat<R: Send>(
        &self,
        order: &MessageOrder,
        f: impl Fn(&Comm) -> Result<R> + Sync,
    ) -> Result<(), Box<Found>> {
        let guide = Arc::new(Guide::default());
        let mut session = self.begin(&guide);
        session.run(Some(order.clone()), &f)
    }

    /// The world of a run.
    fn controlled(&self, guide: &Arc<Guide>) -> World {
        let world = self.world.clone().controlled(guide.clone());
        match self.lenient {
            true => world,
            false => world.strict(),
        }
    }

    #[track_caller]
    fn begin<'g>(&self, guide: &'g Arc<Guide>) -> Exploration<'g> {
        let team = match self.controlled(guide).start() {
            Ok(team) => team,
            Err(error) => panic!("{error}"),
        };
        Exploration {
            team,
            guide,
            said: Said::new(self.ranks),
            runs: 0,
        }
    }
}

/// An exploration in progress, with the same threads for all its runs.
struct Exploration<'g> {
    team: Team,
    guide: &'g Guide,
    said: Said,
    runs: u64,
}

impl Exploration<'_> {
    /// Runs one order, or the next one of the search.
    fn run<R: Send>(
        &mut self,
        order: Option<MessageOrder>,
        f: &(impl Fn(&Comm) -> Result<R> + Sync),
    ) -> Result<(), Box<Found>> {
        self.guide.begin(order);
        self.said.forget();
        let said = &self.said;
        let report = self
            .team
            .try_run_each(|comm| said.by(comm.rank(), || f(comm)));
        let result = report.and_then(|report| report.judged());
        let (order, choices) = self.guide.end();
        let after = self.runs;
        self.runs += 1;
        let found = |error| {
            Box::new(Found {
                order,
                error,
                choices,
                after,
                said: said.to_string(),
            })
        };
        result.map(drop).map_err(found)
    }
}
