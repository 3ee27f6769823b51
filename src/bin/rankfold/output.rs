//! Where results go: standard output, or a file that is tried before the work and written after it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use super::stop::Stop;

/// A place for results. A file that was there keeps its content until they are written; one that was
/// not is not made before.
pub struct Output(Option<Opened>);

struct Opened {
    path: PathBuf,
    /// It was there before, and is held; one that was not is made when there is something to write.
    held: Option<File>,
}

impl Output {
    /// The file, or standard output.
    pub fn open(path: Option<PathBuf>) -> Result<Output, Stop> {
        path.map(Opened::new).transpose().map(Output)
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
    fn new(path: PathBuf) -> Result<Opened, Stop> {
        let there = path.exists();
        match open(&path) {
            Ok(file) if there => Ok(Opened {
                path,
                held: Some(file),
            }),
            Ok(_) => {
                // It can be written, and until it is there is none: whatever ends the tool leaves nothing. If it
                // cannot be removed, an empty file stays.
                let _ = fs::remove_file(&path);
                Ok(Opened { path, held: None })
            }
            Err(error) => Err(cannot_write(&path.display().to_string(), &error)),
        }
    }

    fn write(self, text: &str) -> Result<(), Stop> {
        let file = self.held.map_or_else(|| open(&self.path), Ok);
        let written = file.and_then(|file| replace(file, text));
        written.map_err(|error| cannot_write(&self.path.display().to_string(), &error))
    }
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

fn to_stdout(text: &str) -> Result<(), Stop> {
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
