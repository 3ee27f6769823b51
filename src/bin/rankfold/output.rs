//! Where results go, and the options for it: standard output, or a file that is opened before the work and written
//! after it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use super::stop::Stop;
use super::style::Style;

/// The options of a command that writes results in one form or another. Every command has `text`.
#[derive(Args)]
pub struct Results<F: ValueEnum + Send + Sync + 'static> {
    /// How results are written.
    #[arg(long, value_enum, default_value = "text")]
    pub format: F,
    #[command(flatten)]
    pub to: To,
}

/// Text for people, or JSON for programs.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TextOrJson {
    /// For people.
    Text,
    /// For programs: one object, or an object for each result, one a line.
    Json,
}

/// The option of a command that writes.
#[derive(Args)]
pub struct To {
    /// Write to this file, and not to standard output.
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// The options of a command that measures: results, and a picture of them.
#[derive(Args)]
pub struct Pictured<F: ValueEnum + Send + Sync + 'static> {
    #[command(flatten)]
    pub results: Results<F>,
    /// Draw them into this file, as SVG.
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,
}

impl To {
    pub fn open(&self) -> Result<Output, Stop> {
        Output::open(self.output.as_deref())
    }

    /// Returns the style of the output.
    pub fn style(&self) -> Style {
        Style::of_stdout(self.output.is_none())
    }
}

impl<F: ValueEnum + Send + Sync + 'static> Pictured<F> {
    /// Opens both, before anything is measured. One file cannot hold both.
    pub fn open(&self) -> Result<Both, Stop> {
        let results = self.results.to.open()?;
        let plot = Output::perhaps(self.plot.as_deref())?;
        results.apart_from(plot.as_ref(), "--plot")?;
        Ok(Both { results, plot })
    }
}

/// The destinations of results and their picture.
pub struct Both {
    results: Output,
    plot: Option<Output>,
}

impl Both {
    pub fn write(self, text: &str, svg: impl FnOnce() -> Result<String, Stop>) -> Result<(), Stop> {
        if let Some(plot) = self.plot {
            plot.write(&svg()?)?;
        }
        self.results.write(text)
    }
}

/// Prints the results of a run that Ctrl-C ended; a file is written whole or not at all.
pub fn interrupted(text: &str) -> Result<(), Stop> {
    to_stdout(text)?;
    Err(Stop::Interrupted)
}

/// A destination for results. An existing file keeps its content until they are written; a new one is created only
/// then.
pub struct Output(Option<Opened>);

struct Opened {
    path: PathBuf,
    /// The same without links.
    real: PathBuf,
    /// The open file, if it existed before; a new one is created when it is written.
    held: Option<File>,
}

impl Output {
    /// Opens the file, or standard output.
    pub fn open(path: Option<&Path>) -> Result<Output, Stop> {
        path.map(Opened::new).transpose().map(Output)
    }

    /// Opens the file, if one was requested.
    pub fn perhaps(path: Option<&Path>) -> Result<Option<Output>, Stop> {
        path.map(|path| Output::open(Some(path))).transpose()
    }

    /// Refuses another output, of this option, into the same file.
    pub fn apart_from(&self, other: Option<&Output>, option: &str) -> Result<(), Stop> {
        match (&self.0, other.and_then(|other| other.0.as_ref())) {
            (Some(file), Some(other)) if file.is_same(other) => Err(Stop::Input(format!(
                "{option} {}: --output is the same file",
                other.path.display()
            ))),
            _ => Ok(()),
        }
    }

    /// Writes the results, all at once.
    pub fn write(self, text: &str) -> Result<(), Stop> {
        match self.0 {
            Some(file) => file.write(text),
            None => to_stdout(text),
        }
    }
}

impl Opened {
    fn new(path: &Path) -> Result<Opened, Stop> {
        let there = path.exists();
        let file = open(path).map_err(|error| cannot_write(&path.display().to_string(), &error))?;
        let real = fs::canonicalize(path).unwrap_or_else(|_| path.into());
        if !there {
            // The file is known to be writable; it is removed until it is written, so that nothing is left if the tool
            // is killed. If it cannot be removed, an empty file stays. A link to it stays in any case.
            let _ = fs::remove_file(&real);
        }
        Ok(Opened {
            path: path.into(),
            real,
            held: there.then_some(file),
        })
    }

    /// Whether what is written to one is lost by writing to the other; not so for devices and pipes.
    fn is_same(&self, other: &Opened) -> bool {
        let kind = |file: &File| file.metadata().is_ok_and(|is| is.is_file());
        let is_file = self.held.as_ref().is_none_or(kind);
        is_file && (self.real == other.real || are_linked(&self.held, &other.held))
    }

    fn write(self, text: &str) -> Result<(), Stop> {
        let file = self.held.map_or_else(|| open(&self.path), Ok);
        let written = file.and_then(|file| replace(file, text));
        written.map_err(|error| cannot_write(&self.path.display().to_string(), &error))
    }
}

/// Whether these are one file under two names.
#[cfg(unix)]
fn are_linked(one: &Option<File>, other: &Option<File>) -> bool {
    use std::os::unix::fs::MetadataExt;
    let identity = |file: &Option<File>| {
        let is = file.as_ref()?.metadata().ok()?;
        Some((is.dev(), is.ino()))
    };
    identity(one).is_some_and(|one| Some(one) == identity(other))
}

#[cfg(not(unix))]
fn are_linked(_: &Option<File>, _: &Option<File>) -> bool {
    false
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
}

fn replace(mut file: File, text: &str) -> io::Result<()> {
    // Devices and pipes have no length to set.
    if file.metadata()?.is_file() {
        file.set_len(0)?;
    }
    file.write_all(text.as_bytes())
}

pub fn to_stdout(text: &str) -> Result<(), Stop> {
    let mut out = io::stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    written.map_err(|error| match error.kind() {
        ErrorKind::BrokenPipe => Stop::Gone,
        _ => cannot_write("standard output", &error),
    })
}

fn cannot_write(what: &str, error: &io::Error) -> Stop {
    Stop::input(format!("cannot write {what}: {error}"))
}
