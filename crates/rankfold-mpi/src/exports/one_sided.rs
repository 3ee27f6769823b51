//! Accesses to windows. A request of one is complete at once.

use std::ffi::{c_int, c_void};

use super::sizes::place;
use crate::abi::*;
use crate::datatype::basic::Holds;
use crate::datatype::pack::Place;
use crate::error::{Out, require};
use crate::memory::Caller;
use crate::rank::Rank;
use crate::request::{Pending, keep};
use crate::stat::Stat;
use crate::window::{Aim, Combine, Win};

/// Origin or result: address, count, datatype.
type Side = (*const c_void, MPI_Count, MPI_Datatype);
/// Target: rank, displacement, count, datatype.
type Target = (c_int, MPI_Aint, MPI_Count, MPI_Datatype);

fn side((at, count, of): Side) -> Out<Place> {
    place(at, count, of)
}

fn aim(win: &Win, (rank, disp, count, of): Target) -> Out<Option<Aim>> {
    Aim::new(win, rank, disp, count, of)
}

fn put(caller: &Caller, win: &Win, origin: Side, target: Target) -> Out {
    let origin = side(origin)?;
    match aim(win, target)? {
        Some(aim) => win.put(caller, &origin.buffer(), &aim),
        None => Ok(()),
    }
}

fn get(caller: &Caller, win: &Win, origin: Side, target: Target) -> Out {
    let origin = side(origin)?;
    match aim(win, target)? {
        Some(aim) => win.get(caller, &origin.buffer(), &aim),
        None => Ok(()),
    }
}

fn accumulate(caller: &Caller, win: &Win, origin: Side, target: Target, op: MPI_Op) -> Out {
    let (origin, combine) = (side(origin)?, Combine::new(op, false)?);
    match aim(win, target)? {
        Some(aim) => win.accumulate(caller, Some(&origin.buffer()), None, &aim, combine),
        None => Ok(()),
    }
}

fn get_accumulate(
    caller: &Caller,
    win: &Win,
    (origin, result): (Side, Side),
    target: Target,
    op: MPI_Op,
) -> Out {
    let combine = Combine::new(op, true)?;
    // Without an operation the origin means nothing.
    let origin = (op != MPI_NO_OP).then(|| side(origin)).transpose()?;
    let result = side(result)?;
    let Some(aim) = aim(win, target)? else {
        return Ok(());
    };
    let origin = origin.as_ref().map(Place::buffer);
    win.accumulate(
        caller,
        origin.as_ref(),
        Some(&result.buffer()),
        &aim,
        combine,
    )
}

/// A request of an access, which is for locked ranks alone.
fn request(
    rank: &Rank,
    caller: &Caller,
    (win, target): (&Win, c_int),
    to: *mut MPI_Request,
    access: impl FnOnce() -> Out,
) -> Out {
    if let Some(target) = win.target(target)? {
        win.check_locked(Some(target))?;
    }
    access()?;
    caller.write(to, keep(rank, Pending::done(Stat::EMPTY)))
}

fn check_predefined(of: MPI_Datatype) -> Out {
    let found = crate::datatype::of(of)?;
    require(found.predefined, MPI_ERR_TYPE, || {
        "the datatype is not predefined".into()
    })
}

fn check_integer(of: MPI_Datatype) -> Out {
    check_predefined(of)?;
    let found = crate::datatype::of(of)?;
    let integers = [Holds::Signed, Holds::Unsigned, Holds::Logical, Holds::Byte];
    let one = matches!(found.runs[..], [(basic, 1)] if integers.contains(&basic.holds));
    require(one, MPI_ERR_TYPE, || {
        format!(
            "the datatype holds {}, and no integer",
            found.signature.names()
        )
    })
}

/// Defines the calls that have counts, which are of the type that is given.
macro_rules! accesses {
    ($count:ty; $put:ident $get:ident $accumulate:ident $get_accumulate:ident $rput:ident $rget:ident $raccumulate:ident $rget_accumulate:ident) => {
        $crate::exports::calls! {
            fn $put(origin_addr: *const c_void, origin_count: $count, origin_datatype: MPI_Datatype, target_rank: c_int, target_disp: MPI_Aint, target_count: $count, target_datatype: MPI_Datatype, win: MPI_Win) on win |rank, caller| {
                let on = rank.win(win)?;
                put(caller, &on, (origin_addr, origin_count.into(), origin_datatype), (target_rank, target_disp, target_count.into(), target_datatype))
            }
            fn $get(origin_addr: *mut c_void, origin_count: $count, origin_datatype: MPI_Datatype, target_rank: c_int, target_disp: MPI_Aint, target_count: $count, target_datatype: MPI_Datatype, win: MPI_Win) on win |rank, caller| {
                let on = rank.win(win)?;
                get(caller, &on, (origin_addr, origin_count.into(), origin_datatype), (target_rank, target_disp, target_count.into(), target_datatype))
            }
            fn $accumulate(origin_addr: *const c_void, origin_count: $count, origin_datatype: MPI_Datatype, target_rank: c_int, target_disp: MPI_Aint, target_count: $count, target_datatype: MPI_Datatype, op: MPI_Op, win: MPI_Win) on win |rank, caller| {
                let on = rank.win(win)?;
                accumulate(caller, &on, (origin_addr, origin_count.into(), origin_datatype), (target_rank, target_disp, target_count.into(), target_datatype), op)
            }
            fn $get_accumulate(
                origin_addr: *const c_void, origin_count: $count, origin_datatype: MPI_Datatype, result_addr: *mut c_void, result_count: $count,
                result_datatype: MPI_Datatype, target_rank: c_int, target_disp: MPI_Aint, target_count: $count, target_datatype: MPI_Datatype,
                op: MPI_Op, win: MPI_Win,
            ) on win |rank, caller| {
                let on = rank.win(win)?;
                let sides = ((origin_addr, origin_count.into(), origin_datatype), (result_addr.cast_const(), result_count.into(), result_datatype));
                get_accumulate(caller, &on, sides, (target_rank, target_disp, target_count.into(), target_datatype), op)
            }
            fn $rput(origin_addr: *const c_void, origin_count: $count, origin_datatype: MPI_Datatype, target_rank: c_int, target_disp: MPI_Aint, target_count: $count, target_datatype: MPI_Datatype, win: MPI_Win, request: *mut MPI_Request) on win |rank, caller| {
                let on = rank.win(win)?;
                super::request(rank, caller, (&on, target_rank), request, || {
                    put(caller, &on, (origin_addr, origin_count.into(), origin_datatype), (target_rank, target_disp, target_count.into(), target_datatype))
                })
            }
            fn $rget(origin_addr: *mut c_void, origin_count: $count, origin_datatype: MPI_Datatype, target_rank: c_int, target_disp: MPI_Aint, target_count: $count, target_datatype: MPI_Datatype, win: MPI_Win, request: *mut MPI_Request) on win |rank, caller| {
                let on = rank.win(win)?;
                super::request(rank, caller, (&on, target_rank), request, || {
                    get(caller, &on, (origin_addr, origin_count.into(), origin_datatype), (target_rank, target_disp, target_count.into(), target_datatype))
                })
            }
            fn $raccumulate(
                origin_addr: *const c_void, origin_count: $count, origin_datatype: MPI_Datatype, target_rank: c_int, target_disp: MPI_Aint,
                target_count: $count, target_datatype: MPI_Datatype, op: MPI_Op, win: MPI_Win, request: *mut MPI_Request,
            ) on win |rank, caller| {
                let on = rank.win(win)?;
                super::request(rank, caller, (&on, target_rank), request, || {
                    accumulate(caller, &on, (origin_addr, origin_count.into(), origin_datatype), (target_rank, target_disp, target_count.into(), target_datatype), op)
                })
            }
            fn $rget_accumulate(
                origin_addr: *const c_void, origin_count: $count, origin_datatype: MPI_Datatype, result_addr: *mut c_void, result_count: $count,
                result_datatype: MPI_Datatype, target_rank: c_int, target_disp: MPI_Aint, target_count: $count, target_datatype: MPI_Datatype,
                op: MPI_Op, win: MPI_Win, request: *mut MPI_Request,
            ) on win |rank, caller| {
                let on = rank.win(win)?;
                let sides = ((origin_addr, origin_count.into(), origin_datatype), (result_addr.cast_const(), result_count.into(), result_datatype));
                super::request(rank, caller, (&on, target_rank), request, || {
                    get_accumulate(caller, &on, sides, (target_rank, target_disp, target_count.into(), target_datatype), op)
                })
            }
        }
    };
}

/// With counts that are `int`.
pub(crate) mod narrow {
    use super::*;

    accesses! { c_int; MPI_Put MPI_Get MPI_Accumulate MPI_Get_accumulate MPI_Rput MPI_Rget MPI_Raccumulate MPI_Rget_accumulate }
}

/// With large counts.
pub(crate) mod large {
    use super::*;

    accesses! { MPI_Count; MPI_Put_c MPI_Get_c MPI_Accumulate_c MPI_Get_accumulate_c MPI_Rput_c MPI_Rget_c MPI_Raccumulate_c MPI_Rget_accumulate_c }
}

pub use large::*;
pub use narrow::*;

super::calls! {
    fn MPI_Fetch_and_op(origin_addr: *const c_void, result_addr: *mut c_void, datatype: MPI_Datatype, target_rank: c_int, target_disp: MPI_Aint, op: MPI_Op, win: MPI_Win) on win |rank, caller| {
        let on = rank.win(win)?;
        check_predefined(datatype)?;
        let sides = ((origin_addr, 1, datatype), (result_addr.cast_const(), 1, datatype));
        get_accumulate(caller, &on, sides, (target_rank, target_disp, 1, datatype), op)?;
        on.poll()
    }
    fn MPI_Compare_and_swap(origin_addr: *const c_void, compare_addr: *const c_void, result_addr: *mut c_void, datatype: MPI_Datatype, target_rank: c_int, target_disp: MPI_Aint, win: MPI_Win) on win |rank, caller| {
        let on = rank.win(win)?;
        check_integer(datatype)?;
        let [origin, compare, result] = [origin_addr, compare_addr, result_addr.cast_const()].map(|at| place(at, 1, datatype));
        let (origin, compare, result) = (origin?, compare?, result?);
        if let Some(aim) = aim(&on, (target_rank, target_disp, 1, datatype))? {
            on.compare_and_swap(caller, (&origin.buffer(), &compare.buffer()), &result.buffer(), &aim)?;
        }
        on.poll()
    }
}
