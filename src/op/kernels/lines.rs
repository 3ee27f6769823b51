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
    // The sizes of which a line has a whole number.
    let fit = size.is_power_of_two() && size <= CACHE_LINE;
    match fit && before & (size - 1) == 0 {
        true => before >> size.ilog2(),
        false => 0,
    }
}

/// The number of elements of `size` bytes that a cache line has; at least one.
#[inline]
pub(crate) fn elements_of_line(size: usize) -> usize {
    match size.is_power_of_two() && size <= CACHE_LINE {
        true => CACHE_LINE >> size.ilog2(),
        false => (CACHE_LINE / size.max(1)).max(1),
    }
}
