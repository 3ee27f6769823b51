//! The machine that a tuning table belongs to, and the comparison with this one.

use std::fmt;

use super::TableError;
use super::error::is_line;
use crate::machine::{Bind, Machine, processor};

/// The properties that must match for a tuning table to apply: times measured on another machine say nothing about this
/// one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "json",
    derive(serde::Serialize, serde::Deserialize),
    serde(deny_unknown_fields)
)]
pub struct Fingerprint {
    /// The version of rankfold.
    pub version: String,
    /// The processor's model name.
    pub model: String,
    /// The parts of the machine.
    pub parts: String,
    /// The CPUs that the process may use, and its quota.
    pub cpus: String,
    /// The number of ranks that can each have a core of their own.
    pub room: usize,
    /// The binding of the ranks.
    pub bind: String,
}

impl Fingerprint {
    /// The fingerprint of a machine with this version of rankfold.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::collective::Fingerprint;
    /// use rankfold::machine::{Bind, Machine};
    ///
    /// let machine = Machine::from_text("package:2 core:4")?;
    /// let auto = Fingerprint::of(&machine, &Bind::Auto);
    /// assert_eq!(auto.room, 8);
    /// let scattered = Fingerprint::of(&machine, &Bind::Scatter);
    /// let foreign = auto.check_against(&scattered).unwrap_err();
    /// assert_eq!(
    ///     foreign.to_string(),
    ///     "the tuning table is of another setting: its binding is auto, and here it is scatter; measure this one with \
    ///      `rankfold tune --bind scatter`",
    /// );
    /// # Ok::<(), rankfold::machine::MachineError>(())
    /// ```
    pub fn of(machine: &Machine, bind: &Bind) -> Fingerprint {
        Fingerprint {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            model: processor().model.clone(),
            parts: machine.parts(),
            cpus: machine.usable.to_string(),
            room: machine.room(),
            bind: bind.to_string(),
        }
    }

    /// Checks that a table with this fingerprint applies to `here`.
    ///
    /// # Errors
    ///
    /// The first property that differs.
    pub fn check_against(&self, here: &Fingerprint) -> Result<(), Foreign> {
        let both = self.named().into_iter().zip(here.named());
        let mut differing = both.filter(|((_, its), (_, here))| its != here);
        match differing.next() {
            None => Ok(()),
            Some(((what, its), (_, here_is))) => Err(Foreign {
                what,
                its,
                here: here_is,
                bind: here.bind.clone(),
            }),
        }
    }

    /// All properties compared, by name.
    pub(super) fn named(&self) -> [(&'static str, String); 6] {
        [
            ("version", self.version.clone()),
            ("processor", self.model.clone()),
            ("machine", self.parts.clone()),
            ("cpus", self.cpus.clone()),
            ("room", self.room.to_string()),
            ("binding", self.bind.clone()),
        ]
    }

    /// Checks that it can be written and read back.
    pub(super) fn check(&self) -> Result<(), TableError> {
        let bad = self.named().into_iter().find(|(_, text)| !is_line(text));
        match bad {
            None => Ok(()),
            Some((field, _)) => Err(TableError::Words { field }),
        }
    }
}

/// The property in which a machine differs from that of a tuning table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Foreign {
    /// The property: `version`, `processor`, `machine`, `cpus`, `room` or `binding`.
    pub what: &'static str,
    /// The table's value.
    pub its: String,
    /// The value here.
    pub here: String,
    /// The binding here.
    bind: String,
}

impl fmt::Display for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Foreign {
            what,
            its,
            here,
            bind,
        } = self;
        let (of, has) = match *what {
            "version" => ("another version of rankfold", "it was written by"),
            "binding" => ("another setting", "its binding is"),
            "processor" => ("another machine", "its processor is"),
            "machine" => ("another machine", "it has"),
            "cpus" => ("another setting", "it may use"),
            _ => (
                "another setting",
                "the number of ranks that have a core each is",
            ),
        };
        let here_is = match *what {
            "version" => "this is",
            "machine" => "here are",
            "cpus" => "here are",
            _ => "here it is",
        };
        let how = match bind.as_str() {
            "auto" => String::new(),
            bind => format!(" --bind {bind}"),
        };
        write!(
            f,
            "the tuning table is of {of}: {has} {its}, and {here_is} {here}; measure this one with `rankfold tune{how}`"
        )
    }
}

impl std::error::Error for Foreign {}
