//! Lists of CPUs in Linux's notation: `0-3,8`.

use std::fmt;

/// Prints ascending numbers with consecutive ones joined: `[0, 1, 2, 5]` as `0-2,5`, an empty list as `none`.
pub(super) struct Ranges<'a>(pub(super) &'a [usize]);

impl fmt::Display for Ranges<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("none");
        }
        for (i, run) in self
            .0
            .chunk_by(|a, b| a.checked_add(1) == Some(*b))
            .enumerate()
        {
            let comma = if i == 0 { "" } else { "," };
            match run {
                [only] => write!(f, "{comma}{only}")?,
                _ => write!(f, "{comma}{}-{}", run[0], run[run.len() - 1])?,
            }
        }
        Ok(())
    }
}

/// Parses such a list: `0-3,8`. `None` if the text is invalid, or the list has more than `most` numbers. An empty text
/// is the empty list, and the order of the numbers is kept.
pub(super) fn parse(text: &str, most: usize) -> Option<Vec<usize>> {
    let mut all = Vec::new();
    for part in text
        .split(',')
        .map(str::trim)
        .filter(|part| !part.is_empty())
    {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        let fits = first <= last && last - first < most.saturating_sub(all.len());
        fits.then(|| all.extend(first..=last))?;
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::{Ranges, parse};

    #[test]
    fn what_is_printed_is_read_and_nonsense_is_not() {
        for list in [vec![], vec![3], vec![0, 1, 2, 8], vec![5, 7, 9]] {
            let text = Ranges(&list).to_string().replace("none", "");
            assert_eq!(parse(&text, 10), Some(list));
        }
        for text in [
            "x",
            "3-1",
            "1-",
            "-",
            "0-10",
            "0-5,0-5",
            "0-18446744073709551615",
        ] {
            assert_eq!(parse(text, 10), None, "{text}");
        }
    }

    #[test]
    fn neighbours_are_joined_and_others_are_not() {
        assert_eq!(Ranges(&[]).to_string(), "none");
        assert_eq!(Ranges(&[7]).to_string(), "7");
        assert_eq!(Ranges(&[0, 1]).to_string(), "0-1");
        assert_eq!(
            Ranges(&[0, 2, 3, 4, 9, usize::MAX]).to_string(),
            format!("0,2-4,9,{}", usize::MAX)
        );
    }
}
