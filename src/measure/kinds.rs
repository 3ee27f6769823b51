//! Element types and operators by name.

use std::fmt;
use std::str::FromStr;

use crate::names;

/// The type of the measured elements.
///
/// # Examples
///
/// ```
/// use rankfold::measure::Type;
///
/// assert_eq!("f32".parse::<Type>().unwrap().bytes(), 4);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Type {
    F32,
    F64,
    I32,
    I64,
    U8,
    U32,
    U64,
}

const TYPES: [(&str, Type, usize); 7] = [
    ("f32", Type::F32, 4),
    ("f64", Type::F64, 8),
    ("i32", Type::I32, 4),
    ("i64", Type::I64, 8),
    ("u8", Type::U8, 1),
    ("u32", Type::U32, 4),
    ("u64", Type::U64, 8),
];

impl Type {
    /// Returns its name.
    pub fn name(self) -> &'static str {
        TYPES[self as usize].0
    }

    /// Returns its size in bytes.
    pub fn bytes(self) -> usize {
        TYPES[self as usize].2
    }

    /// Returns whether it is a floating-point type.
    pub fn is_float(self) -> bool {
        matches!(self, Type::F32 | Type::F64)
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Type {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Type, UnknownName> {
        let found = TYPES.iter().find(|(known, ..)| *known == name);
        found
            .map(|(_, kind, _)| *kind)
            .ok_or_else(|| UnknownName::new("type", name, TYPES.map(|(known, ..)| known).to_vec()))
    }
}

/// A measured operator.
///
/// # Examples
///
/// ```
/// use rankfold::measure::{Op, Type};
///
/// let xor: Op = "xor".parse().unwrap();
/// assert!(xor.folds(Type::U8) && !xor.folds(Type::F32));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Op {
    Sum,
    Product,
    Min,
    Max,
    And,
    Or,
    Xor,
}

const OPS: [(&str, Op); 7] = [
    ("sum", Op::Sum),
    ("product", Op::Product),
    ("min", Op::Min),
    ("max", Op::Max),
    ("and", Op::And),
    ("or", Op::Or),
    ("xor", Op::Xor),
];

impl Op {
    /// Returns its name.
    pub fn name(self) -> &'static str {
        OPS[self as usize].0
    }

    /// Returns whether it is defined for elements of this type.
    pub fn folds(self, kind: Type) -> bool {
        !kind.is_float() || !matches!(self, Op::And | Op::Or | Op::Xor)
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Op {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Op, UnknownName> {
        let found = OPS.iter().find(|(known, _)| *known == name);
        found
            .map(|(_, op)| *op)
            .ok_or_else(|| UnknownName::new("operator", name, OPS.map(|(known, _)| known).to_vec()))
    }
}

/// An unknown name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownName {
    kind: &'static str,
    name: String,
    known: Vec<&'static str>,
}

impl UnknownName {
    pub(super) fn new(kind: &'static str, name: &str, known: Vec<&'static str>) -> UnknownName {
        UnknownName {
            kind,
            name: name.into(),
            known,
        }
    }
}

impl fmt::Display for UnknownName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        names::no_such(f, self.kind, &self.name, &self.known, &[])
    }
}

impl std::error::Error for UnknownName {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_read_back() {
        for (name, kind, bytes) in TYPES {
            assert_eq!(
                (kind.name(), kind.bytes(), name.parse()),
                (name, bytes, Ok(kind))
            );
        }
        for (name, op) in OPS {
            assert_eq!((op.name(), name.parse()), (name, Ok(op)));
        }
    }

    #[test]
    fn a_name_that_nothing_has_is_refused_with_the_nearest() {
        let said = "f2".parse::<Type>().unwrap_err().to_string();
        assert!(
            said.starts_with("no type is called `f2`; did you mean `f32`?"),
            "{said}"
        );
        let said = "summ".parse::<Op>().unwrap_err().to_string();
        assert!(
            said.starts_with("no operator is called `summ`; did you mean `sum`?"),
            "{said}"
        );
    }
}
