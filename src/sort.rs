//! Stable sorts by numbers, for vectors that are not sorted often. A sort of the standard library is compiled anew for
//! each type and each comparison, some three thousand lines of LLVM IR; these are compiled once.

/// Sorts by numbers, the first ones first; elements with equal numbers keep their order.
pub(crate) fn by_numbers<T, const N: usize>(items: &mut [T], key: impl Fn(&T) -> [usize; N]) {
    const { assert!(N <= ROW, "a row has no more numbers") };
    let order = order(items.len(), &|i| row(&key(&items[i])));
    arrange(order, &mut |a, b| items.swap(a, b));
}

/// Sorts by a float, in the order of [`f64::total_cmp`], and where floats are equal by a number; elements that are equal
/// in both keep their order.
pub(crate) fn by_float<T>(items: &mut [T], key: impl Fn(&T) -> (f64, usize)) {
    let row = |(float, number)| [ordered(float), number as u64, 0, 0];
    let order = order(items.len(), &|i| row(key(&items[i])));
    arrange(order, &mut |a, b| items.swap(a, b));
}

/// Sorts by a number that may be negative, the lowest first; elements with equal numbers keep their order.
pub(crate) fn by_signed<T>(items: &mut [T], key: impl Fn(&T) -> i64) {
    let order = order(items.len(), &|i| [key(&items[i]) as u64 ^ 1 << 63, 0, 0, 0]);
    arrange(order, &mut |a, b| items.swap(a, b));
}

/// What one element is sorted by.
type Row = [u64; ROW];

const ROW: usize = 4;

/// The bits of a float, so that their order is that of [`f64::total_cmp`].
fn ordered(float: f64) -> u64 {
    let bits = float.to_bits();
    let negative = bits >> 63 == 1;
    if negative { !bits } else { bits | 1 << 63 }
}

fn row(numbers: &[usize]) -> Row {
    let mut row = [0; ROW];
    for (to, &number) in row.iter_mut().zip(numbers) {
        *to = number as u64;
    }
    row
}

/// The elements in order, by their indices.
fn order(length: usize, row: &dyn Fn(usize) -> Row) -> Vec<usize> {
    let mut rows: Vec<(Row, usize)> = (0..length).map(|i| (row(i), i)).collect();
    rows.sort_unstable();
    rows.into_iter().map(|(_, i)| i).collect()
}

/// Exchanges elements until they are in this order.
fn arrange(mut order: Vec<usize>, swap: &mut dyn FnMut(usize, usize)) {
    for start in 0..order.len() {
        let mut at = start;
        loop {
            let from = std::mem::replace(&mut order[at], at);
            if from == start {
                break;
            }
            swap(at, from);
            at = from;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that look random, some of them equal.
    fn numbers(length: usize) -> Vec<usize> {
        let random = |i: usize| i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
        (1..=length).map(|i| random(i) % (length / 2 + 1)).collect()
    }

    #[test]
    fn like_the_stable_sort_of_the_standard_library() {
        for length in (0..70).chain([1000]) {
            let rows: Vec<_> = numbers(length).into_iter().zip(0..).collect();
            let (mut ours, mut theirs) = (rows.clone(), rows);
            by_numbers(&mut ours, |&(key, _)| [key % 3, key]);
            theirs.sort_by_key(|&(key, _)| (key % 3, key));
            assert_eq!(ours, theirs);
        }
    }

    #[test]
    fn floats_in_the_total_order() {
        let special = [0.0, -0.0, 1.5, -1.5, f64::NAN, -f64::NAN];
        let infinite = [f64::INFINITY, f64::NEG_INFINITY, f64::MIN_POSITIVE];
        let mut ours: Vec<(f64, usize)> = special
            .into_iter()
            .chain(infinite)
            .cycle()
            .zip(0..27)
            .collect();
        let mut theirs = ours.clone();
        by_float(&mut ours, |&(key, _)| (key, 0));
        theirs.sort_by(|a, b| a.0.total_cmp(&b.0));
        let bits = |rows: &[(f64, usize)]| -> Vec<_> {
            rows.iter().map(|row| (row.0.to_bits(), row.1)).collect()
        };
        assert_eq!(bits(&ours), bits(&theirs));
    }
}
