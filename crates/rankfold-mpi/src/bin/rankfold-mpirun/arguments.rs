//! The arguments of the launcher, and those of the program.

use std::time::Duration;

use rankfold_mpi::Program;

/// What to run, and how.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Arguments {
    pub ranks: usize,
    pub check: bool,
    pub zero_buffering: bool,
    pub seed: Option<u64>,
    pub timeout: Option<u64>,
    pub program: String,
    pub rest: Vec<String>,
}

fn number(option: &str, text: Option<String>) -> Result<u64, String> {
    let text = text.ok_or_else(|| format!("{option} needs a number"))?;
    text.parse()
        .map_err(|_| format!("{option} needs a number, and {text} is none"))
}

impl Arguments {
    pub fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Arguments, String> {
        let mut parsed = Arguments {
            ranks: 1,
            ..Arguments::default()
        };
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "-n" | "-np" | "--ranks" => {
                    parsed.ranks = number(&argument, arguments.next())? as usize
                }
                "--check" => parsed.check = true,
                "--zero-buffering" => parsed.zero_buffering = true,
                "--seed" => parsed.seed = Some(number(&argument, arguments.next())?),
                "--timeout" => parsed.timeout = Some(number(&argument, arguments.next())?),
                option if option.starts_with('-') => {
                    return Err(format!("there is no option {option}"));
                }
                _ => {
                    parsed.program = argument;
                    parsed.rest = arguments.by_ref().collect();
                }
            }
        }
        match (parsed.ranks, parsed.program.is_empty()) {
            (0, _) => Err("a program runs on at least one rank".into()),
            (_, true) => Err("there is no program".into()),
            _ => Ok(parsed),
        }
    }

    /// The settings of the run.
    pub fn settings(&self) -> Program {
        let mut program = Program::new(self.ranks);
        if self.check {
            program = program.check();
        }
        if self.zero_buffering {
            program = program.zero_buffering();
        }
        if let Some(seed) = self.seed {
            program = program.seed(seed);
        }
        match self.timeout {
            Some(seconds) => program.timeout(Duration::from_secs(seconds)),
            None => program,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Arguments, String> {
        Arguments::parse(text.split_whitespace().map(String::from))
    }

    #[test]
    fn what_follows_the_program_is_the_programs() {
        let parsed = parse("-n 4 --zero-buffering ./ring -n 7 x").unwrap();
        assert_eq!(
            (parsed.ranks, parsed.zero_buffering, parsed.check),
            (4, true, false)
        );
        assert_eq!(
            (parsed.program.as_str(), parsed.rest),
            ("./ring", vec!["-n".into(), "7".into(), "x".into()])
        );
    }

    #[test]
    fn a_wrong_option_is_refused_in_one_sentence() {
        for wrong in ["", "-n 4", "-n 0 x", "-n x y", "--explode x", "--seed"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
