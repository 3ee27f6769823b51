//! Two threads exchange a short vector and add what they received, through nothing but cache lines: a lower bound for
//! every all-reduce of two ranks. Every sum is compared, even while the clock runs.
//!
//! ```text
//! one line     │0 word│0 value│0 word│0 value│1 word│1 value│1 word│1 value│     both write it
//! two lines    │0 word│0 values … │   │1 word│1 values … │                      two of each
//! more lines   │0 word│   │0 values … │ … │0 values … │   and the same of 1      four of each
//! ```

use std::hint::{black_box, spin_loop};
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

/// The most lines of values of one exchange, and the number of places of each thread.
const MOST: usize = 8;
const PLACES: usize = 4;

#[derive(Default)]
#[repr(align(64))]
struct Line([AtomicU64; LINE]);

/// What one thread writes: for each of its places a line with the number, and the lines of the values.
#[derive(Default)]
struct Column {
    numbers: [Line; PLACES],
    values: [[Line; MOST]; PLACES],
}

/// When the lines of values are requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// At each look for the number.
    AtEachLook,
    /// When the number is there.
    WhenThere,
}

/// `N` words, at most 64, in lines of their own. Between its exchanges each thread computes: so many multiplications, one
/// after the other.
pub fn more_lines<const N: usize>(on: On, times: u64, request: Request, work: u64) -> Duration {
    let columns: [Column; 2] = Default::default();
    threads(on, 2, |me| {
        let mut values = [0; N];
        for time in 0..times {
            values[0] = time + me as u64;
            black_box((0..work).fold(time, |product, _| black_box(product.wrapping_mul(3))));
            columns[me].post(time, &values);
            columns[1 - me].fold(time, &mut values, request);
            assert_eq!(values[0], 2 * time + 1);
        }
    })
}

impl Column {
    /// Posts the values, and takes the lines of the next place back from their reader.
    fn post(&self, time: u64, values: &[u64]) {
        let place = time as usize % PLACES;
        for (line, values) in self.values[place].iter().zip(values.chunks(LINE)) {
            for (word, value) in line.0.iter().zip(values) {
                word.store(*value, Ordering::Relaxed);
            }
        }
        // Release: pairs with the acquire in `fold`.
        self.numbers[place].0[0].store(time + 1, Ordering::Release);
        let next = (place + 1) % PLACES;
        self.numbers[next].0[1].store(0, Ordering::Relaxed);
        for (line, _) in self.values[next].iter().zip(values.chunks(LINE)) {
            line.0[0].store(0, Ordering::Relaxed);
        }
    }

    fn fold(&self, time: u64, values: &mut [u64], request: Request) {
        let place = time as usize % PLACES;
        let lines = &self.values[place][..values.len().div_ceil(LINE)];
        let ask = || {
            for line in lines {
                black_box(line.0[0].load(Ordering::Relaxed));
            }
        };
        loop {
            if request == Request::AtEachLook {
                ask();
            }
            // Acquire: pairs with the release in `post`.
            if self.numbers[place].0[0].load(Ordering::Acquire) == time + 1 {
                break;
            }
            spin_loop();
        }
        ask();
        for (values, line) in values.chunks_mut(LINE).zip(lines) {
            for (value, word) in values.iter_mut().zip(&line.0) {
                *value = value.wrapping_add(word.load(Ordering::Relaxed));
            }
        }
    }
}
