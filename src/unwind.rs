//! Panics of rank threads: one hook, chained before the existing hook, that keeps message and line for the report and
//! prints only the first panic of a world.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::mem;
use std::panic::{self, PanicHookInfo};
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::thread;

use parking_lot::Mutex;

thread_local! {
    /// The worlds of which this thread is a rank; usually one.
    static RANK: RefCell<Vec<OnRank>> = const { RefCell::new(Vec::new()) };
    /// The depth of nested operators on this thread, times [`OPERATOR`]; plus [`FOLLOWS`] if the last operation failed
    /// because of another rank, so that a panic now is only a consequence of that.
    static STATE: Cell<u32> = const { Cell::new(0) };
    /// The text of that operation's error.
    static SAID: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Flag in the state of a thread: its last operation failed because of another rank.
const FOLLOWS: u32 = 1;
/// Unit in the state of a thread: one operator.
const OPERATOR: u32 = 2;

/// The depth of nested operators on a thread.
///
/// A rank notes it when it is entered. Its communicators refuse a call from any greater depth: that call comes from
/// within an operator that was called while the thread already was this rank, by whatever path (a thread-local, a
/// destructor, a panic hook, a run of a [`Team`](crate::Team)). Nothing resets the depth while an operator runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Depth(u32);

/// The depth of this thread.
#[inline]
pub(crate) fn depth() -> Depth {
    Depth(state() & !FOLLOWS)
}

/// The state of this thread. By `try_with`, which is inlined everywhere; `get` and `with` are not.
#[inline]
fn state() -> u32 {
    STATE.try_with(Cell::get).unwrap_or_default()
}

#[inline]
fn set_state(state: u32) {
    // A cell without a destructor is there as long as its thread.
    _ = STATE.try_with(|kept| kept.set(state));
}

/// The hook's data for one rank of a thread.
struct OnRank {
    /// Whether a panic of this world has been printed.
    printed: Arc<AtomicBool>,
    last: Option<Panic>,
}

/// A panic as the hook saw it.
#[derive(Clone, Debug)]
pub(crate) struct Panic {
    pub message: Arc<str>,
    pub site: Option<Arc<str>>,
}

/// The hook is not installed.
const MISSING: u8 = 0;
/// A thread that is not panicking installs it.
const COMING: u8 = 1;
/// A new thread installs it, once the hook of a panicking thread has run.
const DEFERRED: u8 = 2;
const INSTALLED: u8 = 3;

/// Installs the hook, once for the process. Called where a world is set up, and not by its ranks: a thread that is in a
/// panic hook may wait for them, while the thread that installs ours waits for that hook.
///
/// The standard library refuses to replace hooks on a panicking thread, and a destructor or a hook on such a thread may
/// be the first to enter a rank. A new thread installs the hook then. Nothing waits for that thread, since it may have
/// to wait until the hook that called us has returned. If no thread can be started, the next world tries again.
pub(crate) fn install_hook() {
    static STAGE: AtomicU8 = AtomicU8::new(MISSING);
    static GUARD: Mutex<()> = Mutex::new(());
    // Acquire: pairs with the release stores below.
    match STAGE.load(Ordering::Acquire) {
        INSTALLED | DEFERRED => {}
        MISSING | COMING if !thread::panicking() => {
            let _guard = GUARD.lock();
            if claim(&STAGE, COMING) {
                chain_hook();
                STAGE.store(INSTALLED, Ordering::Release);
            }
        }
        _ => {
            if claim(&STAGE, DEFERRED) {
                let install = || {
                    chain_hook();
                    STAGE.store(INSTALLED, Ordering::Release);
                };
                if thread::Builder::new().spawn(install).is_err() {
                    STAGE.store(MISSING, Ordering::Release);
                }
            }
        }
    }
}

/// Whether this thread is the one that installs the hook, in this way.
fn claim(stage: &AtomicU8, way: u8) -> bool {
    // AcqRel: one thread succeeds until the stage is `MISSING` again.
    let claimed = stage.compare_exchange(MISSING, way, Ordering::AcqRel, Ordering::Acquire);
    claimed.is_ok()
}

/// Puts our hook before the current one.
fn chain_hook() {
    let previous = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if !note(info) {
            previous(info);
        }
    }));
}

/// Marks this thread as a rank of the world that `printed` belongs to.
pub(crate) fn enter(printed: Arc<AtomicBool>) {
    ranks(|ranks| {
        if ranks.is_empty() {
            // Drop what an earlier rank on this thread left.
            mark_follows(false);
            said(String::clear);
        }
        ranks.push(OnRank {
            printed,
            last: None,
        })
    });
}

/// Runs `f` on the list of this thread. A thread that is ending may have lost the list already while a destructor still
/// calls us; then nothing asks for its contents later.
fn ranks<R>(f: impl FnOnce(&mut Vec<OnRank>) -> R) -> Option<R> {
    RANK.try_with(|ranks| f(&mut ranks.borrow_mut())).ok()
}

/// Removes this thread from the world whose `printed` is at this address, and returns that flag.
pub(crate) fn leave(printed: *const AtomicBool) -> Option<Arc<AtomicBool>> {
    let left = ranks(|ranks| {
        let place = ranks
            .iter()
            .rposition(|rank| Arc::as_ptr(&rank.printed) == printed);
        place.map(|place| ranks.remove(place).printed)
    });
    left.flatten()
}

/// Whether this thread may temporarily become a rank: it is not unwinding, and has not lost its lists.
pub(crate) fn can_enter() -> bool {
    !thread::panicking() && RANK.try_with(|_| ()).is_ok() && SAID.try_with(|_| ()).is_ok()
}

/// Runs code that does not follow from the last operation of this thread, for example as a rank of another world.
/// Afterwards the failure of that operation is restored.
pub(crate) fn apart<R>(f: impl FnOnce() -> R) -> R {
    struct Restore(bool, String);
    impl Drop for Restore {
        fn drop(&mut self) {
            mark_follows(self.0);
            said(|said| *said = mem::take(&mut self.1));
        }
    }
    let before = said(mem::take).unwrap_or_default();
    let _restore = Restore(follows(), before);
    mark_follows(false);
    f()
}

/// Whether this thread is a rank of some world.
pub(crate) fn is_rank() -> bool {
    ranks(|ranks| !ranks.is_empty()).unwrap_or(false)
}

/// Keeps the message of a panic; returns whether it must not be printed.
fn note(info: &PanicHookInfo<'_>) -> bool {
    let noted = ranks(|ranks| {
        let rank = ranks.last_mut()?;
        let site = info.location().map(|location| location.to_string().into());
        let message = message_of(info.payload());
        let quiet = repeats(&message);
        rank.last = Some(Panic { message, site });
        Some(quiet || rank.printed.swap(true, Ordering::Relaxed))
    });
    noted.flatten().unwrap_or(false)
}

/// The message in a panic's payload.
fn message_of(payload: &(dyn Any + Send)) -> Arc<str> {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("a value that is no text")
        .into()
}

/// Drops the payload of a panic if it is text, as it always is without `panic_any`. Any other payload is leaked: its
/// destructor might panic again.
pub(crate) fn discard(payload: Box<dyn Any + Send>) {
    if !payload.is::<&str>() && !payload.is::<String>() {
        std::mem::forget(payload);
    }
}

/// Catches any panic in `f`, for example of a user's destructor, where it would unwind unrelated code. The hook has
/// printed it.
pub(crate) fn quietly<T>(f: impl FnOnce() -> T) -> Option<T> {
    match panic::catch_unwind(panic::AssertUnwindSafe(f)) {
        Ok(done) => Some(done),
        Err(payload) => {
            discard(payload);
            None
        }
    }
}

/// Drops a user's value whose destructor may panic.
pub(crate) fn drop_quietly<T>(value: T) {
    quietly(|| drop(value));
}

/// The panic whose payload was just caught on this thread. A resumed panic has passed no hook, so the last panic that
/// the hook saw may be another one.
pub(crate) fn caught(payload: Box<dyn Any + Send>) -> Panic {
    let (message, seen) = (message_of(&*payload), last());
    discard(payload);
    if seen.message == message {
        seen
    } else {
        Panic {
            message,
            site: None,
        }
    }
}

/// The panic that is unwinding this thread.
pub(crate) fn last() -> Panic {
    let noted = ranks(|ranks| ranks.last().and_then(|rank| rank.last.clone()));
    noted.flatten().unwrap_or_else(|| Panic {
        message:
            "unknown: it began before our panic hook was there, or another hook has replaced ours"
                .into(),
        site: None,
    })
}

/// Whether the next operation of a rank that was entered at this depth needs the slow path: this thread is at another
/// depth, or the last operation failed because of other ranks.
#[inline]
pub(crate) fn is_marked(entered: Depth) -> bool {
    state() != entered.0
}

/// Whether the last operation of this thread failed because of other ranks; the next operation clears this.
#[inline]
pub(crate) fn follows() -> bool {
    state() & FOLLOWS != 0
}

/// Notes the text of an error that other ranks caused; `None` if the operation failed by itself, or did not fail. The
/// last such text is kept: the rank may end because of it after other operations.
pub(crate) fn set_follows(text: Option<String>) {
    mark_follows(text.is_some());
    if let Some(text) = text {
        said(|said| *said = text);
    }
}

fn mark_follows(follows: bool) {
    set_state(depth().0 | if follows { FOLLOWS } else { 0 });
}

/// Runs `f` on the kept text, as [`ranks`] does.
fn said<R>(f: impl FnOnce(&mut String) -> R) -> Option<R> {
    SAID.try_with(|said| f(&mut said.borrow_mut())).ok()
}

/// Whether this message, of a panic or of a returned error, only repeats an error that other ranks caused, as that of
/// `unwrap` does.
pub(crate) fn repeats(message: &str) -> bool {
    let is_in = |said: &mut String| !said.is_empty() && message.contains(said.as_str());
    said(is_in).unwrap_or(false)
}

/// Runs user code that must not call a communicator of a rank that this thread already is.
#[inline]
pub(crate) fn operator<R>(f: impl FnOnce() -> R) -> R {
    struct Restore(Depth);
    impl Drop for Restore {
        #[inline]
        fn drop(&mut self) {
            set_state(self.0.0 | state() & FOLLOWS);
        }
    }
    let _restore = Restore(depth());
    set_state(state() + OPERATOR);
    f()
}

/// Aborts the process when dropped, since memory that others still use would be given back; the other exits of its frame
/// must `mem::forget` it.
pub(crate) struct AbortOnDrop;

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        process::abort();
    }
}

/// The payload of an unwinding that represents an early return.
pub(crate) struct EarlyReturn;
