//! The exposure of one rank's part of a window to some ranks, the origins: post, start, complete, wait.
//!
//! The owner posts the exposure and later waits until every origin is through. An origin starts once the owner has
//! posted, and completes. What frees another rank happens under the mutex; the rank that does it wakes the other one
//! after it.
//!
//! Exposures have numbers: an origin may be inside one that the owner has ended since, after an error, and completes
//! no later one.

use crate::Rank;
use crate::error::Site;
use crate::sync::Mutex;

/// How far an origin is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OriginStage {
    Awaited,
    Started,
    Completed,
}

/// The exposure of one part.
pub(crate) struct Exposure(Mutex<Exposed>);

struct Exposed {
    /// How often the part was exposed.
    count: u64,
    posted: Option<Posted>,
}

struct Posted {
    site: Site,
    origins: Vec<(Rank, OriginStage)>,
}

impl Posted {
    fn stage(&mut self, origin: Rank) -> Option<&mut OriginStage> {
        let mut origins = self.origins.iter_mut();
        origins
            .find(|(rank, _)| *rank == origin)
            .map(|(_, stage)| stage)
    }
}

impl Exposed {
    /// An origin's stage in the exposure of this number, if that has not ended.
    fn stage(&mut self, origin: Rank, number: u64) -> Option<&mut OriginStage> {
        let posted = self.posted.as_mut().filter(|_| self.count == number);
        posted?.stage(origin)
    }
}

impl Exposure {
    pub(crate) fn new() -> Self {
        Exposure(Mutex::new(Exposed {
            count: 0,
            posted: None,
        }))
    }

    /// The owner exposes its part to these ranks. Returns the number of the exposure. The error is the line where it did
    /// so before and has not waited.
    pub(crate) fn post(&self, origins: &[Rank], site: Site) -> Result<u64, Site> {
        let mut exposed = self.0.lock();
        if let Some(earlier) = &exposed.posted {
            return Err(earlier.site);
        }
        let origins = origins
            .iter()
            .map(|&rank| (rank, OriginStage::Awaited))
            .collect();
        exposed.posted = Some(Posted { site, origins });
        exposed.count += 1;
        Ok(exposed.count)
    }

    /// An origin begins, if the owner has posted for it. Returns the number of the exposure.
    pub(crate) fn start(&self, origin: Rank) -> Option<u64> {
        let mut exposed = self.0.lock();
        let stage = exposed.posted.as_mut()?.stage(origin)?;
        if *stage != OriginStage::Awaited {
            return None;
        }
        *stage = OriginStage::Started;
        Some(exposed.count)
    }

    /// An origin that has started, and accessed nothing, may start anew.
    pub(crate) fn withdraw(&self, origin: Rank, number: u64) {
        self.step(origin, number, OriginStage::Awaited);
    }

    /// An origin that has started is through.
    pub(crate) fn complete(&self, origin: Rank, number: u64) {
        self.step(origin, number, OriginStage::Completed);
    }

    fn step(&self, origin: Rank, number: u64, next: OriginStage) {
        if let Some(stage) = self.0.lock().stage(origin, number)
            && *stage == OriginStage::Started
        {
            *stage = next;
        }
    }

    /// The origins that are not through.
    pub(crate) fn incomplete(&self) -> Vec<Rank> {
        let exposed = self.0.lock();
        let origins = exposed.posted.iter().flat_map(|posted| &posted.origins);
        let open = origins.filter(|(_, stage)| *stage != OriginStage::Completed);
        open.map(|(rank, _)| *rank).collect()
    }

    /// The owner ends the exposure.
    pub(crate) fn end(&self) {
        self.0.lock().posted = None;
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::panic::Location;

    #[test]
    fn an_exposure_ends_when_each_origin_has_started_and_completed_once() {
        let (exposure, site) = (Exposure::new(), Location::caller());
        assert_eq!(exposure.start(1), None);
        assert_eq!(exposure.post(&[1, 3], site), Ok(1));
        assert_eq!(exposure.post(&[2], site), Err(site));
        assert_eq!((exposure.start(2), exposure.start(3)), (None, Some(1)));
        assert_eq!(exposure.start(3), None);
        exposure.complete(3, 1);
        exposure.complete(2, 1);
        exposure.complete(1, 1); // it has not started
        assert_eq!(exposure.incomplete(), [1]);
        assert_eq!(exposure.start(1), Some(1));
        exposure.withdraw(1, 1);
        assert_eq!(exposure.start(1), Some(1));
        exposure.complete(1, 1);
        assert!(exposure.incomplete().is_empty());
        exposure.end();
        assert_eq!(exposure.post(&[], site), Ok(2));
    }

    #[test]
    fn an_origin_of_an_exposure_that_has_ended_does_not_complete_the_next() {
        let (exposure, site) = (Exposure::new(), Location::caller());
        assert_eq!(exposure.post(&[1], site), Ok(1));
        assert_eq!(exposure.start(1), Some(1));
        exposure.end();
        exposure.complete(1, 1);
        assert_eq!(exposure.post(&[1], site), Ok(2));
        exposure.complete(1, 1);
        assert_eq!(exposure.start(1), Some(2));
        exposure.complete(1, 1);
        assert_eq!(exposure.incomplete(), [1]);
    }
}
