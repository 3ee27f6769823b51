//! What every call has in common: the rank, the phase it is in, and what becomes of an error.

use std::any::Any;
use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::without_provenance_mut;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::abi::*;
use crate::error::{Failure, Out, failure};
use crate::launch::{self, singleton};
use crate::line;
use crate::memory::Caller;
use crate::rank::{Given, Phase, Rank, current};
use crate::report::Stop;

/// How many ranks of this process have called `MPI_Init`, and how many `MPI_Finalize`: for threads that are no ranks.
static BEGUN: AtomicUsize = AtomicUsize::new(0);
static FINALIZED: AtomicUsize = AtomicUsize::new(0);
/// Whether a thread that is no rank has made a call that only ranks may make.
static STRAYED: AtomicBool = AtomicBool::new(false);

/// What `MPI_Initialized` says on a thread.
pub(crate) fn is_initialised(rank: Option<&Rank>) -> bool {
    // Relaxed: a thread that must see it learned of it from the rank.
    let any = || BEGUN.load(Ordering::Relaxed) > 0;
    rank.map_or_else(any, |rank| rank.initialised.get())
}

/// What `MPI_Finalized` says on a thread: on one that is no rank, whether all ranks have called it.
pub(crate) fn is_finalised(rank: Option<&Rank>) -> bool {
    // Relaxed: as above.
    let all = || {
        let ended = FINALIZED.load(Ordering::Relaxed);
        ended > 0 && ended == BEGUN.load(Ordering::Relaxed)
    };
    rank.map_or_else(all, |rank| rank.finalised.get())
}

/// Runs a call on a communicator, or on none.
#[inline(always)]
pub(crate) fn enter(
    name: &'static str,
    on: MPI_Comm,
    caller: &Caller,
    body: impl FnOnce(&Rank) -> Out,
) -> c_int {
    let Some(rank) = current().or_else(|| first_rank(name)) else {
        return stray(name);
    };
    let outcome = match rank.phase.get() {
        Phase::Running => {
            rank.enters(name);
            rank.asking.step();
            if rank.has_freed() {
                complete_freed(&rank, name, caller);
            }
            let outcome = run(&rank, name, body);
            if outcome.is_ok() && rank.has_freed() {
                complete_freed(&rank, name, caller);
            }
            rank.asking.step();
            outcome
        }
        _ if is_always_available(name) => run(&rank, name, body),
        _ => Err(out_of_phase(&rank)),
    };
    match outcome {
        Ok(()) => MPI_SUCCESS,
        Err(error) => failed(&rank, name, on, caller, error),
    }
}

/// Whether a call is allowed before `MPI_Init` and after `MPI_Finalize`, and on any thread: a session begins with some of
/// these. On a thread that is no rank they fail here, and the run does not.
#[cold]
fn is_always_available(name: &str) -> bool {
    const OTHERS: [&str; 6] = [
        "MPI_Abi_get_version",
        "MPI_Session_create_errhandler",
        "MPI_Session_call_errhandler",
        "MPI_Errhandler_free",
        "MPI_Error_class",
        "MPI_Error_string",
    ];
    let starts = ["MPI_Info_", "MPI_Add_error_", "MPI_Remove_error_"];
    OTHERS.contains(&name) || starts.iter().any(|start| name.starts_with(start))
}

/// The rank that a thread becomes by such a call, where none was launched.
#[cold]
fn first_rank(name: &str) -> Option<Rc<Rank>> {
    // Relaxed: a thread that is to see it learned of it from the rank.
    let is_first = is_always_available(name) && BEGUN.load(Ordering::Relaxed) == 0;
    is_first.then(|| here(name)).flatten()
}

/// Runs a call that any thread may make at any time.
pub(crate) fn enter_anywhere(
    name: &'static str,
    caller: &Caller,
    body: impl FnOnce(Option<&Rank>) -> Out,
) -> c_int {
    let rank = current();
    match catch_unwind(AssertUnwindSafe(|| body(rank.as_deref()))) {
        Ok(Ok(())) => MPI_SUCCESS,
        Ok(Err(error)) => match &rank {
            Some(rank) => failed(rank, name, MPI_COMM_NULL, caller, error),
            None => {
                eprintln!("{name}: {error}");
                error.class
            }
        },
        Err(_) => MPI_ERR_INTERN,
    }
}

/// Completes what was freed and is over. Its errors go to the error handlers of its communicators, and are no errors of the
/// call in progress, which goes on; where errors are returned, they are told at the end.
#[cold]
fn complete_freed(rank: &Rank, name: &'static str, caller: &Caller) {
    let mut errors = Vec::new();
    let swept = run(rank, name, |rank| {
        errors = crate::detached::sweep_freed(rank, caller, false);
        Ok(())
    });
    debug_assert!(swept.is_ok());
    for (on, error) in errors {
        let on = without_provenance_mut(on);
        let blamed = Blamed::of(rank, on);
        match without_provenance_mut(blamed.on_error) {
            MPI_ERRORS_RETURN => tell_of_freed(rank, stopped(name, blamed.name, error)),
            _ => _ = failed(rank, name, on, caller, error),
        }
    }
}

/// Tells of an error of an operation whose request was freed, unless many were told before.
fn tell_of_freed(rank: &Rank, error: Stop) {
    if rank.tells_of_freed() {
        tell(rank, error);
    }
}

/// Tells at the end of the run of an error that no call returns.
fn tell(rank: &Rank, error: Stop) {
    let me = rank.me();
    rank.shared.remark(format!("rank {me}: {error}"));
}

#[inline]
fn run(rank: &Rank, name: &'static str, body: impl FnOnce(&Rank) -> Out) -> Out {
    match catch_unwind(AssertUnwindSafe(|| body(rank))) {
        Ok(result) => result,
        // The panic must not go on through the program's frames, which may be those of C.
        Err(payload) => panicked(rank, name, &*payload),
    }
}

#[cold]
fn panicked(rank: &Rank, name: &'static str, payload: &(dyn Any + Send)) -> ! {
    abort(rank, name, failure(MPI_ERR_INTERN, said(payload)))
}

fn said(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(ToString::to_string);
    let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "a panic".into())
}

/// A call on a thread that is no rank.
#[cold]
fn stray(name: &str) -> c_int {
    if !is_always_available(name) {
        // Relaxed: as in `has_strayed`.
        STRAYED.store(true, Ordering::Relaxed);
    }
    let place = line::of_the_program().map_or_else(String::new, |place| format!(" at {place}"));
    let ranks =
        "MPI is called on the thread that called MPI_Init: MPI_THREAD_FUNNELED is provided at most";
    eprintln!("{name}{place}: this thread is no rank; {ranks}");
    MPI_ERR_OTHER
}

/// Whether a thread of this process that is no rank has made a call.
#[cfg(feature = "exports")]
pub(crate) fn has_strayed() -> bool {
    // Relaxed: the thread that asks joined the ranks, which joined their threads; of other threads nothing is promised.
    STRAYED.load(Ordering::Relaxed)
}

/// Refuses what is for the time between `MPI_Init` and `MPI_Finalize`.
pub(crate) fn check_running(rank: &Rank) -> Out {
    match rank.phase.get() {
        Phase::Running => Ok(()),
        _ => Err(out_of_phase(rank)),
    }
}

#[cold]
fn out_of_phase(rank: &Rank) -> Failure {
    let when = match (rank.finalised.get(), rank.phase.get()) {
        (true, _) => "after MPI_Finalize",
        (_, Phase::Finalized) => "after MPI_Session_finalize",
        _ => "before MPI_Init",
    };
    failure(MPI_ERR_OTHER, format!("it is called {when}"))
}

/// `MPI_Init` and `MPI_Init_thread`. Nothing here waits: programs in Rust hold a lock of the process meanwhile.
pub(crate) fn initialise(
    name: &'static str,
    caller: &Caller,
    body: impl FnOnce(&Rank) -> Out,
) -> c_int {
    let Some(rank) = here(name) else {
        return MPI_ERR_OTHER;
    };
    let outcome = match (rank.finalised.get(), rank.initialised.replace(true)) {
        (false, false) => {
            rank.phase.set(Phase::Running);
            rank.enters(name);
            BEGUN.fetch_add(1, Ordering::Relaxed);
            run(&rank, name, body)
        }
        (false, true) => Err(failure(MPI_ERR_OTHER, "it is called a second time")),
        _ => Err(out_of_phase(&rank)),
    };
    match outcome {
        Ok(()) => MPI_SUCCESS,
        Err(error) => failed(&rank, name, MPI_COMM_WORLD, caller, error),
    }
}

/// The rank of this thread, which may not have been launched as one.
fn here(name: &str) -> Option<Rc<Rank>> {
    let rank: Result<Rc<Rank>, String> = current().map_or_else(singleton, Ok);
    rank.inspect_err(|why| eprintln!("{name}: {why}")).ok()
}

/// `MPI_Session_init`.
pub(crate) fn begin_session(
    name: &'static str,
    caller: &Caller,
    body: impl FnOnce(&Rank) -> Out,
) -> c_int {
    let Some(rank) = here(name) else {
        return MPI_ERR_OTHER;
    };
    match run(&rank, name, body) {
        Ok(()) => {
            rank.phase.set(Phase::Running);
            MPI_SUCCESS
        }
        Err(error) => failed(&rank, name, MPI_COMM_NULL, caller, error),
    }
}

/// After the end of a session: calls need another one, or `MPI_Init`.
pub(crate) fn end_session(rank: &Rank) {
    let open = rank.initialised.get() && !rank.finalised.get();
    if !open && rank.sessions.borrow().len() == 0 {
        rank.phase.set(Phase::Finalized);
        note_leaks(rank, "MPI_Session_finalize");
    }
}

fn note_leaks(rank: &Rank, at: &str) {
    let leaks = rank.leaks();
    if !leaks.is_empty() {
        let (me, leaks) = (rank.me(), leaks.join(", "));
        rank.shared
            .remark(format!("rank {me}: left at {at}: {leaks}"));
    }
}

/// `MPI_Finalize`. Nothing here waits, for the same reason, but for a copy of another rank from or to a window of this one.
pub(crate) fn finalise(caller: &Caller) -> c_int {
    let Some(rank) = current() else {
        return stray(FINALIZE);
    };
    if !rank.initialised.get() || rank.finalised.get() {
        return finalised_out_of_phase(&rank, caller);
    }
    // It makes no call of the engine: the last call that a report can mean is the one before.
    let freed = crate::detached::sweep_freed(&rank, caller, true);
    let deleted = crate::attribute::delete_all(caller, &*rank.alone).err();
    let first = freed.first().map(|(_, error)| error).or(deleted.as_ref());
    let class = first.map_or(MPI_SUCCESS, |error| error.class);
    for (on, error) in freed {
        failed_at_end(&rank, on, caller, error, tell_of_freed);
    }
    if let Some(error) = deleted {
        // The call has no communicator.
        failed_at_end(&rank, MPI_COMM_WORLD.addr(), caller, error, tell);
    }
    // By an error handler.
    if rank.finalised.get() {
        return class;
    }
    crate::window::close_all(&rank);
    rank.finalised.set(true);
    FINALIZED.fetch_add(1, Ordering::Relaxed);
    if rank.sessions.borrow().len() == 0 {
        rank.phase.set(Phase::Finalized);
        note_leaks(&rank, FINALIZE);
    }
    class
}

const FINALIZE: &str = "MPI_Finalize";

#[cold]
fn finalised_out_of_phase(rank: &Rank, caller: &Caller) -> c_int {
    let error = out_of_phase(rank);
    if rank.shared.owns_datatypes {
        return failed(rank, FINALIZE, MPI_COMM_NULL, caller, error);
    }
    let (me, class) = (rank.me(), error.class);
    eprintln!("rank {me}: {}", stopped(FINALIZE, None, error));
    class
}

/// What becomes of an error that is found in `MPI_Finalize`. In a program in C it goes to the error handler of its communicator,
/// and is told where that returns it, since few programs look. In Rust nothing stops the rank, which has a lock of the process.
#[cold]
fn failed_at_end(
    rank: &Rank,
    on: usize,
    caller: &Caller,
    error: Failure,
    tell: impl Fn(&Rank, Stop),
) {
    let on = without_provenance_mut(on);
    let blamed = Blamed::of(rank, on);
    let is_returned = blamed.on_error == MPI_ERRORS_RETURN.addr();
    if rank.shared.owns_datatypes && !is_returned {
        failed(rank, FINALIZE, on, caller, error);
    } else {
        tell(rank, stopped(FINALIZE, blamed.name, error));
    }
}

/// What becomes of an error: as the error handler of the communicator says, or the one that the call was given.
#[cold]
fn failed(
    rank: &Rank,
    call: &'static str,
    on: MPI_Comm,
    caller: &Caller,
    failure: Failure,
) -> c_int {
    let blamed: MPI_Comm = without_provenance_mut(rank.errors.blamed.take());
    let on = if on == MPI_COMM_NULL { blamed } else { on };
    let given = rank.errors.given.take().map(Blamed::from);
    let blamed = given.unwrap_or_else(|| Blamed::of(rank, on));
    let stop = stopped(call, blamed.name, failure);
    let class = stop.failure.class;
    rank.errors
        .texts
        .borrow_mut()
        .insert(class, stop.to_string());
    let handler: MPI_Errhandler = without_provenance_mut(blamed.on_error);
    match handler {
        MPI_ERRORS_RETURN => {
            if blamed.handle == MPI_FILE_NULL.addr() {
                rank.shared.remark_on_files(&stop);
            }
            return class;
        }
        MPI_ERRORS_ARE_FATAL | MPI_ERRORS_ABORT => launch::stop(rank, stop),
        _ => {}
    }
    let own = rank.handlers.borrow().get(handler.addr()).copied();
    let Ok(own) = own else {
        launch::stop(rank, stop);
    };
    caller.handle(own, without_provenance_mut(blamed.handle), class);
    class
}

/// Has the error handler of an object handle a code of the program; the call succeeds if the handler returns.
pub(crate) fn call_handler(
    rank: &Rank,
    call: &'static str,
    on: MPI_Comm,
    caller: &Caller,
    code: c_int,
) -> Out {
    if code != MPI_SUCCESS {
        failed(rank, call, on, caller, failure(code, "by the program"));
    }
    Ok(())
}

/// The object whose error handler gets an error.
struct Blamed {
    handle: usize,
    on_error: usize,
    /// Unless it is `MPI_COMM_WORLD`.
    name: Option<String>,
}

impl Blamed {
    /// The object of a handle; of a group the session that it is from. Without one it is `MPI_COMM_WORLD`.
    fn of(rank: &Rank, on: MPI_Comm) -> Blamed {
        let session = rank.session_of(on.addr());
        let on = session.map_or(on, without_provenance_mut);
        if let Ok(session) = rank.session(on.cast()) {
            return Blamed {
                handle: on.addr(),
                on_error: session.on_error.get(),
                name: Some("a session".into()),
            };
        }
        if let Ok(win) = rank.win(on.cast()) {
            let (handle, on_error) = (win.handle.get(), win.on_error.get());
            let name = Some(win.to_string());
            return Blamed {
                handle,
                on_error,
                name,
            };
        }
        if on.addr() == MPI_FILE_NULL.addr() {
            return Blamed {
                handle: on.addr(),
                on_error: rank.files_on_error.get(),
                name: None,
            };
        }
        Blamed::of_comm(rank, on)
    }

    /// The communicator of a handle, which may have been freed before an operation on it failed.
    fn of_comm(rank: &Rank, on: MPI_Comm) -> Blamed {
        if let Some(gone) = rank.gone.borrow().get(&on.addr()) {
            return Blamed {
                handle: on.addr(),
                on_error: gone.on_error,
                name: Some(gone.name.clone()),
            };
        }
        let comm = rank.comm(on).unwrap_or_else(|_| rank.world.clone());
        Blamed {
            handle: comm.handle.get(),
            on_error: comm.on_error.get(),
            name: (comm.handle.get() != rank.world.handle.get()).then(|| comm.to_string()),
        }
    }
}

impl From<Given> for Blamed {
    fn from(given: Given) -> Blamed {
        Blamed {
            handle: given.null,
            on_error: given.on_error,
            name: None,
        }
    }
}

/// What is told of a call that failed.
fn stopped(call: &'static str, on: Option<String>, failure: Failure) -> Stop {
    Stop {
        call,
        on,
        place: line::of_the_program(),
        failure,
    }
}

/// Ends the rank, in a call that does not return.
pub(crate) fn abort(rank: &Rank, call: &'static str, failure: Failure) -> ! {
    launch::stop(rank, stopped(call, None, failure))
}
