//! Windows: how they are made and freed, and the epochs in which they are accessed.

use std::ffi::{c_char, c_int, c_void};
use std::ptr::without_provenance_mut as handle;

use super::arguments::flag;
use super::errors::{check_handler, further_handle, keep_handler};
use super::infos::check as check_info;
use crate::abi::*;
use crate::error::Out;
use crate::group;
use crate::memory::Caller;
use crate::rank::Rank;
use crate::window::{self, Offer};

/// Makes a window whose memory the library allocates, and tells where it is.
pub(super) fn allocate(
    rank: &Rank,
    caller: &Caller,
    (comm, info): (MPI_Comm, MPI_Info),
    offer: Offer,
    (baseptr, win): (*mut c_void, *mut MPI_Win),
) -> Out {
    let on = rank.comm(comm)?;
    check_info(rank, info)?;
    let (made, base) = window::create(rank, &on, &offer)?;
    let base: *mut c_void = std::ptr::with_exposed_provenance_mut(base);
    caller.write(baseptr.cast::<*mut c_void>(), base)?;
    caller.write(win, made)
}

super::calls! {
    fn MPI_Win_create(base: *mut c_void, size: MPI_Aint, disp_unit: c_int, info: MPI_Info, comm: MPI_Comm, win: *mut MPI_Win) on comm |rank, caller| {
        let on = rank.comm(comm)?;
        check_info(rank, info)?;
        let offer = Offer::new(MPI_WIN_FLAVOR_CREATE, base.expose_provenance(), size, disp_unit)?;
        caller.write(win, window::create(rank, &on, &offer)?.0)
    }
    fn MPI_Win_allocate(size: MPI_Aint, disp_unit: c_int, info: MPI_Info, comm: MPI_Comm, baseptr: *mut c_void, win: *mut MPI_Win) on comm |rank, caller| {
        let offer = Offer::new(MPI_WIN_FLAVOR_ALLOCATE, 0, size, disp_unit)?;
        allocate(rank, caller, (comm, info), offer, (baseptr, win))
    }
    /// The memory of all ranks is one piece, in the order of ranks.
    fn MPI_Win_allocate_shared(size: MPI_Aint, disp_unit: c_int, info: MPI_Info, comm: MPI_Comm, baseptr: *mut c_void, win: *mut MPI_Win) on comm |rank, caller| {
        let offer = Offer::new(MPI_WIN_FLAVOR_SHARED, 0, size, disp_unit)?;
        allocate(rank, caller, (comm, info), offer, (baseptr, win))
    }
    /// Ranks are threads, so that it tells the memory of every window that is not dynamic.
    fn MPI_Win_shared_query(win: MPI_Win, target: c_int, size: *mut MPI_Aint, disp_unit: *mut c_int, baseptr: *mut c_void) on win |rank, caller| {
        let (bytes, unit, base) = rank.win(win)?.query(target)?;
        let base: *mut c_void = std::ptr::with_exposed_provenance_mut(base);
        caller.write(size, bytes)?;
        caller.write(disp_unit, c_int::try_from(unit).unwrap_or(MPI_UNDEFINED))?;
        caller.write(baseptr.cast::<*mut c_void>(), base)
    }
    fn MPI_Win_create_dynamic(info: MPI_Info, comm: MPI_Comm, win: *mut MPI_Win) on comm |rank, caller| {
        let on = rank.comm(comm)?;
        check_info(rank, info)?;
        let offer = Offer::new(MPI_WIN_FLAVOR_DYNAMIC, 0, 0, 1)?;
        caller.write(win, window::create(rank, &on, &offer)?.0)
    }
    fn MPI_Win_attach(win: MPI_Win, base: *mut c_void, size: MPI_Aint) on win |rank, _| {
        rank.win(win)?.attach(base.expose_provenance(), size)
    }
    fn MPI_Win_detach(win: MPI_Win, base: *const c_void) on win |rank, _| {
        rank.win(win)?.detach(base.addr())
    }
    fn MPI_Win_free(win: *mut MPI_Win) |rank, caller| {
        let of = caller.read(win)?;
        rank.errors.blamed.set(of.addr());
        window::free(rank, caller, of)?;
        rank.errors.blamed.set(0);
        caller.write(win, MPI_WIN_NULL)
    }
    fn MPI_Win_fence(assert: c_int, win: MPI_Win) on win |rank, _| {
        rank.win(win)?.fence(assert)
    }
    fn MPI_Win_start(group: MPI_Group, assert: c_int, win: MPI_Win) on win |rank, _| {
        rank.win(win)?.start(&*rank.group(group)?, assert)
    }
    fn MPI_Win_complete(win: MPI_Win) on win |rank, _| {
        rank.win(win)?.complete()
    }
    fn MPI_Win_post(group: MPI_Group, assert: c_int, win: MPI_Win) on win |rank, _| {
        rank.win(win)?.post(&*rank.group(group)?, assert)
    }
    fn MPI_Win_wait(win: MPI_Win) on win |rank, _| {
        rank.win(win)?.wait()
    }
    fn MPI_Win_test(win: MPI_Win, there: *mut c_int) on win |rank, caller| {
        let over = rank.win(win)?.test()?;
        caller.write(there, flag(over))?;
        if over { Ok(()) } else { rank.asked_in_vain() }
    }
    fn MPI_Win_lock(lock_type: c_int, target: c_int, assert: c_int, win: MPI_Win) on win |rank, _| {
        rank.win(win)?.lock(lock_type, target, assert)
    }
    fn MPI_Win_unlock(target: c_int, win: MPI_Win) on win |rank, _| {
        rank.win(win)?.unlock(target)
    }
    fn MPI_Win_lock_all(assert: c_int, win: MPI_Win) on win |rank, _| {
        rank.win(win)?.lock_all(assert)
    }
    fn MPI_Win_unlock_all(win: MPI_Win) on win |rank, _| {
        rank.win(win)?.unlock_all()
    }
    /// Accesses are complete when their calls return.
    fn MPI_Win_flush(target: c_int, win: MPI_Win) on win |rank, _| {
        flush(rank, target, win)
    }
    fn MPI_Win_flush_local(target: c_int, win: MPI_Win) on win |rank, _| {
        flush(rank, target, win)
    }
    fn MPI_Win_flush_all(win: MPI_Win) on win |rank, _| {
        flush_all(rank, win)
    }
    fn MPI_Win_flush_local_all(win: MPI_Win) on win |rank, _| {
        flush_all(rank, win)
    }
    fn MPI_Win_sync(win: MPI_Win) on win |rank, _| {
        let on = rank.win(win)?;
        // What this rank and the others have written becomes visible to each other.
        std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
        on.poll()
    }
    fn MPI_Win_get_group(win: MPI_Win, group: *mut MPI_Group) on win |rank, caller| {
        let made = rank.win(win)?.group.clone();
        caller.write(group, group::keep(rank, made))
    }
    fn MPI_Win_set_name(win: MPI_Win, name: *const c_char) on win |rank, caller| {
        let text = caller.text(name)?;
        *rank.win(win)?.name.borrow_mut() = text;
        Ok(())
    }
    fn MPI_Win_get_name(win: MPI_Win, name: *mut c_char, length: *mut c_int) on win |rank, caller| {
        let text = match win {
            MPI_WIN_NULL => "MPI_WIN_NULL".into(),
            _ => rank.win(win)?.name.borrow().clone(),
        };
        super::arguments::name(caller, (name, length), &text)
    }
    fn MPI_Win_set_info(win: MPI_Win, info: MPI_Info) on win |rank, _| {
        rank.win(win)?;
        check_info(rank, info)
    }
    fn MPI_Win_get_info(win: MPI_Win, info: *mut MPI_Info) on win |rank, caller| {
        rank.win(win)?;
        let made = rank.infos.borrow_mut().add(Default::default());
        caller.write(info, handle(made))
    }
    fn MPI_Win_create_errhandler(function: Option<MPI_Win_errhandler_function>, errhandler: *mut MPI_Errhandler) |rank, caller| {
        let function = super::arguments::function(function)?;
        let made = keep_handler(rank, (function as *const ()).expose_provenance());
        caller.write(errhandler, handle(made))
    }
    fn MPI_Win_set_errhandler(win: MPI_Win, errhandler: MPI_Errhandler) on win |rank, _| {
        let on = rank.win(win)?;
        check_handler(rank, errhandler)?;
        on.on_error.set(errhandler.addr());
        Ok(())
    }
    fn MPI_Win_get_errhandler(win: MPI_Win, errhandler: *mut MPI_Errhandler) on win |rank, caller| {
        let on = rank.win(win)?;
        caller.write(errhandler, further_handle(rank, on.on_error.get()))
    }
    fn MPI_Win_call_errhandler(win: MPI_Win, errorcode: c_int) on win |rank, caller| {
        rank.win(win)?;
        crate::call::call_handler(rank, "MPI_Win_call_errhandler", win.cast(), caller, errorcode)
    }
}

fn flush(rank: &Rank, target: c_int, win: MPI_Win) -> Out {
    let on = rank.win(win)?;
    match on.target(target)? {
        Some(target) => on.check_locked(Some(target))?,
        None => return Ok(()),
    }
    on.poll()
}

fn flush_all(rank: &Rank, win: MPI_Win) -> Out {
    let on = rank.win(win)?;
    on.check_locked(None)?;
    on.poll()
}
