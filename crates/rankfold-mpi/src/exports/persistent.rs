//! Persistent messages, and how each collective is called at once, started, or made persistent.

use std::ffi::{c_int, c_void};
use std::ptr::without_provenance_mut;
use std::rc::Rc;

use super::arguments::place;
use crate::abi::*;
use crate::comm::Communicator;
use crate::error::Out;
use crate::memory::Caller;
use crate::p2p::{self, From, Mode, To};
use crate::plan::{self, Maker, Plan};
use crate::rank::Rank;
use crate::request::{keep, keep_persistent};

/// What makes the plan of a collective, once its arguments are known to be right.
pub(super) fn maker(plan: impl Fn(&Caller, &Communicator) -> Out<Plan> + 'static) -> Out<Maker> {
    Ok(Rc::new(plan))
}

/// Calls a collective, and waits for its end.
pub(super) fn call(rank: &Rank, caller: &Caller, on: &Communicator, maker: &Maker) -> Out {
    plan::execute(rank, caller, on, maker(caller, on)?)
}

/// Starts a collective.
pub(super) fn start(
    rank: &Rank,
    caller: &Caller,
    on: &Communicator,
    maker: &Maker,
    to: *mut MPI_Request,
) -> Out {
    let pending = plan::start(rank.call.get(), on, maker(caller, on)?)?;
    caller.write(to, keep(rank, pending))
}

/// Makes a persistent collective. Ranks make theirs in one order, and may start them in different ones: each has a
/// communicator of its own.
pub(super) fn init(
    rank: &Rank,
    caller: &Caller,
    on: &Communicator,
    maker: Maker,
    to: *mut MPI_Request,
) -> Out {
    let (name, handle) = (rank.call.get(), without_provenance_mut(on.handle.get()));
    let on = on.apart()?;
    let start = move |_: &Rank, caller: &Caller| plan::start(name, &on, maker(caller, &on)?);
    caller.write(to, keep_persistent(rank, handle, Rc::new(start)))
}

/// Defines a collective in its three forms. The body checks the arguments and returns what makes the plan. What is after
/// `at once` does the first form by itself, if it returns something.
macro_rules! collectives {
    ($($name:ident $started:ident $persistent:ident($($arg:ident: $ty:ty),* $(,)?) |$rank:pat_param, $caller:pat_param, $on:ident| $(at once $quick:block, or)? $body:block)*) => {
        $crate::exports::calls! {$(
            fn $name($($arg: $ty,)* comm: MPI_Comm) on comm |rank, caller| {
                let communicator = rank.comm(comm)?;
                #[allow(unused_variables)] // forms differ in what they use
                let ($rank, $caller, $on) = (rank, caller, &*communicator);
                $(
                    let quick: Option<Out> = $quick;
                    if let Some(done) = quick {
                        return done;
                    }
                )?
                let made: Out<Maker> = $body;
                $crate::exports::persistent::call(rank, caller, &communicator, &made?)
            }
            fn $started($($arg: $ty,)* comm: MPI_Comm, request: *mut MPI_Request) on comm |rank, caller| {
                let communicator = rank.comm(comm)?;
                #[allow(unused_variables)] // forms differ in what they use
                let ($rank, $caller, $on) = (rank, caller, &*communicator);
                let made: Out<Maker> = $body;
                $crate::exports::persistent::start(rank, caller, &communicator, &made?, request)
            }
            fn $persistent($($arg: $ty,)* comm: MPI_Comm, info: MPI_Info, request: *mut MPI_Request) on comm |rank, caller| {
                let communicator = rank.comm(comm)?;
                #[allow(unused_variables)] // forms differ in what they use
                let ($rank, $caller, $on) = (rank, caller, &*communicator);
                $crate::exports::infos::check(rank, info)?;
                let made: Out<Maker> = $body;
                $crate::exports::persistent::init(rank, caller, &communicator, made?, request)
            }
        )*}
    };
}
pub(super) use collectives;

macro_rules! messages {
    ($($name:ident $mode:ident;)*) => {
        super::calls! {
            $(fn $name(buf: *const c_void, count: c_int, datatype: MPI_Datatype, dest: c_int, tag: c_int, comm: MPI_Comm, request: *mut MPI_Request) on comm |rank, caller| {
                let on = rank.comm(comm)?;
                let (data, to) = (place(buf, count, datatype)?, To::new(&on, dest, tag)?);
                let start = move |rank: &Rank, caller: &Caller| {
                    p2p::isend(rank, caller, Mode::$mode, &data.buffer(), to, &on)
                };
                caller.write(request, keep_persistent(rank, comm, Rc::new(start)))
            })*
            fn MPI_Recv_init(buf: *mut c_void, count: c_int, datatype: MPI_Datatype, source: c_int, tag: c_int, comm: MPI_Comm, request: *mut MPI_Request) on comm |rank, caller| {
                let on = rank.comm(comm)?;
                let (into, from) = (place(buf, count, datatype)?, From::new(&on, source, tag)?);
                let start = move |_: &Rank, _: &Caller| p2p::irecv(into.at, into.count, into.of.clone(), from, &on);
                caller.write(request, keep_persistent(rank, comm, Rc::new(start)))
            }
        }
    };
}

messages! {
    MPI_Send_init Standard;
    MPI_Bsend_init Buffered;
    MPI_Ssend_init Synchronous;
    MPI_Rsend_init Ready;
}
