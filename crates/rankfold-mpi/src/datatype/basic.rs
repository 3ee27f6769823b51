//! Basic datatypes: what a byte of a message is part of, for comparing what was sent with what is received.

use std::fmt;

use crate::abi::*;

/// What a basic datatype holds. Datatypes of the same kind and size are one, whatever they are called: `MPI_INT` and
/// `MPI_INT32_T`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub(crate) enum Holds {
    Signed,
    Unsigned,
    Float,
    Complex,
    Logical,
    Character,
    Byte,
    Packed,
}

/// A basic datatype.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Basic {
    pub holds: Holds,
    pub size: u8,
}

impl fmt::Display for Basic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match (self.holds, self.size) {
            (Holds::Signed, 1) => "MPI_INT8_T",
            (Holds::Signed, 2) => "MPI_SHORT",
            (Holds::Signed, 4) => "MPI_INT",
            (Holds::Signed, _) => "MPI_INT64_T",
            (Holds::Unsigned, 1) => "MPI_UINT8_T",
            (Holds::Unsigned, 2) => "MPI_UNSIGNED_SHORT",
            (Holds::Unsigned, 4) => "MPI_UNSIGNED",
            (Holds::Unsigned, _) => "MPI_UINT64_T",
            (Holds::Float, 4) => "MPI_FLOAT",
            (Holds::Float, 8) => "MPI_DOUBLE",
            (Holds::Float, _) => "MPI_LONG_DOUBLE",
            (Holds::Complex, 8) => "MPI_C_FLOAT_COMPLEX",
            (Holds::Complex, 16) => "MPI_C_DOUBLE_COMPLEX",
            (Holds::Complex, _) => "MPI_C_LONG_DOUBLE_COMPLEX",
            (Holds::Logical, 1) => "MPI_C_BOOL",
            (Holds::Logical, 2) => "MPI_LOGICAL2",
            (Holds::Logical, 4) => "MPI_LOGICAL",
            (Holds::Logical, _) => "MPI_LOGICAL8",
            (Holds::Character, 1) => "MPI_CHAR",
            (Holds::Character, _) => "MPI_WCHAR",
            (Holds::Byte, _) => "MPI_BYTE",
            (Holds::Packed, _) => "MPI_PACKED",
        };
        f.write_str(name)
    }
}

/// Name, handle and parts of each predefined datatype; two parts for the pairs of `MPI_MINLOC`.
pub(crate) fn predefined() -> Vec<(&'static str, usize, Vec<Basic>)> {
    use Holds::*;
    let mut all = Vec::new();
    macro_rules! basic {
        ($($name:ident: $($holds:ident $size:expr),+;)*) => {
            $(all.push((stringify!($name), $name.addr(), vec![$(Basic { holds: $holds, size: $size }),+]));)*
        };
    }
    basic! {
        MPI_AINT: Signed 8; MPI_COUNT: Signed 8; MPI_OFFSET: Signed 8; MPI_PACKED: Packed 1;
        MPI_SHORT: Signed 2; MPI_INT: Signed 4; MPI_LONG: Signed 8; MPI_LONG_LONG: Signed 8;
        MPI_UNSIGNED_SHORT: Unsigned 2; MPI_UNSIGNED: Unsigned 4; MPI_UNSIGNED_LONG: Unsigned 8;
        MPI_UNSIGNED_LONG_LONG: Unsigned 8;
        MPI_FLOAT: Float 4; MPI_C_FLOAT_COMPLEX: Complex 8; MPI_DOUBLE: Float 8; MPI_C_DOUBLE_COMPLEX: Complex 16;
        MPI_LONG_DOUBLE: Float 16; MPI_C_LONG_DOUBLE_COMPLEX: Complex 32; MPI_CXX_LONG_DOUBLE_COMPLEX: Complex 32;
        MPI_FLOAT_INT: Float 4, Signed 4; MPI_DOUBLE_INT: Float 8, Signed 4; MPI_LONG_INT: Signed 8, Signed 4;
        MPI_2INT: Signed 4, Signed 4; MPI_SHORT_INT: Signed 2, Signed 4; MPI_LONG_DOUBLE_INT: Float 16, Signed 4;
        MPI_CXX_FLOAT_COMPLEX: Complex 8; MPI_CXX_DOUBLE_COMPLEX: Complex 16; MPI_CXX_BOOL: Logical 1;
        MPI_INTEGER: Signed 4; MPI_REAL: Float 4; MPI_DOUBLE_PRECISION: Float 8; MPI_COMPLEX: Complex 8;
        MPI_DOUBLE_COMPLEX: Complex 16; MPI_CHARACTER: Character 1; MPI_2INTEGER: Signed 4, Signed 4;
        MPI_2REAL: Float 4, Float 4; MPI_2DOUBLE_PRECISION: Float 8, Float 8;
        MPI_LOGICAL: Logical 4; MPI_LOGICAL1: Logical 1; MPI_LOGICAL2: Logical 2; MPI_LOGICAL4: Logical 4;
        MPI_LOGICAL8: Logical 8;
        MPI_INTEGER1: Signed 1; MPI_INTEGER2: Signed 2; MPI_INTEGER4: Signed 4; MPI_INTEGER8: Signed 8;
        MPI_REAL4: Float 4; MPI_REAL8: Float 8; MPI_COMPLEX8: Complex 8; MPI_COMPLEX16: Complex 16;
        MPI_C_BOOL: Logical 1; MPI_WCHAR: Character 4;
        MPI_INT8_T: Signed 1; MPI_UINT8_T: Unsigned 1; MPI_CHAR: Character 1; MPI_SIGNED_CHAR: Signed 1;
        MPI_UNSIGNED_CHAR: Unsigned 1; MPI_BYTE: Byte 1;
        MPI_INT16_T: Signed 2; MPI_UINT16_T: Unsigned 2; MPI_INT32_T: Signed 4; MPI_UINT32_T: Unsigned 4;
        MPI_INT64_T: Signed 8; MPI_UINT64_T: Unsigned 8;
    }
    all
}
