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
    /// Whether `srun` says that it has started more than one.
    pub(crate) several: bool,
}

impl Launched {
    /// Checks that a library knows of as many processes as were started.
    pub(super) fn agrees(&self, count: usize, library: &str) -> Result<(), String> {
        match self.processes {
            Some(started) if started != count => Err(format!(
                "the launcher has started {started} processes, and {library} knows of {count}: it belongs to another \
                 MPI; RANKFOLD_MPI names the library"
            )),
            None if self.several && count == 1 => Err(format!(
                "the launcher has started several processes, and {library} knows of this one alone: it belongs to another \
                 MPI, or lacks PMIx; RANKFOLD_MPI names the library, or is off, to run a world of its own in each"
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

/// Why this process would be alone although `srun` has started it with others: it has given them no PMI, by which an MPI
/// library finds the others.
pub(crate) fn lacks_pmi() -> Option<String> {
    srun_without_pmi(&environment::value)
}

/// The ids of steps that are none of a program, such as that of a batch script or of the shell of an allocation.
const SPECIAL_STEPS: u64 = 0xffff_ff00;

fn srun_without_pmi(variable: &dyn Fn(&str) -> Option<OsString>) -> Option<String> {
    let number = |name| variable(name)?.to_str()?.parse::<u64>().ok();
    let is_off = variable(CHOICE).as_deref() == Some(OsStr::new("off"));
    // In a shell that `srun --pty` has started, programs are started by hand.
    if is_off || launched_by(variable).is_some() || variable("SLURM_PTY_PORT").is_some() {
        return None;
    }
    // Set for the tasks of a step. What a batch script and the shell of an allocation start by themselves is in none of
    // several tasks.
    let tasks = number("SLURM_STEP_NUM_TASKS").filter(|tasks| *tasks > 1)?;
    let step = number("SLURM_STEP_ID").filter(|step| *step < SPECIAL_STEPS)?;
    let task = number("SLURM_PROCID").filter(|task| *task < tasks)?;
    let node = variable("SLURMD_NODENAME");
    let node = node.map_or_else(String::new, |node| format!(" on {}", node.display()));
    Some(format!(
        "srun has started {tasks} tasks, of which this is task {task} of step {step}{node}, and has given them no PMI, by \
         which MPI finds the others: start them by srun --mpi=pmix or srun --mpi=pmi2 (srun --mpi=list names what there \
         is), or set RANKFOLD_MPI=off to run a world of its own in each"
    ))
}

fn launched_by(variable: &dyn Fn(&str) -> Option<OsString>) -> Option<Launched> {
    let chosen = variable(CHOICE);
    if chosen.as_deref() == Some(OsStr::new("off")) {
        return None;
    }
    let is_set = |names: &[&str]| names.iter().any(|name| variable(name).is_some());
    let number = |name| variable(name)?.to_str()?.parse::<usize>().ok();
    let open_mpi = number("OMPI_COMM_WORLD_SIZE");
    // Hydra under Slurm may pass on the variable of PMIx that its own daemon was started with.
    let is_hydra = open_mpi.is_none() && number("PMI_SIZE").is_some() && is_set(&["PMI_RANK"]);
    let (own, processes) = if !is_hydra && is_set(&["OMPI_COMM_WORLD_SIZE", "PMIX_RANK"]) {
        (["libmpi.so.40", "libmpi.so"], open_mpi)
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
        several: number("SLURM_STEP_NUM_TASKS").is_some_and(|tasks| tasks > 1),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(environment: &[(&str, &str)], name: &str) -> Option<OsString> {
        let found = environment.iter().find(|(other, _)| *other == name);
        found.map(|(_, value)| (*value).into())
    }

    fn found(environment: &[(&str, &str)]) -> Option<(String, Option<usize>)> {
        let launched = launched_by(&|name| value(environment, name))?;
        let first = launched.libraries[0].to_string_lossy();
        Some((first.into_owned(), launched.processes))
    }

    #[test]
    fn a_library_that_knows_of_another_number_of_processes_is_of_another_mpi() {
        let launched = |processes| Launched {
            libraries: Vec::new(),
            processes,
            several: false,
        };
        assert_eq!(launched(Some(2)).agrees(2, "x.so"), Ok(()));
        assert_eq!(launched(None).agrees(1, "x.so"), Ok(()));
        let refused = launched(Some(2)).agrees(1, "x.so").unwrap_err();
        assert!(
            refused.contains("started 2 processes, and x.so knows of 1"),
            "{refused}"
        );
        let of_srun = |tasks| {
            let step = [("PMIX_RANK", "1"), ("SLURM_STEP_NUM_TASKS", tasks)];
            launched_by(&|name| value(&step, name)).unwrap()
        };
        assert_eq!(of_srun("1").agrees(1, "x.so"), Ok(()));
        assert_eq!(of_srun("2").agrees(2, "x.so"), Ok(()));
        assert_eq!(
            of_srun("2").agrees(4, "x.so"),
            Ok(()),
            "of several components"
        );
        let refused = of_srun("2").agrees(1, "x.so").unwrap_err();
        assert!(
            refused.contains("x.so knows of this one alone"),
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
        let under_srun = [&mpich[..], &[("PMIX_RANK", "0")]].concat();
        assert_eq!(found(&under_srun), library("libmpich.so.12", Some(2)));
        let beside_open = [&mpich[..], &[open]].concat();
        assert_eq!(found(&beside_open), library("libmpi.so.40", Some(3)));
    }

    /// A task of a step of two, with these variables changed.
    fn task(changed: &[(&'static str, &'static str)]) -> Option<String> {
        let step = [
            ("SLURM_STEP_NUM_TASKS", "2"),
            ("SLURM_STEP_ID", "3"),
            ("SLURM_PROCID", "1"),
            ("SLURMD_NODENAME", "node07"),
        ];
        let all = [changed, &step].concat();
        srun_without_pmi(&|name| value(&all, name))
    }

    #[test]
    fn tasks_of_srun_without_pmi_are_told_apart() {
        let said = task(&[]).unwrap();
        for part in ["2 tasks", "task 1 of step 3 on node07", "--mpi=pmix"] {
            assert!(said.contains(part), "{said}");
        }
        let others = [
            ("PMIX_RANK", "1"),
            ("PMI_RANK", "1"),
            ("OMPI_COMM_WORLD_SIZE", "2"),
            ("RANKFOLD_MPI", "off"),
            ("SLURM_STEP_NUM_TASKS", "1"),
            ("SLURM_PTY_PORT", "4711"),
            ("SLURM_STEP_ID", "4294967290"),
            ("SLURM_STEP_ID", "4294967291"),
        ];
        for other in others {
            assert_eq!(task(&[other]), None, "{other:?}");
        }
        // A batch script, or a shell of an allocation, for several tasks.
        let allocation = [
            ("SLURM_JOB_ID", "9"),
            ("SLURM_NTASKS", "4"),
            ("SLURM_NPROCS", "4"),
            ("SLURM_PROCID", "0"),
        ];
        let found = srun_without_pmi(&|name| value(&allocation, name));
        assert_eq!(found, None);
    }
}
