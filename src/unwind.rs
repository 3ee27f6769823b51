//! Panics of rank threads: one hook, chained before whatever hook was there, that keeps message and
//! line for the report and prints only the first panic of a world.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{self, PanicHookInfo};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Once};
use std::thread;

thread_local! {
    /// The worlds that this thread is a rank of; usually one.
    static RANK: RefCell<Vec<OnRank>> = const { RefCell::new(Vec::new()) };
    /// The last operation failed because of another rank: a panic now only follows from that.
    static FOLLOWS: Cell<bool> = const { Cell::new(false) };
    /// What that operation said.
    static SAID: RefCell<String> = const { RefCell::new(String::new()) };
    /// An operator is running on this thread.
    static IN_OPERATOR: Cell<bool> = const { Cell::new(false) };
}

/// What the hook knows of a rank's thread.
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

/// Marks this thread as a rank of the world that `printed` belongs to, and installs the hook once.
pub(crate) fn enter(printed: Arc<AtomicBool>) {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let previous = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !note(info) {
                previous(info);
            }
        }));
    });
    ranks(|ranks| {
        if ranks.is_empty() {
            // What an earlier rank on this thread left behind.
            FOLLOWS.set(false);
        }
        ranks.push(OnRank {
            printed,
            last: None,
        })
    });
}

/// The list of this thread. A thread that is ending may have lost it already, and some destructor may call us
/// still: then nobody will ask for what would be in it.
fn ranks<R>(f: impl FnOnce(&mut Vec<OnRank>) -> R) -> Option<R> {
    RANK.try_with(|ranks| f(&mut ranks.borrow_mut())).ok()
}

/// The thread leaves a world that it has entered: the one whose `printed` is at this address. Gives that back.
pub(crate) fn leave(printed: *const AtomicBool) -> Option<Arc<AtomicBool>> {
    let left = ranks(|ranks| {
        let place = ranks
            .iter()
            .rposition(|rank| Arc::as_ptr(&rank.printed) == printed);
        place.map(|place| ranks.remove(place).printed)
    });
    left.flatten()
}

/// Whether this thread may become a rank for a while: it is not unwinding, and has not lost its lists.
pub(crate) fn can_enter() -> bool {
    !thread::panicking() && RANK.try_with(|_| ()).is_ok() && SAID.try_with(|_| ()).is_ok()
}

/// Runs what has nothing to do with what this thread is in the middle of: as a rank of another world, say, whose
/// last operation may have failed, or in an operator. All that is as before afterwards.
pub(crate) fn apart<R>(f: impl FnOnce() -> R) -> R {
    struct Restore {
        follows: Option<String>,
        in_operator: bool,
    }
    impl Drop for Restore {
        fn drop(&mut self) {
            set_follows(self.follows.take());
            IN_OPERATOR.set(self.in_operator);
        }
    }
    let _restore = Restore {
        follows: FOLLOWS.replace(false).then(|| SAID.take()),
        in_operator: IN_OPERATOR.replace(false),
    };
    f()
}

/// Whether this thread is a rank of some world.
pub(crate) fn is_rank() -> bool {
    ranks(|ranks| !ranks.is_empty()).unwrap_or(false)
}

/// Keeps what the panic says; whether it must not be printed.
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

/// Drops what a panic carried if it is text, as it is unless somebody used `panic_any`. Anything else is
/// leaked: its destructor might panic again.
pub(crate) fn discard(payload: Box<dyn Any + Send>) {
    if !payload.is::<&str>() && !payload.is::<String>() {
        std::mem::forget(payload);
    }
}

/// Drops a value of the user's whose destructor may panic, where a panic would hit somebody else. The hook
/// has printed it.
pub(crate) fn drop_quietly<T>(value: T) {
    if let Err(payload) = panic::catch_unwind(panic::AssertUnwindSafe(|| drop(value))) {
        discard(payload);
    }
}

/// The panic whose payload was just caught on this thread. One that was resumed has passed no hook, so
/// what the hook saw last may be another one.
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
        message: "unknown: another panic hook was installed".into(),
        site: None,
    })
}

/// Whether the next operation of this thread is no common one: it is called from inside an operator, or
/// follows one that failed because of others.
#[inline]
pub(crate) fn is_marked() -> bool {
    IN_OPERATOR.get() | FOLLOWS.get()
}

/// Whether the last operation of this thread failed because of others; the next one forgets it.
#[inline]
pub(crate) fn follows() -> bool {
    FOLLOWS.get()
}

/// Notes what an operation said that failed because of others; `None`: it failed by itself, or not at all.
pub(crate) fn set_follows(said: Option<String>) {
    FOLLOWS.set(said.is_some());
    if let Some(said) = said {
        // As in `ranks`.
        let _ = SAID.try_with(|held| held.replace(said));
    }
}

/// Whether a panic with this message only repeats what the last operation said, as `unwrap` does.
pub(crate) fn repeats(message: &str) -> bool {
    let is_in = |said: &RefCell<String>| message.contains(said.borrow().as_str());
    FOLLOWS.get() && SAID.try_with(is_in).unwrap_or(false)
}

/// Whether an operator is running on this thread.
#[inline]
pub(crate) fn in_operator() -> bool {
    IN_OPERATOR.get()
}

/// Runs code of the user that must not call a communicator.
#[inline]
pub(crate) fn operator<R>(f: impl FnOnce() -> R) -> R {
    struct Restore(bool);
    impl Drop for Restore {
        #[inline]
        fn drop(&mut self) {
            IN_OPERATOR.set(self.0);
        }
    }
    let _restore = Restore(IN_OPERATOR.replace(true));
    f()
}

/// The payload of an unwinding that stands for an early return.
pub(crate) struct EarlyReturn;
