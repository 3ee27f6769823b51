//! Memory near the rank that uses it.

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
/// A write of every element, as `vec![value; n]` with a value that is not zero.
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
    (0..length).map(element).collect()
}
