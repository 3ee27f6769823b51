//! Where the cache lines of a vector begin.

/// The size of a cache line in bytes.
pub(crate) const CACHE_LINE: usize = 64;

/// The number of elements before the first one that begins a cache line; 0 if none ever does.
///
/// Stores that cross a line cost twice as much, and large vectors usually begin 16 bytes after a line.
#[inline]
pub(crate) fn lead<T>(vector: *const T) -> usize {
    lead_of(vector.cast(), size_of::<T>())
}

/// The same for elements of `size` bytes.
#[inline]
pub(crate) fn lead_of(vector: *const u8, size: usize) -> usize {
    let before = vector.addr().wrapping_neg() % CACHE_LINE;
    match size > 0 && CACHE_LINE.is_multiple_of(size) && before.is_multiple_of(size) {
        true => before / size,
        false => 0,
    }
}
