//! Memory near the rank that uses it.
//!
//! # Huge pages
//!
//! Linux may allocate a huge page of 2 MiB when a thread first writes one of its small pages, if all of the 2 MiB is
//! mapped. Mappings that two ranks request at the same time are adjacent, so the end of one vector and the beginning of
//! the next would often share a huge page, on the node of one of the two ranks. A long vector therefore has unused
//! space behind its elements: its last huge page ends in that space, and the next mapping begins after it.

/// The size of a transparent huge page on most processors, in bytes.
const HUGE: usize = 2 << 20;

/// The size in bytes from which an allocator gives a vector a mapping of its own; shorter ones come from the thread's
/// heap.
const OWN_MAP: usize = 128 << 10;

/// The number of extra elements that a vector reserves behind its own.
fn spare<T>(length: usize) -> usize {
    let bytes = length.saturating_mul(size_of::<T>());
    match cfg!(target_os = "linux") && bytes >= OWN_MAP {
        true => HUGE.div_ceil(size_of::<T>()),
        false => 0,
    }
}

/// A vector whose pages are on the calling rank's NUMA node, because this function writes every element.
///
/// Linux places a page when it is first written, on the node of the writing thread. Memory that a rank allocates and
/// fills inside its closure is therefore near the rank, once it is pinned; memory filled outside and passed in is near
/// the thread that filled it. The scratch memory of collectives is allocated and first written by the rank that uses
/// it, and so are the rank's lanes, through which it receives the messages of collectives. A page that is freed and
/// reused keeps its place.
///
/// `vec![0.0; n]` requests zeroed pages from the system and writes nothing; the first writer determines their place,
/// which may be a peer that receives into them. Call this function inside the closure that the world runs, where the
/// rank is pinned.
///
/// # Cost
///
/// A write of every element, as for `vec![value; n]` with a nonzero value. On Linux a vector of 128 KiB or more has a
/// capacity of 2 MiB beyond its length, so that it shares no huge page with another rank's vector. Nothing is written
/// there, so it takes addresses but, apart from the rest of the last page, no memory.
///
/// # Examples
///
/// ```
/// use rankfold::machine::vec_here;
/// use rankfold::{World, op};
///
/// let sums = World::new(2).run(|comm| {
///     let mut v = vec_here(1 << 16, |i| (comm.rank() + i) as f32);
///     comm.all_reduce(&mut v, op::Sum)?;
///     Ok(v[0])
/// })?;
/// assert_eq!(sums, [1.0; 2]);
/// # Ok::<(), rankfold::WorldError>(())
/// ```
pub fn vec_here<T>(length: usize, element: impl FnMut(usize) -> T) -> Vec<T> {
    let mut vector = Vec::with_capacity(length.saturating_add(spare::<T>(length)));
    vector.extend((0..length).map(element));
    vector
}
