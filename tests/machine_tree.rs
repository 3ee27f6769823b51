//! Machines as trees: read from text, from XML and from copies of Linux's files; and printed.

use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use rankfold::machine::{Bind, Cpus, Machine, MachineSource, Object, ObjectKind};

mod machines;

fn ascending(mut cpus: Vec<usize>) -> Vec<usize> {
    cpus.sort_unstable();
    cpus
}

/// Checks that the tree is valid: children are parts of their parents, disjoint, and together all of them.
fn holds_together(object: &Object) {
    assert!(!object.cpus.is_empty());
    if object.children.is_empty() {
        assert_eq!((object.kind, object.cpus.len()), (ObjectKind::Cpu, 1));
        return;
    }
    let below: Vec<usize> = object
        .children
        .iter()
        .flat_map(|child| child.cpus.clone())
        .collect();
    assert_eq!(below, object.cpus);
    object.children.iter().for_each(holds_together);
}

#[test]
fn every_machine_of_the_library_is_a_tree_with_all_its_cpus_and_nodes() {
    for (name, text, cpus, nodes) in machines::ALL {
        let machine = machines::machine(text);
        holds_together(&machine.tree);
        assert_eq!(
            (machine.tree.cpus.len(), machine.nodes.len()),
            (cpus, nodes),
            "{name}"
        );
        assert_eq!(machine.tree.all(ObjectKind::Cpu).len(), cpus, "{name}");
        assert_eq!(machine.source, MachineSource::Text);
        let usable = machine.usable_tree().unwrap();
        holds_together(&usable);
        assert_eq!(ascending(usable.cpus), machine.usable.mask, "{name}");
        assert!(
            machine.nodes.iter().all(|node| !node.cpus.is_empty()),
            "{name}"
        );
    }
}

#[test]
fn kinds_memory_caches_and_distances_are_what_the_text_says() {
    let named = |wanted: &str| {
        let found = machines::all().find(|(name, _)| *name == wanted);
        found.unwrap().1
    };
    let hybrid = named("performance and efficiency cores");
    assert_eq!(
        hybrid.kinds,
        [(12..20).collect::<Vec<_>>(), (0..12).collect()]
    );
    let two = named("two packages");
    assert_eq!(two.nodes[1].distances, [21, 10]);
    assert_eq!(two.nodes[0].bytes, Some(64 << 30));
    assert_eq!(
        (two.node_of(3), two.node_of(4), two.node_of(99)),
        (Some(0), Some(1), None)
    );
    assert_eq!(named("memory-side caches").nodes[2].cache, Some(4 << 30));
    let memories = named("two kinds of memory");
    assert_eq!(memories.nodes[0].cpus, memories.nodes[1].cpus);
    assert_eq!(
        memories.tree.all(ObjectKind::Node).len(),
        2,
        "two nodes of the same CPUs are one place"
    );
    let laptop = named("a laptop");
    assert_eq!(laptop.tree.all(ObjectKind::Core)[1].cpus, [1, 5]);
    assert_eq!(laptop.distinct_cores(&[0, 4, 1]), 2);
    assert_eq!(laptop.distinct_cores(&[0, 77]), 2);
}

/// Texts that are refused, and how the error begins.
const REFUSED: &[(&str, &str)] = &[
    ("package:2 cor:4", "`cor:4`: no level is called `cor`"),
    ("package:0", "`package:0`: wants a number from 1 to 8192"),
    ("package:x", "`package:x`: wants a number"),
    (
        "package:100 core:100",
        "the machine has more than 8192 CPUs",
    ),
    (
        "l3:8192 l2:8192 l1:8192 core:8192",
        "the machine has more than 8192 CPUs",
    ),
    ("l3:2(size=1)x", "`l3:2(size=1)x`: a bracket is not closed"),
    (
        "l3:2(colour=red)",
        "`l3:2(colour=red)`: there are size=, memory=",
    ),
    ("{ core:2 + core:3", "a brace `{` is not closed"),
    ("core:2 }", "`}`: there is nothing for it to close"),
    (
        "{ core:2 } core:2",
        "`core:2`: nothing can follow a closing brace",
    ),
    ("[core] cpu:2", "`[core]`: only `numa` stands in brackets"),
    ("cpu:2 core:2", "`cpu`: nothing is inside a CPU"),
    (
        "core:3 numbers=0-1",
        "3 CPUs want as many different numbers, and 2 are given",
    ),
    (
        "core:2 numbers=1,1",
        "2 CPUs want as many different numbers",
    ),
    ("core:2 numbers=3-1", "`numbers=3-1`: wants numbers of CPUs"),
    ("core:2 mask=2", "mask: there is no CPU 2"),
    ("core:2 quota=-1", "`quota=-1`: wants a number above 0"),
    (
        "numa:2 core:1 distances=10",
        "distances: 2 NUMA nodes want 2 rows of 2",
    ),
    ("core:2 speed=9", "`speed=9`: there are numbers="),
];

#[test]
fn texts_that_are_no_machines_are_refused_with_the_word() {
    for (text, says) in REFUSED {
        let error = Machine::from_text(text).unwrap_err().to_string();
        assert!(error.starts_with(says), "{text}: {error}");
        assert_eq!(error.lines().count(), 1);
    }
    let nested = "{".repeat(100_000);
    assert!(Machine::from_text(&nested).is_err());
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "[a-z0-9:{}+()=,. \\[\\]-]{0,60}") {
        let _ = Machine::from_text(&text);
        let _ = Machine::from_xml(&text);
    }

    #[test]
    fn words_in_any_order_do_not_make_it_panic(
        words in proptest::collection::vec(proptest::sample::select(vec![
            "package:2", "numa:3", "[numa]", "{", "}", "+", "core:2", "cpu:2", "l3:1(size=4MB)", "mask=0",
            "numbers=0-3", "core:2(kind=1)", "quota=0.5",
        ]), 0..14),
    ) {
        if let Ok(machine) = Machine::from_text(&words.join(" ")) {
            holds_together(&machine.tree);
        }
    }
}

#[test]
fn the_files_of_lstopo_are_read() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/machine/knl.xml");
    let machine = Machine::from_xml_file(&path).unwrap();
    assert_eq!(machine.tree.cpus, [0, 4, 1, 5, 2, 6, 3, 7]);
    assert_eq!(machine.tree.all(ObjectKind::Package).len(), 1);
    assert_eq!(machine.tree.all(ObjectKind::L2).len(), 2);
    assert_eq!(machine.tree.all(ObjectKind::Core)[1].cpus, [1, 5]);
    assert_eq!(machine.nodes.len(), 2);
    assert_eq!(
        (machine.nodes[0].bytes, machine.nodes[0].cache),
        (Some(8 << 30), Some(1 << 30))
    );
    assert_eq!(
        (machine.nodes[1].bytes, machine.nodes[1].cache),
        (Some(2 << 30), None)
    );
    assert_eq!(machine.kinds.len(), 2);
    assert_eq!(machine.source, MachineSource::Xml);
    let missing = Machine::from_xml_file(Path::new("/nothing/here")).unwrap_err();
    assert!(
        missing.to_string().starts_with("/nothing/here: "),
        "{missing}"
    );
    let empty = Machine::from_xml("<topology></topology>").unwrap_err();
    assert!(
        empty.to_string().contains("no object of type PU"),
        "{empty}"
    );
    let huge = r#"<object type="PU" os_index="0" cpuset="0xf...f"/>"#;
    assert!(Machine::from_xml(huge).is_err());
}

/// Returns a new folder for a copy of Linux's files.
fn fresh(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("machine-files")
        .join(name);
    let _ = fs::remove_dir_all(&folder);
    folder
}

fn put(root: &Path, path: &str, text: impl std::fmt::Display) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, format!("{text}\n")).unwrap();
}

fn comma(cpus: &[usize]) -> String {
    let words: Vec<_> = ascending(cpus.to_vec())
        .iter()
        .map(usize::to_string)
        .collect();
    words.join(",")
}

/// The folder of the CPUs.
const CPUS: &str = "sys/devices/system/cpu";

/// Writes the files that Linux would have for a machine; if `old`, with the names before kernel 5.1.
fn write_files(root: &Path, machine: &Machine, old: bool) {
    put(root, &format!("{CPUS}/online"), comma(&machine.tree.cpus));
    write_topology(root, machine, old);
    for &cpu in &machine.tree.cpus {
        write_caches(root, machine, cpu);
    }
    write_nodes(root, machine);
    write_capacities(root, machine);
}

/// Writes which CPUs are together in a package, a core, a die and a group, and their numbers.
fn write_topology(root: &Path, machine: &Machine, old: bool) {
    let (packages, cores) = match old {
        false => ("package_cpus_list", "core_cpus_list"),
        true => ("core_siblings_list", "thread_siblings_list"),
    };
    for (kind, list, id) in [
        (ObjectKind::Package, packages, "physical_package_id"),
        (ObjectKind::Core, cores, "core_id"),
        (ObjectKind::Die, "die_cpus_list", "die_id"),
        (ObjectKind::Group, "cluster_cpus_list", "cluster_id"),
    ] {
        for (number, object) in machine.tree.all(kind).iter().enumerate() {
            for cpu in &object.cpus {
                let folder = format!("{CPUS}/cpu{cpu}/topology");
                put(root, &format!("{folder}/{list}"), comma(&object.cpus));
                put(root, &format!("{folder}/{id}"), number);
            }
        }
    }
}

/// Writes the caches of a CPU.
fn write_caches(root: &Path, machine: &Machine, cpu: usize) {
    let levels = [
        (ObjectKind::L1, 1),
        (ObjectKind::L2, 2),
        (ObjectKind::L3, 3),
    ];
    let mut index = 0;
    for (kind, level) in levels {
        let mut caches = machine.tree.all(kind);
        caches.retain(|object| object.cpus.contains(&cpu));
        for object in caches {
            let cache = format!("{CPUS}/cpu{cpu}/cache/index{index}");
            put(root, &format!("{cache}/level"), level);
            put(root, &format!("{cache}/type"), "Unified");
            let shared = comma(&object.cpus);
            put(root, &format!("{cache}/shared_cpu_list"), shared);
            if let Some(bytes) = object.bytes {
                put(root, &format!("{cache}/size"), format!("{}K", bytes >> 10));
            }
            index += 1;
        }
    }
}

/// Writes the NUMA nodes, with their memory and its cache.
fn write_nodes(root: &Path, machine: &Machine) {
    let numbers: Vec<usize> = machine.nodes.iter().map(|node| node.number).collect();
    if !numbers.is_empty() {
        put(root, "sys/devices/system/node/online", comma(&numbers));
    }
    for node in &machine.nodes {
        let folder = format!("sys/devices/system/node/node{}", node.number);
        put(root, &format!("{folder}/cpulist"), comma(&node.cpus));
        let distances: Vec<_> = node.distances.iter().map(u32::to_string).collect();
        put(root, &format!("{folder}/distance"), distances.join(" "));
        if let Some(bytes) = node.bytes {
            let line = format!(
                "Node {0} MemTotal: {1:>15} kB\nNode {0} MemFree: 1 kB",
                node.number,
                bytes >> 10
            );
            put(root, &format!("{folder}/meminfo"), line);
        }
        if let Some(bytes) = node.cache {
            put(
                root,
                &format!("{folder}/memory_side_cache/index1/size"),
                bytes,
            );
        }
    }
}

/// Writes the capacity of each CPU, by its kind.
fn write_capacities(root: &Path, machine: &Machine) {
    for (kind, cpus) in machine.kinds.iter().enumerate() {
        for cpu in cpus {
            let file = format!("{CPUS}/cpu{cpu}/cpu_capacity");
            put(root, &file, 100 * (kind + 1));
        }
    }
}

#[test]
fn a_machine_written_as_linux_files_is_read_back_the_same() {
    for old in [false, true] {
        for (name, machine) in machines::all() {
            if machine.tree.cpus.len() > 64 {
                continue; // thousands of files tell no more
            }
            let root = fresh(&format!("{}-{old}", name.replace(' ', "-")));
            write_files(&root, &machine, old);
            let read = Machine::from_files(&root, machine.usable.clone()).unwrap();
            assert_eq!(read.tree, machine.tree, "{name}");
            assert_eq!(read.nodes, machine.nodes, "{name}");
            let kinds = |machine: &Machine| {
                machine
                    .kinds
                    .iter()
                    .cloned()
                    .map(ascending)
                    .collect::<Vec<_>>()
            };
            assert_eq!(kinds(&read), kinds(&machine), "{name}");
            assert_eq!(read.source, MachineSource::Files);
        }
    }
}

#[test]
fn kinds_of_cores_of_x86_and_nodes_without_cpus_are_read_from_files_too() {
    let root = fresh("x86");
    put(&root, "sys/devices/system/cpu/online", "0-5");
    put(&root, "sys/devices/cpu_core/cpus", "0-3");
    put(&root, "sys/devices/cpu_atom/cpus", "4-5");
    put(&root, "sys/devices/system/node/online", "0,2");
    put(&root, "sys/devices/system/node/node0/cpulist", "0-5");
    put(&root, "sys/devices/system/node/node2/cpulist", "");
    let (mask, quota) = (vec![1, 4], None);
    let machine = Machine::from_files(&root, Cpus { mask, quota }).unwrap();
    assert_eq!(machine.kinds, [vec![4, 5], vec![0, 1, 2, 3]]);
    assert_eq!(
        machine
            .nodes
            .iter()
            .map(|node| node.cpus.len())
            .collect::<Vec<_>>(),
        [6, 0]
    );
    assert_eq!(machine.tree.cpus, [0, 1, 2, 3, 4, 5]);
    assert_eq!(machine.usable_tree().unwrap().cpus, [1, 4]);
}

#[test]
fn cores_of_cpus_that_are_not_listed_are_read_too() {
    let root = fresh("unlisted");
    put(&root, "sys/devices/system/cpu/online", "0-3");
    let mask = vec![8, 9, 10, 11];
    for (cpu, core) in mask.iter().zip(["8-9", "8-9", "10-11", "10-11"]) {
        let folder = format!("sys/devices/system/cpu/cpu{cpu}");
        put(&root, &format!("{folder}/topology/core_cpus_list"), core);
        put(&root, &format!("{folder}/cpu_capacity"), 100 * cpu);
    }
    let machine = Machine::from_files(&root, Cpus { mask, quota: None }).unwrap();
    holds_together(&machine.tree);
    assert_eq!(machine.distinct_cores(&[8, 9, 10, 11]), 2);
    assert_eq!(machine.kinds.len(), 4, "{:?}", machine.kinds);
    let pinned = machine.place(2, &Bind::Core, true).unwrap().cpu;
    assert_eq!(pinned, [Some(8), Some(10)]);
}

#[test]
fn cores_of_low_power_and_cores_of_no_known_kind_are_taken_last() {
    let root = fresh("low-power");
    put(&root, "sys/devices/system/cpu/online", "0-5");
    put(&root, "sys/devices/cpu_core/cpus", "4-5");
    put(&root, "sys/devices/cpu_atom/cpus", "2-3");
    let here = || {
        let (mask, quota) = ((0..6).collect(), None);
        Machine::from_files(&root, Cpus { mask, quota }).unwrap()
    };
    let four = |machine: &Machine| machine.place(4, &Bind::Core, true).unwrap().cpu;
    let fast = [Some(2), Some(3), Some(4), Some(5)];
    assert_eq!(four(&here()), fast);
    put(&root, "sys/devices/cpu_lowpower/cpus", "0-1");
    let machine = here();
    assert_eq!(machine.kinds, [vec![0, 1], vec![2, 3], vec![4, 5]]);
    assert_eq!(four(&machine), fast);
}

#[test]
fn broken_files_leave_out_what_they_say_and_never_more() {
    let root = fresh("broken");
    put(&root, "sys/devices/system/cpu/online", "0-3");
    put(
        &root,
        "sys/devices/system/cpu/cpu0/topology/package_cpus_list",
        "0-99999999999",
    );
    // Two cores that overlap: the larger one counts.
    put(
        &root,
        "sys/devices/system/cpu/cpu1/topology/core_cpus_list",
        "0-2",
    );
    put(
        &root,
        "sys/devices/system/cpu/cpu3/topology/core_cpus_list",
        "2-3",
    );
    put(&root, "sys/devices/system/node/online", "x");
    let (mask, quota) = (vec![2, 9], None);
    let machine = Machine::from_files(&root, Cpus { mask, quota }).unwrap();
    holds_together(&machine.tree);
    assert_eq!(machine.tree.all(ObjectKind::Core).len(), 1);
    assert_eq!(
        machine.tree.cpus,
        [0, 1, 2, 3, 9],
        "a CPU that may be used is there"
    );
    assert_eq!(
        Machine::from_files(Path::new("/nothing"), Cpus::here()),
        None
    );
}

#[test]
fn this_machine_has_the_cpus_that_it_lets_us_use() {
    let machine = Machine::here();
    holds_together(&machine.tree);
    assert!(
        machine
            .usable
            .mask
            .iter()
            .all(|cpu| machine.tree.cpus.contains(cpu))
    );
    assert!(matches!(
        machine.source,
        MachineSource::Hwloc | MachineSource::Files | MachineSource::Flat
    ));
    // The real machine is not queried where another stands in for it.
    let stands_in = std::env::var_os("HWLOC_SYNTHETIC").is_some();
    if cfg!(rankfold_hwloc) && !stands_in {
        assert_eq!(machine.source, MachineSource::Hwloc);
    }
}

#[test]
#[cfg(target_os = "linux")]
fn libhwloc_and_the_files_of_this_machine_agree() {
    let (here, files) = (
        Machine::here(),
        Machine::from_files(Path::new("/"), Cpus::here()).unwrap(),
    );
    for kind in [
        ObjectKind::Cpu,
        ObjectKind::Core,
        ObjectKind::L3,
        ObjectKind::L2,
    ] {
        let sets = |machine: &Machine| {
            let objects = machine.tree.all(kind);
            let sets = objects
                .iter()
                .map(|object| (ascending(object.cpus.clone()), object.bytes));
            let mut sets: Vec<_> = sets.collect();
            sets.sort();
            sets
        };
        assert_eq!(sets(&here), sets(&files), "{kind}");
    }
    // Memory may be added during the test.
    assert_eq!(here.nodes.len(), files.nodes.len());
}

#[test]
fn like_siblings_share_a_line() {
    let machine =
        machines::machine("package:2 numa:1(memory=64GiB) l3:2(size=32MiB) core:4 cpu:2 quota=2.5");
    assert_eq!(
        machine.to_string(),
        "machine, from a text\n  2 x package\n    1 x numa\n      2 x l3 32 MiB\n        4 x core\n          \
         2 x cpu\n  numa node 0: CPUs 0-15, 64 GiB\n  numa node 1: CPUs 16-31, 64 GiB\nusable: 32 CPUs (0-31), \
         quota 2.50, 2 usable"
    );
}
