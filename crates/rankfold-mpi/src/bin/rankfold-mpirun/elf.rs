//! The table of dynamic symbols of a program: which of its variables the loader would take for one in all copies.

use crate::sections::{SYMBOL, extent, heads, kind};

/// `SHT_DYNSYM`.
const DYNAMIC_SYMBOLS: u64 = 11;
/// `STB_GNU_UNIQUE`: one for the whole process, whichever object defines it.
const UNIQUE: u8 = 10;
/// `STB_GLOBAL`.
const GLOBAL: u8 = 1;
/// Where the kind and the binding of a symbol are in it.
const INFO: usize = 4;

/// Where the table of dynamic symbols is, and how long; `None` if there is none.
fn dynamic_symbols(file: &[u8]) -> Option<(usize, usize)> {
    let is_it = |head: &usize| kind(file, *head) == Some(DYNAMIC_SYMBOLS);
    extent(file, heads(file)?.into_iter().find(is_it)?)
}

/// The object with variables of its own, where it has some that are one for the process: inline variables of C++, static
/// members of templates, and statics of inline functions. `None` if there are none.
pub fn with_own_variables(mut file: Vec<u8>) -> Option<Vec<u8>> {
    let (first, len) = dynamic_symbols(&file)?;
    let symbols = file.get_mut(first..first.checked_add(len)?)?;
    let mut found = false;
    for symbol in symbols.chunks_exact_mut(SYMBOL) {
        if symbol[INFO] >> 4 == UNIQUE {
            symbol[INFO] = symbol[INFO] & 0xf | GLOBAL << 4;
            found = true;
        }
    }
    found.then_some(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An object with one section of two symbols, of these bindings.
    fn object(bindings: [u8; 2]) -> Vec<u8> {
        const TABLE: usize = 64;
        const SECTIONS: usize = TABLE + 2 * SYMBOL;
        let mut file = vec![0; SECTIONS + 64];
        file[..6].copy_from_slice(b"\x7fELF\x02\x01");
        (file[40], file[58], file[60]) = (SECTIONS as u8, 64, 1);
        file[SECTIONS + 4] = DYNAMIC_SYMBOLS as u8;
        (file[SECTIONS + 24], file[SECTIONS + 32]) = (TABLE as u8, 2 * SYMBOL as u8);
        for (nth, binding) in bindings.into_iter().enumerate() {
            file[TABLE + nth * SYMBOL + INFO] = binding << 4 | 1;
        }
        file
    }

    #[test]
    fn symbols_that_are_one_for_the_process_become_the_objects_own() {
        let own = with_own_variables(object([2, UNIQUE]));
        assert_eq!(own, Some(object([2, GLOBAL])));
        assert_eq!(with_own_variables(object([2, GLOBAL])), None);
    }

    #[test]
    fn what_is_no_object_or_is_cut_is_left_as_it_is() {
        let whole = object([UNIQUE, UNIQUE]);
        for len in 0..whole.len() - 24 {
            with_own_variables(whole[..len].to_vec());
        }
        assert_eq!(with_own_variables(b"no object".to_vec()), None);
        let mut far = whole;
        far[40..48].fill(0xff);
        assert_eq!(with_own_variables(far), None);
    }
}
