//! The families: named topologies in closed form, for every number of ranks, with root 0.
//!
//! - `ring`: chain, decreasing ring, split ring, k-ring;
//! - `k_tree`: the radix trees, including the binomial tree;
//! - `star`: flat and flat serial;
//! - `k_ary`: the complete k-ary tree in breadth-first order;
//! - `in_order`: the binary tree whose subtrees are intervals;
//! - `fibonacci`: the tree that grows fastest with two messages in flight.
//!
//! Each is a struct of a few numbers behind one small trait, [`Family`]; every query of a topology is built on that
//! trait. The table of a custom topology is one more family.

mod constructors;
mod family;
mod fibonacci;
mod in_order;
mod k_ary;
mod k_tree;
mod ring;
mod shape;
mod star;

pub(super) use family::{Family, SenderRun};
pub(super) use in_order::InOrder;
pub(super) use shape::Shape;
