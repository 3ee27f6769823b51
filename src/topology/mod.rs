//! Logical topologies.
