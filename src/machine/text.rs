//! Machines as text: `package:2 numa:2 l3:2 core:4 cpu:2`, for tests and plans.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;

use super::Cpus;
use super::ranges::parse;
use super::tree::{Domain, Machine, MachineParts, MachineSource, Node, ObjectKind};

/// The maximum number of CPUs of a machine in text form: a short text can ask for any number.
const MOST_CPUS: usize = 1 << 13;

/// The maximum nesting depth of braces.
const MOST_DEPTH: usize = 16;

/// The maximum number of levels inside each other, within one pair of braces.
const MOST_LEVELS: usize = 32;

impl Machine {
    /// Parses a machine in this crate's text form, which also accepts hwloc's synthetic form for the properties that
    /// both support.
    ///
    /// ```text
    /// package:2 numa:2 l3:2(size=32MiB) core:4 cpu:2     levels from outside to inside, with counts per parent
    /// { package:1 core:4 cpu:2 + package:1 core:8 }      different parts side by side, at any depth
    /// package:2 [numa(memory=64GiB)] [numa] core:4       memory near all CPUs of the previous level
    /// numa:2(memory=8GiB cache=1GiB)                     memory, and its memory-side cache
    /// core:4(kind=1)                                     a kind of cores, 0 for the slowest
    /// numbers=0-7,16-23                                  the numbers of the CPUs, in the order of the tree
    /// mask=0-3 quota=2.5                                 the CPUs that this process may use, if not all
    /// distances=10,21/21,10                              the distances from each node to all
    /// ```
    ///
    /// Levels are `package` (`pack`, `socket`), `group`, `numa`, `die`, `l3`, `l2`, `l1`, `core` and `cpu` (`pu`), in
    /// lower or upper case. In a text without `cpu`, each innermost object has one.
    ///
    /// # Errors
    ///
    /// A [`MachineError`] that names the word.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::machine::Machine;
    ///
    /// let hybrid = Machine::from_text("l3:1 { core:2(kind=1) cpu:2 + l2:1 core:4(kind=0) }")?;
    /// assert_eq!(hybrid.kinds, [vec![4, 5, 6, 7], vec![0, 1, 2, 3]]);
    /// let refused = Machine::from_text("package:2 cor:4").unwrap_err();
    /// assert_eq!(refused.to_string(), "`cor:4`: no level is called `cor`; there are package, group, numa, die, \
    ///     l3, l2, l1, core, cpu");
    /// # Ok::<(), rankfold::machine::MachineError>(())
    /// ```
    pub fn from_text(text: &str) -> Result<Machine, MachineError> {
        let words = words(text);
        let mut reader = Parser::default();
        let mut rest = reader.settings(&words)?;
        let levels = reader.levels(&mut rest, 0)?;
        if let Some(word) = rest.first() {
            return Err(wrong(
                word,
                "there is nothing for it to close or to be added to",
            ));
        }
        let mut maker = Maker::default();
        maker.make(&levels)?;
        reader.finish(maker)
    }
}

/// The reason why a text or a file does not describe a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineError {
    what: String,
}

impl MachineError {
    pub(super) fn new(what: impl Into<String>) -> MachineError {
        MachineError { what: what.into() }
    }
}

impl fmt::Display for MachineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl Error for MachineError {}

fn wrong(word: &str, why: impl fmt::Display) -> MachineError {
    let shown: String = word.chars().take(40).collect();
    MachineError::new(format!("`{}`: {why}", shown.escape_debug()))
}

/// Splits at spaces outside brackets; braces and plus signs are words of their own.
fn words(text: &str) -> Vec<String> {
    let (mut words, mut word, mut inside) = (Vec::new(), String::new(), false);
    for letter in text.chars() {
        let ends = !inside && (letter.is_whitespace() || "{}+".contains(letter));
        inside = (inside || letter == '(') && letter != ')';
        if !ends {
            word.push(letter);
            continue;
        }
        words.extend((!word.is_empty()).then(|| std::mem::take(&mut word)));
        words.extend((!letter.is_whitespace()).then(|| letter.to_string()));
    }
    words.extend((!word.is_empty()).then_some(word));
    words
}

/// One level: a number of objects of a kind in each enclosing object.
#[derive(Debug)]
enum Level {
    Objects {
        kind: ObjectKind,
        count: usize,
        is: Attributes,
    },
    /// Memory near all CPUs of the enclosing level.
    Memory(Attributes),
    /// Different parts side by side; no level follows them.
    Parts(Vec<Vec<Level>>),
}

#[derive(Clone, Debug, Default)]
struct Attributes {
    bytes: Option<u64>,
    cache: Option<u64>,
    kind: Option<usize>,
    indexes: Option<Vec<usize>>,
}

/// The parser of words, with the settings of the machine as a whole.
#[derive(Default)]
struct Parser {
    numbers: Option<Vec<usize>>,
    mask: Option<Vec<usize>>,
    quota: Option<f64>,
    distances: Vec<Vec<u32>>,
}

impl Parser {
    /// Extracts the settings, wherever they occur; returns the other words.
    fn settings<'a>(&mut self, words: &'a [String]) -> Result<Vec<&'a str>, MachineError> {
        let mut rest = Vec::new();
        for word in words {
            match word.split_once('=').filter(|(name, _)| !name.contains('(')) {
                None => rest.push(word.as_str()),
                Some((name, value)) => self.setting(word, name, value)?,
            }
        }
        Ok(rest)
    }

    fn setting(&mut self, word: &str, name: &str, value: &str) -> Result<(), MachineError> {
        let list = || {
            let list = parse(value, MOST_CPUS).filter(|list| !list.is_empty());
            list.ok_or_else(|| wrong(word, "wants numbers of CPUs, as `0-3,8`"))
        };
        match name {
            "numbers" => self.numbers = Some(list()?),
            "mask" => self.mask = Some(list()?),
            "quota" => {
                let quota = value
                    .parse()
                    .ok()
                    .filter(|q: &f64| q.is_finite() && *q > 0.0);
                self.quota = Some(quota.ok_or_else(|| wrong(word, "wants a number above 0"))?);
            }
            "distances" => {
                let row = |row: &str| row.split(',').map(|far| far.parse().ok()).collect();
                let rows: Option<Vec<Vec<u32>>> = value.split('/').map(row).collect();
                let form = "wants rows of numbers, as `10,21/21,10`";
                self.distances = rows.ok_or_else(|| wrong(word, form))?;
            }
            _ => {
                return Err(wrong(
                    word,
                    "there are numbers=, mask=, quota= and distances=",
                ));
            }
        }
        Ok(())
    }

    /// Parses levels up to the end, a plus sign or a closing brace.
    fn levels(&self, rest: &mut Vec<&str>, depth: usize) -> Result<Vec<Level>, MachineError> {
        let mut levels = Vec::new();
        while let Some(&word) = rest.first() {
            match word {
                "+" | "}" => break,
                _ if levels.len() == MOST_LEVELS => {
                    let why = format_args!("more than {MOST_LEVELS} levels inside each other");
                    return Err(wrong(word, why));
                }
                "{" if depth == MOST_DEPTH => return Err(wrong(word, "nested too deeply")),
                "{" => {
                    rest.remove(0);
                    levels.push(Level::Parts(self.parts(rest, depth + 1)?));
                    match rest.first() {
                        None | Some(&"+" | &"}") => break,
                        Some(word) => {
                            return Err(wrong(word, "nothing can follow a closing brace"));
                        }
                    }
                }
                _ => {
                    rest.remove(0);
                    levels.push(level(word)?);
                }
            }
        }
        Ok(levels)
    }

    fn parts(&self, rest: &mut Vec<&str>, depth: usize) -> Result<Vec<Vec<Level>>, MachineError> {
        let mut parts = vec![self.levels(rest, depth)?];
        loop {
            match rest.first() {
                Some(&"+") => {
                    rest.remove(0);
                    parts.push(self.levels(rest, depth)?);
                }
                Some(&"}") => {
                    rest.remove(0);
                    return Ok(parts);
                }
                _ => return Err(MachineError::new("a brace `{` is not closed")),
            }
        }
    }

    fn finish(self, maker: Maker) -> Result<Machine, MachineError> {
        let Maker {
            parts,
            count,
            kinds,
            indexes,
            ..
        } = maker;
        let numbers = self
            .numbers
            .or(indexes)
            .unwrap_or_else(|| (0..count).collect());
        let mut once = numbers.clone();
        once.sort_unstable();
        once.dedup();
        if numbers.len() != count || once.len() != count {
            let given = numbers.len();
            return Err(MachineError::new(format!(
                "{count} CPUs want as many different numbers, and {given} are given"
            )));
        }
        let mask = self.mask.unwrap_or_else(|| once.clone());
        if let Some(cpu) = mask.iter().find(|cpu| once.binary_search(cpu).is_err()) {
            return Err(MachineError::new(format!("mask: there is no CPU {cpu}")));
        }
        let parts = renumbered(parts, &numbers, kinds, self.distances)?;
        let mut mask = mask;
        mask.sort_unstable();
        mask.dedup();
        let quota = self.quota;
        Ok(parts.machine(Cpus { mask, quota }, MachineSource::Text))
    }
}

/// The parts with the CPUs' numbers in place of their indices.
fn renumbered(
    mut parts: MachineParts,
    numbers: &[usize],
    kinds: BTreeMap<usize, Vec<usize>>,
    distances: Vec<Vec<u32>>,
) -> Result<MachineParts, MachineError> {
    parts.cpus = numbers.to_vec();
    for domain in &mut parts.domains {
        domain.cpus = domain.cpus.iter().map(|&place| numbers[place]).collect();
    }
    let nodes = parts.nodes.len();
    if !distances.is_empty()
        && (distances.len() != nodes || distances.iter().any(|row| row.len() != nodes))
    {
        return Err(MachineError::new(format!(
            "distances: {nodes} NUMA nodes want {nodes} rows of {nodes}"
        )));
    }
    for (i, node) in parts.nodes.iter_mut().enumerate() {
        node.cpus = node.cpus.iter().map(|&place| numbers[place]).collect();
        node.distances = distances.get(i).cloned().unwrap_or_default();
    }
    if kinds.len() > 1 {
        let number = |places: Vec<usize>| places.into_iter().map(|place| numbers[place]).collect();
        parts.kinds = kinds.into_values().map(number).collect();
    }
    Ok(parts)
}

/// `l3:2(size=32MiB)`, or `[numa(memory=64GiB)]`.
fn level(word: &str) -> Result<Level, MachineError> {
    if let Some(inner) = word
        .strip_prefix('[')
        .and_then(|word| word.strip_suffix(']'))
    {
        let (name, is) = split(word, inner)?;
        return match kind(word, name)? {
            ObjectKind::Node => Ok(Level::Memory(is)),
            _ => Err(wrong(word, "only `numa` stands in brackets")),
        };
    }
    let (head, is) = split(word, word)?;
    let (name, count) = match head.split_once(':') {
        None => (head, Some(1)),
        Some((name, count)) => (name, count.parse().ok()),
    };
    let count = count.filter(|count| (1..=MOST_CPUS).contains(count));
    let form = format_args!("wants a number from 1 to {MOST_CPUS}, as `core:4`");
    let count = count.ok_or_else(|| wrong(word, form))?;
    Ok(Level::Objects {
        kind: kind(word, name)?,
        count,
        is,
    })
}

fn split<'a>(word: &str, head: &'a str) -> Result<(&'a str, Attributes), MachineError> {
    let Some((head, rest)) = head.split_once('(') else {
        return Ok((head, Attributes::default()));
    };
    let inside = rest
        .strip_suffix(')')
        .ok_or_else(|| wrong(word, "a bracket is not closed"))?;
    let mut is = Attributes::default();
    for each in inside.split_whitespace() {
        let (name, value) = each.split_once('=').unwrap_or((each, ""));
        let bytes = || bytes(value).ok_or_else(|| wrong(word, "wants a size, as `32MiB`"));
        match name {
            "size" | "memory" => is.bytes = Some(bytes()?),
            "cache" | "memorysidecachesize" => is.cache = Some(bytes()?),
            "kind" => is.kind = Some(value.parse().map_err(|_| wrong(word, "wants a number"))?),
            "indexes" => {
                let list = parse(value, MOST_CPUS);
                is.indexes = Some(list.ok_or_else(|| wrong(word, "wants numbers of CPUs"))?);
            }
            _ => {
                return Err(wrong(
                    word,
                    "there are size=, memory=, cache=, kind= and indexes=",
                ));
            }
        }
    }
    Ok((head, is))
}

fn kind(word: &str, name: &str) -> Result<ObjectKind, MachineError> {
    let lower = name.to_ascii_lowercase();
    let known = match lower.as_str() {
        "pack" | "socket" => Some(ObjectKind::Package),
        "numanode" | "node" => Some(ObjectKind::Node),
        "pu" => Some(ObjectKind::Cpu),
        "l3cache" => Some(ObjectKind::L3),
        "l2cache" => Some(ObjectKind::L2),
        "l1d" | "l1cache" => Some(ObjectKind::L1),
        "machine" => None,
        _ => ObjectKind::ALL
            .into_iter()
            .find(|kind| kind.name() == lower),
    };
    known.ok_or_else(|| {
        let known: Vec<_> = ObjectKind::ALL[1..]
            .iter()
            .map(|kind| kind.name())
            .collect();
        let known = known.join(", ");
        wrong(
            word,
            format_args!(
                "no level is called `{}`; there are {known}",
                name.escape_debug()
            ),
        )
    })
}

/// Parses `64`, `32MiB`, `8GB`: all units are powers of 1024, as in hwloc.
fn bytes(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let shift = match text[digits.len()..].to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        "g" | "gb" | "gib" => 30,
        "t" | "tb" | "tib" => 40,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

/// Creates domains from levels; CPUs are numbered by their indices.
#[derive(Default)]
struct Maker {
    parts: MachineParts,
    count: usize,
    kinds: BTreeMap<usize, Vec<usize>>,
    indexes: Option<Vec<usize>>,
    /// The number of objects of each kind so far.
    made: [usize; ObjectKind::ALL.len()],
}

impl Maker {
    fn make(&mut self, levels: &[Level]) -> Result<(), MachineError> {
        let first = self.count;
        match levels.split_first() {
            None => return self.cpu(),
            Some((Level::Memory(is), inside)) => {
                let node = self.parts.nodes.len();
                self.parts.nodes.push(Node::default());
                self.make(inside)?;
                self.remember(node, is, first);
            }
            Some((Level::Parts(parts), _)) => {
                for part in parts {
                    self.make(part)?;
                }
            }
            Some((Level::Objects { kind, count, is }, inside)) => {
                for _ in 0..*count {
                    self.object(*kind, is, inside)?;
                }
                if is.indexes.is_some() && *kind == ObjectKind::Cpu {
                    self.indexes.clone_from(&is.indexes);
                }
            }
        }
        Ok(())
    }

    fn object(
        &mut self,
        kind: ObjectKind,
        is: &Attributes,
        inside: &[Level],
    ) -> Result<(), MachineError> {
        let first = self.count;
        match kind {
            ObjectKind::Cpu if inside.is_empty() => self.cpu()?,
            ObjectKind::Cpu => return Err(MachineError::new("`cpu`: nothing is inside a CPU")),
            ObjectKind::Node => {
                let node = self.parts.nodes.len();
                self.parts.nodes.push(Node::default());
                self.make(inside)?;
                self.remember(node, is, first);
            }
            _ => {
                self.make(inside)?;
                let made = &mut self.made[kind as usize];
                let number = (!kind.is_cache()).then_some(*made);
                *made += 1;
                self.parts.domains.push(Domain {
                    kind,
                    number,
                    bytes: is.bytes,
                    cpus: (first..self.count).collect(),
                });
            }
        }
        if let Some(kind) = is.kind {
            self.kinds
                .entry(kind)
                .or_default()
                .extend(first..self.count);
        }
        Ok(())
    }

    /// Records the properties of a node once its CPUs exist.
    fn remember(&mut self, node: usize, is: &Attributes, first: usize) {
        self.parts.nodes[node] = Node {
            number: node,
            cpus: (first..self.count).collect(),
            bytes: is.bytes,
            cache: is.cache,
            distances: Vec::new(),
        };
    }

    fn cpu(&mut self) -> Result<(), MachineError> {
        if self.count == MOST_CPUS {
            let line = format!("the machine has more than {MOST_CPUS} CPUs");
            return Err(MachineError::new(line));
        }
        self.count += 1;
        Ok(())
    }
}
