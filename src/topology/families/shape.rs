//! Every form that a topology can take, as one type.

use std::sync::Arc;

use super::family::Family;
use super::fibonacci::Fibonacci;
use super::in_order::InOrder;
use super::k_ary::KAry;
use super::k_tree::KTree;
use super::ring::{DecreasingRing, Ring};
use super::star::{Flat, FlatSerial};
use crate::topology::TreeName;
use crate::topology::table::TripleTable;

/// Every form that a topology can take.
#[derive(Clone, Hash)]
pub(in crate::topology) enum Shape {
    Chain(Ring),
    DecreasingRing(DecreasingRing),
    SplitRing(Ring),
    KRing(Ring),
    KTree(KTree),
    Flat(Flat),
    FlatSerial(FlatSerial),
    KAry(KAry),
    InOrder(InOrder),
    Fibonacci(Fibonacci),
    Custom(Arc<TripleTable>),
}

impl Shape {
    #[inline]
    pub(in crate::topology) fn family(&self) -> &dyn Family {
        match self {
            Shape::Chain(f) | Shape::SplitRing(f) | Shape::KRing(f) => f,
            Shape::DecreasingRing(f) => f,
            Shape::KTree(f) => f,
            Shape::Flat(f) => f,
            Shape::FlatSerial(f) => f,
            Shape::KAry(f) => f,
            Shape::InOrder(f) => f,
            Shape::Fibonacci(f) => f,
            Shape::Custom(f) => &**f,
        }
    }

    /// The family's name; `None` for a table.
    pub(in crate::topology) fn name(&self) -> Option<TreeName> {
        Some(match self {
            Shape::Chain(_) => TreeName::Chain,
            Shape::DecreasingRing(_) => TreeName::DecreasingRing,
            Shape::SplitRing(_) => TreeName::SplitRing,
            Shape::KRing(f) => TreeName::KRing(f.k()),
            Shape::KTree(f) => TreeName::KTree(f.k()),
            Shape::Flat(_) => TreeName::Flat,
            Shape::FlatSerial(_) => TreeName::FlatSerial,
            Shape::KAry(f) => TreeName::KAry(f.k()),
            Shape::InOrder(_) => TreeName::InOrder,
            Shape::Fibonacci(_) => TreeName::Fibonacci,
            Shape::Custom(_) => return None,
        })
    }
}
