//! Turns times into rules: the fastest algorithm, where it is faster by enough to count.

use super::TuningPoint;
use crate::collective::{Collective, Entry, Rule, Timed};
use crate::measure::{Subject, median, sorted};
use crate::sort;

/// The choice for fewer bytes, or else the choice without a table, stays until another algorithm is faster by this
/// factor. Passes scatter by as much, and a table that follows the scatter is no improvement.
const ENOUGH: f64 = 1.06;

/// A candidate's result over all passes.
#[derive(Clone, Copy)]
struct CandidateScore {
    timed: Timed,
    /// The median over passes of its time, as a multiple of the pass's yardstick.
    score: f64,
}

/// Returns the entries of all places that were measured.
pub(super) fn entries(places: &[TuningPoint]) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    for place in places.iter().filter(|place| place.passes() > 0) {
        let Subject::Collective(collective) = place.point.subject else {
            continue;
        };
        let key = (collective, place.point.ranks);
        let known = entries
            .iter()
            .position(|entry| (entry.collective, entry.ranks) == key);
        let known = known.unwrap_or_else(|| {
            entries.push(Entry {
                collective,
                ranks: place.point.ranks,
                rules: Vec::new(),
            });
            entries.len() - 1
        });
        let rules = &mut entries[known].rules;
        if let Some(rule) = rule(place, rules.last()) {
            rules.push(rule);
        }
    }
    entries.retain(|entry| !entry.rules.is_empty());
    entries
}

/// Returns the rule for a place, given the rule for the next smaller number of bytes.
fn rule(place: &TuningPoint, before: Option<&Rule>) -> Option<Rule> {
    let mut standings = standings(place);
    sort::by_float(&mut standings, |standing| (standing.score, 0));
    let best = standings.first()?.score;
    let stays = |algorithm| {
        let close = |one: &&CandidateScore| one.score <= ENOUGH * best;
        let same = |one: &&CandidateScore| Some(one.timed.algorithm) == algorithm;
        standings.iter().filter(close).find(same).copied()
    };
    let untuned = place.candidates.first().map(|first| first.algorithm);
    let chosen = stays(before.map(|rule| rule.best.algorithm))
        .or_else(|| stays(untuned))
        .unwrap_or(standings[0]);
    let others = standings.iter().map(|one| one.timed);
    let next = others
        .into_iter()
        .find(|one| one.algorithm != chosen.timed.algorithm);
    let at = place.point.bytes();
    let from = match before.and_then(|rule| rule.at) {
        // The geometric mean of the two, since lengths are spaced geometrically.
        Some(below) if place.point.subject != Collective::Barrier.into() => {
            ((below as f64 * at as f64).sqrt() as usize).clamp(below + 1, at)
        }
        _ => 0,
    };
    Some(Rule {
        from,
        best: chosen.timed,
        next,
        at: Some(at),
    })
}

/// Returns the standings of all candidates that were measured in at least one pass.
fn standings(place: &TuningPoint) -> Vec<CandidateScore> {
    let taken = |i: usize| place.candidates[i].passes.iter().flatten().count();
    let most = (0..place.candidates.len()).map(taken).max().unwrap_or(0);
    let one = |i: usize| {
        let candidate = &place.candidates[i];
        let times = candidate.passes.iter().enumerate();
        let times = times.filter_map(|(pass, time)| Some((pass, (*time)?)));
        let scores = times
            .clone()
            .map(|(pass, time)| time / yardstick(place, pass));
        CandidateScore {
            timed: Timed {
                algorithm: candidate.algorithm,
                ns: Some(nanoseconds(median(&sorted(times.map(|(_, time)| time))))),
            },
            score: median(&sorted(scores)),
        }
    };
    let enough = |i: &usize| taken(*i) > 0 && 2 * taken(*i) >= most.min(2);
    let all = (0..place.candidates.len()).filter(enough).map(one);
    all.filter(|one| one.score.is_finite()).collect()
}

/// Returns the unit of a pass's times: the least of them, so that whatever the machine does to all of them cancels out.
fn yardstick(place: &TuningPoint, pass: usize) -> f64 {
    let times = place
        .candidates
        .iter()
        .filter_map(|one| *one.passes.get(pass)?);
    times.fold(f64::INFINITY, f64::min)
}

fn nanoseconds(seconds: f64) -> u64 {
    (1e9 * seconds).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collective::Algorithm;
    use crate::measure::{Point, Type};
    use crate::tune::Candidate;

    const FIRST: Algorithm = Algorithm::Exchange;
    const SECOND: Algorithm = Algorithm::Halving;

    /// Builds a place of two candidates from their times in microseconds, in each pass.
    fn place(bytes: usize, passes: &[(f64, f64)]) -> TuningPoint {
        let of = |algorithm, time: fn(&(f64, f64)) -> f64| Candidate {
            algorithm,
            passes: passes.iter().map(|pass| Some(1e-6 * time(pass))).collect(),
            out: false,
        };
        TuningPoint {
            point: Point::new(Collective::AllReduce.into(), 2, bytes / 4, Type::F32),
            candidates: vec![of(FIRST, |pass| pass.0), of(SECOND, |pass| pass.1)],
        }
    }

    fn chosen(places: &[TuningPoint]) -> Vec<(usize, Algorithm)> {
        let entries = entries(places);
        assert_eq!(entries.len(), 1);
        let rules = entries[0].rules.iter();
        rules.map(|rule| (rule.from, rule.best.algorithm)).collect()
    }

    #[test]
    fn the_quicker_one_is_chosen_from_halfway_between_two_lengths_on() {
        let places = [place(64, &[(1.0, 2.0)]), place(1024, &[(4.0, 2.0)])];
        assert_eq!(chosen(&places), [(0, FIRST), (256, SECOND)]);
    }

    #[test]
    fn who_is_quicker_by_less_than_the_scatter_replaces_nobody() {
        let near = [(1.0, 0.97)];
        let clear = [(2.0, 1.0)];
        let places = [
            place(64, &near),
            place(256, &clear),
            place(1024, &[(0.98, 1.0)]),
        ];
        assert_eq!(
            chosen(&places),
            [(0, FIRST), (128, SECOND), (512, SECOND)],
            "first who would be chosen anyhow, then who was"
        );
    }

    #[test]
    fn candidates_are_compared_inside_each_pass() {
        // Far apart in the machine's two states, and the other way round in the middle.
        let passes = [(1.0, 0.8), (10.0, 8.0), (1.1, 0.9), (9.0, 7.0), (1.0, 9.0)];
        assert_eq!(chosen(&[place(64, &passes)]), [(0, SECOND)]);
    }

    #[test]
    fn what_was_measured_once_and_left_out_does_not_beat_what_was_measured_often() {
        let mut one = place(64, &[(1.0, 1.5), (2.0, 2.0), (2.0, 2.0), (2.0, 2.0)]);
        for pass in &mut one.candidates[1].passes[1..] {
            *pass = None;
        }
        assert_eq!(chosen(&[one]), [(0, FIRST)]);
    }
}
