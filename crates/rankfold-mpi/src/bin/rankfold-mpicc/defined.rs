//! Which names a linked object defines for all files it was made of. Those that are hidden look as those of one file do.

/// `SHT_SYMTAB` and `SHT_DYNSYM`.
const TABLES: [u64; 2] = [2, 11];
const SYMBOL: usize = 24;
/// `STB_LOCAL`.
const LOCAL: u8 = 0;

fn number<const N: usize>(file: &[u8], at: usize) -> Option<u64> {
    let bytes = file.get(at..at.checked_add(N)?)?;
    let value = |sum: u64, byte: &u8| sum << 8 | u64::from(*byte);
    Some(bytes.iter().rev().fold(0, value))
}

fn place<const N: usize>(file: &[u8], at: usize) -> Option<usize> {
    usize::try_from(number::<N>(file, at)?).ok()
}

/// The bytes of a section.
fn contents(file: &[u8], section: usize) -> Option<&[u8]> {
    let first = place::<8>(file, section.checked_add(24)?)?;
    let len = place::<8>(file, section.checked_add(32)?)?;
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
fn names_of(file: &[u8], (first, size): (usize, usize), nth: usize) -> Option<Vec<&[u8]>> {
    let section = first.checked_add(nth * size)?;
    let kind = number::<4>(file, section.checked_add(4)?)?;
    if !TABLES.contains(&kind) {
        return None;
    }
    let symbols = contents(file, section)?;
    let linked = place::<4>(file, section.checked_add(40)?)?;
    let names = contents(file, first.checked_add(linked.checked_mul(size)?)?)?;
    let all = symbols.chunks_exact(SYMBOL);
    Some(all.filter_map(|symbol| name(symbol, names)).collect())
}

/// Those of some names that an object defines; none for what is no object of 64 bits in the order of bytes that is read here.
pub fn defined<'n>(file: &[u8], wanted: &[&'n str]) -> Vec<&'n str> {
    let sections = || {
        let is_object = file.starts_with(b"\x7fELF\x02\x01");
        let first = place::<8>(file, 40).filter(|_| is_object)?;
        Some((first, place::<2>(file, 58)?, place::<2>(file, 60)?))
    };
    let Some((first, size, number)) = sections() else {
        return Vec::new();
    };
    let all = (0..number).filter_map(|nth| names_of(file, (first, size), nth));
    let all: Vec<&[u8]> = all.flatten().collect();
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
