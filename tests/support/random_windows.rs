//! The windows of random programs: epochs of all ranks, of neighbours, locks and atomics. Several of them use one window
//! in turn, each in a place of its own.

use std::cell::RefCell;

use rankfold::{AtomicWindow, Comm, Rank, Result, Window, op};

use super::random::elements;

/// What all ranks do with the windows of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Epoch {
    /// Between fences every rank puts into the part of each, and adds to it; all read what has come.
    Fences { turns: usize },
    /// Each rank exposes its part to the rank `by` places down, which reads it and puts into it.
    Exposed { by: usize },
    /// Each rank takes the locks of all parts, to read.
    AllLocked,
    /// Each rank writes into the part `by` places up, and then reads its own.
    Passed { by: usize },
}

/// What one rank does with them at any time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Touch {
    /// Adds to a part under its lock, while it has the parts before it locked too.
    Add { part: Rank },
    /// Reads under a shared lock.
    Look { part: Rank },
    /// Adds to an atomic.
    Count { part: Rank },
}

/// The windows of a program. Element 0 of each part counts the touches; of the others, each rank has one,
/// and one more for what it puts in an exposure, which is written when the owner waits.
pub struct Windows {
    parts: RefCell<Window<u64>>,
    counters: AtomicWindow<u64>,
}

impl Windows {
    pub fn new(comm: &Comm) -> Result<Windows> {
        Ok(Windows {
            parts: RefCell::new(comm.window(vec![0; 1 + 2 * comm.size()])?),
            counters: AtomicWindow::new(comm, vec![0])?,
        })
    }

    pub fn touch(&self, touch: Touch) -> Result<()> {
        let parts = self.parts.borrow();
        match touch {
            Touch::Add { part } => {
                // In the order of the parts, so that no two ranks wait for each other.
                let before = (0..part).rev().step_by(2).collect::<Vec<_>>();
                let before = before.into_iter().rev().map(|rank| parts.lock_shared(rank));
                let _before = before.collect::<Result<Vec<_>>>()?;
                parts.lock_exclusive(part)?[0] += 1;
            }
            Touch::Look { part } => drop(parts.lock_shared(part)?),
            Touch::Count { part } => {
                self.counters.fetch_and_op(part, 0, 1, op::Sum)?;
            }
        }
        Ok(())
    }

    /// All ranks check how often each part was touched: to add, and to count.
    pub fn check(&self, touches: &[Touch]) -> Result<()> {
        self.counters.fence()?;
        let parts = self.parts.borrow();
        for rank in 0..parts.size() {
            let all = |wanted| touches.iter().filter(|touch| **touch == wanted).count() as u64;
            let added = parts.lock_shared(rank)?[0];
            assert_eq!(added, all(Touch::Add { part: rank }), "part {rank}");
            let counted = self.counters.get(rank, 0)?;
            assert_eq!(counted, all(Touch::Count { part: rank }), "counter {rank}");
        }
        Ok(())
    }

    pub fn epoch(&self, epoch: Epoch, id: u64) -> Result<()> {
        match epoch {
            Epoch::Fences { turns } => self.fences(turns, id),
            Epoch::Exposed { by } => self.exposed(by, id),
            Epoch::AllLocked => {
                let parts = self.parts.borrow();
                let all = parts.lock_all()?;
                assert_eq!(all.iter().count(), parts.size());
                Ok(())
            }
            Epoch::Passed { by } => self.passed(by, id),
        }
    }

    fn fences(&self, turns: usize, id: u64) -> Result<()> {
        let mut parts = self.parts.borrow_mut();
        let (n, me) = (parts.size(), parts.rank());
        let mut epoch = parts.fence()?;
        for turn in 0..turns {
            let mine = elements(id + turn as u64, me, n);
            for (rank, one) in mine.iter().enumerate() {
                epoch.put(rank, 1 + me, &[*one])?;
                epoch.accumulate(rank, 1 + me, &[1], op::Sum)?;
            }
            epoch.fence()?;
            for from in 0..n {
                let want = elements(id + turn as u64, from, n)[me] + 1;
                let read = epoch.read(me)?[1 + from];
                assert_eq!(read, want, "fence {id}");
                let other = (me + from) % n;
                let want = elements(id + turn as u64, from, n)[other] + 1;
                assert_eq!(epoch.read(other)?[1 + from], want, "fence {id}");
            }
        }
        epoch.close()
    }

    fn exposed(&self, by: usize, id: u64) -> Result<()> {
        let parts = self.parts.borrow();
        let (n, me) = (parts.size(), parts.rank());
        let (up, down) = ((me + by) % n, (me + n - by % n) % n);
        let mut exposure = parts.post(&[down])?;
        let access = parts.start(&[up])?;
        access.read(up)?;
        access.put(up, 1 + n + me, &elements(id, me, 1))?;
        access.complete()?;
        while id.is_multiple_of(4) && !exposure.test()? {}
        exposure.wait()?;
        if !id.is_multiple_of(3) {
            return Ok(());
        }
        // It puts there again only when this rank exposes its part again.
        let got = parts.lock_shared(me)?[1 + n + down];
        assert_eq!(got, elements(id, down, 1)[0], "exposure {id}");
        Ok(())
    }

    fn passed(&self, by: usize, id: u64) -> Result<()> {
        let parts = self.parts.borrow();
        let (n, me) = (parts.size(), parts.rank());
        let (up, down) = ((me + by) % n, (me + n - by % n) % n);
        parts.lock_exclusive(up)?[1 + me] = elements(id, me, 1)[0];
        self.counters.fence()?;
        let got = parts.local_mut()?[1 + down];
        assert_eq!(got, elements(id, down, 1)[0], "passed {id}");
        // Nobody writes there again before all have read.
        self.counters.fence()
    }
}
