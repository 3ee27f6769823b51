//! Windows: memory of each rank that others read and write.
//!
//! The memory is the program's own. At its creation the ranks exchange their [`WindowPart`](part::WindowPart)s; an access copies at once,
//! under the lock of the target's part, so that accumulates are atomic and nothing is left to do when an epoch ends.

mod access;
mod epoch;
mod held;
pub(crate) mod memory;
pub(crate) mod part;

use std::cell::{Cell, RefCell};
use std::ffi::c_int;
use std::fmt;
use std::ptr::without_provenance_mut as handle;
use std::rc::Rc;
use std::sync::Arc;

use rankfold::{Comm, Group};

use crate::abi::*;
use crate::attribute::{self, Holder, Of};
use crate::comm::Communicator;
use crate::error::{Out, bad, failure, require};
use crate::memory::Caller;
use crate::rank::Rank;
use crate::text::Text;
use epoch::Epochs;
use memory::Memory;
use part::WindowPart;

pub(crate) use access::{Aim, Combine};

/// A window, as one rank has it.
pub(crate) struct Win {
    comm: Comm,
    pub group: Group,
    parts: Vec<Arc<WindowPart>>,
    epochs: Epochs,
    pub handle: Cell<usize>,
    pub name: RefCell<Text>,
    attributes: RefCell<attribute::Values>,
    pub on_error: Cell<usize>,
    /// What predefined attributes point to.
    told: Told,
}

/// The values of predefined attributes.
struct Told {
    size: MPI_Aint,
    unit: c_int,
    flavor: c_int,
    model: c_int,
}

impl fmt::Display for Win {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name.borrow();
        match name.is_empty() {
            true => write!(f, "a window of {} ranks", self.comm.size()),
            false => name.fmt(f),
        }
    }
}

impl Holder for Win {
    const OF: Of = Of::Win;

    fn attributes(&self) -> &RefCell<attribute::Values> {
        &self.attributes
    }

    fn number(&self) -> usize {
        self.handle.get()
    }
}

/// What a rank brings to a window: how it is made, its size and unit, and its own memory if it has some.
pub(crate) struct Offer {
    pub flavor: c_int,
    pub base: usize,
    pub size: usize,
    pub unit: i64,
}

impl Offer {
    pub(crate) fn new(
        flavor: c_int,
        base: usize,
        size: MPI_Aint,
        unit: impl Into<i64>,
    ) -> Out<Offer> {
        let unit = unit.into();
        let bytes = usize::try_from(size).map_err(|_| {
            failure(
                MPI_ERR_SIZE,
                format!("the size is {size}, which is negative"),
            )
        })?;
        require(unit > 0, MPI_ERR_DISP, || {
            format!("the unit of displacements is {unit}; it is 1 or more")
        })?;
        let missing = flavor == MPI_WIN_FLAVOR_CREATE && bytes > 0 && base == 0;
        require(!missing, MPI_ERR_BASE, || {
            format!("the memory of {bytes} bytes is a null pointer")
        })?;
        let size = bytes;
        Ok(Offer {
            flavor,
            base,
            size,
            unit,
        })
    }
}

/// The call that makes windows of a flavor.
fn maker(flavor: c_int) -> &'static str {
    match flavor {
        MPI_WIN_FLAVOR_CREATE => "MPI_Win_create",
        MPI_WIN_FLAVOR_ALLOCATE => "MPI_Win_allocate",
        MPI_WIN_FLAVOR_SHARED => "MPI_Win_allocate_shared",
        _ => "MPI_Win_create_dynamic",
    }
}

/// What memory each rank brings, after all have compared how they make the window.
fn sizes(on: &Communicator, offer: &Offer) -> Out<Vec<usize>> {
    let all = on.comm.values().all_gather((offer.flavor, offer.size))?;
    let other = all.iter().position(|(flavor, _)| *flavor != offer.flavor);
    match other {
        None => Ok(all.into_iter().map(|(_, size)| size).collect()),
        Some(rank) => Err(failure(
            MPI_ERR_OTHER,
            format!(
                "rank {rank} calls {}, and this rank {}",
                maker(all[rank].0),
                maker(offer.flavor)
            ),
        )),
    }
}

fn no_memory(bytes: usize) -> crate::error::Failure {
    failure(
        MPI_ERR_NO_MEM,
        format!("there is no memory for a window of {bytes} bytes"),
    )
}

/// The part of this rank. The memory of a shared window is one piece, in the order of ranks.
fn own_part(on: &Communicator, offer: &Offer) -> Out<WindowPart> {
    let sizes = sizes(on, offer)?;
    let me = on.comm.rank();
    let (unit, size) = (offer.unit as usize, offer.size);
    match offer.flavor {
        MPI_WIN_FLAVOR_CREATE => Ok(WindowPart::new(offer.base, size, unit, None)),
        MPI_WIN_FLAVOR_DYNAMIC => Ok(WindowPart::dynamic()),
        MPI_WIN_FLAVOR_ALLOCATE => {
            let memory = Memory::new(size);
            // All learn it if one has none.
            let short = on.comm.values().all_gather(memory.is_none())?;
            let memory = memory.filter(|_| !short.contains(&true));
            let memory = Arc::new(memory.ok_or_else(|| no_memory(size))?);
            Ok(WindowPart::new(memory.start(), size, unit, Some(memory)))
        }
        _ => {
            let total = sizes
                .iter()
                .try_fold(0usize, |all, one| all.checked_add(*one));
            let made = || total.and_then(Memory::new).map(Arc::new);
            let memory = (me == 0).then(made);
            let memory: Option<Arc<Memory>> = on.comm.values().broadcast(0, memory)?;
            let memory = memory.ok_or_else(|| no_memory(total.unwrap_or(usize::MAX)))?;
            let before: usize = sizes[..me].iter().sum();
            Ok(WindowPart::new(
                memory.start() + before,
                size,
                unit,
                Some(memory),
            ))
        }
    }
}

/// Makes a window of a communicator; all its ranks do together. Returns its handle and the first address of its memory.
pub(crate) fn create(rank: &Rank, on: &Communicator, offer: &Offer) -> Out<(MPI_Win, usize)> {
    let own = own_part(on, offer)?;
    let base = own.base;
    let parts = on.comm.values().all_gather(Arc::new(own))?;
    let comm = on.comm.dup()?;
    let gate = comm.window(Vec::new())?;
    let made = Rc::new(Win {
        group: comm.group(),
        comm,
        parts,
        epochs: Epochs::new(gate),
        handle: Cell::new(0),
        name: RefCell::default(),
        attributes: RefCell::default(),
        on_error: Cell::new(MPI_ERRORS_ARE_FATAL.addr()),
        told: Told {
            size: offer.size as MPI_Aint,
            unit: c_int::try_from(offer.unit).unwrap_or(MPI_UNDEFINED),
            flavor: offer.flavor,
            model: MPI_WIN_UNIFIED,
        },
    });
    let number = rank.wins.borrow_mut().add(made.clone());
    made.handle.set(number);
    Ok((handle(number), base))
}

/// Frees a window; all its ranks do together.
pub(crate) fn free(rank: &Rank, caller: &Caller, of: MPI_Win) -> Out {
    let win = rank.win(of)?;
    win.check_idle()?;
    attribute::delete_all(caller, &*win)?;
    // No barrier, so that a rank that calls another one, such as MPI_Win_fence, is told.
    win.comm.values().all_gather(())?;
    let freed = rank.wins.borrow_mut().remove(of.addr());
    freed
        .map(drop)
        .map_err(|why| bad(MPI_ERR_WIN, "window", of.addr(), why))
}

/// Before a rank ends: its memory may go, and no other rank accesses it any more.
pub(crate) fn close_all(rank: &Rank) {
    part::leave();
    if let Ok(wins) = rank.wins.try_borrow() {
        wins.iter().for_each(|win| win.own().close());
    }
}

impl Win {
    fn own(&self) -> &WindowPart {
        &self.parts[self.comm.rank()]
    }

    /// A rank of it, as an argument names it; `None` for `MPI_PROC_NULL`.
    pub(crate) fn target(&self, rank: c_int) -> Out<Option<usize>> {
        if rank == MPI_PROC_NULL {
            return Ok(None);
        }
        let size = self.comm.size();
        let found = usize::try_from(rank).ok().filter(|rank| *rank < size);
        let found = found.ok_or_else(|| {
            failure(
                MPI_ERR_RANK,
                format!("the target {rank} is no rank of {self}, which has {size}"),
            )
        });
        found.map(Some)
    }

    fn is_dynamic(&self) -> bool {
        self.told.flavor == MPI_WIN_FLAVOR_DYNAMIC
    }

    /// Size, unit and address of a rank's part; of the first that is not empty for `MPI_PROC_NULL`.
    pub(crate) fn query(&self, rank: c_int) -> Out<(MPI_Aint, i64, usize)> {
        require(!self.is_dynamic(), MPI_ERR_RMA_FLAVOR, || {
            "the window is dynamic: its memory is not known".into()
        })?;
        let part = match self.target(rank)? {
            Some(rank) => Some(&self.parts[rank]),
            None => self.parts.iter().find(|part| part.size > 0),
        };
        Ok(part.map_or((0, 1, 0), |part| {
            (part.size as MPI_Aint, part.unit as i64, part.base)
        }))
    }

    pub(crate) fn attach(&self, at: usize, size: MPI_Aint) -> Out {
        self.check_dynamic()?;
        let len = usize::try_from(size).map_err(|_| {
            failure(
                MPI_ERR_SIZE,
                format!("the size is {size}, which is negative"),
            )
        })?;
        self.own().attach(at, len)
    }

    pub(crate) fn detach(&self, at: usize) -> Out {
        self.check_dynamic()?;
        self.own().detach(at)
    }

    fn check_dynamic(&self) -> Out {
        require(self.is_dynamic(), MPI_ERR_RMA_FLAVOR, || {
            "the window is not from MPI_Win_create_dynamic".into()
        })
    }

    /// The value of a predefined attribute.
    pub(crate) fn predefined(&self, key: c_int) -> Option<*const ()> {
        let at = |value: *const c_int| Some(value.cast());
        match key {
            MPI_WIN_BASE => Some(std::ptr::with_exposed_provenance(self.own().base)),
            MPI_WIN_SIZE => Some((&raw const self.told.size).cast()),
            MPI_WIN_DISP_UNIT => at(&self.told.unit),
            MPI_WIN_CREATE_FLAVOR => at(&self.told.flavor),
            MPI_WIN_MODEL => at(&self.told.model),
            _ => None,
        }
    }
}
