//! Lists of CPUs as Linux prints them: `0-3,8`.

use std::fmt;

/// Prints ascending numbers with neighbours joined: `[0, 1, 2, 5]` as `0-2,5`, nothing as `none`.
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

#[cfg(test)]
mod tests {
    use super::Ranges;

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
