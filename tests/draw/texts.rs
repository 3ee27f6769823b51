//! Outlines and tables read back as the topologies and schedules that they show.

use rankfold::draw;

use super::{Arrow, diagrams, space_time};
use crate::common::families;
use crate::zoo::zoo;

/// Returns the edges of a tree in text, as (from, step, to): the rank above is the last one with less indentation.
fn outlined(text: &str) -> Vec<Arrow> {
    let mut above: Vec<(usize, usize)> = Vec::new();
    let mut edges = Vec::new();
    for line in text.lines().skip(1) {
        let depth = line.chars().take_while(|c| !c.is_ascii_digit()).count();
        let words = line.trim_start_matches(['│', '├', '└', ' ', '─']);
        let numbers: Vec<usize> = (words.split(['─', ' ']).filter(|word| !word.is_empty()))
            .map(|word| word.parse().unwrap())
            .collect();
        above.retain(|&(other, _)| other < depth);
        match numbers[..] {
            [rank] => above.push((0, rank)),
            [step, rank] => {
                edges.push((rank, step, above.last().unwrap().1));
                above.push((depth, rank));
            }
            _ => panic!("{line}"),
        }
    }
    edges
}

/// An edge of a tree of nodes: the ranks of a node, the weight, the process, and the ranks of the node above.
type NodeArrow = (String, usize, usize, String);

/// Returns the edges of a tree of nodes in text.
fn nodes_outlined(text: &str) -> Vec<NodeArrow> {
    let mut above: Vec<(usize, String)> = Vec::new();
    let mut edges = Vec::new();
    for line in text.lines().skip(1) {
        let is_word = |c: char| c.is_ascii_digit() || c == '{';
        let depth = line.chars().take_while(|&c| !is_word(c)).count();
        let (label, set) = line.split_once('{').unwrap();
        above.retain(|&(other, _)| other < depth);
        if let Some((weight, process)) = label.split_once('→') {
            let number = |text: &str| text.trim_matches(|c: char| !c.is_ascii_digit()).parse();
            let (weight, process) = (number(weight).unwrap(), number(process).unwrap());
            edges.push((set.into(), weight, process, above.last().unwrap().1.clone()));
        }
        above.push((depth, set.into()));
    }
    edges
}

#[test]
fn the_outline_of_a_tree_of_nodes_reads_back_as_the_definition() {
    for topology in (1..=33).flat_map(families) {
        let formal = topology.formal();
        let set = |node: usize| {
            let ranks: Vec<_> = formal.nodes()[node].iter().map(usize::to_string).collect();
            format!("{}}}", ranks.join(","))
        };
        let edges = formal.edges();
        let mut meant: Vec<NodeArrow> = edges
            .map(|e| (set(e.from), e.step, e.process.unwrap(), set(e.into)))
            .collect();
        let mut read = nodes_outlined(draw::nodes(&formal).unwrap().text());
        read.sort();
        meant.sort();
        assert_eq!(read, meant, "{topology:?}");
    }
}

#[test]
fn the_outline_of_a_tree_reads_back_as_the_tree() {
    for topology in (1..=33).flat_map(families) {
        let mut read = outlined(draw::tree(&topology).unwrap().text());
        read.sort_unstable();
        let meant: Vec<Arrow> = topology.triples().map(|t| (t.from, t.step, t.to)).collect();
        assert_eq!(read, meant, "{topology:?}");
    }
}

/// Returns the sends of a table, as (step, from, to): the cells under the head of the step.
pub fn tabled(text: &str) -> Vec<Arrow> {
    let mut sends = Vec::new();
    let (mut columns, mut rank) = (Vec::new(), 0);
    for line in text
        .lines()
        .skip(1)
        .take_while(|line| !line.contains("a..b"))
    {
        let letters: Vec<char> = line.chars().collect();
        if line.trim_start().starts_with("rank") {
            let starts = line.match_indices("step ");
            columns = starts
                .map(|(at, _)| {
                    (
                        at,
                        line[at + 5..].split(' ').next().unwrap().parse().unwrap(),
                    )
                })
                .collect();
            continue;
        }
        let name: String = letters.iter().take(4).collect();
        rank = name.trim().parse().unwrap_or(rank);
        for &(column, step) in &columns {
            let rest: String = letters.iter().skip(column).collect();
            if let Some(peer) = rest.strip_prefix('→') {
                sends.push((step, rank, peer.split(' ').next().unwrap().parse().unwrap()));
            }
        }
    }
    sends
}

#[test]
fn the_table_of_a_schedule_has_every_send_in_its_row_and_column() {
    for diagram in diagrams() {
        let mut read = tabled(diagram.drawing.text());
        read.sort_unstable();
        assert_eq!(read, diagram.messages, "{}", diagram.name);
    }
}

#[test]
fn tables_fit_into_a_terminal() {
    for exhibit in zoo(8, 64) {
        let drawing = space_time(&exhibit.schedule);
        let widest = drawing
            .text()
            .lines()
            .map(|line| line.chars().count())
            .max();
        assert!(widest <= Some(100), "{}:\n{}", exhibit.name, drawing.text());
    }
}
