//! Two threads exchange a short vector and add what they received, through nothing but cache lines: a lower bound for
//! every all-reduce of two ranks. Every sum is compared, even while the clock runs.
//!
//! ```text
//! one line     │0 word│0 value│0 word│0 value│1 word│1 value│1 word│1 value│     both write it
//! two lines    │0 word│0 values … │   │1 word│1 values … │                      two of each
//! ```

use std::hint::spin_loop;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crossbeam_utils::CachePadded;

use super::{On, threads};

/// Words per line.
const LINE: usize = 8;

type Words = CachePadded<[AtomicU64; LINE]>;

fn words() -> Words {
    CachePadded::new(std::array::from_fn(|_| AtomicU64::new(0)))
}

/// Writes the values first, then the number that lets the other thread read them.
fn post(place: &[AtomicU64], number: u64, values: &[u64]) {
    for (word, value) in place[1..].iter().zip(values) {
        word.store(*value, Ordering::Relaxed);
    }
    place[0].store(number, Ordering::Release);
}

/// Adds the values that the other thread has posted.
fn fold(place: &[AtomicU64], number: u64, values: &mut [u64]) {
    while place[0].load(Ordering::Acquire) != number {
        spin_loop();
    }
    for (value, word) in values.iter_mut().zip(&place[1..]) {
        *value += word.load(Ordering::Relaxed);
    }
}

/// Times `times` exchanges of vectors of `N` words, where a rank's place `n % 2` is for its number n.
fn exchanges<'a, const N: usize>(
    on: On,
    times: u64,
    place: impl Fn(usize, u64) -> &'a [AtomicU64] + Sync,
) -> Duration {
    threads(on, 2, |me| {
        for time in 0..times {
            let mut values = [time + me as u64; N];
            post(place(me, time % 2), time + 1, &values);
            fold(place(1 - me, time % 2), time + 1, &mut values);
            assert_eq!(values, [2 * time + 1; N]);
        }
    })
}

/// Eight bytes, through one line that both threads write.
pub fn one_line(on: On, times: u64) -> Duration {
    let line = words();
    exchanges::<1>(on, times, |rank, parity| {
        let start = 4 * rank + 2 * parity as usize;
        &line[start..start + 2]
    })
}

/// `N` words, at most seven, through lines with one writer each.
pub fn two_lines<const N: usize>(on: On, times: u64) -> Duration {
    lines_in_turn::<N>(on, times, 1)
}

/// The same through several such sets of lines in turn, of which each rank also writes a line of its own.
pub fn lines_in_turn<const N: usize>(on: On, times: u64, sets: u64) -> Duration {
    let lines: Vec<_> = (0..6 * sets).map(|_| words()).collect();
    threads(on, 2, |me| {
        for time in 0..times {
            let (set, time) = (time % sets, time / sets);
            let of = |rank: usize, i: u64| &lines[(6 * set + 3 * rank as u64 + i) as usize];
            let mut values = [time + me as u64; N];
            post(&of(me, time % 2)[..], time + 1, &values);
            of(me, 2)[0].store(time, Ordering::Relaxed);
            fold(&of(1 - me, time % 2)[..], time + 1, &mut values);
            assert_eq!(values, [2 * time + 1; N]);
        }
    })
}
