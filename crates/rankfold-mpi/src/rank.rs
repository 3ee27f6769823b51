//! The state of one rank: its communicators, and all other objects that it made. It is in a thread-local, since MPI's
//! functions have no argument for it.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::c_int;
use std::rc::Rc;
use std::sync::Arc;

use rankfold::{Comm, Group};

use crate::abi::*;
use crate::asking::Asking;
use crate::attribute::TypeAttributes;
use crate::buffered::Buffers;
use crate::comm::{Communicator, Gone};
use crate::detached::Sending;
use crate::error::{Out, bad, failure};
use crate::group::Kept;
use crate::handle::{Kind, Table};
use crate::launch::{NO_CALL, Shared};
use crate::matched::Reserved;
use crate::memory::Byte;
use crate::op::Op;

use crate::request::{Entry, Pending};
use crate::session::Session;
use crate::trace::{self, Entered};
use crate::window::Win;

/// Between which calls a rank is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    BeforeInit,
    Running,
    Finalized,
}

/// A function for the errors of a communicator or a window.
#[derive(Clone, Copy)]
pub(crate) struct Handler {
    /// Its address.
    pub function: usize,
    /// How many handles of it the program has, of the same number: that of its creation, and those that it asked for.
    pub handles: usize,
}

/// An error handler that is the argument of a call which makes an object, and gets the errors of that call too.
#[derive(Clone, Copy)]
pub(crate) struct Given {
    pub on_error: usize,
    /// The null handle of such an object.
    pub null: usize,
}

/// As many errors of operations whose requests were freed are told of a rank.
const TOLD: usize = 8;

/// What is known of the errors of a rank.
#[derive(Default)]
pub(crate) struct Errors {
    /// What failed in the call in progress, such as the communicator of a request, by its handle; 0 if nothing did.
    pub blamed: Cell<usize>,
    /// The error handler that the call in progress was given for its own errors, if it failed.
    pub given: Cell<Option<Given>>,
    /// How many operations whose requests were freed have failed with no call that returned it.
    pub freed_failed: Cell<usize>,
    /// The text of the last error of each class.
    pub texts: RefCell<BTreeMap<c_int, String>>,
}

/// The state of one rank.
pub(crate) struct Rank {
    pub shared: Arc<Shared>,
    pub phase: Cell<Phase>,
    /// Whether it has called `MPI_Init`, and `MPI_Finalize`: sessions do without.
    pub initialised: Cell<bool>,
    pub finalised: Cell<bool>,
    /// The calls that it entered, if the run is traced.
    pub entered: RefCell<Vec<Entered>>,
    /// The call that it is in, or was in last.
    pub call: Cell<&'static str>,
    pub asking: Asking,
    /// How often it has initialised the interface for tools.
    pub tools: Cell<usize>,
    pub level: Cell<c_int>,
    pub world: Rc<Communicator>,
    pub alone: Rc<Communicator>,
    pub comms: RefCell<Table<Rc<Communicator>>>,
    /// Communicators that were freed with operations on them, by their handles.
    pub gone: RefCell<BTreeMap<usize, Gone>>,
    pub groups: RefCell<Table<Kept>>,
    pub empty: Rc<Group>,
    /// The handles of datatypes that it made and has not freed.
    pub datatypes: RefCell<BTreeSet<usize>>,
    /// The attributes of datatypes that have any, by their handles.
    pub typed: RefCell<BTreeMap<usize, Rc<TypeAttributes>>>,
    pub sessions: RefCell<Table<Rc<Session>>>,
    pub wins: RefCell<Table<Rc<Win>>>,
    pub requests: RefCell<Table<Entry>>,
    pub messages: RefCell<Table<Reserved>>,
    pub ops: RefCell<Table<Rc<Op>>>,
    pub handlers: RefCell<Table<Handler>>,
    /// The error handler of `MPI_FILE_NULL`.
    pub files_on_error: Cell<usize>,
    pub infos: RefCell<Table<crate::exports::Pairs>>,
    pub buffers: Buffers,
    pub errors: Errors,
    /// Sends that go on without a request, since it was freed, or without their buffer.
    pub detached: RefCell<Vec<Sending>>,
    /// Receives and collectives that were freed before they were over.
    pub freed: RefCell<Vec<Pending>>,
    pub scratch: Cell<Vec<Byte>>,
    /// Classes and codes that the program added, in the order of their numbers; `None` for one that it has removed.
    pub added: RefCell<Vec<Option<crate::exports::Added>>>,
    /// The last of these, to which the attribute `MPI_LASTUSEDCODE` points.
    pub last_code: Cell<c_int>,
}

thread_local! {
    static RANK: RefCell<Option<Rc<Rank>>> = const { RefCell::new(None) };
}

/// The rank of this thread.
#[inline]
pub(crate) fn current() -> Option<Rc<Rank>> {
    RANK.try_with(|rank| rank.borrow().clone()).ok().flatten()
}

/// Makes this thread a rank, or none.
pub(crate) fn set(rank: Option<Rc<Rank>>) {
    let before = RANK.with(|place| place.replace(rank));
    drop(before);
}

impl Rank {
    /// The state of a rank that enters the world by `comm`. The world makes a hidden communicator together.
    pub(crate) fn new(shared: Arc<Shared>, comm: Comm) -> rankfold::Result<Rank> {
        let (me, empty) = (comm.rank(), Rc::new(comm.group().include([])?));
        let alone = Communicator::new(comm.subset(&[me])?, MPI_COMM_SELF.addr(), "MPI_COMM_SELF")?;
        let world = Communicator::new(comm, MPI_COMM_WORLD.addr(), "MPI_COMM_WORLD")?;
        Ok(Rank {
            asking: Asking::new(me, shared.doings.of(me)),
            shared,
            phase: Cell::new(Phase::BeforeInit),
            initialised: Cell::new(false),
            finalised: Cell::new(false),
            entered: RefCell::default(),
            call: Cell::new(NO_CALL),
            tools: Cell::new(0),
            level: Cell::new(MPI_THREAD_SINGLE),
            world: Rc::new(world),
            alone: Rc::new(alone),
            comms: RefCell::new(Table::new(Kind::Comm)),
            gone: RefCell::default(),
            groups: RefCell::new(Table::new(Kind::Group)),
            empty,
            datatypes: RefCell::default(),
            typed: RefCell::default(),
            sessions: RefCell::new(Table::new(Kind::Session)),
            wins: RefCell::new(Table::new(Kind::Win)),
            requests: RefCell::new(Table::new(Kind::Request)),
            messages: RefCell::new(Table::new(Kind::Message)),
            ops: RefCell::new(Table::new(Kind::Op)),
            handlers: RefCell::new(Table::new(Kind::Errhandler)),
            files_on_error: Cell::new(MPI_ERRORS_RETURN.addr()),
            infos: RefCell::new(Table::new(Kind::Info)),
            buffers: Buffers::default(),
            errors: Errors::default(),
            detached: RefCell::default(),
            freed: RefCell::default(),
            scratch: Cell::default(),
            added: RefCell::default(),
            last_code: Cell::new(MPI_ERR_LASTCODE),
        })
    }

    /// Its number in `MPI_COMM_WORLD`.
    #[inline]
    pub(crate) fn me(&self) -> usize {
        self.world.comm.rank()
    }

    /// Notes that a call is entered.
    #[inline]
    pub(crate) fn enters(&self, call: &'static str) {
        self.call.set(call);
        if self.shared.traced {
            trace::enter(self, call);
        }
    }

    /// The communicator of a handle.
    #[inline(always)]
    pub(crate) fn comm(&self, handle: MPI_Comm) -> Out<Rc<Communicator>> {
        match handle {
            MPI_COMM_WORLD => Ok(self.world.clone()),
            _ => self.other_comm(handle),
        }
    }

    #[inline(never)]
    fn other_comm(&self, handle: MPI_Comm) -> Out<Rc<Communicator>> {
        match handle {
            MPI_COMM_SELF => Ok(self.alone.clone()),
            MPI_COMM_NULL => Err(failure(MPI_ERR_COMM, "the communicator is MPI_COMM_NULL")),
            _ => {
                let number = handle.addr();
                let found = self.comms.borrow().get(number).cloned();
                found.map_err(|why| bad(MPI_ERR_COMM, "communicator", number, why))
            }
        }
    }

    /// The attributes of a datatype.
    pub(crate) fn type_attributes(&self, handle: MPI_Datatype) -> Out<Rc<TypeAttributes>> {
        crate::datatype::of(handle)?;
        let mut typed = self.typed.borrow_mut();
        let made = typed.entry(handle.addr());
        Ok(made
            .or_insert_with(|| Rc::new(TypeAttributes::new(handle.addr())))
            .clone())
    }

    /// The session of a handle.
    pub(crate) fn session(&self, handle: MPI_Session) -> Out<Rc<Session>> {
        if handle == MPI_SESSION_NULL {
            let null = "the session is MPI_SESSION_NULL";
            return Err(failure(MPI_ERR_SESSION, null));
        }
        let number = handle.addr();
        let found = self.sessions.borrow().get(number).cloned();
        found.map_err(|why| bad(MPI_ERR_SESSION, "session", number, why))
    }

    /// The window of a handle.
    pub(crate) fn win(&self, handle: MPI_Win) -> Out<Rc<Win>> {
        if handle == MPI_WIN_NULL {
            return Err(failure(MPI_ERR_WIN, "the window is MPI_WIN_NULL"));
        }
        let number = handle.addr();
        let found = self.wins.borrow().get(number).cloned();
        found.map_err(|why| bad(MPI_ERR_WIN, "window", number, why))
    }

    /// The group of a handle.
    pub(crate) fn group(&self, handle: MPI_Group) -> Out<Rc<Group>> {
        match handle {
            MPI_GROUP_EMPTY => Ok(self.empty.clone()),
            MPI_GROUP_NULL => Err(failure(MPI_ERR_GROUP, "the group is MPI_GROUP_NULL")),
            _ => {
                let number = handle.addr();
                let groups = self.groups.borrow();
                let found = groups.get(number).map(|kept| kept.group.clone());
                found.map_err(|why| bad(MPI_ERR_GROUP, "group", number, why))
            }
        }
    }

    /// The handle of the session that a group is from, if it is from one.
    pub(crate) fn session_of(&self, group: usize) -> Option<usize> {
        let groups = self.groups.borrow();
        let session = groups.get(group).ok()?.session;
        Some(session).filter(|session| *session != 0)
    }

    /// Frees a handle of an error handler, and the handler with the last one, unless a communicator has it.
    pub(crate) fn release_handler(&self, handler: MPI_Errhandler) {
        let number = handler.addr();
        if let Ok(own) = self.handlers.borrow_mut().get_mut(number) {
            own.handles -= 1;
            if own.handles > 0 {
                return;
            }
        }
        let has_it = |comm: &Rc<Communicator>| comm.on_error.get() == number;
        let mut used =
            self.comms.borrow().iter().any(has_it) || has_it(&self.world) || has_it(&self.alone);
        let wins = self.wins.borrow();
        used |= wins.iter().any(|win| win.on_error.get() == number);
        let sessions = self.sessions.borrow();
        used |= sessions.iter().any(|it| it.on_error.get() == number);
        used |= self.files_on_error.get() == number;
        let gone = self.gone.borrow();
        used |= gone.values().any(|it| it.on_error == number);
        if !used {
            self.handlers.borrow_mut().remove(number).ok();
        }
    }

    /// The handles of the communicators of all operations that are not over or may be started.
    pub(crate) fn in_use(&self) -> BTreeSet<usize> {
        let (requests, messages) = (self.requests.borrow(), self.messages.borrow());
        let (freed, requests) = (self.freed.borrow(), requests.iter().map(Entry::on));
        let (buffered, freed) = (self.buffers.messages.borrow(), freed.iter().map(|it| it.on));
        let (sends, messages) = (buffered.iter().map(|it| it.on), messages.iter());
        let found = messages.map(|it| it.on).chain(sends);
        requests.chain(freed).chain(found).collect()
    }

    /// Notes the communicator of the first failure in a call, by its handle: its error handler gets it.
    pub(crate) fn blame<T>(&self, on: usize, result: Out<T>) -> Out<T> {
        if result.is_err() && self.errors.blamed.get() == 0 {
            self.errors.blamed.set(on);
        }
        result
    }

    /// Has a failure in a call go to an error handler that the call was given.
    pub(crate) fn give<T>(&self, to: Given, result: Out<T>) -> Out<T> {
        if result.is_err() {
            self.errors.given.set(Some(to));
        }
        result
    }

    /// Notes an error of an operation whose request was freed, which no call returns; and whether it is to be told.
    pub(crate) fn tells_of_freed(&self) -> bool {
        let before = self.errors.freed_failed.get();
        self.errors.freed_failed.set(before + 1);
        before < TOLD
    }

    /// Tells how many such errors there were beside those that were told, when the rank ends.
    pub(crate) fn tell_rest(&self) {
        let (me, all) = (self.me(), self.errors.freed_failed.take());
        if let rest @ 1.. = all.saturating_sub(TOLD) {
            self.shared.remark(format!(
                "rank {me}: {rest} further operations failed whose requests were freed"
            ));
        }
    }

    /// Whether there are receives and collectives that were freed before they were over.
    #[inline]
    pub(crate) fn has_freed(&self) -> bool {
        !self.freed.borrow().is_empty()
    }

    /// Notes that the call in progress has asked in vain.
    ///
    /// # Errors
    ///
    /// It has asked for too long.
    pub(crate) fn asked_in_vain(&self) -> Out {
        self.asking.in_vain(&self.shared.doings)
    }

    /// What a call found that does not wait: nothing where it fails since the rank it asks for has ended as MPI lets it.
    pub(crate) fn found<T>(&self, found: rankfold::Result<Option<T>>) -> Out<Option<T>> {
        match found {
            Err(error) if self.shared.doings.has_left(&error) => Ok(None),
            found => Ok(found?),
        }
    }

    /// Lends a buffer that is used again.
    pub(crate) fn with_scratch<R>(&self, f: impl FnOnce(&mut Vec<Byte>) -> R) -> R {
        let mut scratch = self.scratch.take();
        let result = f(&mut scratch);
        self.scratch.set(scratch);
        result
    }

    /// What the program has not freed.
    pub(crate) fn leaks(&self) -> Vec<String> {
        let mut leaks = Vec::new();
        let mut note = |number: usize, what: &str| match number {
            0 => {}
            1 => leaks.push(format!("1 {what}")),
            _ => leaks.push(format!("{number} {what}s")),
        };
        let open = self.requests.borrow();
        note(
            open.iter().filter(|it| it.is_pending()).count(),
            "pending request",
        );
        note(self.messages.borrow().len(), "message of a matched probe");
        note(self.comms.borrow().len(), "communicator");
        note(self.wins.borrow().len(), "window");
        if self.shared.owns_datatypes {
            note(self.datatypes.borrow().len(), "datatype");
        }
        leaks
    }
}
