//! Where results go: standard output, or a file that is opened before the work and written after it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::PathBuf;

use super::stop::Stop;

/// A place for results. A file that was there keeps its content until they are written; one that was
/// not is taken away again if they never are.
pub struct Output(Option<Opened>);

struct Opened {
    path: PathBuf,
    file: File,
    /// It was not there before, and nothing has been written yet.
    idle: bool,
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
        let idle = !path.exists();
        let opened = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path);
        match opened {
            Ok(file) => Ok(Opened { path, file, idle }),
            Err(error) => Err(cannot_write(&path.display().to_string(), &error)),
        }
    }

    fn write(mut self, text: &str) -> Result<(), Stop> {
        self.idle = false;
        let written = self
            .empty()
            .and_then(|()| self.file.write_all(text.as_bytes()));
        written.map_err(|error| cannot_write(&self.path.display().to_string(), &error))
    }

    /// Devices and pipes have no length to set.
    fn empty(&self) -> io::Result<()> {
        if self.file.metadata()?.is_file() {
            self.file.set_len(0)?;
        }
        Ok(())
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        if self.idle {
            // If it cannot be removed, an empty file stays.
            let _ = fs::remove_file(&self.path);
        }
    }
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
