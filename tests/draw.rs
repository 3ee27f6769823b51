//! Drawings, read back by a parser that does not know how they are made: they say what the topology or the schedule
//! says, and no label overlaps another.
//!
//! `RANKFOLD_GOLDEN=write cargo test --test draw` rewrites the golden files.

mod common;
#[path = "draw/looks.rs"]
mod looks;
mod page;
#[path = "draw/texts.rs"]
mod texts;
mod zoo;

use std::collections::BTreeSet;
use std::fs;
use std::sync::LazyLock;

use common::families;
use page::Page;
use rankfold::Rank;
use rankfold::collective::{
    Algorithm, Call, Collective, RingReduceScatter, halving_all_reduce, simple_exchange,
};
use rankfold::draw::{self, Drawing, TooLarge};
use rankfold::schedule::{Clash, Combine, Lengths, Region, Schedule, Step, Transfer};
use rankfold::topology::Topology;
use texts::tabled;
use zoo::{Exhibit, own_steps, tree, zoo};

const WORLDS: [usize; 7] = [1, 2, 3, 5, 8, 13, 32];

fn space_time(schedule: &dyn Schedule) -> Drawing {
    draw::space_time("a schedule", schedule).unwrap()
}

/// The drawing of a schedule, and what it draws.
struct Diagram {
    name: String,
    ranks: usize,
    messages: Vec<Arrow>,
    drawing: Drawing,
}

impl Diagram {
    fn of(exhibit: &Exhibit) -> Diagram {
        let schedule = &exhibit.schedule;
        Diagram {
            name: format!("{} of {}", exhibit.name, schedule.ranks()),
            ranks: schedule.ranks(),
            messages: messages(schedule),
            drawing: space_time(schedule),
        }
    }
}

/// Returns every exhibit in every world, with short and with long labels, drawn once for all tests.
fn diagrams() -> &'static [Diagram] {
    static ALL: LazyLock<Vec<Diagram>> = LazyLock::new(|| {
        let exhibits = WORLDS
            .into_iter()
            .flat_map(|p| zoo(p, if p % 2 == 0 { p } else { 1000 * p }));
        exhibits.map(|exhibit| Diagram::of(&exhibit)).collect()
    });
    &ALL
}

// ── nothing overlaps ──

#[test]
fn in_diagrams_no_label_touches_another_or_leaves_the_page_or_is_crossed_by_an_arrow() {
    for diagram in diagrams() {
        let page = Page::read(&diagram.drawing.svg());
        page.assert_legible(&diagram.name);
        if diagram.ranks <= 13 {
            page.assert_no_line_crosses_a_label(&diagram.name, "message");
        }
    }
}

#[test]
fn in_trees_no_label_touches_another_or_leaves_the_page_or_is_crossed_by_an_edge() {
    for topology in (1..=32).chain([64]).flat_map(families) {
        let name = format!("{topology:?}");
        let page = Page::read(&draw::tree(&topology).unwrap().svg());
        page.assert_legible(&name);
        page.assert_no_line_crosses_a_label(&name, "edge");
    }
}

#[test]
fn in_trees_of_nodes_no_label_touches_another_or_leaves_the_page_or_is_crossed_by_an_edge() {
    for topology in (1..=32).chain([64]).flat_map(families) {
        let name = format!("nodes of {topology:?}");
        let page = Page::read(&draw::nodes(&topology.formal()).unwrap().svg());
        page.assert_legible(&name);
        page.assert_no_line_crosses_a_label(&name, "edge");
    }
}

#[test]
fn two_schedules_beside_each_other_are_legible_too() {
    let (ring, tree) = (RingReduceScatter::new(13, 5000), tree("fibonacci", 8, 3));
    let drawing = draw::beside(("WIDE TITLE mmm", &ring), ("ww", &tree)).unwrap();
    let page = Page::read(&drawing.svg());
    page.assert_legible("beside");
    page.assert_no_line_crosses_a_label("beside", "message");
    assert_eq!(page.lines("message").count(), 12 * 13 + 7);
}

#[test]
fn long_numbers_and_titles_have_their_room() {
    let late = tree("k-tree:2", 9, usize::MAX / 2);
    let page = Page::read(&draw::space_time(&"WM@%".repeat(40), &late).unwrap().svg());
    page.assert_legible("long");
    let gaps =
        Topology::from_text("2 0 1\n1 18446744073709551614 0\n3 18446744073709551613 0").unwrap();
    Page::read(&draw::tree(&gaps).unwrap().svg()).assert_legible("late steps");
}

// ── the drawing equals its subject ──

type Arrow = (usize, usize, usize);

/// Returns all messages of a schedule as (step, from, to).
fn messages(schedule: &dyn Schedule) -> Vec<Arrow> {
    let of = |step: usize, rank: usize| Some((step, rank, schedule.step(rank, step).send?.peer));
    let places = (0..schedule.steps()).flat_map(|s| (0..schedule.ranks()).map(move |r| (s, r)));
    places.filter_map(|(step, rank)| of(step, rank)).collect()
}

#[test]
fn every_message_is_one_arrow_from_its_sender_to_its_receiver_in_its_step() {
    for diagram in diagrams() {
        let mut drawn = Page::read(&diagram.drawing.svg()).arrows();
        drawn.sort_unstable();
        assert_eq!(drawn, diagram.messages, "{}", diagram.name);
    }
}

#[test]
fn every_edge_of_a_tree_is_drawn_once_with_its_step() {
    for topology in (1..=20).chain([32]).flat_map(families) {
        for topology in [topology.rooted(topology.ranks() / 2), topology] {
            let mut drawn = Page::read(&draw::tree(&topology).unwrap().svg()).edges();
            drawn.sort_unstable();
            let meant: Vec<Arrow> = topology.triples().map(|t| (t.from, t.step, t.to)).collect();
            assert_eq!(drawn, meant, "{topology:?}");
        }
    }
}

#[test]
fn what_is_folded_and_what_is_replaced_differ_without_colour() {
    let page = Page::read(&space_time(&halving_all_reduce(8, 64)).svg());
    let (dashed, solid): (Vec<_>, Vec<_>) = page
        .lines("message")
        .partition(|line| line.has("stroke-dasharray"));
    assert_eq!((dashed.len(), solid.len()), (24, 24));
    let signs = |sign: &str| {
        page.labels
            .iter()
            .filter(|label| label.text.contains(sign))
            .count()
    };
    assert_eq!((signs("⊕") - 4, signs("←") - 1), (24, 24)); // minus the legend
}

// ── wrong schedules are drawn as they are ──

/// Rank 0 sends to 1, which receives from 2; rank 2 sends to a rank that does not exist, and copies twice.
struct Broken;

impl Schedule for Broken {
    fn ranks(&self) -> usize {
        3
    }
    fn steps(&self) -> usize {
        1
    }
    fn step(&self, rank: usize, step: usize) -> Step {
        let to = |peer| {
            Some(Transfer {
                peer,
                region: Region::scratch(0..0),
            })
        };
        match (rank, step) {
            (0, 0) => Step {
                send: to(1),
                ..Step::IDLE
            },
            (1, 0) => Step {
                recv: to(2),
                combine: Combine::FoldLeft,
                ..Step::IDLE
            },
            (2, 0) => Step {
                send: to(7),
                clash: Some(Clash::Copies),
                ..Step::IDLE
            },
            _ => Step::IDLE,
        }
    }
    fn lengths(&self, _: usize) -> Lengths {
        Lengths::default()
    }
}

#[test]
fn ends_that_miss_each_other_are_said() {
    let drawing = draw::space_time("broken", &Broken).unwrap();
    golden("broken.txt", drawing.text());
    let page = Page::read(&drawing.svg());
    page.assert_legible("broken");
    assert_eq!(page.lines("message").count(), 3);
}

/// No rank receives what rank 0 sends to rank 1, and no rank sends what rank 3 receives from rank 2.
struct OneSided;

impl Schedule for OneSided {
    fn ranks(&self) -> usize {
        4
    }
    fn steps(&self) -> usize {
        1
    }
    fn step(&self, rank: usize, _: usize) -> Step {
        let with = |peer| {
            Some(Transfer {
                peer,
                region: Region::scratch(0..2),
            })
        };
        match rank {
            0 => Step {
                send: with(1),
                ..Step::IDLE
            },
            3 => Step {
                recv: with(2),
                ..Step::IDLE
            },
            _ => Step::IDLE,
        }
    }
    fn lengths(&self, _: usize) -> Lengths {
        Lengths::default()
    }
}

#[test]
fn a_message_with_one_end_has_its_cross_where_the_other_is_missing() {
    let page = Page::read(&space_time(&OneSided).svg());
    assert_eq!(page.crossed_ends(), [[false, true], [true, false]]);
    let whole = Page::read(&space_time(&simple_exchange(4, 8)).svg());
    assert!(whole.crossed_ends().iter().all(|ends| *ends == [false; 2]));
}

// ── what is too large ──

#[test]
fn what_nobody_could_read_is_refused_and_says_what_to_do() {
    let wide = RingReduceScatter::new(129, 1);
    let refused = draw::space_time("", &wide).unwrap_err();
    assert_eq!(
        refused,
        TooLarge::Ranks {
            found: 129,
            limit: 128
        }
    );
    let long = own_steps("chain", 2, 1000).pipelined(257, 1);
    let refused = draw::space_time("", &long).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "257 steps are too many to draw, 256 is the limit: draw a window of them"
    );
    assert_eq!(draw::beside(("", &Broken), ("", &long)), Err(refused));
    assert!(draw::tree(&Topology::flat(513)).is_err());
    assert!(draw::tree(&Topology::chain(512)).is_ok());
}

#[test]
fn the_largest_drawing_is_some_megabytes() {
    let ring = RingReduceScatter::new(128, 128);
    let size = space_time(&ring.clone().then(ring.reversed())).svg().len();
    assert!(size < 20 << 20, "{size}");
}

#[test]
fn a_window_shows_its_steps_and_none_that_there_are_not() {
    let ring = RingReduceScatter::new(5, 5);
    let of = |steps| draw::window("ring", &ring, steps).unwrap();
    let steps = |drawing: &Drawing| -> BTreeSet<usize> {
        tabled(drawing.text()).iter().map(|send| send.0).collect()
    };
    assert_eq!(steps(&of(1..3)), [1, 2].into());
    assert_eq!(steps(&of(3..usize::MAX)), [3].into());
    assert!(steps(&of(usize::MAX..usize::MAX)).is_empty());
    #[expect(clippy::reversed_empty_ranges, reason = "a user may pass one")]
    let reversed = of(3..1);
    assert!(steps(&reversed).is_empty());
}

// ── the documents ──

#[test]
fn documents_are_complete_in_themselves() {
    for Diagram { name, drawing, .. } in diagrams().iter().step_by(7) {
        let svg = drawing.svg();
        let rest = svg.replacen("http://www.w3.org/2000/svg", "", 1);
        for outside in [
            "http", "href", "url(", "@import", "<script", "<style", "<image",
        ] {
            assert!(!rest.contains(outside), "{name} has {outside}");
        }
        assert!(svg.contains("<title>") && svg.contains("<desc>"), "{name}");
    }
}

#[test]
fn titles_are_written_so_that_they_cannot_break_a_document() {
    let title = "</text> & \"<b>\" \u{1} \n \u{ffff} ]]> ✓";
    let drawing = draw::space_time(title, &simple_exchange(2, 4)).unwrap();
    let page = Page::read(&drawing.svg());
    assert!(
        page.labels
            .iter()
            .any(|label| label.text.starts_with("</text> & \"<b>\"   "))
    );
    assert_eq!(drawing.text().lines().count(), 10, "{}", drawing.text());
}

#[test]
fn the_same_is_drawn_every_time() {
    let both = || {
        let (a, b) = (simple_exchange(13, 64), halving_all_reduce(13, 64));
        draw::beside(("a", &a), ("b", &b)).unwrap()
    };
    assert_eq!(both(), both());
    assert_eq!(both().svg(), both().svg());
}

// ── golden files ──

#[track_caller]
fn golden(file: &str, text: &str) {
    let path = format!("{}/tests/golden/{file}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("RANKFOLD_GOLDEN").is_some_and(|what| what == "write") {
        fs::write(&path, text).unwrap();
    }
    let want = fs::read_to_string(&path).unwrap_or_default();
    assert!(text == want, "{file} is now:\n{text}\nand was:\n{want}");
}

/// Two ranks that exchange a region which no buffer has.
struct Beyond(Region);

impl Schedule for Beyond {
    fn ranks(&self) -> usize {
        2
    }

    fn steps(&self) -> usize {
        1
    }

    fn lengths(&self, _: Rank) -> Lengths {
        Lengths::in_place(4)
    }

    fn step(&self, rank: Rank, _: usize) -> Step {
        let transfer = Transfer {
            peer: 1 - rank,
            region: self.0,
        };
        Step {
            send: Some(transfer),
            recv: Some(transfer),
            ..Step::IDLE
        }
    }
}

#[test]
fn regions_that_no_buffer_has_are_drawn_as_far_as_it_goes() {
    let all = Region::output(0..usize::MAX);
    let runs = |stride| Region {
        length: 1,
        stride,
        count: usize::MAX,
        ..all
    };
    for region in [
        all,
        Region::output(2..usize::MAX),
        runs(0),
        runs(1),
        runs(3),
    ] {
        let drawing = draw::origins("beyond", &Beyond(region)).unwrap();
        assert!(drawing.text().contains('R'), "{}", drawing.text());
    }
}

#[test]
fn every_value_of_an_all_reduce_ends_with_all_origins_once() {
    for ranks in [2, 5, 8] {
        let call = Call::new(Collective::AllReduce, ranks, 5).commuting();
        for algorithm in Algorithm::all(call.collective) {
            let Ok(schedule) = algorithm.schedule(&call) else {
                continue;
            };
            let drawing = draw::origins("all", &schedule).unwrap();
            let ends = drawing.text().matches("R R R R R").count();
            assert!(
                ends >= ranks && !drawing.text().contains('!'),
                "{algorithm} of {ranks}"
            );
            let arrows = drawing.svg().matches(r#"class="message""#).count();
            let messages =
                (0..schedule.steps()).flat_map(|step| (0..ranks).map(move |rank| (rank, step)));
            let sends = messages.filter(|&(rank, step)| schedule.step(rank, step).send.is_some());
            assert_eq!(arrows, sends.count());
        }
    }
}
