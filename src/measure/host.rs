//! Identity of a machine: what must be the same for two runs to be comparable.

use std::fs;

use crate::machine::{Machine, processor};

/// The machine, as stored with a run.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize))]
pub struct Host {
    /// The processor's model name.
    pub model: String,
    /// Its parts: `package 1, l3 1 x 32 MiB, core 8, cpu 16`.
    pub parts: String,
    /// Number of CPUs that the process may really use.
    pub usable: usize,
    /// These CPUs and the quota, in words.
    pub may_use: String,
    /// Whether the processor reports that it is virtual.
    pub is_virtual: bool,
    /// The operating system and its version.
    pub system: String,
    /// A hash of the model, the parts, the CPUs and the kind, which is equal on machines where these are.
    pub fingerprint: String,
}

impl Host {
    /// Describes this machine.
    pub fn of(machine: &Machine) -> Host {
        let processor = processor();
        let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        let (os, arch) = (std::env::consts::OS, std::env::consts::ARCH);
        let mut host = Host {
            model: processor.model.clone(),
            parts: machine.parts(),
            usable: machine.usable.usable(),
            may_use: machine.usable.to_string(),
            is_virtual: processor.is_virtual,
            system: format!("{os} {arch} {}", release.trim()).trim().to_owned(),
            fingerprint: String::new(),
        };
        let is_virtual = host.is_virtual;
        let same = format!(
            "{}|{}|{}|{is_virtual}",
            host.model, host.parts, host.may_use
        );
        host.fingerprint = format!("{:016x}", hash(&same));
        host
    }
}

/// A hash that is the same in every version of the library and of Rust.
///
/// # Source
///
/// Fowler, Noll and Vo: FNV-1a.
fn hash(text: &str) -> u64 {
    let fold = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, fold)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_the_published_one() {
        assert_eq!(hash(""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(hash("a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(hash("foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn a_machine_is_known_by_its_parts() {
        let machine = Machine::from_text("package:2 l3:1(size=32MiB) core:2 cpu:2").unwrap();
        let host = Host::of(&machine);
        assert_eq!(host.parts, "package 2, l3 2 x 32 MiB, core 4, cpu 8");
        assert_eq!(host.usable, 8);
        let other = Machine::from_text("package:2 l3:1(size=32MiB) core:2 cpu:1").unwrap();
        assert_eq!(Host::of(&machine), host);
        assert_ne!(Host::of(&other).fingerprint, host.fingerprint);
    }
}
