//! Machines that replace the real one where nothing is pinned: plans, drawings, simulations.

use std::env;
use std::fs;
use std::io::Read;
use std::path::Path;

use super::text::MachineError;
use super::tree::Machine;

/// The maximum length of a file that is read as a machine, in bytes.
const MOST_BYTES: u64 = 1 << 26;

impl Machine {
    /// The machine to plan for: the one that `HWLOC_XMLFILE` or `HWLOC_SYNTHETIC` names, as for hwloc's own tools, else
    /// this machine.
    ///
    /// Worlds never use this: they pin ranks on the machine that they run on.
    ///
    /// # Errors
    ///
    /// If the named machine cannot be read. There is no silent fallback.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::machine::Machine;
    ///
    /// println!("{}", Machine::to_plan_for()?);
    /// # Ok::<(), rankfold::machine::MachineError>(())
    /// ```
    pub fn to_plan_for() -> Result<Machine, MachineError> {
        let set = |name| env::var(name).ok().filter(|value| !value.is_empty());
        let (name, machine) = match (set("HWLOC_XMLFILE"), set("HWLOC_SYNTHETIC")) {
            (Some(path), _) => ("HWLOC_XMLFILE", Machine::from_xml_file(Path::new(&path))),
            (None, Some(text)) => ("HWLOC_SYNTHETIC", Machine::from_text(&text)),
            (None, None) => return Ok(Machine::here()),
        };
        machine.map_err(|error| MachineError::new(format!("{name}: {error}")))
    }

    /// [`from_xml`](Self::from_xml) of a file.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, or does not describe a machine.
    pub fn from_xml_file(path: &Path) -> Result<Machine, MachineError> {
        let read = || {
            let mut text = String::new();
            fs::File::open(path)?
                .take(MOST_BYTES)
                .read_to_string(&mut text)?;
            Ok(text)
        };
        let failed =
            |what: &dyn std::fmt::Display| MachineError::new(format!("{}: {what}", path.display()));
        let xml = read().map_err(|error: std::io::Error| failed(&error))?;
        Machine::from_xml(&xml).map_err(|error| failed(&error))
    }
}
