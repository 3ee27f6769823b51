//! The arguments of the subcommand: its own, which become settings in the environment, and those of cargo.

use rankfold_mpi::{MessageOrder, seconds};

/// What to run.
#[derive(Debug, PartialEq, Eq)]
pub struct Arguments {
    /// `build`, `run` or `test`.
    pub command: String,
    /// For cargo.
    pub rest: Vec<String>,
    /// Variables of the environment that `launch` reads.
    pub settings: Vec<(&'static str, String)>,
}

/// Options with a number, with another word, and with nothing.
const NUMBERS: [(&str, &str); 2] = [
    ("--ranks", "RANKFOLD_RANKS"),
    ("--timeout", "RANKFOLD_TIMEOUT"),
];
const TEXTS: [(&str, &str); 2] = [("--seed", "RANKFOLD_SEED"), ("--trace", "RANKFOLD_TRACE")];
const FLAGS: [(&str, &str); 3] = [
    ("--check", "RANKFOLD_CHECK"),
    ("--explore", "RANKFOLD_EXPLORE"),
    ("--zero-buffering", "RANKFOLD_ZERO_BUFFERING"),
];

fn number(option: &str, text: Option<String>) -> Result<String, String> {
    let text = text.ok_or_else(|| format!("{option} needs a number"))?;
    if option == "--timeout" {
        let wrong = || format!("--timeout needs seconds above 0, and {text} is none");
        return seconds(&text).map(|_| text.clone()).ok_or_else(wrong);
    }
    match text.parse::<u64>() {
        Ok(0) if option == "--ranks" => Err("a program runs on at least one rank".into()),
        Ok(_) => Ok(text),
        Err(_) => Err(format!("{option} needs a number, and {text} is none")),
    }
}

/// The word after an option; an order of messages is one that can be read.
fn word(option: &str, text: Option<String>) -> Result<String, String> {
    let text = text.ok_or_else(|| format!("{option} needs a value"))?;
    match option == "--seed" {
        true => text.parse::<MessageOrder>().map(|_| text),
        false => Ok(text),
    }
}

impl Arguments {
    pub fn parse(arguments: Vec<String>) -> Result<Arguments, String> {
        let mut arguments = arguments.into_iter();
        let command = arguments.next().ok_or("there is no command")?;
        if !["build", "run", "test"].contains(&command.as_str()) {
            return Err(format!("there is no command {command}"));
        }
        let (mut rest, mut settings) = (Vec::new(), Vec::new());
        while let Some(argument) = arguments.next() {
            if argument == "--" {
                rest.push(argument);
                rest.extend(arguments.by_ref());
            } else if let Some((_, name)) = FLAGS.iter().find(|(option, _)| *option == argument) {
                settings.push((*name, "1".to_string()));
            } else if let Some((option, name)) =
                NUMBERS.iter().find(|(option, _)| *option == argument)
            {
                settings.push((*name, number(option, arguments.next())?));
            } else if let Some((option, name)) =
                TEXTS.iter().find(|(option, _)| *option == argument)
            {
                settings.push((*name, word(option, arguments.next())?));
            } else {
                rest.push(argument);
            }
        }
        Ok(Arguments {
            command,
            rest,
            settings,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Arguments, String> {
        Arguments::parse(text.split_whitespace().map(String::from).collect())
    }

    #[test]
    fn its_own_options_become_settings_and_all_others_are_for_cargo() {
        let parsed = parse("run --ranks 4 --release --check --example x -- --ranks 5").unwrap();
        assert_eq!(parsed.command, "run");
        let timed = parse("run --timeout 2.5").unwrap();
        assert_eq!(timed.settings, [("RANKFOLD_TIMEOUT", "2.5".into())]);
        assert_eq!(
            parsed.rest,
            ["--release", "--example", "x", "--", "--ranks", "5"]
        );
        assert_eq!(
            parsed.settings,
            [
                ("RANKFOLD_RANKS", "4".into()),
                ("RANKFOLD_CHECK", "1".into())
            ]
        );
    }

    #[test]
    fn a_wrong_option_is_refused_in_one_sentence() {
        for wrong in [
            "",
            "bench",
            "run --trace",
            "run --ranks",
            "run --ranks x",
            "run --ranks 0",
            "run --seed -1",
            "run --timeout soon",
            "run --timeout 0",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
