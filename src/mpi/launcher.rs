//! Which MPI has started this process, by the environment that its launcher sets.

use std::ffi::{OsStr, OsString};

use crate::environment;

/// What the environment says of the launcher.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Launched {
    /// The names under which the launcher's own library may be found, in this order.
    pub(crate) libraries: Vec<OsString>,
    /// The number of processes that were started together, if it is known.
    pub(crate) processes: Option<usize>,
}

impl Launched {
    /// Checks that a library knows of as many processes as were started.
    pub(super) fn agrees(&self, count: usize, library: &str) -> Result<(), String> {
        match self.processes {
            Some(started) if started != count => Err(format!(
                "the launcher has started {started} processes, and {library} knows of {count}: it belongs to another \
                 MPI; RANKFOLD_MPI names the library"
            )),
            _ => Ok(()),
        }
    }
}

/// The variable that names the library, or is `off`.
const CHOICE: &str = "RANKFOLD_MPI";

/// The names of a library with the standard ABI, which any launcher may have.
const STANDARD: [&str; 2] = ["libmpi_abi.so.1", "libmpi_abi.so.0"];

/// The launcher of this process; `None` if it was started alone, or if `RANKFOLD_MPI` is `off`.
pub(crate) fn launched() -> Option<Launched> {
    launched_by(&environment::value)
}

fn launched_by(variable: &dyn Fn(&str) -> Option<OsString>) -> Option<Launched> {
    let chosen = variable(CHOICE);
    if chosen.as_deref() == Some(OsStr::new("off")) {
        return None;
    }
    let is_set = |names: &[&str]| names.iter().any(|name| variable(name).is_some());
    let number = |name| variable(name)?.to_str()?.parse().ok();
    let (own, processes) = if is_set(&["OMPI_COMM_WORLD_SIZE", "PMIX_RANK"]) {
        (
            ["libmpi.so.40", "libmpi.so"],
            number("OMPI_COMM_WORLD_SIZE"),
        )
    } else if is_set(&["PMI_SIZE", "PMI_RANK", "PMI_FD"]) {
        (["libmpich.so.12", "libmpi.so.12"], number("PMI_SIZE"))
    } else {
        return None;
    };
    let libraries = match chosen {
        Some(path) => vec![path],
        None => own
            .into_iter()
            .chain(STANDARD)
            .map(OsString::from)
            .collect(),
    };
    Some(Launched {
        libraries,
        processes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(environment: &[(&str, &str)]) -> Option<(String, Option<usize>)> {
        let variable = |name: &str| {
            let found = environment.iter().find(|(other, _)| *other == name);
            found.map(|(_, value)| (*value).into())
        };
        let launched = launched_by(&variable)?;
        let first = launched.libraries[0].to_string_lossy();
        Some((first.into_owned(), launched.processes))
    }

    #[test]
    fn a_library_that_knows_of_another_number_of_processes_is_of_another_mpi() {
        let launched = |processes| Launched {
            libraries: Vec::new(),
            processes,
        };
        assert_eq!(launched(Some(2)).agrees(2, "x.so"), Ok(()));
        assert_eq!(launched(None).agrees(1, "x.so"), Ok(()));
        let refused = launched(Some(2)).agrees(1, "x.so").unwrap_err();
        assert!(
            refused.contains("started 2 processes, and x.so knows of 1"),
            "{refused}"
        );
    }

    #[test]
    fn the_environment_names_the_launcher() {
        let library = |name: &str, processes| Some((name.to_owned(), processes));
        assert_eq!(found(&[]), None);
        assert_eq!(
            found(&[("RANKFOLD_MPI", "libmpi.so.40")]),
            None,
            "no launcher"
        );
        let open = ("OMPI_COMM_WORLD_SIZE", "3");
        assert_eq!(found(&[open]), library("libmpi.so.40", Some(3)));
        assert_eq!(found(&[("PMIX_RANK", "0")]), library("libmpi.so.40", None));
        assert_eq!(found(&[open, ("RANKFOLD_MPI", "off")]), None);
        assert_eq!(
            found(&[open, ("RANKFOLD_MPI", "/x.so")]),
            library("/x.so", Some(3))
        );
        let mpich = [("PMI_SIZE", "2"), ("PMI_RANK", "1")];
        assert_eq!(found(&mpich), library("libmpich.so.12", Some(2)));
    }
}
