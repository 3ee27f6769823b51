//! Machines from the XML files of `lstopo`, version 2: only the objects are read, not XML in general.
//!
//! ```text
//! <object type="Package" os_index="0" cpuset="0x0000000f,0xffffffff">
//!   <object type="NUMANode" os_index="0" cpuset="0xf" local_memory="8589934592"/>
//!   <object type="L3Cache" cpuset="0xf" cache_size="33554432"> ...
//! ```
//!
//! Every object lists its CPUs, so their nesting can be ignored. Only a memory-side cache identifies its memory by its
//! position.

use std::collections::BTreeSet;

use super::Cpus;
use super::text::MachineError;
use super::tree::{Machine, MachineParts, MachineSource, Node, ObjectKind};
use crate::sort;

/// The maximum number of CPUs: few letters of a file can stand for any number.
const MOST_CPUS: usize = 1 << 16;

impl Machine {
    /// Parses the XML that `lstopo --of xml` writes (hwloc 2).
    ///
    /// All of its CPUs count as usable.
    ///
    /// # Errors
    ///
    /// A [`MachineError`] if there are no CPUs, or a set of CPUs cannot be parsed.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::machine::Machine;
    ///
    /// let machine = Machine::from_xml(r#"<topology version="2.0">
    ///   <object type="Machine" cpuset="0x3"><object type="Core" os_index="0" cpuset="0x3">
    ///   <object type="PU" os_index="0" cpuset="0x1"/><object type="PU" os_index="1" cpuset="0x2"/>
    ///   </object></object></topology>"#)?;
    /// assert_eq!(machine.tree.cpus, [0, 1]);
    /// # Ok::<(), rankfold::machine::MachineError>(())
    /// ```
    pub fn from_xml(xml: &str) -> Result<Machine, MachineError> {
        let mut reading = Reading::default();
        for tag in tags(xml) {
            reading.tag(tag)?;
        }
        let mut parts = reading.parts;
        if parts.cpus.is_empty() {
            let line = "there is no object of type PU in it: it is no topology of hwloc 2";
            return Err(MachineError::new(line));
        }
        let mut mask: Vec<usize> = parts.cpus.clone();
        mask.sort_unstable();
        mask.dedup();
        parts.cpus.clone_from(&mask);
        sort::by_numbers(&mut parts.nodes, |node| [node.number]);
        Ok(parts.machine(Cpus { mask, quota: None }, MachineSource::Xml))
    }
}

/// The state of the parser, with the memory-side caches that are open.
#[derive(Default)]
struct Reading {
    parts: MachineParts,
    /// For every open object, its size if it is a memory-side cache.
    open: Vec<Option<u64>>,
}

impl Reading {
    fn tag(&mut self, tag: &str) -> Result<(), MachineError> {
        if tag.starts_with("/object") {
            self.open.pop();
        }
        let named = |name: &str| {
            tag.strip_prefix(name)
                .filter(|rest| rest.starts_with(char::is_whitespace))
        };
        if let Some(attributes) = named("object") {
            self.object(attributes)?;
        } else if named("cpukind").is_some() {
            let kind = cpuset(attribute(tag, "cpuset").unwrap_or_default())?;
            self.parts.kinds.push(kind.into_iter().collect());
        }
        Ok(())
    }

    fn object(&mut self, attributes: &str) -> Result<(), MachineError> {
        let get = |name| attribute(attributes, name);
        let number = get("os_index").and_then(|number| number.parse::<usize>().ok());
        let size = |name| get(name).and_then(|bytes| bytes.parse::<u64>().ok());
        let kind = get("type").unwrap_or_default();
        let cpus = cpuset(get("cpuset").unwrap_or_default())?;
        match (kind, kind_of(kind)) {
            ("PU", _) => self.parts.cpus.extend(cpus),
            ("NUMANode", _) => self.parts.nodes.push(Node {
                number: number.unwrap_or(self.parts.nodes.len()),
                cpus: cpus.into_iter().collect(),
                bytes: size("local_memory"),
                cache: self.open.iter().rev().find_map(|cache| *cache),
                distances: Vec::new(),
            }),
            (_, Some(kind)) => {
                let number = number.filter(|_| !kind.is_cache());
                self.parts.add(kind, number, size("cache_size"), cpus);
            }
            _ => {}
        }
        if !attributes.trim_end().ends_with('/') {
            let cache = size("cache_size").filter(|_| kind == "MemCache");
            self.open.push(cache);
        }
        Ok(())
    }
}

fn kind_of(name: &str) -> Option<ObjectKind> {
    match name {
        "Package" => Some(ObjectKind::Package),
        "Group" => Some(ObjectKind::Group),
        "Die" => Some(ObjectKind::Die),
        "L3Cache" => Some(ObjectKind::L3),
        "L2Cache" => Some(ObjectKind::L2),
        "L1Cache" => Some(ObjectKind::L1),
        "Core" => Some(ObjectKind::Core),
        _ => None,
    }
}

/// The text between each `<` and `>`, without comments. Attributes in hwloc's files contain no literal `>`.
fn tags(xml: &str) -> impl Iterator<Item = &str> {
    let mut rest = xml;
    std::iter::from_fn(move || {
        rest = &rest[rest.find('<')? + 1..];
        while let Some(comment) = rest.strip_prefix("!--") {
            rest = &comment[comment.find("-->")?..];
            rest = &rest[rest.find('<')? + 1..];
        }
        let end = rest.find('>')?;
        let tag = &rest[..end];
        rest = &rest[end..];
        Some(tag)
    })
}

/// The value of an attribute.
fn attribute<'a>(tag: &'a str, name: &str) -> Option<&'a str> {
    let mut rest = tag;
    loop {
        let at = rest.find(name)?;
        let starts = rest[..at].is_empty() || rest[..at].ends_with(char::is_whitespace);
        rest = &rest[at + name.len()..];
        if let Some(value) = rest.strip_prefix("=\"").filter(|_| starts) {
            return value.split('"').next();
        }
    }
}

/// Parses `0x0000000f,0xffffffff`: 32 bits per word, the highest first; a word may be empty.
fn cpuset(text: &str) -> Result<BTreeSet<usize>, MachineError> {
    let bad = || MachineError::new(format!("`{}` is no set of CPUs", text.escape_debug()));
    let mut cpus = BTreeSet::new();
    for (i, word) in text.rsplit(',').enumerate() {
        if word.contains("0xf...f") || 32 * i >= MOST_CPUS {
            return Err(bad());
        }
        let digits = word.trim().trim_start_matches("0x");
        let bits = match digits {
            "" => 0,
            digits => u32::from_str_radix(digits, 16).map_err(|_| bad())?,
        };
        cpus.extend(
            (0..32)
                .filter(|bit| bits >> bit & 1 == 1)
                .map(|bit| 32 * i + bit),
        );
    }
    Ok(cpus)
}
