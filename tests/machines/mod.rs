//! Machines of every kind, as text.
#![allow(dead_code)] // each test takes what it needs

use rankfold::machine::{Cpus, Machine};

/// A name, the text, the number of CPUs, and the number of NUMA nodes.
pub const ALL: [(&str, &str, usize, usize); 16] = [
    ("one CPU", "core:1", 1, 0),
    (
        "a laptop",
        "numa:1 l3:1(size=8MiB) core:4 cpu:2 numbers=0,4,1,5,2,6,3,7",
        8,
        1,
    ),
    (
        "performance and efficiency cores",
        "package:1 numa:1 l3:1 { core:6(kind=1) l2:1 cpu:2 + l2:2 core:4(kind=0) }",
        20,
        1,
    ),
    (
        "big and little",
        "{ l2:1 core:4(kind=0) + l2:1 core:2(kind=1) }",
        6,
        0,
    ),
    (
        "two packages",
        "package:2 numa:1(memory=64GiB) l3:1 core:4 distances=10,21/21,10",
        8,
        2,
    ),
    (
        "four nodes in two packages",
        "package:2 numa:2 l3:1 core:4 cpu:2",
        32,
        4,
    ),
    (
        "chiplets",
        "package:2 numa:4 die:1 l3:2(size=32MiB) core:4 cpu:2",
        128,
        8,
    ),
    ("sixteen nodes", "package:4 numa:4 core:3", 48, 16),
    ("SMT of four", "package:2 numa:1 core:3 cpu:4", 24, 2),
    ("dies", "package:2 die:2 numa:1 l3:1 core:2", 8, 4),
    (
        "memory-side caches",
        "package:1 numa:4(memory=24GiB cache=4GiB) l2:2 core:2 cpu:4",
        64,
        4,
    ),
    (
        "two kinds of memory",
        "package:2 [numa(memory=64GiB)] [numa(memory=16GiB)] core:4",
        8,
        4,
    ),
    ("groups", "group:2 package:2 numa:1 core:2 cpu:2", 16, 4),
    (
        "asymmetric",
        "{ package:1 numa:1 l3:2 core:3 + package:1 { numa:1 core:2 cpu:2 + numa:1 core:5 } }",
        15,
        3,
    ),
    (
        "many with holes",
        "package:4 numa:2 l3:2 core:18 numbers=0-143,256-399 mask=1-40,60-143,256-300,310-398",
        288,
        8,
    ),
    (
        "a part of a node",
        "package:2 numa:2 core:4 mask=2,3,5,8-12",
        16,
        4,
    ),
];

pub fn machine(text: &str) -> Machine {
    Machine::from_text(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

pub fn all() -> impl Iterator<Item = (&'static str, Machine)> {
    ALL.into_iter()
        .map(|(name, text, ..)| (name, machine(text)))
}

/// Returns the same machine with fewer usable CPUs.
pub fn masked(machine: &Machine, mask: &[usize]) -> Machine {
    let mut masked = machine.clone();
    masked.usable = Cpus {
        mask: mask.to_vec(),
        quota: None,
    };
    masked
}
