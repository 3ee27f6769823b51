//! Times and bytes with their units.

use crate::bench::figure as digits;

/// Formats bytes: 8 B, 4 KiB, 16 MiB.
pub fn bytes_in_words(bytes: usize) -> String {
    let powers = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
    let fits = powers
        .into_iter()
        .find(|(power, _)| bytes >= 1 << power && bytes.is_multiple_of(1 << power));
    match fits {
        Some((power, unit)) => format!("{} {unit}", bytes >> power),
        None => format!("{bytes} B"),
    }
}

/// Formats a time with its unit.
pub fn microseconds(us: f64) -> String {
    match us {
        ..1.0 => format!("{} ns", digits(1e3 * us)),
        ..1000.0 => format!("{} µs", digits(us)),
        _ => format!("{} ms", digits(us / 1e3)),
    }
}
