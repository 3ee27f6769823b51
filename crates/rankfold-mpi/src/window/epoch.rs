//! Which ranks a rank may access now, and how it comes to: fences, start and post, locks.
//!
//! Fences are barriers of the window's communicator; locks, starts and posts are those of a window of the engine without
//! elements. So the engine knows what each rank waits for, and reports ranks that can never go on.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::rc::Rc;

use rankfold::{Group, Source, Tag};

use super::Win;
use super::held::{self, Access, All, Exposure, Gate, Lock};
use crate::abi::*;
use crate::error::{Out, failure, require};

/// Whether a fence has opened an epoch.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fence {
    None,
    Open,
    /// It was accessed: another fence must end it.
    Used,
}

/// The epochs of one rank on one window.
pub(super) struct Epochs {
    gate: Rc<Gate>,
    fence: Cell<Fence>,
    locks: RefCell<BTreeMap<usize, Lock>>,
    all: RefCell<Option<All>>,
    access: RefCell<Option<(Access, Vec<usize>)>>,
    exposure: RefCell<Option<Exposure>>,
}

impl Epochs {
    pub(super) fn new(gate: Gate) -> Epochs {
        Epochs {
            gate: Rc::new(gate),
            fence: Cell::new(Fence::None),
            locks: RefCell::default(),
            all: RefCell::default(),
            access: RefCell::default(),
            exposure: RefCell::default(),
        }
    }
}

fn sync(holds: bool, text: impl FnOnce() -> String) -> Out {
    require(holds, MPI_ERR_RMA_SYNC, text)
}

/// Refuses assertions that a call does not take.
fn asserted(assert: c_int, known: &[c_int]) -> Out {
    let all = known.iter().fold(0, |all, one| all | one);
    require(assert & !all == 0, MPI_ERR_ASSERT, || {
        format!("{assert} is no assertion of this call")
    })
}

impl Win {
    fn locked(&self) -> bool {
        !self.epochs.locks.borrow().is_empty() || self.epochs.all.borrow().is_some()
    }

    fn started(&self) -> bool {
        self.epochs.access.borrow().is_some()
    }

    fn unlocked(&self) -> Out {
        sync(!self.locked(), || {
            "the window is locked: unlock it first".into()
        })
    }

    fn not_started(&self) -> Out {
        sync(!self.started(), || {
            "the access epoch of MPI_Win_start is open: call MPI_Win_complete first".into()
        })
    }

    fn fenced(&self) -> Out {
        sync(self.epochs.fence.get() != Fence::Used, || {
            "the window was accessed after MPI_Win_fence: call MPI_Win_fence again first".into()
        })
    }

    fn not_exposed(&self) -> Out {
        sync(self.epochs.exposure.borrow().is_none(), || {
            "the exposure epoch of MPI_Win_post is open: call MPI_Win_wait first".into()
        })
    }

    /// Lets the engine move on: a program may wait for others by accesses alone.
    pub(crate) fn poll(&self) -> Out {
        self.comm.iprobe(Source::Any, Tag::Is(0))?;
        Ok(())
    }

    pub(crate) fn fence(&self, assert: c_int) -> Out {
        let known = [
            MPI_MODE_NOSTORE,
            MPI_MODE_NOPUT,
            MPI_MODE_NOPRECEDE,
            MPI_MODE_NOSUCCEED,
        ];
        asserted(assert, &known)?;
        self.unlocked()?;
        self.not_started()?;
        self.not_exposed()?;
        sync(
            assert & MPI_MODE_NOPRECEDE == 0 || self.epochs.fence.get() != Fence::Used,
            || "MPI_MODE_NOPRECEDE says that the window was not accessed, and it was".into(),
        )?;
        self.comm.barrier()?;
        let over = assert & MPI_MODE_NOSUCCEED != 0;
        self.epochs
            .fence
            .set(if over { Fence::None } else { Fence::Open });
        Ok(())
    }

    pub(crate) fn lock(&self, kind: c_int, rank: c_int, assert: c_int) -> Out {
        let known = [MPI_LOCK_EXCLUSIVE, MPI_LOCK_SHARED].contains(&kind);
        require(known, MPI_ERR_LOCKTYPE, || {
            format!("{kind} is no kind of lock")
        })?;
        asserted(assert, &[MPI_MODE_NOCHECK])?;
        let Some(rank) = self.target(rank)? else {
            return Ok(());
        };
        self.not_started()?;
        self.fenced()?;
        let again = self.epochs.locks.borrow().contains_key(&rank);
        sync(!again, || format!("rank {rank} is locked already"))?;
        sync(self.epochs.all.borrow().is_none(), || {
            "all ranks are locked already".into()
        })?;
        let lock = match kind {
            MPI_LOCK_SHARED => Lock::shared(&self.epochs.gate, rank)?,
            _ => Lock::exclusive(&self.epochs.gate, rank)?,
        };
        self.epochs.fence.set(Fence::None);
        self.epochs.locks.borrow_mut().insert(rank, lock);
        Ok(())
    }

    pub(crate) fn unlock(&self, rank: c_int) -> Out {
        let Some(rank) = self.target(rank)? else {
            return Ok(());
        };
        let lock = self.epochs.locks.borrow_mut().remove(&rank);
        sync(lock.is_some(), || format!("rank {rank} is not locked"))?;
        drop(lock);
        self.poll()
    }

    pub(crate) fn lock_all(&self, assert: c_int) -> Out {
        asserted(assert, &[MPI_MODE_NOCHECK])?;
        self.not_started()?;
        self.fenced()?;
        self.unlocked()?;
        let all = held::lock_all(&self.epochs.gate)?;
        self.epochs.fence.set(Fence::None);
        *self.epochs.all.borrow_mut() = Some(all);
        Ok(())
    }

    pub(crate) fn unlock_all(&self) -> Out {
        let all = self.epochs.all.borrow_mut().take();
        sync(all.is_some(), || {
            "there is no epoch of MPI_Win_lock_all".into()
        })?;
        drop(all);
        self.poll()
    }

    /// The numbers that the ranks of a group have in the window.
    fn members(&self, group: &Group) -> Out<Vec<usize>> {
        let number = |rank| {
            self.group.rank_of(rank).ok_or_else(|| {
                let text =
                    format!("rank {rank} of MPI_COMM_WORLD is in the group, and not in {self}");
                failure(MPI_ERR_GROUP, text)
            })
        };
        group.world_ranks().map(number).collect()
    }

    pub(crate) fn start(&self, group: &Group, assert: c_int) -> Out {
        asserted(assert, &[MPI_MODE_NOCHECK])?;
        self.unlocked()?;
        self.not_started()?;
        self.fenced()?;
        let targets = self.members(group)?;
        let access = held::start(&self.epochs.gate, &targets)?;
        self.epochs.fence.set(Fence::None);
        *self.epochs.access.borrow_mut() = Some((access, targets));
        Ok(())
    }

    pub(crate) fn complete(&self) -> Out {
        let access = self.epochs.access.borrow_mut().take();
        let (access, _) = access.ok_or_else(|| {
            failure(
                MPI_ERR_RMA_SYNC,
                "there is no access epoch of MPI_Win_start",
            )
        })?;
        Ok(access.end(|access| access.complete())?)
    }

    pub(crate) fn post(&self, group: &Group, assert: c_int) -> Out {
        asserted(
            assert,
            &[MPI_MODE_NOCHECK, MPI_MODE_NOSTORE, MPI_MODE_NOPUT],
        )?;
        self.fenced()?;
        self.not_exposed()?;
        let origins = self.members(group)?;
        let exposure = held::post(&self.epochs.gate, &origins)?;
        *self.epochs.exposure.borrow_mut() = Some(exposure);
        Ok(())
    }

    fn exposed(&self) -> Out<Exposure> {
        let exposure = self.epochs.exposure.borrow_mut().take();
        exposure.ok_or_else(|| {
            failure(
                MPI_ERR_RMA_SYNC,
                "there is no exposure epoch of MPI_Win_post",
            )
        })
    }

    pub(crate) fn wait(&self) -> Out {
        Ok(self.exposed()?.end(|exposure| exposure.wait())?)
    }

    pub(crate) fn test(&self) -> Out<bool> {
        let mut exposure = self.exposed()?;
        let over = exposure.with(|exposure| exposure.test())?;
        match over {
            true => exposure.end(|exposure| exposure.wait())?,
            false => *self.epochs.exposure.borrow_mut() = Some(exposure),
        }
        Ok(over)
    }

    /// Refuses what is for locked ranks only, of one rank or of any.
    pub(crate) fn check_locked(&self, target: Option<usize>) -> Out {
        let locks = self.epochs.locks.borrow();
        let one = match target {
            Some(rank) => locks.contains_key(&rank),
            None => !locks.is_empty(),
        };
        sync(one || self.epochs.all.borrow().is_some(), || match target {
            Some(rank) => format!("rank {rank} is not locked"),
            None => "no rank is locked".into(),
        })
    }

    /// Refuses an access to a rank that no epoch allows.
    pub(super) fn check_access(&self, target: usize) -> Out {
        if self.epochs.fence.get() != Fence::None {
            self.epochs.fence.set(Fence::Used);
            return Ok(());
        }
        let access = self.epochs.access.borrow();
        let started = access
            .as_ref()
            .map(|(_, targets)| targets.contains(&target));
        let locked =
            self.epochs.locks.borrow().contains_key(&target) || self.epochs.all.borrow().is_some();
        sync(locked || started == Some(true), || match started {
            Some(false) => format!("rank {target} is none of the group of MPI_Win_start"),
            _ => format!("no epoch is open in which rank {target} may be accessed"),
        })
    }

    /// Refuses to free a window with an open epoch.
    pub(super) fn check_idle(&self) -> Out {
        self.unlocked()?;
        self.not_started()?;
        self.not_exposed()?;
        self.fenced()
    }
}
