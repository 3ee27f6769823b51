//! Datatypes: which bytes of a buffer belong to a message, and what they hold.
//!
//! A datatype is flattened when it is made: its typemap as segments of bytes in their order, with neighbours merged, and
//! its signature. Datatypes are the process's and not the rank's, since programs in Rust keep them in statics.

pub(crate) mod basic;
pub(crate) mod build;
pub(crate) mod darray;
pub(crate) mod decode;
pub(crate) mod pack;
pub(crate) mod signature;

use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex, RwLock};

use crate::abi::*;
use crate::error::{Failure, Out, bad, failure, require};
use crate::handle::{Kind, Table};
use crate::rank::current;
use crate::text::Text;
use basic::Basic;
use decode::Made;
use signature::Signature;

/// Bytes that follow one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    pub at: isize,
    pub len: usize,
}

/// A datatype.
#[derive(Debug)]
pub(crate) struct Datatype {
    pub segments: Vec<Segment>,
    pub size: usize,
    pub lb: isize,
    pub ub: isize,
    /// One period of its signature.
    pub runs: Vec<(Basic, u64)>,
    pub signature: Signature,
    pub align: usize,
    /// Whether its bounds were set by `MPI_Type_create_resized`.
    pub resized: bool,
    pub made: Made,
    pub committed: AtomicBool,
    pub name: Mutex<Text>,
    pub predefined: bool,
}

impl Datatype {
    pub(crate) fn extent(&self) -> isize {
        self.ub - self.lb
    }

    /// Whether some elements of it fit the address space, in a buffer and in a message.
    #[inline]
    pub(crate) fn fits(&self, count: usize) -> bool {
        const MOST: usize = isize::MAX.cast_unsigned() - 64;
        let lengths = [self.size, self.extent().unsigned_abs()];
        let fits = |len: usize| len.checked_mul(count).is_some_and(|all| all <= MOST);
        lengths.into_iter().all(fits)
    }

    /// Whether any number of elements fits that a `c_int` can count.
    #[inline]
    pub(crate) fn is_small(&self) -> bool {
        const MOST: usize = 1 << 31;
        self.size < MOST && self.extent().unsigned_abs() < MOST
    }

    /// First byte and end of what it really covers.
    pub(crate) fn true_bounds(&self) -> (isize, isize) {
        let first = self.segments.iter().map(|segment| segment.at).min();
        let end = self.segments.iter().map(|it| it.at + it.len as isize).max();
        (first.unwrap_or(0), end.unwrap_or(0))
    }

    /// Whether elements of it lie in a buffer as they do in a message.
    #[inline]
    pub(crate) fn is_dense(&self) -> bool {
        match self.segments[..] {
            [] => true,
            [Segment { at: 0, len }] => len as isize == self.extent(),
            _ => false,
        }
    }

    /// The basic elements and the bytes of one period of its signature.
    fn period(&self) -> (u64, u64) {
        let times = self.runs.iter().map(|(_, times)| *times);
        let bytes = self
            .runs
            .iter()
            .map(|(it, times)| u64::from(it.size) * times);
        (times.sum(), bytes.sum())
    }

    /// The number of basic elements in some bytes of a message; `None` if they end within one.
    pub(crate) fn basics(&self, bytes: usize) -> Option<usize> {
        let (elements, period) = self.period();
        let whole = (bytes as u64).checked_div(period).unwrap_or(0);
        let (mut left, mut number) = (bytes as u64 - whole * period, whole * elements);
        for (basic, times) in &self.runs {
            let here = (left / u64::from(basic.size)).min(*times);
            (left, number) = (left - here * u64::from(basic.size), number + here);
            if here < *times {
                break;
            }
        }
        (left == 0).then_some(number as usize)
    }

    /// The bytes of some basic elements; `None` if an address space has fewer.
    pub(crate) fn basic_bytes(&self, number: usize) -> Option<usize> {
        let (elements, period) = self.period();
        let whole = (number as u64).checked_div(elements).unwrap_or(0);
        let mut left = (number as u64).checked_sub(whole * elements)?;
        let mut bytes = whole.checked_mul(period)?;
        for (basic, times) in &self.runs {
            let here = left.min(*times);
            (left, bytes) = (
                left - here,
                bytes.checked_add(here * u64::from(basic.size))?,
            );
        }
        isize::try_from(bytes).ok().map(isize::cast_unsigned)
    }
}

/// A datatype in use.
#[derive(Clone, Debug)]
pub(crate) enum Type {
    Predefined(&'static Datatype),
    Derived(Arc<Datatype>),
}

impl Deref for Type {
    type Target = Datatype;

    fn deref(&self) -> &Datatype {
        match self {
            Type::Predefined(it) => it,
            Type::Derived(it) => it,
        }
    }
}

const FIRST: usize = 0x200;
const END: usize = 0x300;

static PREDEFINED: LazyLock<Vec<Option<Datatype>>> = LazyLock::new(|| {
    let mut all: Vec<Option<Datatype>> = (FIRST..END).map(|_| None).collect();
    for (name, handle, parts) in basic::predefined() {
        all[handle - FIRST] = Some(build::predefined(name, &parts));
    }
    all
});

static DERIVED: RwLock<Table<Arc<Datatype>>> = RwLock::new(Table::new(Kind::Datatype));

/// The datatype of a handle.
#[inline(always)]
pub(crate) fn of(handle: MPI_Datatype) -> Out<Type> {
    let number = handle.addr();
    match PREDEFINED.get(number.wrapping_sub(FIRST)) {
        Some(Some(found)) => Ok(Type::Predefined(found)),
        Some(None) => Err(none(number)),
        None => derived(number),
    }
}

#[cold]
fn none(number: usize) -> Failure {
    match number {
        FIRST => failure(MPI_ERR_TYPE, "the datatype is MPI_DATATYPE_NULL"),
        _ => failure(
            MPI_ERR_TYPE,
            format!("there is no predefined datatype {number:#x}"),
        ),
    }
}

#[inline(never)]
fn derived(number: usize) -> Out<Type> {
    let derived = DERIVED.read().expect("no thread panics with it");
    let found = derived.get(number).map(|it| Type::Derived(it.clone()));
    found.map_err(|why| bad(MPI_ERR_TYPE, "datatype", number, why))
}

/// The datatype of a handle, for communication.
#[inline(always)]
pub(crate) fn committed(handle: MPI_Datatype) -> Out<Type> {
    let found = of(handle)?;
    // Relaxed: the rank that uses it committed it, or learned of it from the one that did.
    let committed = found.committed.load(Ordering::Relaxed);
    require(committed, MPI_ERR_TYPE, || {
        "the datatype is used before MPI_Type_commit".into()
    })?;
    Ok(found)
}

/// Keeps a datatype.
pub(crate) fn add(datatype: Datatype) -> MPI_Datatype {
    share(Arc::new(datatype))
}

/// A further handle of a datatype.
pub(crate) fn share(datatype: Arc<Datatype>) -> MPI_Datatype {
    let mut derived = DERIVED.write().expect("no thread panics with it");
    let number = derived.add(datatype);
    if let Some(rank) = current() {
        rank.datatypes.borrow_mut().insert(number);
    }
    std::ptr::without_provenance_mut(number)
}

/// Refuses to free a predefined datatype.
pub(crate) fn check_derived(handle: MPI_Datatype) -> Out {
    let predefined = (FIRST..END).contains(&handle.addr());
    require(!predefined, MPI_ERR_TYPE, || {
        "a predefined datatype cannot be freed".into()
    })
}

pub(crate) fn free(handle: MPI_Datatype) -> Out {
    let number = handle.addr();
    check_derived(handle)?;
    let mut derived = DERIVED.write().expect("no thread panics with it");
    let freed = derived.remove(number).map(drop);
    if let Some(rank) = current() {
        rank.datatypes.borrow_mut().remove(&number);
    }
    freed.map_err(|why| bad(MPI_ERR_TYPE, "datatype", number, why))
}

pub(crate) fn commit(handle: MPI_Datatype) -> Out {
    // Relaxed: as in `committed`.
    of(handle)?.committed.store(true, Ordering::Relaxed);
    Ok(())
}
