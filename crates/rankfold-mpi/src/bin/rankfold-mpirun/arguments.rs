//! The arguments of the launcher, and those of the program.

use std::time::Duration;

use rankfold_mpi::{MessageOrder, Program, seconds};

/// What to run, and how.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Arguments {
    pub ranks: usize,
    pub check: bool,
    pub zero_buffering: bool,
    pub explore: bool,
    pub label: bool,
    pub order: Option<MessageOrder>,
    pub timeout: Option<Duration>,
    pub trace: Option<String>,
    pub program: String,
    pub rest: Vec<String>,
}

fn number(option: &str, text: Option<String>) -> Result<u64, String> {
    let text = text.ok_or_else(|| format!("{option} needs a number"))?;
    text.parse()
        .map_err(|_| format!("{option} needs a number, and {text} is none"))
}

fn patience(text: Option<String>) -> Result<Duration, String> {
    let text = text.ok_or("--timeout needs seconds")?;
    seconds(&text).ok_or_else(|| format!("--timeout needs seconds above 0, and {text} is none"))
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
                "--explore" => parsed.explore = true,
                "--label" => parsed.label = true,
                "--seed" => {
                    let order = arguments
                        .next()
                        .ok_or("--seed needs a number or an order")?;
                    parsed.order = Some(order.parse()?);
                }
                "--trace" => {
                    parsed.trace = Some(arguments.next().ok_or("--trace needs a file")?);
                }
                "--timeout" => parsed.timeout = Some(patience(arguments.next())?),
                option if option.starts_with('-') => {
                    return Err(format!("there is no option {option}"));
                }
                _ => {
                    parsed.program = argument;
                    parsed.rest = arguments.by_ref().collect();
                }
            }
        }
        parsed
            .refused()
            .map_or(Ok(()), |why| Err(why.to_string()))?;
        Ok(parsed)
    }

    fn refused(&self) -> Option<&'static str> {
        let alone = "--explore tries all orders of one program: it goes without --seed and --trace";
        let has_one = self.order.is_some() || self.trace.is_some();
        let cases = [
            (self.ranks == 0, "a program runs on at least one rank"),
            (self.program.is_empty(), "there is no program"),
            (self.explore && has_one, alone),
        ];
        cases
            .into_iter()
            .find(|(is_so, _)| *is_so)
            .map(|(_, why)| why)
    }

    /// The settings of the run.
    pub fn settings(&self) -> Program {
        let mut program = Program::new(self.ranks).own_datatypes();
        if self.check {
            program = program.check();
        }
        if self.zero_buffering {
            program = program.zero_buffering();
        }
        if let Some(order) = &self.order {
            program = program.order(order.clone());
        }
        if let Some(file) = &self.trace {
            program = program.trace(file);
        }
        match self.timeout {
            Some(patience) => program.timeout(patience),
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
    fn a_timeout_may_have_a_fraction() {
        let parsed = parse("--timeout 2.5 x").unwrap();
        assert_eq!(parsed.timeout, Some(Duration::from_millis(2500)));
    }

    #[test]
    fn a_wrong_option_is_refused_in_one_sentence() {
        for wrong in [
            "",
            "-n 4",
            "-n 0 x",
            "-n x y",
            "--explode x",
            "--seed",
            "--seed order:x x",
            "--trace",
            "--explore --seed 1 x",
            "--timeout soon x",
            "--timeout 0 x",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
