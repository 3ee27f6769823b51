//! `rankfold completions` and `rankfold man`: shell completions and manual pages, generated from the text of `--help`.

use clap::{Args, Command, CommandFactory};
use clap_complete::Shell;
use clap_mangen::Man;

use super::output::To;
use super::stop::Stop;

/// Print what a shell needs to complete commands and options.
///
/// bash looks for it in ~/.local/share/bash-completion/completions/rankfold, fish in
/// ~/.config/fish/completions/rankfold.fish, and zsh in a folder of $fpath, as _rankfold.
#[derive(Args)]
#[command(after_help = "\
Examples:
  rankfold completions bash -o rankfold.bash
  rankfold completions zsh -o _rankfold
  rankfold completions fish -o ~/.config/fish/completions/rankfold.fish")]
pub struct Completions {
    /// For which shell.
    #[arg(value_name = "SHELL")]
    shell: Shell,
    #[command(flatten)]
    to: To,
}

/// Print the manual page of the tool, or of one of its commands.
#[derive(Args)]
#[command(after_help = "\
Examples:
  rankfold man -o rankfold.1
  rankfold man bench -o rankfold-bench.1")]
pub struct Manual {
    /// Which command; without it, the tool as a whole.
    #[arg(value_name = "COMMAND")]
    command: Option<String>,
    #[command(flatten)]
    to: To,
}

pub fn completions(arguments: &Completions) -> Result<(), Stop> {
    let output = arguments.to.open()?;
    let mut script = Vec::new();
    let mut tool = super::Arguments::command();
    clap_complete::generate(arguments.shell, &mut tool, "rankfold", &mut script);
    output.write(&text(script))
}

pub fn manual(arguments: &Manual) -> Result<(), Stop> {
    let output = arguments.to.open()?;
    let mut page = Vec::new();
    // Writing to memory cannot fail.
    let _ = Man::new(described(arguments.command.as_deref())?).render(&mut page);
    output.write(&text(page))
}

/// Returns the tool, or one of its commands under the name of its page.
fn described(name: Option<&str>) -> Result<Command, Stop> {
    let mut tool = super::Arguments::command();
    tool.build();
    let Some(name) = name else {
        return Ok(tool);
    };
    let found = tool
        .find_subcommand(name)
        .filter(|_| name != "help")
        .cloned();
    let command = found.ok_or_else(|| {
        Stop::Input(format!(
            "no command is called `{name}`; `rankfold --help` lists them"
        ))
    })?;
    Ok(command
        .display_name(format!("rankfold-{name}"))
        .version(env!("CARGO_PKG_VERSION")))
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commands() -> Vec<Command> {
        let mut tool = super::super::Arguments::command();
        tool.build();
        let all = tool
            .get_subcommands()
            .filter(|command| command.get_name() != "help");
        all.cloned().collect()
    }

    #[test]
    fn every_command_has_examples_that_are_understood() {
        for command in commands() {
            let name = command.get_name().to_owned();
            let after = command
                .get_after_help()
                .map(ToString::to_string)
                .unwrap_or_default();
            let lines = after
                .lines()
                .filter_map(|line| line.trim().strip_prefix("rankfold "));
            let mut count = 0;
            for line in lines {
                let words = std::iter::once("rankfold".to_owned()).chain(words(line));
                let parsed = super::super::Arguments::command().try_get_matches_from(words);
                assert!(parsed.is_ok(), "{line}: {}", parsed.unwrap_err());
                assert!(line.starts_with(&name), "{name}: {line}");
                assert!(line.len() <= 69, "{name}: longer than a line: {line}");
                count += 1;
            }
            assert!(count > 0, "{name} has no example");
        }
    }

    /// Splits a line like a shell, with double quotes.
    fn words(line: &str) -> Vec<String> {
        let parts = line.split('"').enumerate();
        let cut = |(at, part): (usize, &str)| match at % 2 {
            0 => part.split_whitespace().map(String::from).collect(),
            _ => vec![part.to_owned()],
        };
        parts.flat_map(cut).collect()
    }

    #[test]
    fn every_option_is_described_and_every_description_is_a_sentence() {
        for command in commands() {
            let name = command.get_name();
            let about = command
                .get_about()
                .map(ToString::to_string)
                .unwrap_or_default();
            assert!(
                !about.is_empty() && !about.ends_with('.'),
                "{name}: {about:?}"
            );
            assert!(
                about.len() <= 65,
                "{name}: {about:?} is longer than a line of the list of commands"
            );
            for argument in command.get_arguments().filter(|one| one.get_id() != "help") {
                let help = argument
                    .get_help()
                    .map(ToString::to_string)
                    .unwrap_or_default();
                assert!(
                    !help.is_empty() && !help.ends_with('.'),
                    "{name} {}: {help:?}",
                    argument.get_id()
                );
                assert!(
                    help.chars().next().is_some_and(char::is_uppercase),
                    "{name}: {help}"
                );
            }
        }
    }

    #[test]
    fn every_command_has_a_page() {
        for command in commands() {
            let name = command.get_name();
            let mut page = Vec::new();
            Man::new(described(Some(name)).unwrap())
                .render(&mut page)
                .unwrap();
            let page = String::from_utf8(page).unwrap();
            assert!(page.contains(&format!("rankfold\\-{name}")), "{page}");
        }
        assert!(described(Some("help")).is_err() && described(Some("no")).is_err());
    }
}
