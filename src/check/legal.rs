//! What one rank may do in one step, regardless of the others.

use super::CheckError;
use crate::Rank;
use crate::schedule::{Buffer, Lengths, LocalCopy, Region, Step};

/// A rank and a step, with the lengths of the rank's buffers.
#[derive(Clone, Copy)]
pub(super) struct RankStep {
    pub(super) ranks: usize,
    pub(super) rank: Rank,
    pub(super) step: usize,
    pub(super) lengths: Lengths,
}

impl RankStep {
    /// Checks that the step's ports, peers and regions are valid.
    pub(super) fn allows(self, step: &Step) -> Result<(), CheckError> {
        let (rank, number) = (self.rank, self.step);
        if let Some(what) = step.clash {
            return Err(CheckError::Clash {
                rank,
                step: number,
                what,
            });
        }
        step.local.map_or(Ok(()), |copy| self.allows_copy(copy))?;
        for transfer in step.send.into_iter().chain(step.recv) {
            self.allows_peer(transfer.peer)?;
        }
        step.send
            .map_or(Ok(()), |send| self.allows_region(send.region))?;
        step.recv
            .map_or(Ok(()), |recv| self.allows_write(recv.region))
    }

    fn allows_peer(self, peer: Rank) -> Result<(), CheckError> {
        let (rank, step, ranks) = (self.rank, self.step, self.ranks);
        if peer >= ranks {
            return Err(CheckError::NoSuchPeer {
                rank,
                step,
                peer,
                ranks,
            });
        }
        if peer == rank {
            return Err(CheckError::OwnPeer { rank, step });
        }
        Ok(())
    }

    fn allows_region(self, region: Region) -> Result<(), CheckError> {
        let (rank, step, length) = (self.rank, self.step, self.lengths.of(region.buffer));
        if region.end().is_none_or(|end| end > length) {
            return Err(CheckError::OutOfBounds {
                rank,
                step,
                region,
                length,
            });
        }
        if region.overlaps_itself() {
            return Err(CheckError::OverlapsItself { rank, step, region });
        }
        Ok(())
    }

    fn allows_write(self, region: Region) -> Result<(), CheckError> {
        let (rank, step) = (self.rank, self.step);
        if region.buffer == Buffer::Input {
            return Err(CheckError::WritesInput { rank, step, region });
        }
        self.allows_region(region)
    }

    fn allows_copy(self, copy: LocalCopy) -> Result<(), CheckError> {
        let LocalCopy { from, to, .. } = copy;
        self.allows_region(from)?;
        self.allows_write(to)?;
        if from.elements() != to.elements() || from.overlaps(&to) {
            let (rank, step) = (self.rank, self.step);
            return Err(CheckError::NoCopy {
                rank,
                step,
                from,
                to,
            });
        }
        Ok(())
    }
}
