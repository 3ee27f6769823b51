//! A panic for a wrong argument names the line that passed it, not one of the library.

use std::cell::RefCell;
use std::fs;
use std::panic::{self, AssertUnwindSafe, Location};
use std::path::Path;

use rankfold::collective::{self, Algorithm};
use rankfold::cost::{self, Pipeline};
use rankfold::schedule::HandOut;
use rankfold::span::Blocks;
use rankfold::testing::{Explore, MessageOrder};
use rankfold::topology::{self, Levels, Topology, TreeName};
use rankfold::{Cartesian, World, even_grid};
use sources::sources;

#[path = "support/sources.rs"]
mod sources;

/// Public functions that document a panic and do not track their callers, as `FILE` or `FILE NAME`, and why not.
const EXCEPTIONS: &[(&str, &str)] = &[
    (
        "span.rs",
        "inlined into the loops over blocks, for each rank of each step",
    ),
    ("topology/mod.rs", "called for each rank of each step"),
    (
        "topology/single_port.rs",
        "called for each rank of each step",
    ),
    (
        "simulate/machine.rs link",
        "called for each message of a simulation",
    ),
    (
        "draw/mod.rs",
        "the panic is that of the caller's own schedule",
    ),
    (
        "testing/explore.rs find_by",
        "the panic is that of a run of the caller's own program",
    ),
];

/// Returns the public functions of a file whose documentation has a section `Panics`, and whether each tracks its caller.
fn panicking(code: &str) -> Vec<(String, bool)> {
    let lines: Vec<&str> = code.lines().map(str::trim).collect();
    let name = |line: &str| {
        let (before, rest) = line.split_once("fn ")?;
        let is_public = before.starts_with("pub ") && !before.contains('(');
        let end = rest.find(['(', '<'])?;
        is_public.then(|| rest[..end].to_owned())
    };
    let head = |line: &&&str| line.starts_with("///") || line.starts_with("#[");
    let found = lines.iter().enumerate().filter_map(|(at, line)| {
        let name = name(line)?;
        let above = || lines[..at].iter().rev().take_while(head);
        let has = |what| above().any(|line| *line == what);
        has("/// # Panics").then(|| (name, has("#[track_caller]")))
    });
    found.collect()
}

#[test]
fn functions_that_document_a_panic_track_their_callers() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut used = vec![false; EXCEPTIONS.len()];
    let (mut wrong, mut right) = (Vec::new(), 0);
    for path in sources(&src) {
        let file = path.strip_prefix(&src).unwrap().to_str().unwrap();
        for (name, tracks) in panicking(&fs::read_to_string(&path).unwrap()) {
            let full = format!("{file} {name}");
            let listed = EXCEPTIONS
                .iter()
                .position(|(what, _)| [file, &full].contains(what));
            match (tracks, listed) {
                (true, _) => right += 1,
                (false, Some(at)) => used[at] = true,
                (false, None) => wrong.push(full),
            }
        }
    }
    assert!(
        wrong.is_empty() && right > 100,
        "{right} do, not these: {wrong:#?}"
    );
    let unused = EXCEPTIONS.iter().zip(used).find(|(_, used)| !used);
    assert_eq!(unused, None, "no exception any more");
}

thread_local! {
    static SITE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Runs what panics; returns the file of its location and its message.
fn caught(f: impl FnOnce()) -> (String, String) {
    let payload = panic::catch_unwind(AssertUnwindSafe(f)).expect_err("no panic");
    let text = match payload.downcast::<String>() {
        Ok(text) => *text,
        Err(payload) => payload.downcast::<&str>().unwrap().to_string(),
    };
    (SITE.take(), text)
}

/// Calls with wrong arguments, and a part of what each is told.
type Wrong = (&'static str, fn());

fn levels() -> Levels {
    Levels::runs(4, &[2])
}

fn none() -> Blocks {
    Blocks::even(8, 0)
}

const AT_LEAST: &str = "a world has at least one rank";

const TOPOLOGIES: &[Wrong] = &[
    ("a grid without ranks", || drop(even_grid(0, 2))),
    ("a circulant graph of 0 ranks", || {
        _ = topology::Circulant::new(0)
    }),
    ("2^64 ranks", || _ = topology::Hypercube::new(64)),
    ("2^64 ranks", || _ = topology::Esbt::new(64)),
    ("two trees on 0 ranks", || drop(topology::TwoTrees::new(0))),
    ("the parent of rank 0 in tree 1", || {
        _ = topology::TwoTrees::new(3).first_step(1, 0)
    }),
    ("levels of 0 ranks", || drop(Levels::flat(0))),
    ("groups of 0", || drop(Levels::runs(4, &[2, 0]))),
    ("rank 4 of a topology with 4 ranks", || {
        drop(Topology::chain(4).rooted(4))
    }),
    ("level 7 of 2", || drop(levels().groups(7))),
    ("a message of rank 4 of 4", || {
        _ = levels().crossings(&[(0, 4)], 0)
    }),
];

const COLLECTIVES_AND_COSTS: &[Wrong] = &[
    ("a pipeline of 0 segments", || {
        _ = Algorithm::pipelined(TreeName::Chain, 0)
    }),
    ("an all-gather of 0 ranks", || {
        drop(collective::BruckAllGather::new(0, 8))
    }),
    ("a reduction of 0 ranks", || {
        drop(collective::halving_to_blocks(none()))
    }),
    ("an exchange of 0 ranks", || {
        drop(collective::Pairwise::all_gather(none()))
    }),
    ("a ring of 0 ranks", || {
        drop(collective::RingReduceScatter::new(0, 8))
    }),
    ("5 stages of 2", || {
        drop(collective::hybrid_all_reduce(4, 8, 5))
    }),
    ("an algorithm on 0 ranks", || {
        drop(cost::ring_all_reduce(0, 8))
    }),
    ("an algorithm on 0 ranks", || {
        drop(cost::scatter_all_gather(0, 8))
    }),
    ("an algorithm on 0 ranks", || {
        drop(cost::two_tree(0, 8, 1, cost::TreeUse::Reduce))
    }),
    ("an algorithm on 0 ranks", || _ = Pipeline::two_tree(0)),
    ("5 stages of 2", || drop(cost::hybrid_all_reduce(4, 8, 5))),
    ("4 ranks cannot stand for 9", || {
        drop(cost::simple_exchange(4, 8).proxied(9, 8, HandOut::Vector));
    }),
];

const WORLDS: &[Wrong] = &[
    (AT_LEAST, || drop(World::new(0).run_each(|_| Ok(())))),
    (AT_LEAST, || {
        let order = MessageOrder::Choices(Vec::new());
        let _ = Explore::new(0).repeat(&order, |_| Ok(()));
    }),
    (AT_LEAST, || drop(Explore::new(0).find(|_| Ok(())))),
];

/// Notes where panics are, before the library's hook learns of them.
fn note_panics() {
    World::new(1).run(|_| Ok(())).unwrap();
    let before = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        let file = info.location().map(Location::file);
        SITE.set(file.unwrap_or_default().into());
        before(info);
    }));
}

#[test]
fn a_panic_for_a_wrong_argument_names_the_line_that_passed_it() {
    note_panics();
    let check = |says: &str, call: &dyn Fn()| {
        let (file, text) = caught(call);
        assert!(file.ends_with("panics_at_callers.rs"), "{file}: {text}");
        assert!(text.contains(says), "{text}");
    };
    for (says, call) in [TOPOLOGIES, COLLECTIVES_AND_COSTS, WORLDS].concat() {
        check(says, &call);
    }
    let grid = |comm: &rankfold::Comm| Cartesian::new(comm, &[1, 1], &[false; 2]);
    let run = World::new(1).run(|comm| {
        let grid = grid(comm)?;
        check("rank 9 of a grid of 1", &|| drop(grid.coords(9)));
        check("dimension 2 of a grid of 2", &|| _ = grid.shift(2, 1));
        check("1 coordinates in a grid of 2 dimensions", &|| {
            _ = grid.rank_at(&[1])
        });
        Ok(())
    });
    run.unwrap();
}
