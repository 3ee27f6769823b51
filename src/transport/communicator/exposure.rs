//! The exposure of one rank's part of a window to some ranks, the origins: post, start, complete, wait.
//!
//! The owner posts the exposure and later waits until every origin is through. An origin starts once the owner has
//! posted, and completes. What frees another rank happens under the mutex; the rank that does it wakes the other one
//! after it.

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
pub(crate) struct Exposure(Mutex<Option<Posted>>);

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

impl Exposure {
    pub(crate) fn new() -> Self {
        Exposure(Mutex::new(None))
    }

    /// The owner exposes its part to these ranks. The error is the line where it did so before and has not waited.
    pub(crate) fn post(&self, origins: &[Rank], site: Site) -> Result<(), Site> {
        let mut posted = self.0.lock();
        if let Some(earlier) = &*posted {
            return Err(earlier.site);
        }
        let origins = origins
            .iter()
            .map(|&rank| (rank, OriginStage::Awaited))
            .collect();
        *posted = Some(Posted { site, origins });
        Ok(())
    }

    /// An origin begins, if the owner has posted for it.
    pub(crate) fn start(&self, origin: Rank) -> Option<()> {
        let mut posted = self.0.lock();
        let stage = posted.as_mut()?.stage(origin)?;
        (*stage == OriginStage::Awaited).then(|| *stage = OriginStage::Started)
    }

    /// An origin that has started is through.
    pub(crate) fn complete(&self, origin: Rank) {
        let mut posted = self.0.lock();
        if let Some(stage) = posted.as_mut().and_then(|posted| posted.stage(origin)) {
            *stage = OriginStage::Completed;
        }
    }

    /// The origins that are not through.
    pub(crate) fn incomplete(&self) -> Vec<Rank> {
        let posted = self.0.lock();
        let origins = posted.iter().flat_map(|posted| &posted.origins);
        let open = origins.filter(|(_, stage)| *stage != OriginStage::Completed);
        open.map(|(rank, _)| *rank).collect()
    }

    /// The owner ends the exposure.
    pub(crate) fn end(&self) {
        *self.0.lock() = None;
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
        assert_eq!(exposure.post(&[1, 3], site), Ok(()));
        assert_eq!(exposure.post(&[2], site), Err(site));
        assert_eq!((exposure.start(2), exposure.start(3)), (None, Some(())));
        assert_eq!(exposure.start(3), None);
        exposure.complete(3);
        exposure.complete(2);
        assert_eq!(exposure.incomplete(), [1]);
        assert_eq!(exposure.start(1), Some(()));
        exposure.complete(1);
        assert!(exposure.incomplete().is_empty());
        exposure.end();
        assert_eq!(exposure.post(&[], site), Ok(()));
    }
}
