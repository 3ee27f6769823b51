//! The identity of a machine: the name of its processor, and its parts.

use std::fs;
use std::sync::OnceLock;

use super::show::Bytes;
use super::tree::{Machine, ObjectKind};

/// The system's description of the first processor. It is read once: Linux writes it for every CPU, which takes
/// milliseconds where there are many.
pub(crate) fn processor() -> &'static Processor {
    static READ: OnceLock<Processor> = OnceLock::new();
    READ.get_or_init(|| {
        let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        Processor {
            model: field(&info, "model name").unwrap_or("unknown").to_owned(),
            #[cfg(feature = "measure")]
            is_virtual: field(&info, "flags").is_some_and(|flags| flags.contains("hypervisor")),
        }
    })
}

/// A processor's description of itself.
pub(crate) struct Processor {
    /// Its model name.
    pub model: String,
    /// Whether it declares itself virtual.
    #[cfg(feature = "measure")]
    pub is_virtual: bool,
}

/// A field of the first CPU in `/proc/cpuinfo`.
fn field<'a>(info: &'a str, name: &str) -> Option<&'a str> {
    let lines = info.lines().filter_map(|line| line.split_once(':'));
    let mut named = lines.filter(|(key, _)| key.trim() == name);
    named.next().map(|(_, value)| value.trim())
}

impl Machine {
    /// The parts of the machine: `package 1, l3 1 x 32 MiB, core 8, cpu 16`.
    pub(crate) fn parts(&self) -> String {
        let kinds = [
            ObjectKind::Package,
            ObjectKind::L3,
            ObjectKind::L2,
            ObjectKind::L1,
            ObjectKind::Core,
            ObjectKind::Cpu,
        ];
        let part = |kind: ObjectKind| {
            let all = self.tree.all(kind);
            let first = all.first()?;
            Some(match first.bytes {
                Some(bytes) => format!("{kind} {} x {}", all.len(), Bytes(bytes)),
                None => format!("{kind} {}", all.len()),
            })
        };
        let parts: Vec<String> = kinds.into_iter().filter_map(part).collect();
        parts.join(", ")
    }

    /// The number of ranks that can each have a core of their own. A quota does not change that: it limits for how long
    /// they run, not how many run at once.
    pub(crate) fn room(&self) -> usize {
        let cpus = &self.usable.mask;
        match cpus.is_empty() {
            true => self.usable.places(),
            false => self.distinct_cores(cpus),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_for_one_rank_on_each_core_whatever_the_quota() {
        for (machine, room) in [
            ("package:2 core:2 cpu:2", 4),
            ("core:4 quota=2.5", 4),
            ("core:4 quota=0.5", 4),
            ("core:4 mask=1-2", 2),
        ] {
            assert_eq!(Machine::from_text(machine).unwrap().room(), room);
        }
    }

    #[test]
    fn what_is_said_of_a_processor_is_found_by_its_name() {
        let info = "processor\t: 0\nmodel name\t: Some CPU @ 2 GHz\nflags\t\t: fpu hypervisor\n";
        assert_eq!(field(info, "model name"), Some("Some CPU @ 2 GHz"));
        assert_eq!(field(info, "cache size"), None);
    }
}
