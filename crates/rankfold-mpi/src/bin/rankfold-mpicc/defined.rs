//! Which names a linked object defines for all files it was made of. Those that are hidden look as those of one file do.

use crate::sections::{SYMBOL, extent, heads, kind, place};

/// `SHT_SYMTAB` and `SHT_DYNSYM`.
const TABLES: [u64; 2] = [2, 11];
/// `STB_LOCAL`.
const LOCAL: u8 = 0;

/// The bytes of a section.
fn contents(file: &[u8], head: usize) -> Option<&[u8]> {
    let (first, len) = extent(file, head)?;
    file.get(first..first.checked_add(len)?)
}

/// The name of a symbol, if the object defines it for all its files.
fn name<'f>(symbol: &[u8], names: &'f [u8]) -> Option<&'f [u8]> {
    let is_local = symbol[4] >> 4 == LOCAL;
    let is_missing = symbol[6..8] == [0, 0];
    let first = names.get(place::<4>(symbol, 0)?..)?;
    let name = first.split(|byte| *byte == 0).next()?;
    (!is_local && !is_missing).then_some(name)
}

/// The names that the symbols of a section define.
fn names_of<'f>(file: &'f [u8], heads: &[usize], head: usize) -> Option<Vec<&'f [u8]>> {
    if !TABLES.contains(&kind(file, head)?) {
        return None;
    }
    let linked = place::<4>(file, head.checked_add(40)?)?;
    let names = contents(file, *heads.get(linked)?)?;
    let symbols = contents(file, head)?.chunks_exact(SYMBOL);
    Some(symbols.filter_map(|symbol| name(symbol, names)).collect())
}

/// Those of some names that an object defines; none for what is no object that can be read here.
pub fn defined<'n>(file: &[u8], wanted: &[&'n str]) -> Vec<&'n str> {
    let heads = heads(file).unwrap_or_default();
    let names = heads
        .iter()
        .filter_map(|head| names_of(file, &heads, *head));
    let all: Vec<&[u8]> = names.flatten().collect();
    let is_there = |name: &&&str| all.contains(&name.as_bytes());
    wanted.iter().filter(is_there).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_object_or_is_cut_defines_nothing_and_is_read_to_its_end() {
        let me = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        assert_eq!(defined(b"no object", &["main"]), [""; 0]);
        assert_eq!(defined(&me, &["main", "no_such_name"]), ["main"]);
        for len in 0..200 {
            assert_eq!(defined(&me[..len], &["main"]), [""; 0]);
        }
    }
}
