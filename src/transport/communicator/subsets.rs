//! The agreement by which some members of a communicator make a communicator of their own, without the others.
//!
//! A member comes with the list of all who are to come. The last to come makes the communicator; the others find it.
//! Two lists differ for certain once each waits for a rank that has come to the other: then both end with the mismatch.
//! What happens to a meeting happens when a member comes or leaves, under the lock; whoever does that wakes the others.

use std::sync::Arc;

use crate::Rank;
use crate::error::{Mismatch, Site};
use crate::sync::Mutex;

/// The meetings of one communicator that are not over. `C` is a communicator.
pub(crate) struct Subsets<C>(Mutex<Meetings<C>>);

struct Meetings<C> {
    meetings: Vec<Meeting<C>>,
    /// The number of the next meeting.
    next: u64,
}

/// One meeting.
struct Meeting<C> {
    number: u64,
    list: Arc<[Rank]>,
    come: Vec<Caller>,
    led_to: Option<LedTo<C>>,
}

/// A rank that has come, and its call.
#[derive(Clone)]
pub(crate) struct Caller {
    pub rank: Rank,
    pub site: Site,
    pub list: Arc<[Rank]>,
}

/// The end of a meeting.
pub(crate) enum LedTo<C> {
    Made(Arc<C>),
    Differs(Arc<Mismatch>),
}

impl<C> Clone for LedTo<C> {
    fn clone(&self) -> Self {
        match self {
            LedTo::Made(made) => LedTo::Made(made.clone()),
            LedTo::Differs(mismatch) => LedTo::Differs(mismatch.clone()),
        }
    }
}

impl<C> Meeting<C> {
    fn has(&self, rank: Rank) -> bool {
        self.come.iter().any(|caller| caller.rank == rank)
    }

    fn missing(&self) -> Vec<Rank> {
        let all = self.list.iter().copied();
        all.filter(|rank| !self.has(*rank)).collect()
    }

    /// Whether a rank that has come here is on the list of the other.
    fn is_awaited_by(&self, other: &Meeting<C>) -> bool {
        self.come.iter().any(|one| other.list.contains(&one.rank))
    }
}

impl<C> Subsets<C> {
    pub(crate) fn new() -> Self {
        Subsets(Mutex::new(Meetings {
            meetings: Vec::new(),
            next: 0,
        }))
    }

    /// Comes to the meeting of a list, and returns its number. The last to come makes the communicator by `make`; who
    /// makes it certain that two lists differ describes that by `differ`.
    pub(crate) fn come(
        &self,
        caller: Caller,
        make: impl FnOnce() -> Arc<C>,
        differ: impl FnOnce(Vec<Caller>) -> Mismatch,
    ) -> u64 {
        let mut table = self.0.lock();
        let place = table.place_of(&caller);
        table.meetings[place].come.push(caller);
        if table.meetings[place].missing().is_empty() {
            table.meetings[place].led_to = Some(LedTo::Made(make()));
        } else {
            table.compare(place, differ);
        }
        table.meetings[place].number
    }

    /// What a meeting has led to.
    pub(crate) fn led_to(&self, number: u64) -> Option<LedTo<C>> {
        let table = self.0.lock();
        table.find(number)?.led_to.clone()
    }

    /// The ranks that are still to come.
    pub(crate) fn missing(&self, number: u64) -> Vec<Rank> {
        let table = self.0.lock();
        let meeting = table.find(number);
        let open = meeting.filter(|meeting| meeting.led_to.is_none());
        open.map(Meeting::missing).unwrap_or_default()
    }

    /// Leaves a meeting, and returns what it has led to: nothing if this rank gives up.
    pub(crate) fn leave(&self, number: u64, rank: Rank) -> Option<LedTo<C>> {
        let mut table = self.0.lock();
        let place = table.meetings.iter().position(|it| it.number == number)?;
        let meeting = &mut table.meetings[place];
        meeting.come.retain(|caller| caller.rank != rank);
        match meeting.come.is_empty() {
            true => table.meetings.swap_remove(place).led_to,
            false => meeting.led_to.clone(),
        }
    }
}

impl<C> Meetings<C> {
    fn find(&self, number: u64) -> Option<&Meeting<C>> {
        self.meetings.iter().find(|it| it.number == number)
    }

    /// The place of the meeting to which a rank comes with its list.
    fn place_of(&mut self, caller: &Caller) -> usize {
        let fits = |it: &Meeting<C>| it.led_to.is_none() && it.list == caller.list;
        if let Some(place) = self.meetings.iter().position(fits) {
            return place;
        }
        self.meetings.push(Meeting {
            number: self.next,
            list: caller.list.clone(),
            come: Vec::new(),
            led_to: None,
        });
        self.next += 1;
        self.meetings.len() - 1
    }

    /// Ends this meeting and those that it waits for and that wait for it, if there are any.
    fn compare(&mut self, place: usize, differ: impl FnOnce(Vec<Caller>) -> Mismatch) {
        let here = &self.meetings[place];
        let open = self.meetings.iter().enumerate();
        let open = open.filter(|(other, it)| *other != place && it.led_to.is_none());
        let crosses = open.filter(|(_, it)| it.is_awaited_by(here) && here.is_awaited_by(it));
        let mut all: Vec<usize> = crosses.map(|(other, _)| other).collect();
        if all.is_empty() {
            return;
        }
        all.push(place);
        let callers = all.iter().flat_map(|at| self.meetings[*at].come.clone());
        let mismatch = Arc::new(differ(callers.collect()));
        for at in all {
            self.meetings[at].led_to = Some(LedTo::Differs(mismatch.clone()));
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::panic::Location;

    fn caller(rank: Rank, list: &[Rank]) -> Caller {
        Caller {
            rank,
            site: Location::caller(),
            list: list.into(),
        }
    }

    fn come(subsets: &Subsets<u32>, rank: Rank, list: &[Rank]) -> u64 {
        let differ = |callers: Vec<Caller>| Mismatch {
            calls: Vec::new(),
            odd: callers.iter().map(|caller| caller.rank).collect(),
            comm: None,
        };
        subsets.come(caller(rank, list), || Arc::new(rank as u32), differ)
    }

    #[test]
    fn the_last_to_come_makes_what_all_find() {
        let subsets = Subsets::new();
        let first = come(&subsets, 4, &[4, 1, 2]);
        assert_eq!(subsets.missing(first), [1, 2]);
        assert_eq!(come(&subsets, 2, &[4, 1, 2]), first);
        assert!(subsets.led_to(first).is_none());
        assert_eq!(come(&subsets, 1, &[4, 1, 2]), first);
        // One that is fast comes again before the others have left.
        assert!(matches!(subsets.leave(first, 1), Some(LedTo::Made(made)) if *made == 1));
        let second = come(&subsets, 1, &[4, 1, 2]);
        assert_ne!(second, first);
        for rank in [4, 2] {
            assert!(matches!(subsets.leave(first, rank), Some(LedTo::Made(made)) if *made == 1));
        }
        assert!(subsets.led_to(first).is_none());
        assert!(subsets.leave(second, 1).is_none());
        assert!(subsets.0.lock().meetings.is_empty());
    }

    #[test]
    fn lists_differ_only_once_each_waits_for_the_other() {
        let subsets = Subsets::new();
        let one = come(&subsets, 0, &[0, 1, 2]);
        // Rank 1 may come to the first after this.
        let two = come(&subsets, 1, &[1, 3]);
        assert!(subsets.led_to(one).is_none() && subsets.led_to(two).is_none());
        let three = come(&subsets, 2, &[2, 0]);
        for (number, rank) in [(one, 0), (three, 2)] {
            let led = subsets.leave(number, rank);
            assert!(matches!(led, Some(LedTo::Differs(found)) if found.odd == [0, 2]));
        }
        assert!(subsets.led_to(two).is_none());
        assert_eq!(come(&subsets, 3, &[1, 3]), two);
        assert!(matches!(subsets.leave(two, 1), Some(LedTo::Made(_))));
        assert!(matches!(subsets.leave(two, 3), Some(LedTo::Made(_))));
        assert!(subsets.0.lock().meetings.is_empty());
    }
}
