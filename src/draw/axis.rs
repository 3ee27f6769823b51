//! A logarithmic axis: which numbers are marked on it, and where a number lies.

/// The unit of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    /// Powers of two, with binary prefixes.
    Bytes,
    /// Powers of ten of a second, with decimal prefixes.
    Seconds,
    /// Whole numbers.
    Count,
    /// Powers of two without a unit.
    Binary,
    /// Powers of ten without a unit.
    Decimal,
    /// Powers of ten of 10⁹ bytes per second, with decimal prefixes.
    Rate,
}

/// Name and unit of an axis of a [`Chart`](super::Chart). All axes are logarithmic.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    pub(super) name: String,
    pub(super) unit: Unit,
}

impl Axis {
    /// An axis of bytes, written as `64 B`, `4 KiB`, `16 MiB`.
    pub fn bytes(name: &str) -> Axis {
        Axis::new(name, Unit::Bytes)
    }

    /// An axis of seconds, written as `100 ns`, `10 µs`, `1 ms`.
    pub fn seconds(name: &str) -> Axis {
        Axis::new(name, Unit::Seconds)
    }

    /// An axis of whole numbers.
    pub fn count(name: &str) -> Axis {
        Axis::new(name, Unit::Count)
    }

    /// An axis of bandwidths in 10⁹ bytes per second, written as `500 MB/s`, `10 GB/s`.
    pub fn rate(name: &str) -> Axis {
        Axis::new(name, Unit::Rate)
    }

    /// An axis of numbers without a unit, such as ratios.
    pub fn number(name: &str) -> Axis {
        Axis::new(name, Unit::Decimal)
    }

    pub(super) fn new(name: &str, unit: Unit) -> Axis {
        Axis {
            name: name.into(),
            unit,
        }
    }
}

/// An axis with its range: from 0 at the lower end to 1 at the upper.
#[derive(Clone, Debug)]
pub(super) struct Scale {
    unit: Unit,
    low: f64,
    high: f64,
    /// The numbers that have a point; they are marked where there is room.
    values: Vec<f64>,
}

/// The room of a long label, as a share of the axis.
const ROOM: f64 = 0.15;

impl Scale {
    /// Creates the scale that covers these numbers, all of them above 0.
    pub(super) fn new(unit: Unit, mut values: Vec<f64>) -> Scale {
        values.retain(|value| *value > 0.0 && value.is_finite());
        values.sort_unstable_by(f64::total_cmp);
        values.dedup();
        let (low, high) = match (values.first(), values.last()) {
            (Some(&low), Some(&high)) => (low, high),
            _ => (1.0, 1.0),
        };
        let (low, high) = match unit {
            Unit::Seconds | Unit::Decimal | Unit::Rate => (round_down(low), round_up(high)),
            _ => (low, high),
        };
        let (low, high) = if high / low < 1.5 {
            (low / 2.0, high * 2.0)
        } else {
            (low, high)
        };
        Scale {
            unit,
            low,
            high,
            values,
        }
    }

    /// Returns where a number lies.
    pub(super) fn place(&self, value: f64) -> f64 {
        (value / self.low).ln() / (self.high / self.low).ln()
    }

    /// Returns the numbers that are labelled, at most a dozen.
    pub(super) fn marks(&self) -> Vec<f64> {
        match self.unit {
            Unit::Count | Unit::Bytes if self.are_apart() => self.values.clone(),
            Unit::Seconds | Unit::Decimal | Unit::Rate => self.decimal(),
            _ => match self.binary() {
                few if few.len() < 2 && self.values.len() > 1 => self.some_values(),
                enough => enough,
            },
        }
    }

    /// Returns the numbers that only have a line.
    pub(super) fn lines(&self) -> Vec<f64> {
        match self.unit {
            Unit::Seconds | Unit::Decimal | Unit::Rate if self.decades() <= 6.0 => {
                self.multiples(&[2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0])
            }
            _ => Vec::new(),
        }
    }

    /// Returns whether all numbers with a point have room for a label.
    fn are_apart(&self) -> bool {
        let places: Vec<f64> = self.values.iter().map(|value| self.place(*value)).collect();
        places.windows(2).all(|pair| pair[1] - pair[0] > 0.075)
    }

    /// Returns the first and the last number with a point, and those between them that have room for a label.
    fn some_values(&self) -> Vec<f64> {
        let mut marks = self.values[..1].to_vec();
        let last = self.values[self.values.len() - 1];
        for &value in &self.values {
            let from = |mark: f64| (self.place(value) - self.place(mark)).abs();
            if marks.iter().all(|mark| from(*mark) > ROOM) && from(last) > ROOM {
                marks.push(value);
            }
        }
        marks.push(last);
        marks
    }

    fn decades(&self) -> f64 {
        (self.high / self.low).log10()
    }

    fn decimal(&self) -> Vec<f64> {
        match self.decades() {
            few if few <= 1.7 => self.multiples(&[1.0, 2.0, 5.0]),
            _ => self.multiples(&[1.0]),
        }
    }

    /// Returns these multiples of powers of ten.
    fn multiples(&self, of: &[f64]) -> Vec<f64> {
        let powers = self.low.log10().floor() as i32..=self.high.log10().ceil() as i32;
        let all = powers.flat_map(|power| of.iter().map(move |&one| one * 10f64.powi(power)));
        all.filter(|mark| self.holds(*mark)).collect()
    }

    fn holds(&self, value: f64) -> bool {
        (-1e-9..=1.0 + 1e-9).contains(&self.place(value))
    }

    fn binary(&self) -> Vec<f64> {
        let first = (self.low.log2() - 1e-9).ceil() as i32;
        let last = (self.high.log2() + 1e-9).floor() as i32;
        let step = ((last - first + 1) as usize).div_ceil(12).max(1);
        (first..=last)
            .step_by(step)
            .map(|power| 2f64.powi(power))
            .collect()
    }

    /// Returns a number's label.
    pub(super) fn word(&self, value: f64) -> String {
        let power = |base: f64, most: f64| (value.log(base) + 1e-9).floor().clamp(0.0, most);
        match self.unit {
            Unit::Bytes | Unit::Binary => {
                let power = power(1024.0, 4.0);
                let bytes = ["B", "KiB", "MiB", "GiB", "TiB"][power as usize];
                let number = number(value / 1024f64.powf(power));
                match self.unit {
                    Unit::Bytes => format!("{number} {bytes}"),
                    _ => format!("{number}{}", bytes.trim_end_matches('B')),
                }
            }
            Unit::Seconds => {
                let scaled = value * 1e9;
                let power = (scaled.log(1000.0) + 1e-9).floor().clamp(0.0, 3.0);
                let unit = ["ns", "µs", "ms", "s"][power as usize];
                format!("{} {unit}", number(scaled / 1000f64.powf(power)))
            }
            Unit::Count | Unit::Decimal => number(value),
            Unit::Rate => {
                let scaled = value * 1e9;
                let power = (scaled.log(1000.0) + 1e-9).floor().clamp(0.0, 4.0);
                let unit = ["B/s", "kB/s", "MB/s", "GB/s", "TB/s"][power as usize];
                format!("{} {unit}", number(scaled / 1000f64.powf(power)))
            }
        }
    }
}

fn number(value: f64) -> String {
    format!("{}", (value * 1e6).round() / 1e6)
}

/// Returns the greatest 1, 2 or 5 times a power of ten that is at most `value`.
fn round_down(value: f64) -> f64 {
    let power = 10f64.powf((value.log10() + 1e-9).floor());
    let fits = |factor: &f64| factor * power <= value * (1.0 + 1e-9);
    [5.0, 2.0, 1.0].into_iter().find(fits).unwrap_or(1.0) * power
}

/// Returns the least 1, 2, 5 or 10 times a power of ten that is at least `value`.
fn round_up(value: f64) -> f64 {
    let power = 10f64.powf((value.log10() - 1e-9).floor());
    let fits = |factor: &f64| factor * power >= value * (1.0 - 1e-9);
    [1.0, 2.0, 5.0].into_iter().find(fits).unwrap_or(10.0) * power
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::btree_set;
    use proptest::prelude::*;

    fn words(unit: Unit, values: &[f64]) -> Vec<String> {
        let scale = Scale::new(unit, values.to_vec());
        scale
            .marks()
            .into_iter()
            .map(|mark| scale.word(mark))
            .collect()
    }

    #[test]
    fn marks_are_round_and_say_their_unit() {
        assert_eq!(
            words(Unit::Seconds, &[0.3e-6, 2e-3]),
            ["1 µs", "10 µs", "100 µs", "1 ms"]
        );
        assert_eq!(words(Unit::Seconds, &[1.1e-6, 1.9e-6]), ["1 µs", "2 µs"]);
        assert_eq!(words(Unit::Bytes, &[8.0, 32.0]), ["8 B", "32 B"]);
        let crowded: Vec<f64> = (1..=32).map(f64::from).collect();
        assert_eq!(
            words(Unit::Bytes, &crowded),
            ["1 B", "2 B", "4 B", "8 B", "16 B", "32 B"]
        );
        assert_eq!(words(Unit::Count, &[1.0, 3.0, 4.0]), ["1", "3", "4"]);
        assert_eq!(
            words(Unit::Rate, &[1e-6, 3e-2]),
            ["1 kB/s", "10 kB/s", "100 kB/s", "1 MB/s", "10 MB/s"]
        );
        assert_eq!(words(Unit::Rate, &[1.1, 1900.0])[3], "1 TB/s");
        let sizes: Vec<f64> = (3..=26).map(|power| 2f64.powi(power)).collect();
        let many = words(Unit::Bytes, &sizes);
        assert!(many.len() <= 12 && many[0] == "8 B", "{many:?}");
    }

    proptest! {
        #[test]
        fn an_axis_of_several_numbers_has_two_marks_or_more(
            numbers in btree_set(1..4000u32, 2..40),
            from in 0..4000u32,
            more in 2..40u32,
        ) {
            let all = numbers.into_iter().map(f64::from).collect();
            let next = (from + 1..=from + more).map(f64::from).collect();
            for values in [all, next] {
                for unit in [Unit::Count, Unit::Bytes] {
                    let scale = Scale::new(unit, Vec::clone(&values));
                    let marks = scale.marks();
                    prop_assert!((2..=14).contains(&marks.len()), "{:?}: {:?}", values, marks);
                    prop_assert!(marks.is_sorted() && marks.iter().all(|mark| scale.holds(*mark)));
                }
            }
        }
    }

    #[test]
    fn numbers_between_two_powers_of_two_are_marked_themselves() {
        let ranks: Vec<f64> = (17..=31).map(f64::from).collect();
        assert_eq!(
            words(Unit::Count, &ranks),
            ["17", "19", "21", "23", "26", "31"]
        );
    }

    #[test]
    fn every_number_has_its_place_on_its_scale() {
        let mut value = 1e-9;
        while value < 1e3 {
            let scale = Scale::new(Unit::Seconds, vec![value, value * 7.3]);
            let places = [scale.place(value), scale.place(value * 7.3)];
            assert!(places[0] >= -1e-6 && places[1] <= 1.0 + 1e-6 && places[0] < places[1]);
            value *= 1.37;
        }
    }

    #[test]
    fn no_number_and_one_number_make_a_scale_too() {
        assert!(Scale::new(Unit::Seconds, Vec::new()).place(1.0).is_finite());
        assert!((Scale::new(Unit::Bytes, vec![8.0]).place(8.0) - 0.5).abs() < 1e-9);
    }
}
