//! Communicators: made from others by all their members, or by those of the new one alone.

use std::cell::{Cell, RefCell};
use std::ffi::c_int;
use std::fmt;
use std::ptr::without_provenance_mut as handle;
use std::rc::Rc;

use rankfold::{Comm, Group, Similarity};

use crate::abi::*;
use crate::attribute;
use crate::buffered;
use crate::detached;
use crate::error::{Failure, Out, bad, failure, require};
use crate::hidden;
use crate::memory::Caller;
use crate::rank::Rank;
use crate::request;
use crate::text::Text;
use crate::topology::Topology;

/// A communicator, as one rank has it.
pub(crate) struct Communicator {
    pub comm: Comm,
    /// The same ranks, with messages of their own: for collectives that this library makes of messages.
    pub hidden: Comm,
    /// The number of these collectives so far.
    pub exchanges: Cell<u32>,
    pub handle: Cell<usize>,
    pub name: RefCell<Text>,
    pub attributes: RefCell<attribute::Values>,
    pub on_error: Cell<usize>,
    /// The handle of the session that it is from; 0 if it is from none.
    pub session: Cell<usize>,
    pub topology: Topology,
}

impl fmt::Display for Communicator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name.borrow();
        match name.is_empty() {
            true => write!(f, "a communicator of {} ranks", self.comm.size()),
            false => name.fmt(f),
        }
    }
}

impl Communicator {
    /// The communicator of some ranks, which make it together.
    pub(crate) fn new(comm: Comm, handle: usize, name: &str) -> rankfold::Result<Communicator> {
        let hidden = hidden::of(&comm)?;
        Ok(Communicator::with(comm, hidden, handle, name.into()))
    }

    fn with(comm: Comm, hidden: Comm, handle: usize, name: Text) -> Communicator {
        Communicator {
            comm,
            hidden,
            exchanges: Cell::new(0),
            handle: Cell::new(handle),
            name: RefCell::new(name),
            attributes: RefCell::default(),
            on_error: Cell::new(MPI_ERRORS_ARE_FATAL.addr()),
            session: Cell::new(0),
            topology: Topology::None,
        }
    }

    /// The same ranks, with messages of its own, in errors by the name of this one. Waits for no other rank.
    pub(crate) fn apart(&self) -> rankfold::Result<Communicator> {
        let comm = hidden::at_once(&self.comm)?;
        let hidden = hidden::at_once(&comm)?;
        let name = self.name.borrow().clone();
        let made = Communicator::with(comm, hidden, self.handle.get(), name);
        Ok(Communicator {
            topology: self.topology.clone(),
            ..made
        })
    }

    /// A rank of it, as an argument names it.
    #[inline]
    pub(crate) fn peer(&self, rank: c_int, what: &str) -> Out<usize> {
        let size = self.comm.size();
        let peer = usize::try_from(rank).ok().filter(|rank| *rank < size);
        peer.ok_or_else(|| self.no_rank(rank, what))
    }

    #[cold]
    fn no_rank(&self, rank: c_int, what: &str) -> Failure {
        let size = self.comm.size();
        failure(
            MPI_ERR_RANK,
            format!("{what} {rank} is no rank of {self}, which has {size}"),
        )
    }

    /// The root of a collective.
    pub(crate) fn root(&self, root: c_int) -> Out<usize> {
        self.peer(root, "the root")
            .map_err(|found| failure(MPI_ERR_ROOT, &*found.text))
    }
}

/// What is left of a communicator that was freed before all operations on it were over: what becomes of their errors.
pub(crate) struct Gone {
    pub on_error: usize,
    pub name: String,
}

/// Keeps that of a communicator which is freed, as long as there is an operation on it.
fn note_gone(rank: &Rank, comm: &Communicator) {
    let used = rank.in_use();
    let mut gone = rank.gone.borrow_mut();
    gone.retain(|on, _| used.contains(on));
    let on = comm.handle.get();
    if used.contains(&on) {
        let (on_error, name) = (comm.on_error.get(), comm.to_string());
        gone.insert(on, Gone { on_error, name });
    }
}

/// Keeps a communicator that was made from another one.
pub(crate) fn keep(
    rank: &Rank,
    comm: Comm,
    parent: &Communicator,
    topology: Topology,
) -> Out<MPI_Comm> {
    let made = Communicator::new(comm, 0, "")?;
    Ok(keep_made(rank, made, parent, topology))
}

fn keep_made(
    rank: &Rank,
    mut made: Communicator,
    parent: &Communicator,
    topology: Topology,
) -> MPI_Comm {
    made.on_error = Cell::new(parent.on_error.get());
    made.session = Cell::new(parent.session.get());
    made.topology = topology;
    let made = Rc::new(made);
    let number = rank.comms.borrow_mut().add(made.clone());
    made.handle.set(number);
    handle(number)
}

pub(crate) fn dup(rank: &Rank, caller: &Caller, of: MPI_Comm) -> Out<MPI_Comm> {
    let parent = rank.comm(of)?;
    let made = keep(rank, parent.comm.dup()?, &parent, parent.topology.clone())?;
    copy_attributes(rank, caller, &parent, made)
}

/// `MPI_Comm_idup`: waits for no other rank.
pub(crate) fn idup(rank: &Rank, caller: &Caller, of: MPI_Comm) -> Out<MPI_Comm> {
    let parent = rank.comm(of)?;
    let comm = parent.comm.idup()?;
    let hidden = hidden::at_once(&comm)?;
    let made = Communicator::with(comm, hidden, 0, Text::default());
    let made = keep_made(rank, made, &parent, parent.topology.clone());
    copy_attributes(rank, caller, &parent, made)
}

fn copy_attributes(
    rank: &Rank,
    caller: &Caller,
    parent: &Communicator,
    made: MPI_Comm,
) -> Out<MPI_Comm> {
    let child = rank.comm(made)?;
    let copied = attribute::copy_all(caller, parent, &*child);
    match copied {
        Ok(()) => Ok(made),
        Err(error) => {
            rank.comms.borrow_mut().remove(made.addr()).ok();
            Err(error)
        }
    }
}

pub(crate) fn split(rank: &Rank, of: MPI_Comm, color: c_int, key: c_int) -> Out<MPI_Comm> {
    let parent = rank.comm(of)?;
    let color = match color {
        MPI_UNDEFINED => None,
        _ => Some(u32::try_from(color).map_err(|_| {
            failure(
                MPI_ERR_ARG,
                format!("the color is {color}; it is 0 or more, or MPI_UNDEFINED"),
            )
        })?),
    };
    match parent.comm.split_if(color, key.into())? {
        Some(comm) => keep(rank, comm, &parent, Topology::None),
        None => Ok(MPI_COMM_NULL),
    }
}

/// `MPI_Comm_split_type`, with what the info says of the resource. Ranks may give `MPI_UNDEFINED` where the others give a
/// type, so that all make the same split.
pub(crate) fn split_type(
    rank: &Rank,
    of: MPI_Comm,
    (kind, resource): (c_int, Option<&str>),
    key: c_int,
) -> Out<MPI_Comm> {
    let color = match (kind, resource) {
        // All ranks share memory.
        (MPI_COMM_TYPE_SHARED, _) => 0,
        (MPI_COMM_TYPE_HW_GUIDED | MPI_COMM_TYPE_RESOURCE_GUIDED, Some("mpi_shared_memory")) => 0,
        // No resource is known that some of the ranks share and the others do not.
        (MPI_COMM_TYPE_HW_GUIDED | MPI_COMM_TYPE_HW_UNGUIDED, _) => MPI_UNDEFINED,
        (MPI_COMM_TYPE_RESOURCE_GUIDED | MPI_UNDEFINED, _) => MPI_UNDEFINED,
        _ => {
            let text = format!("{kind} is no type by which a communicator is split");
            return Err(failure(MPI_ERR_ARG, text));
        }
    };
    split(rank, of, color, key)
}

/// `MPI_Comm_create`: by all members of the parent, each with the group that it will be in.
pub(crate) fn create(rank: &Rank, of: MPI_Comm, group: MPI_Group) -> Out<MPI_Comm> {
    let (parent, group) = (rank.comm(of)?, rank.group(group)?);
    check_within(&parent, &group)?;
    let mine = group.rank_of(rank.me());
    // Groups of one call are equal or have no rank in common: the first rank names its group.
    let first = group.world_rank(0).map(|first| first as u32);
    let made = parent
        .comm
        .split_if(first.filter(|_| mine.is_some()), mine.unwrap_or(0) as i64)?;
    match made {
        Some(comm) => keep(rank, comm, &parent, Topology::None),
        None => Ok(MPI_COMM_NULL),
    }
}

/// `MPI_Comm_create_group`: by the members of the group alone.
pub(crate) fn create_group(rank: &Rank, of: MPI_Comm, group: MPI_Group) -> Out<MPI_Comm> {
    let (parent, group) = (rank.comm(of)?, rank.group(group)?);
    check_within(&parent, &group)?;
    if group.rank_of(rank.me()).is_none() {
        return Ok(MPI_COMM_NULL);
    }
    let made = group.communicator(&parent.comm)?;
    keep(rank, made, &parent, Topology::None)
}

fn check_within(parent: &Communicator, group: &Group) -> Out {
    let all = parent.comm.group();
    let stranger = group.world_ranks().find(|rank| !all.contains(*rank));
    match stranger {
        None => Ok(()),
        Some(rank) => Err(failure(
            MPI_ERR_GROUP,
            format!("rank {rank} of MPI_COMM_WORLD is in the group, and not in {parent}"),
        )),
    }
}

/// A communicator that the program may free.
fn freeable(rank: &Rank, of: MPI_Comm) -> Out<Rc<Communicator>> {
    let comm = rank.comm(of)?;
    require(
        of != MPI_COMM_WORLD && of != MPI_COMM_SELF,
        MPI_ERR_COMM,
        || format!("{comm} cannot be freed"),
    )?;
    Ok(comm)
}

/// `MPI_Comm_disconnect`: waits until all operations of this rank on the communicator are over.
pub(crate) fn disconnect(rank: &Rank, caller: &Caller, of: MPI_Comm) -> Out {
    freeable(rank, of)?;
    request::wait_on(rank, caller, of.addr())?;
    detached::wait_on(rank, caller, of.addr())?;
    free(rank, caller, of)
}

pub(crate) fn free(rank: &Rank, caller: &Caller, of: MPI_Comm) -> Out {
    let comm = freeable(rank, of)?;
    attribute::delete_all(caller, &*comm)?;
    note_gone(rank, &comm);
    let freed = rank.comms.borrow_mut().remove(of.addr());
    let freed = freed.map_err(|why| bad(MPI_ERR_COMM, "communicator", of.addr(), why))?;
    drop(freed);
    buffered::forget(rank, of.addr());
    Ok(())
}

pub(crate) fn compare(rank: &Rank, one: MPI_Comm, other: MPI_Comm) -> Out<c_int> {
    let (one, other) = (rank.comm(one)?, rank.comm(other)?);
    if Rc::ptr_eq(&one, &other) {
        return Ok(MPI_IDENT);
    }
    Ok(match one.comm.group().compare(&other.comm.group()) {
        Similarity::Identical => MPI_CONGRUENT,
        Similarity::Similar => MPI_SIMILAR,
        Similarity::Unequal => MPI_UNEQUAL,
    })
}
