//! The line of the program that makes the call in progress, as its debug information tells.

use std::backtrace::Backtrace;
use std::path::Path;

/// Crates whose functions are between the program's line and this library.
const BETWEEN: [&str; 8] = [
    "rankfold::",
    "rankfold_mpi::",
    "mpi::",
    "mpi_sys::",
    "std::",
    "core::",
    "alloc::",
    "__rust",
];
/// The same as parts of the paths of their files.
const FOLDERS: [&str; 3] = ["/rustc/", "/registry/src/", "/git/checkouts/"];

/// Whether a frame is of this library, or of what calls it for the program.
fn is_between(function: &str, file: &str) -> bool {
    let path = function.trim_start_matches('<');
    let package = env!("CARGO_MANIFEST_DIR");
    let library = Path::new(package).parent().and_then(Path::parent);
    let own = library.is_some_and(|root| Path::new(file).starts_with(root.join("src")));
    BETWEEN.iter().any(|of| path.starts_with(of))
        || path.starts_with("MPI_")
        || FOLDERS.iter().any(|of| file.contains(of))
        || own
        // Files of the C library, whose debug information names no folder.
        || file.starts_with("./")
        || Path::new(file).starts_with(Path::new(package).join("src"))
}

/// The first line above this library, if there is one.
pub(crate) fn of_the_program() -> Option<String> {
    in_backtrace(&Backtrace::force_capture())
}

/// The first line above this library in a backtrace.
pub(crate) fn in_backtrace(trace: &Backtrace) -> Option<String> {
    first(&format!("{trace:#}"))
}

/// The first line of the program in a backtrace: each frame has its number, its address and its function, and its file in
/// the next line; further functions that were inlined into the frame come without number and address.
fn first(trace: &str) -> Option<String> {
    let mut function = "";
    for line in trace.lines().map(str::trim) {
        match line.strip_prefix("at ") {
            Some(place) if !is_between(function, place) => return Some(short(place)),
            Some(_) => {}
            None => {
                function = line
                    .rsplit_once(" - ")
                    .map_or(line, |(_, function)| function)
            }
        }
    }
    None
}

/// A place relative to the current folder, if it is inside.
fn short(place: &str) -> String {
    let folder = std::env::current_dir().ok();
    let inside = folder.and_then(|folder| {
        Some(
            Path::new(place)
                .strip_prefix(folder)
                .ok()?
                .display()
                .to_string(),
        )
    });
    inside.unwrap_or_else(|| place.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_is_the_first_outside_of_the_crates_between() {
        let trace = format!(
            "   0:     0x1 - stopped\n             at {0}/src/call.rs:1:1\n   \
             1:     0x2 - mpi::point_to_point::Destination::send\n             at /x/rsmpi/src/p.rs:2:2\n                \
             receive<i32>\n             at /c/registry/src/i/mpi-0.8.2/src/p.rs:3:3\n   \
             2:     0x3 - ring::main_of_each_rank\n             at /p/src/ring.rs:7:70\n   \
             3:     0x4 - std::rt::lang_start\n             at /rustc/5/library/std/src/rt.rs:1:1\n",
            env!("CARGO_MANIFEST_DIR")
        );
        assert_eq!(first(&trace).as_deref(), Some("/p/src/ring.rs:7:70"));
        assert_eq!(first("   0: 0x1 - stopped\n"), None);
    }
}
