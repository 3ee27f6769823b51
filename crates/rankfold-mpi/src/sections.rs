//! The sections of an object file of 64 bits whose numbers begin with their lowest byte. Both commands that read such files
//! have this module: it is none of the library.

/// The length of a symbol in a table of them.
pub const SYMBOL: usize = 24;

pub fn number<const N: usize>(file: &[u8], at: usize) -> Option<u64> {
    let bytes = file.get(at..at.checked_add(N)?)?;
    let value = |sum: u64, byte: &u8| sum << 8 | u64::from(*byte);
    Some(bytes.iter().rev().fold(0, value))
}

pub fn place<const N: usize>(file: &[u8], at: usize) -> Option<usize> {
    usize::try_from(number::<N>(file, at)?).ok()
}

/// Where the heads of the sections are; `None` if it is no such object.
pub fn heads(file: &[u8]) -> Option<Vec<usize>> {
    if !file.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let (first, size, sections) = (
        place::<8>(file, 40)?,
        place::<2>(file, 58)?,
        place::<2>(file, 60)?,
    );
    let head = |nth: usize| first.checked_add(nth * size);
    Some((0..sections).filter_map(head).collect())
}

/// What kind of section it is.
pub fn kind(file: &[u8], head: usize) -> Option<u64> {
    number::<4>(file, head.checked_add(4)?)
}

/// Where the contents of a section are in the file, and how long.
pub fn extent(file: &[u8], head: usize) -> Option<(usize, usize)> {
    let field = |offset: usize| place::<8>(file, head.checked_add(offset)?);
    Some((field(24)?, field(32)?))
}
