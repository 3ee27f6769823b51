//! Sessions.

use std::cell::Cell;
use std::ffi::{c_char, c_int};
use std::ptr::without_provenance_mut as handle;
use std::rc::Rc;

use super::errors::{check_handler, further_handle, keep_handler};
use super::infos::check as check_info;
use crate::abi::*;
use crate::buffered;
use crate::call::{begin_session, end_session};
use crate::comm;
use crate::error::{Out, bad, count, failure, require};
use crate::group;
use crate::memory::Caller;
use crate::rank::{Given, Rank};
use crate::session::{self, SETS, Session};

/// The function that no macro defines.
pub(crate) const SPECIAL: &[&str] = &["MPI_Session_init"];

/// `MPI_Session_init` of the MPI standard.
#[cfg_attr(feature = "exports", unsafe(no_mangle))]
pub unsafe extern "C" fn MPI_Session_init(
    info: MPI_Info,
    errhandler: MPI_Errhandler,
    session: *mut MPI_Session,
) -> c_int {
    // SAFETY: who calls this function promises what the head of `exports` says.
    let caller = unsafe { Caller::new() };
    begin_session("MPI_Session_init", &caller, |rank| {
        let null = MPI_SESSION_NULL.addr();
        by_argument(rank, errhandler, null, |on_error| {
            check_info(rank, info)?;
            let made = rank
                .sessions
                .borrow_mut()
                .add(Rc::new(Session { on_error }));
            caller.write(session, handle(made))
        })
    })
}

/// Makes an object with an error handler, which gets the errors of that, too, if it is one.
fn by_argument(
    rank: &Rank,
    errhandler: MPI_Errhandler,
    null: usize,
    make: impl FnOnce(Cell<usize>) -> Out,
) -> Out {
    check_handler(rank, errhandler)?;
    let on_error = errhandler.addr();
    rank.give(Given { on_error, null }, make(Cell::new(on_error)))
}

/// Makes the communicator of a group.
fn from_group(rank: &Rank, group: MPI_Group) -> Out<Option<MPI_Comm>> {
    let of = rank.group(group)?;
    if of.size() == 0 {
        return Ok(None);
    }
    require(of.rank_of(rank.me()).is_some(), MPI_ERR_GROUP, || {
        "this rank is not in the group".into()
    })?;
    comm::create_group(rank, MPI_COMM_WORLD, group).map(Some)
}

/// Keeps an info with one pair.
fn keep_info(rank: &Rank, key: &str, value: String) -> MPI_Info {
    let pairs = super::Pairs::of(key, value);
    handle(rank.infos.borrow_mut().add(pairs))
}

/// Writes a name as far as there is room, and tells how much is needed.
fn write_name(caller: &Caller, len: *mut c_int, to: *mut c_char, name: &str) -> Out {
    let room = count(caller.read(len)?, "the length")?;
    if room > 0 {
        caller.write_text(to, room, name)?;
    }
    caller.write(len, name.len() as c_int + 1)
}

super::calls! {
    fn MPI_Session_finalize(session: *mut MPI_Session) |rank, caller| {
        let number = caller.read(session)?.addr();
        rank.session(handle(number))?;
        let ended = rank.sessions.borrow_mut().remove(number).map(drop);
        ended.map_err(|why| bad(MPI_ERR_SESSION, "session", number, why))?;
        buffered::forget(rank, number);
        end_session(rank);
        caller.write(session, MPI_SESSION_NULL)
    }
    fn MPI_Session_get_num_psets(session: MPI_Session, info: MPI_Info, number: *mut c_int) on session |rank, caller| {
        rank.session(session)?;
        check_info(rank, info)?;
        caller.write(number, SETS.len() as c_int)
    }
    fn MPI_Session_get_nth_pset(session: MPI_Session, info: MPI_Info, n: c_int, pset_len: *mut c_int, pset_name: *mut c_char) on session |rank, caller| {
        rank.session(session)?;
        check_info(rank, info)?;
        let set = usize::try_from(n).ok().and_then(|n| SETS.get(n));
        let set = set.ok_or_else(|| failure(MPI_ERR_ARG, format!("there is no set of ranks of number {n}")))?;
        write_name(caller, pset_len, pset_name, set)
    }
    fn MPI_Session_get_info(session: MPI_Session, info: *mut MPI_Info) on session |rank, caller| {
        rank.session(session)?;
        caller.write(info, keep_info(rank, "thread_level", "MPI_THREAD_FUNNELED".into()))
    }
    fn MPI_Session_get_pset_info(session: MPI_Session, pset_name: *const c_char, info: *mut MPI_Info) on session |rank, caller| {
        rank.session(session)?;
        let name = caller.text(pset_name)?;
        let set = session::group(rank, &name.to_string());
        let set = set.ok_or_else(|| failure(MPI_ERR_ARG, format!("there is no set of ranks {name}")))?;
        caller.write(info, keep_info(rank, "mpi_size", set.size().to_string()))
    }
    fn MPI_Group_from_session_pset(session: MPI_Session, pset_name: *const c_char, group: *mut MPI_Group) on session |rank, caller| {
        rank.session(session)?;
        // Programs try a set that may not be there.
        let made = session::group(rank, &caller.text(pset_name)?.to_string());
        caller.write(group, made.map_or(MPI_GROUP_NULL, |made| group::keep_of(rank, made, session.addr())))
    }
    /// The tag is not needed: communicators that the same ranks make are made in one order. Errors go to the error handler that
    /// it is given; if that is none, to that of the group's session.
    fn MPI_Comm_create_from_group(group: MPI_Group, stringtag: *const c_char, info: MPI_Info, errhandler: MPI_Errhandler, newcomm: *mut MPI_Comm) on group |rank, caller| {
        by_argument(rank, errhandler, MPI_COMM_NULL.addr(), |on_error| {
            check_info(rank, info)?;
            caller.text(stringtag)?;
            let made = from_group(rank, group)?;
            if let Some(made) = made {
                let made = rank.comm(made)?;
                made.on_error.swap(&on_error);
                made.session.set(rank.session_of(group.addr()).unwrap_or(0));
            }
            caller.write(newcomm, made.unwrap_or(MPI_COMM_NULL))
        })
    }
    fn MPI_Session_create_errhandler(function: Option<MPI_Session_errhandler_function>, errhandler: *mut MPI_Errhandler) |rank, caller| {
        let function = super::arguments::function(function)?;
        let made = keep_handler(rank, (function as *const ()).expose_provenance());
        caller.write(errhandler, handle(made))
    }
    fn MPI_Session_set_errhandler(session: MPI_Session, errhandler: MPI_Errhandler) on session |rank, _| {
        let on = rank.session(session)?;
        check_handler(rank, errhandler)?;
        on.on_error.set(errhandler.addr());
        Ok(())
    }
    fn MPI_Session_get_errhandler(session: MPI_Session, errhandler: *mut MPI_Errhandler) on session |rank, caller| {
        let on = rank.session(session)?;
        caller.write(errhandler, further_handle(rank, on.on_error.get()))
    }
    fn MPI_Session_call_errhandler(session: MPI_Session, errorcode: c_int) on session |rank, caller| {
        rank.session(session)?;
        crate::call::call_handler(rank, "MPI_Session_call_errhandler", session.cast(), caller, errorcode)
    }
}
