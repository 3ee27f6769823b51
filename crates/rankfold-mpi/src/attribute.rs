//! Attributes of communicators, windows and datatypes, with the program's functions that copy and delete them.
//!
//! Keys are the process's and values the rank's: programs in Rust keep keys in statics, so that several ranks may find the
//! key that one of them made. Ranks that make a key with the same functions get the same number, in the order in which
//! each makes them; a rank that makes it again after another rank has freed it gets its own number back, and one that has
//! freed it itself a new one. Ranks of programs in C have statics of their own, and each key is a new one.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ffi::{c_int, c_void};
use std::fmt;
use std::ptr::without_provenance_mut;
use std::sync::Mutex;

use crate::abi::*;
use crate::comm::Communicator;
use crate::error::{Out, failure, require};
use crate::memory::Caller;
use crate::rank::Rank;
use crate::text::Text;

/// `MPI_COMM_DUP_FN`, as a number.
const DUP: usize = 1;

/// What has attributes of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Of {
    Comm,
    Win,
    Type,
}

impl fmt::Display for Of {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Of::Comm => "communicators",
            Of::Win => "windows",
            Of::Type => "datatypes",
        })
    }
}

/// The values of an object's attributes by their keys, in the order in which they were set.
pub(crate) type Values = Vec<(c_int, usize)>;

fn position(values: &Values, key: c_int) -> Option<usize> {
    values.iter().position(|(it, _)| *it == key)
}

/// An object with attributes.
pub(crate) trait Holder: fmt::Display {
    const OF: Of;

    fn attributes(&self) -> &RefCell<Values>;

    /// Its handle.
    fn number(&self) -> usize;
}

impl Holder for Communicator {
    const OF: Of = Of::Comm;

    fn attributes(&self) -> &RefCell<Values> {
        &self.attributes
    }

    fn number(&self) -> usize {
        self.handle.get()
    }
}

/// The attributes of a datatype.
pub(crate) struct TypeAttributes {
    number: usize,
    attributes: RefCell<Values>,
    /// The name that the rank gave to it, if it is predefined: all ranks have one such datatype.
    pub renamed: RefCell<Option<Text>>,
}

impl TypeAttributes {
    pub(crate) fn new(number: usize) -> TypeAttributes {
        TypeAttributes {
            number,
            attributes: RefCell::default(),
            renamed: RefCell::default(),
        }
    }
}

impl fmt::Display for TypeAttributes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the datatype")
    }
}

impl Holder for TypeAttributes {
    const OF: Of = Of::Type;

    fn attributes(&self) -> &RefCell<Values> {
        &self.attributes
    }

    fn number(&self) -> usize {
        self.number
    }
}

/// The functions of a key and what is passed to them, as addresses.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Functions {
    pub of: Of,
    pub copy: usize,
    pub delete: usize,
    pub state: usize,
}

struct Key {
    functions: Functions,
    /// The world and rank of each thread that has it.
    made_by: BTreeSet<(usize, usize)>,
    /// Those that have freed it.
    freed_by: BTreeSet<(usize, usize)>,
    freed: bool,
}

static KEYS: Mutex<Vec<Key>> = Mutex::new(Vec::new());
/// Numbers of keys that the program makes begin here.
const FIRST: c_int = 1000;

fn id(rank: &Rank) -> (usize, usize) {
    (rank.shared.number, rank.me())
}

/// A key that is there already, for a rank of a program in Rust; and whether the rank had made it before.
fn known(keys: &[Key], functions: Functions, me: (usize, usize)) -> Option<(usize, bool)> {
    let find = |fits: &dyn Fn(&Key) -> bool| {
        keys.iter()
            .position(|key| key.functions == functions && fits(key))
    };
    // Another rank has freed it meanwhile, for all that look it up in a static.
    let lost = find(&|key| key.freed && key.made_by.contains(&me));
    let shared = || find(&|key| !key.made_by.contains(&me) && !key.freed_by.contains(&me));
    lost.map(|at| (at, true))
        .or_else(|| shared().map(|at| (at, false)))
}

pub(crate) fn create(rank: &Rank, functions: Functions) -> c_int {
    let mut keys = KEYS.lock().expect("no thread panics with it");
    let me = id(rank);
    let known = match rank.shared.owns_datatypes {
        true => None,
        false => known(&keys, functions, me),
    };
    let (at, lost) = known.unwrap_or_else(|| {
        keys.push(Key {
            functions,
            made_by: BTreeSet::new(),
            freed_by: BTreeSet::new(),
            freed: false,
        });
        (keys.len() - 1, false)
    });
    keys[at].made_by.insert(me);
    keys[at].freed &= !lost;
    FIRST + at as c_int
}

/// Forgets which keys a rank made, when it ends.
pub(crate) fn forget(rank: &Rank) {
    let mut keys = KEYS.lock().expect("no thread panics with it");
    for key in keys.iter_mut() {
        key.made_by.remove(&id(rank));
        key.freed_by.remove(&id(rank));
    }
}

pub(crate) fn free(rank: &Rank, of: Of, key: c_int) -> Out {
    usable(rank, of, key)?;
    let mut keys = KEYS.lock().expect("no thread panics with it");
    let key = &mut keys[(key - FIRST) as usize];
    key.made_by.remove(&id(rank));
    key.freed_by.insert(id(rank));
    key.freed = true;
    Ok(())
}

/// Refuses a key that is none, or that this rank has freed.
fn usable(rank: &Rank, of: Of, key: c_int) -> Out {
    functions(of, key)?;
    let keys = KEYS.lock().expect("no thread panics with it");
    let freed = keys[(key - FIRST) as usize].freed_by.contains(&id(rank));
    require(!freed, MPI_ERR_KEYVAL, || {
        format!("the key {key} of an attribute was freed")
    })
}

fn functions(of: Of, key: c_int) -> Out<Functions> {
    let keys = KEYS.lock().expect("no thread panics with it");
    let at = usize::try_from(key.wrapping_sub(FIRST)).ok();
    let found = at.and_then(|at| keys.get(at)).map(|key| key.functions);
    let found =
        found.ok_or_else(|| failure(MPI_ERR_KEYVAL, format!("{key} is no key of an attribute")))?;
    require(found.of == of, MPI_ERR_KEYVAL, || {
        format!("the key {key} is one for {}, and not for {of}", found.of)
    })?;
    Ok(found)
}

pub(crate) fn set<H: Holder>(
    rank: &Rank,
    caller: &Caller,
    on: &H,
    key: c_int,
    value: *mut c_void,
) -> Out {
    usable(rank, H::OF, key)?;
    delete_one(caller, on, key)?;
    let value = value.expose_provenance();
    on.attributes().borrow_mut().push((key, value));
    Ok(())
}

/// The value of a key that the program made, if the object has one.
pub(crate) fn value<H: Holder>(on: &H, key: c_int) -> Out<Option<*mut c_void>> {
    functions(H::OF, key)?;
    let values = on.attributes().borrow();
    let value = position(&values, key).map(|at| values[at].1);
    Ok(value.map(std::ptr::with_exposed_provenance_mut))
}

/// The value of a key, if the communicator has one.
pub(crate) fn get(rank: &Rank, comm: &Communicator, key: c_int) -> Out<Option<*mut c_void>> {
    let predefined = match key {
        MPI_LASTUSEDCODE => Some(rank.last_code.as_ptr().cast_const()),
        _ => rank.shared.predefined(key).map(std::ptr::from_ref),
    };
    if let Some(value) = predefined {
        let value = value.cast_mut().cast();
        return Ok(
            Some(value).filter(|_| comm.handle.get() == MPI_COMM_WORLD.addr() || key == MPI_TAG_UB)
        );
    }
    value(comm, key)
}

/// Deletes the attribute of a key, if there is one.
pub(crate) fn delete<H: Holder>(caller: &Caller, on: &H, key: c_int) -> Out {
    functions(H::OF, key)?;
    delete_one(caller, on, key)
}

fn delete_one<H: Holder>(caller: &Caller, on: &H, key: c_int) -> Out {
    let Some(at) = position(&on.attributes().borrow(), key) else {
        return Ok(());
    };
    let (_, value) = on.attributes().borrow_mut().remove(at);
    let Functions { delete, state, .. } = functions(H::OF, key)?;
    let handle = without_provenance_mut(on.number());
    let code = caller.delete_attribute(delete, handle, key, value, state);
    if code != MPI_SUCCESS {
        // It stays where it was, unless the function has changed others.
        let mut values = on.attributes().borrow_mut();
        let at = at.min(values.len());
        values.insert(at, (key, value));
    }
    require(code == MPI_SUCCESS, code, || {
        "the function that deletes the attribute returned an error".into()
    })
}

/// Deletes what is left, when an object is freed: last what was set first.
pub(crate) fn delete_all<H: Holder>(caller: &Caller, on: &H) -> Out {
    let values = on.attributes().borrow().clone();
    let mut keys = values.into_iter().map(|(key, _)| key).rev();
    keys.try_for_each(|key| delete_one(caller, on, key))
}

/// Copies what is to be copied, when an object is duplicated.
pub(crate) fn copy_all<H: Holder>(caller: &Caller, from: &H, to: &H) -> Out {
    let all = from.attributes().borrow().clone();
    for (key, value) in all {
        let Functions { copy, state, .. } = functions(H::OF, key)?;
        let copied = match copy {
            0 => None,
            DUP => Some(value),
            _ => {
                let handle = without_provenance_mut(from.number());
                let (code, copied) = caller.copy_attribute(copy, handle, key, value, state);
                require(code == MPI_SUCCESS, code, || {
                    "the function that copies an attribute returned an error".into()
                })?;
                copied
            }
        };
        if let Some(copied) = copied {
            to.attributes().borrow_mut().push((key, copied));
        }
    }
    Ok(())
}
