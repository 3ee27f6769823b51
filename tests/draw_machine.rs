//! Drawings of machines: every CPU and every rank appears once, nothing overlaps, and some drawings are compared with
//! golden files.
//!
//! `RANKFOLD_GOLDEN=write cargo test --test draw_machine` rewrites the golden files.

mod machines;
mod page;

use std::fs;
use std::path::Path;

use page::Page;
use rankfold::draw::{self, TooLarge};
use rankfold::machine::{Bind, Machine};

fn binds() -> [Bind; 3] {
    [Bind::Compact, Bind::Scatter, Bind::Numa]
}

/// Returns how often `words` occurs in a text on its own.
fn count(text: &str, words: &str) -> usize {
    let ends = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
    let alone = |(at, _): &(usize, &str)| ends(text[at + words.len()..].chars().next());
    text.match_indices(words).filter(alone).count()
}

#[test]
fn every_cpu_and_every_rank_has_its_place_once() {
    for (name, machine) in machines::all() {
        let ranks = machine.usable.mask.len() / 2 + 1;
        for bind in binds() {
            let placement = machine.place(ranks, &bind, true).unwrap();
            let drawing = draw::machine(&machine, &placement).unwrap();
            let (text, svg) = (drawing.text(), drawing.svg());
            for cpu in &machine.tree.cpus {
                let words = format!("cpu {cpu}");
                assert_eq!(
                    (count(text, &words), count(&svg, &words)),
                    (1, 1),
                    "{name} {words}"
                );
                let usable = machine.usable.mask.contains(cpu);
                assert_eq!(
                    text.contains(&format!("({words})")),
                    !usable,
                    "{name} {words}"
                );
            }
            for (rank, cpu) in placement.cpu.iter().enumerate() {
                let place = format!("cpu {} ◀ rank {rank}", cpu.unwrap());
                assert_eq!(count(text, &place), 1, "{name}\n{text}");
                assert_eq!(count(&svg, &format!("rank {rank}")), 1, "{name}");
            }
        }
    }
}

#[test]
fn no_label_touches_another_or_leaves_the_page() {
    for (name, machine) in machines::all() {
        for bind in binds() {
            let placement = machine
                .place(machine.usable.mask.len(), &bind, true)
                .unwrap();
            let page = Page::read(&draw::machine(&machine, &placement).unwrap().svg());
            page.assert_legible(name);
        }
    }
}

#[test]
fn shared_cpus_and_unpinned_ranks_are_told() {
    let machine = Machine::from_text("core:2 quota=0.5").unwrap();
    let text = |ranks, bind: &Bind| {
        let placement = machine.place(ranks, bind, true).unwrap();
        draw::machine(&machine, &placement)
            .unwrap()
            .text()
            .to_owned()
    };
    assert!(text(2, &Bind::Cpus(vec![1])).contains("cpu 1 ◀ ranks 0 1"));
    assert!(text(3, &Bind::Cpus(vec![1])).contains("cpu 1 ◀ 3 ranks"));
    assert!(text(2, &Bind::Auto).ends_with("no rank is pinned: a quota of 0.50 for 2 CPUs\n"));
}

#[test]
fn a_machine_too_large_to_be_seen_is_refused() {
    let machine = Machine::from_text("package:8 core:129").unwrap();
    let placement = machine.place(1, &Bind::Compact, true).unwrap();
    let refused = draw::machine(&machine, &placement).unwrap_err();
    assert_eq!(
        refused,
        TooLarge::Cpus {
            found: 1032,
            limit: 1024
        }
    );
    assert_eq!(
        refused.to_string(),
        "1032 CPUs are too many to draw, 1024 is the limit: print the machine without its places"
    );
}

#[track_caller]
fn kept(name: &str, drawn: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden/machine")
        .join(name);
    if std::env::var_os("RANKFOLD_GOLDEN").is_some() {
        fs::write(&path, drawn).unwrap();
    }
    assert_eq!(drawn, fs::read_to_string(&path).unwrap(), "{name}");
}

#[test]
fn some_drawings_are_as_they_were() {
    for (file, name, ranks, bind) in [
        ("four-nodes", "four nodes in two packages", 6, Bind::Numa),
        ("hybrid", "performance and efficiency cores", 8, Bind::Core),
        ("asymmetric", "asymmetric", 5, Bind::Scatter),
        ("part", "a part of a node", 4, Bind::Compact),
    ] {
        let machine = machines::all().find(|(found, _)| *found == name).unwrap().1;
        let drawing = draw::machine(&machine, &machine.place(ranks, &bind, true).unwrap()).unwrap();
        kept(&format!("{file}.txt"), drawing.text());
        kept(&format!("{file}.svg"), &drawing.svg());
    }
}

#[test]
fn the_charts_of_the_documentation_are_legible() {
    for file in ["hierarchy-2x8.svg", "hierarchy-8x16.svg"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("docs")
            .join(file);
        Page::read(&fs::read_to_string(path).unwrap()).assert_legible(file);
    }
}
