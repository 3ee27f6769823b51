//! Sizes, ranges and times as they are typed: `8,64Ki,1Mi..16Mi`, `1..8,16` and `2m`. Ranges include both ends, and a
//! range of sizes doubles.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

use rankfold::machine::Bind;

use super::stop::Stop;

/// Sizes, at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sizes(pub Vec<usize>);

impl FromStr for Sizes {
    type Err = String;

    fn from_str(text: &str) -> Result<Sizes, String> {
        let words = text.split(',').map(sizes).collect::<Result<Vec<_>, _>>();
        words.map(|all| Sizes(all.concat()))
    }
}

/// Parses a size, or a range of sizes, each twice the one before.
fn sizes(word: &str) -> Result<Vec<usize>, String> {
    let Some((low, high)) = word.split_once("..") else {
        return Ok(vec![size(word)?]);
    };
    match (size(low)?, size(high)?) {
        (0, _) => Err(format!(
            "`{}`: a range of sizes starts above 0",
            word.trim()
        )),
        (low, high) if low > high => Err(format!(
            "`{}` is empty: the lower end comes first",
            word.trim()
        )),
        (low, high) => {
            let doubled = |size: &usize| size.checked_mul(2).filter(|next| *next <= high);
            Ok(std::iter::successors(Some(low), doubled).collect())
        }
    }
}

const UNITS: [(&str, u32); 4] = [("Ki", 10), ("Mi", 20), ("Gi", 30), ("Ti", 40)];

fn size(word: &str) -> Result<usize, String> {
    let word = word.trim();
    let unit = UNITS.iter().find(|(unit, _)| word.ends_with(unit));
    let (number, power) = unit.map_or((word, 0), |(unit, power)| {
        (word.strip_suffix(unit).unwrap_or(word), *power)
    });
    let number = whole(number)
        .ok_or_else(|| format!("`{word}` is no size; sizes are written 8, 64Ki, 16Mi or 1Gi"))?;
    number
        .checked_mul(1 << power)
        .ok_or_else(|| format!("`{word}` is too large a size"))
}

/// CPUs by number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cpus(pub Vec<usize>);

impl FromStr for Cpus {
    type Err = String;

    fn from_str(text: &str) -> Result<Cpus, String> {
        match text.parse() {
            Ok(Bind::Cpus(list)) => Ok(Cpus(list)),
            _ => Err("it is no list of CPUs, as `0-3,8`".into()),
        }
    }
}

/// Returns the number of elements in `bytes` bytes, as given by `--bytes` and `--element-bytes`.
pub fn elements(bytes: usize, element: usize) -> Result<usize, String> {
    match bytes.checked_rem(element) {
        None => Err("--element-bytes: an element has at least one byte".into()),
        Some(0) => Ok(bytes / element),
        Some(_) => Err(format!(
            "--bytes: {bytes} is no whole number of elements of {element} bytes; see --element-bytes"
        )),
    }
}

/// Checks the number of passes given by `--passes`.
pub fn passes(passes: usize) -> Result<usize, Stop> {
    // More passes give no more information.
    const MOST: usize = 50;
    match passes {
        1..=MOST => Ok(passes),
        _ => Err(Stop::Input(format!(
            "--passes: {passes} is not from 1 to {MOST}"
        ))),
    }
}

/// Returns a number of passes in words.
pub fn in_words(passes: usize) -> String {
    match passes {
        1 => "1 pass".into(),
        _ => format!("{passes} passes"),
    }
}

/// A time as `--time` takes it, in seconds: `60`, `90s`, `2m` or `250ms`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Time(pub f64);

impl FromStr for Time {
    type Err = String;

    fn from_str(text: &str) -> Result<Time, String> {
        let text = text.trim();
        // First, because milliseconds also end in the letter of seconds.
        let units = [("ms", 1e-3), ("s", 1.0), ("m", 60.0), ("", 1.0)];
        let cut = |(unit, seconds)| Some((text.strip_suffix(unit)?, seconds));
        let (number, unit) = units.into_iter().find_map(cut).unwrap_or((text, 1.0));
        match number.parse::<f64>() {
            Ok(number) => Ok(Time(number * unit)),
            Err(_) => Err("times are written 60, 90s, 2m or 250ms".into()),
        }
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// Times from here on are written with an exponent.
const HUGE: f64 = 1e15;

impl Time {
    /// Returns the time if a command may take it.
    pub fn at_most(self, most: f64) -> Result<Duration, Stop> {
        let Time(seconds) = self;
        if seconds > 0.0 && seconds <= most {
            return Ok(Duration::from_secs_f64(seconds));
        }
        // In full it may have hundreds of digits.
        let given = match seconds.abs() {
            HUGE.. => format!("{seconds:e}"),
            _ => seconds.to_string(),
        };
        Err(Stop::Input(format!(
            "--time: {given} is not above 0 and at most {most} seconds"
        )))
    }
}

/// The steps from one to another, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    pub first: usize,
    pub last: usize,
}

impl FromStr for Window {
    type Err = String;

    fn from_str(text: &str) -> Result<Window, String> {
        let (first, last) = text.split_once("..").unwrap_or((text, text));
        match (whole(first), whole(last)) {
            (Some(first), Some(last)) if first <= last => Ok(Window { first, last }),
            _ => Err(format!(
                "`{text}` is no window of steps; they are written 3 or 0..9"
            )),
        }
    }
}

/// Counts of ranks: single ones, and ranges with both ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ranges(Vec<RangeInclusive<usize>>);

impl Ranges {
    /// Returns all of them, in the order given.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().cloned().flatten()
    }
}

impl FromStr for Ranges {
    type Err = String;

    fn from_str(text: &str) -> Result<Ranges, String> {
        text.split(',')
            .map(range)
            .collect::<Result<_, _>>()
            .map(Ranges)
    }
}

fn range(word: &str) -> Result<RangeInclusive<usize>, String> {
    let word = word.trim();
    let (low, high) = word.split_once("..").unwrap_or((word, word));
    let (Some(low), Some(high)) = (whole(low), whole(high)) else {
        return Err(format!(
            "`{word}` is no number of ranks; they are written 8, 1..64 or 1..8,16"
        ));
    };
    if low == 0 {
        return Err(format!("`{word}`: there is at least one rank"));
    }
    if low > high {
        return Err(format!("`{word}` is empty: the lower end comes first"));
    }
    Ok(low..=high)
}

/// Parses a number of digits alone, without a sign.
fn whole(word: &str) -> Option<usize> {
    let word = word.trim();
    let digits = word.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| word.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(text: &str) -> Result<Vec<usize>, String> {
        text.parse().map(|Sizes(all)| all)
    }

    fn ranges(text: &str) -> Result<Vec<usize>, String> {
        text.parse().map(|ranges: Ranges| ranges.iter().collect())
    }

    #[test]
    fn sizes_are_numbers_with_binary_units() {
        assert_eq!(sizes("8, 64Ki,16Mi,0"), Ok(vec![8, 65_536, 16_777_216, 0]));
        for wrong in [
            "", "8,", "Ki", "-8", "+8", "8K", "8kB", "1e6", "1.5Mi", "KiKi", "8KiKi", "8 Ki Ki",
        ] {
            let said = sizes(wrong).unwrap_err();
            assert!(said.contains("is no size"), "{wrong}: {said}");
        }
        assert_eq!(
            sizes("0,3..20,1Ki..4Ki"),
            Ok(vec![0, 3, 6, 12, 1024, 2048, 4096])
        );
        assert_eq!(sizes("8..8"), Ok(vec![8]));
        assert_eq!(sizes("1..18446744073709551615").unwrap().len(), 64);
        assert!(sizes("0..8").unwrap_err().contains("above 0"));
        assert!(sizes("9..8").unwrap_err().contains("is empty"));
        assert!(sizes("8..").is_err() && sizes("..8").is_err() && sizes("1..2..3").is_err());
        assert!(sizes("18446744073709551616").is_err());
        assert!(sizes("99999999999Ti").unwrap_err().contains("too large"));
    }

    #[test]
    fn both_ends_of_a_range_count() {
        assert_eq!(ranges("1..3,16, 5"), Ok(vec![1, 2, 3, 16, 5]));
        assert_eq!(ranges("7..7"), Ok(vec![7]));
        assert_eq!(ranges("0").unwrap_err(), "`0`: there is at least one rank");
        assert!(ranges("8..1").unwrap_err().contains("empty"));
        for wrong in ["", "..", "1..", "..8", "1...8", "1..8..9", "-1", "1-8", "x"] {
            assert!(ranges(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_range_is_not_written_out_before_it_is_looked_at() {
        let all: Ranges = "1..18446744073709551615".parse().unwrap();
        assert_eq!(all.iter().nth(1000), Some(1001));
    }

    #[test]
    fn times_are_in_seconds_minutes_or_milliseconds() {
        let time = |text: &str| text.parse::<Time>().map(|Time(seconds)| seconds);
        assert_eq!((time("60"), time("0.5s")), (Ok(60.0), Ok(0.5)));
        assert_eq!((time("2m"), time("250ms")), (Ok(120.0), Ok(0.25)));
        for wrong in ["", "s", "m", "2h", "60ss", "2mm", "1 m", "never"] {
            let said = time(wrong).unwrap_err();
            assert_eq!(said, "times are written 60, 90s, 2m or 250ms", "{wrong}");
        }
        for wrong in ["-1", "0", "nan", "inf", "1e300m", "2m"] {
            let time: Time = wrong.parse().unwrap();
            assert!(time.at_most(60.0).is_err(), "{wrong}");
        }
        let huge: Time = "1e300".parse().unwrap();
        let said = huge.at_most(60.0).unwrap_err();
        assert_eq!(
            said.line(),
            Some("--time: 1e300 is not above 0 and at most 60 seconds")
        );
    }

    #[test]
    fn a_window_of_steps_may_begin_at_0() {
        assert_eq!("0..9".parse(), Ok(Window { first: 0, last: 9 }));
        assert_eq!("3".parse(), Ok(Window { first: 3, last: 3 }));
        assert!("9..0".parse::<Window>().is_err() && "a..b".parse::<Window>().is_err());
    }
}
