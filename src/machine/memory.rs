//! Memory near the rank that uses it.
//!
//! # Huge pages
//!
//! Linux may give 2 MiB at once to whoever first writes one of its small pages, if all of the 2 MiB is mapped. The maps of
//! two ranks that ask at the same time lie side by side, so the end of one vector and the beginning of the next
//! would often be in one huge page, on the node of one of the two ranks. So a long vector has room behind its
//! elements that nobody writes: its last huge page ends in there, and the next map begins after it.

/// Bytes of a transparent huge page, of most processors.
const HUGE: usize = 2 << 20;

/// From so many bytes on an allocator gives a vector a map of its own; shorter ones come from the thread's own heap.
const OWN_MAP: usize = 128 << 10;

/// How many elements of room a vector has behind its own.
fn spare<T>(length: usize) -> usize {
    let bytes = length.saturating_mul(size_of::<T>());
    match cfg!(target_os = "linux") && bytes >= OWN_MAP {
        true => HUGE.div_ceil(size_of::<T>()),
        false => 0,
    }
}

/// A vector whose pages are on the calling rank's NUMA node: each element is written here and now.
///
/// Linux gives a page its place when it is first written, on the node of the thread that writes. So what a rank
/// allocates and fills inside its closure is near to it, once it is pinned, and what was filled outside and
/// handed in is near to the thread that filled it. Scratch memory of collectives is made, and first written,
/// by the rank that uses it, and so are its lanes, by which messages of collectives come to it. A page that was
/// freed and is used again keeps its place.
///
/// `vec![0.0; n]` asks the system for zeroed pages and writes nothing; they get their place from whoever
/// writes first, which may be a peer that receives into them. Call this inside the closure that the world
/// runs, where the rank is pinned.
///
/// # Cost
///
/// A write of every element, as `vec![value; n]` with a value that is not zero. On Linux a vector of 128 KiB or more has a
/// capacity of 2 MiB beyond its length, so that no huge page is shared with the vector of another rank; nothing is
/// written there, so it takes addresses and, but for the rest of the last page, no memory.
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
