//! Type signatures: the sequence of basic datatypes of a message. Its number travels with the message, so that a receive
//! with other datatypes is named.
//!
//! A signature is one period; a message repeats it, and may end within one. Equal periods have one number in the whole
//! process. Two signatures match for a message of some length if the sequences of that length are equal; `MPI_PACKED`
//! matches everything.

use std::collections::HashMap;
use std::fmt::Write;
use std::sync::{Arc, LazyLock, RwLock};

use super::basic::{Basic, Holds};

/// Basic datatypes and how often each follows itself.
pub(crate) type Runs = Arc<[(Basic, u64)]>;

/// The number of a signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Signature(pub u32);

#[derive(Default)]
struct Known {
    numbers: HashMap<Runs, u32>,
    all: Vec<Runs>,
}

static KNOWN: LazyLock<RwLock<Known>> = LazyLock::new(RwLock::default);

impl Signature {
    /// The number of a sequence.
    pub(crate) fn of(mut runs: Vec<(Basic, u64)>) -> Signature {
        if let [(_, times)] = &mut runs[..] {
            *times = 1;
        }
        let runs: Runs = runs.into();
        let known = KNOWN.read().expect("no thread panics with it");
        if let Some(number) = known.numbers.get(&runs) {
            return Signature(*number);
        }
        drop(known);
        let mut known = KNOWN.write().expect("no thread panics with it");
        let next = known.all.len() as u32;
        let number = *known.numbers.entry(runs.clone()).or_insert(next);
        if number == next {
            known.all.push(runs);
        }
        Signature(number)
    }

    pub(crate) fn runs(self) -> Runs {
        let known = KNOWN.read().expect("no thread panics with it");
        known.all.get(self.0 as usize).cloned().unwrap_or_default()
    }

    /// Whether messages of `bytes` bytes with these two signatures are the same sequence.
    #[inline]
    pub(crate) fn matches(self, other: Signature, bytes: usize) -> bool {
        self == other || bytes == 0 || same(&self.runs(), &other.runs(), bytes as u64)
    }

    /// The names of its parts.
    pub(crate) fn names(self) -> String {
        const SHOWN: usize = 6;
        let runs = self.runs();
        let mut names = String::new();
        for (place, (basic, times)) in runs.iter().take(SHOWN).enumerate() {
            let comma = if place > 0 { ", " } else { "" };
            let _ = match times {
                1 => write!(names, "{comma}{basic}"),
                _ => write!(names, "{comma}{times} x {basic}"),
            };
        }
        match runs.len() {
            0 => "nothing".into(),
            1 => names,
            2..=SHOWN => format!("({names})"),
            _ => format!("({names}, ..)"),
        }
    }
}

fn same(one: &[(Basic, u64)], other: &[(Basic, u64)], bytes: u64) -> bool {
    let packed = |runs: &[(Basic, u64)]| runs.iter().all(|(basic, _)| basic.holds == Holds::Packed);
    if one.is_empty() || other.is_empty() || packed(one) || packed(other) {
        return true;
    }
    let (mut ones, mut others) = (one.iter().cycle(), other.iter().cycle());
    let ((mut a, mut left_a), (mut b, mut left_b)) = (one[0], other[0]);
    ones.next();
    others.next();
    let mut left = bytes;
    while left > 0 {
        if a != b {
            return false;
        }
        let step = left_a.min(left_b);
        left = left.saturating_sub(step * u64::from(a.size));
        (left_a, left_b) = (left_a - step, left_b - step);
        if left_a == 0 {
            (a, left_a) = *ones.next().expect("it is not empty");
        }
        if left_b == 0 {
            (b, left_b) = *others.next().expect("it is not empty");
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    const INT: Basic = Basic {
        holds: Holds::Signed,
        size: 4,
    };
    const DOUBLE: Basic = Basic {
        holds: Holds::Float,
        size: 8,
    };
    const PACKED: Basic = Basic {
        holds: Holds::Packed,
        size: 1,
    };

    fn of(runs: &[(Basic, u64)]) -> Signature {
        Signature::of(runs.to_vec())
    }

    #[test]
    fn signatures_match_as_sequences_whatever_their_periods() {
        let (ints, doubles) = (of(&[(INT, 1)]), of(&[(DOUBLE, 3)]));
        assert_eq!(of(&[(INT, 7)]), ints);
        assert!(!ints.matches(doubles, 8));
        assert!(ints.matches(doubles, 0));
        let pair = of(&[(INT, 1), (DOUBLE, 1)]);
        let twice = of(&[(INT, 1), (DOUBLE, 1), (INT, 1), (DOUBLE, 1)]);
        assert!(pair.matches(twice, 24) && pair.matches(twice, 12) && twice.matches(pair, 36));
        assert!(pair.matches(ints, 4) && !pair.matches(ints, 8));
        assert!(of(&[(INT, 2), (DOUBLE, 1)]).matches(of(&[(INT, 2), (DOUBLE, 4)]), 16));
        assert!(of(&[(PACKED, 1)]).matches(pair, 100));
    }
}
