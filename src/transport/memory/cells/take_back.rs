//! Lines of a cell that readers have taken, requested before they are written.

use super::{CACHE_LINE, CellPort, place_of};
use crate::transport::memory::bytes::prefetch_to_write;

/// So few lines are not requested for writing: they come back as fast by the writes.
const FEW_LINES: usize = 3;

impl CellPort {
    /// Requests the lines of the next message for writing, as many as the last one in its place had: readers that were
    /// ahead may have taken them since they were [warmed](Self::warm_next). All come side by side.
    #[inline]
    pub(crate) fn take_back(&self) {
        let place = place_of(self.call);
        let lines = self.lines[place];
        if lines > FEW_LINES {
            let far = self.cells.columns[self.me].far(place);
            prefetch_to_write(far, (lines - 1) * CACHE_LINE);
        }
    }
}
