//! Ranks on threads that the library does not start: those of a thread pool, of a test, the main thread.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;

use super::findings::Findings;
use super::outcome::Outcome;
use super::rank::Start;
use super::report::Report;
use super::setup::Setup;
use crate::Rank;
use crate::comm::Comm;
use crate::engine::is_inside;
use crate::error::{Error, Gone, Result};
use crate::transport::Fabric;
use crate::transport::progress::live::Live;
use crate::unwind;

/// The seats of a world whose threads the caller provides; see [`World::connect`](crate::World::connect).
///
/// Take them [by number](Seats::take) from any thread, or all of them as an iterator.
///
/// # Examples
///
/// ```
/// use rankfold::{World, op};
///
/// let seats = World::connect(3);
/// std::thread::scope(|scope| {
///     for seat in seats {
///         scope.spawn(move || {
///             let comm = seat.enter();
///             let mut v = [comm.rank()];
///             comm.all_reduce(&mut v, op::Sum).unwrap();
///             assert_eq!(v, [3]);
///         });
///     }
/// });
/// ```
pub struct Seats {
    seats: Vec<Mutex<Option<Seat>>>,
    made: Option<Made>,
    /// Why there are no seats.
    refused: Option<String>,
}

impl fmt::Debug for Seats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Seats")
            .field("size", &self.size())
            .finish_non_exhaustive()
    }
}

/// The world of the seats.
struct Made {
    setup: Setup,
    fabric: Arc<Fabric>,
    begin: Instant,
}

impl Seats {
    pub(super) fn new(setup: Setup) -> Seats {
        let fabric = setup.fabric();
        let seat = |start| Mutex::new(Some(Seat { start: Some(start) }));
        Seats {
            seats: setup.starts(&fabric).into_iter().map(seat).collect(),
            made: Some(Made {
                setup,
                fabric,
                begin: Instant::now(),
            }),
            refused: None,
        }
    }

    /// The seats of a world that cannot start.
    pub(super) fn none(why: String) -> Seats {
        Seats {
            seats: Vec::new(),
            made: None,
            refused: Some(why),
        }
    }

    /// Returns the number of ranks of the world; 0 if it cannot start.
    pub fn size(&self) -> usize {
        self.seats.len()
    }

    /// Takes the seat of `rank`; each can be taken once.
    ///
    /// # Errors
    ///
    /// [`Usage`](crate::ErrorKind::Usage) if there is no such rank, if its seat is taken, or if the world cannot start;
    /// it then gives the reason.
    ///
    /// # Examples
    ///
    /// ```
    /// let seats = rankfold::World::connect(2);
    /// std::thread::scope(|scope| {
    ///     let spawn = |i: usize| { let seats = &seats; scope.spawn(move || seats.take(i).unwrap().enter().barrier()) };
    ///     let ranks = [spawn(0), spawn(1)];
    ///     assert!(ranks.into_iter().all(|rank| rank.join().unwrap().is_ok()));
    /// });
    /// assert!(seats.take(0).is_err());
    /// ```
    pub fn take(&self, rank: Rank) -> Result<Seat> {
        self.check()?;
        let seat = self.seats.get(rank);
        let seat =
            seat.ok_or_else(|| Error::usage(format!("seat {rank} is not one of {}", self.size())))?;
        seat.lock()
            .take()
            .ok_or_else(|| Error::usage(format!("seat {rank} is taken")))
    }

    /// Checks that the world can start.
    fn check(&self) -> Result<()> {
        match &self.refused {
            Some(why) => Err(Error::usage(why.clone())),
            None => Ok(()),
        }
    }

    /// Ends the rank of this thread: with an error, or as one that returned. The other ranks learn of it, and further
    /// calls of the rank fail. Its communicators may be leaked.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::{Outcome, Seats, World};
    ///
    /// let seats = World::connect(2);
    /// let failed = std::thread::scope(|scope| {
    ///     let one = scope.spawn(|| {
    ///         let comm = seats.take(0).unwrap().enter();
    ///         Seats::end(&comm, Some(&"no input"));
    ///     });
    ///     let other = scope.spawn(|| seats.take(1).unwrap().enter().recv::<u8>(0, 0).unwrap_err());
    ///     one.join().unwrap();
    ///     other.join().unwrap()
    /// });
    /// assert!(failed.to_string().contains("failed with \"no input\""));
    /// let outcomes = vec![Outcome::<(), _>::Failed("no input".to_string()), Outcome::Failed(failed.to_string())];
    /// assert_eq!(seats.report(outcomes).unwrap().culprit, Some(0));
    /// ```
    pub fn end(comm: &Comm, error: Option<&dyn fmt::Display>) {
        let text = error.map(ToString::to_string);
        let follows = text.as_deref().is_some_and(unwind::repeats) || unwind::follows();
        let why = text.map_or(Gone::Returned, |text| Gone::Failed(text.into()));
        comm.end(why, None, follows);
        comm.core.port.leave();
    }

    /// Reports how the ranks ended, as [`World::run_each`](crate::World::run_each) does, once all of them have: what each
    /// returned is known to the caller.
    ///
    /// # Errors
    ///
    /// [`Usage`](crate::ErrorKind::Usage) if there is not one outcome for each rank, if a rank has not ended or
    /// its communicators are still there (unless [`end`](Self::end) has ended it), or if the world cannot start; it then
    /// gives the reason.
    pub fn report<R, E: fmt::Display>(&self, outcomes: Vec<Outcome<R, E>>) -> Result<Report<R, E>> {
        self.check()?;
        let made = self.made.as_ref().filter(|_| outcomes.len() == self.size());
        let made = made.ok_or_else(|| Error::usage("a report takes one outcome for each rank"))?;
        let Made {
            setup,
            fabric,
            begin,
        } = made;
        if let Some(rank) = (0..self.size()).find(|rank| !fabric.has_emptied(*rank)) {
            let why = match fabric.is_there(rank) {
                true => "has not ended",
                false => "has ended, and its communicator is still there: drop it first",
            };
            return Err(Error::usage(format!("rank {rank} {why}")));
        }
        let (placement, wall) = (setup.placement([]), begin.elapsed());
        let findings = Findings::read(&outcomes, setup, fabric, placement, wall);
        Ok(Report::new(outcomes, findings))
    }
}

impl IntoIterator for Seats {
    type Item = Seat;
    type IntoIter = std::vec::IntoIter<Seat>;

    fn into_iter(self) -> Self::IntoIter {
        let left: Vec<Seat> = self
            .seats
            .into_iter()
            .filter_map(Mutex::into_inner)
            .collect();
        left.into_iter()
    }
}

/// The seat of one rank: [enter](Seat::enter) it on the thread that will be the rank.
///
/// A seat that is dropped unused counts as a rank that has returned: no rank waits for it.
#[must_use = "a seat that is dropped is a rank that has left"]
pub struct Seat {
    start: Option<Start>,
}

impl fmt::Debug for Seat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Seat")
            .field("rank", &self.rank())
            .finish_non_exhaustive()
    }
}

impl Seat {
    /// Returns the rank of this seat.
    pub fn rank(&self) -> Rank {
        self.start.as_ref().map_or(0, |start| start.rank)
    }

    /// Makes this thread the rank, until the [`Comm`] is dropped or the thread ends.
    ///
    /// # Panics
    ///
    /// Panics if this thread already is a rank of the same world; [`try_enter`](Self::try_enter) returns that as an
    /// error.
    #[track_caller]
    pub fn enter(self) -> Comm {
        match self.try_enter() {
            Ok(comm) => comm,
            Err(error) => panic!("{error}"),
        }
    }

    /// [`enter`](Self::enter) with an error instead of a panic. The seat then counts as dropped.
    ///
    /// # Errors
    ///
    /// [`Usage`](crate::ErrorKind::Usage) if this thread already is a rank of the same world: one of the two would wait
    /// while the other could never act.
    ///
    /// # Examples
    ///
    /// ```
    /// let seats = rankfold::World::connect(2);
    /// let comm = seats.take(0)?.try_enter()?;
    /// assert!(seats.take(1)?.try_enter().is_err()); // this thread is rank 0
    /// assert!(comm.barrier().is_err()); // and rank 1 has left
    /// # Ok::<(), rankfold::Error>(())
    /// ```
    pub fn try_enter(mut self) -> Result<Comm> {
        let twice = |start: &Start| is_inside(&start.fabric);
        if self.start.as_ref().is_some_and(twice) {
            let rank = self.rank();
            return Err(Error::usage(format!(
                "this thread already is a rank of this world, it cannot be rank {rank} too"
            )));
        }
        let start = self.start.take();
        let start = start.expect("a seat holds its rank until it is entered");
        Ok(Comm::enter(&start.fabric, start.rank, Some(Live::new(1))))
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        if let Some(start) = &self.start {
            start.fabric.record_return(start.rank);
        }
    }
}
