//! Closed forms of algorithms by their names.

use std::collections::BTreeSet;

use rankfold::check::check;
use rankfold::collective::{Algorithm, Call, Collective};
use rankfold::cost::{self, Form};

use super::counted;
use crate::common;

/// Returns every call of a number of ranks and elements, with even blocks and root 0.
fn calls(p: usize, n: usize) -> Vec<Call> {
    let calls = Collective::all().flat_map(|collective| {
        let call = Call::new(collective, p, n);
        let folds = collective.folds().then(|| call.clone().commuting());
        let is_all_reduce = collective == Collective::AllReduce;
        let into = is_all_reduce.then(|| call.clone().from_input());
        [Some(call), folds, into].into_iter().flatten()
    });
    calls.collect()
}

#[test]
fn the_closed_form_of_an_algorithm_by_name_counts_what_the_checker_counts() {
    let mut formed = BTreeSet::new();
    for p in (1..=17).chain([31, 32, 33]) {
        for n in [0, 1, p - 1, 3 * p, 3 * p + 2] {
            for call in calls(p, n) {
                let tried = Algorithm::all(call.collective).filter_map(|algorithm| {
                    Some((algorithm, cost::closed_form(algorithm, &call)?))
                });
                for (algorithm, form) in tried {
                    counts_the_same(algorithm, &call, &form);
                    formed.insert((call.collective.name(), algorithm.to_string()));
                }
            }
        }
    }
    assert!(formed.len() > 45, "{}: {formed:?}", formed.len());
}

fn counts_the_same(algorithm: Algorithm, call: &Call, form: &Form) {
    let schedule = algorithm.schedule(call).unwrap();
    let goal = common::goal(call);
    let proof = check(&schedule, &goal).unwrap_or_else(|fault| panic!("{algorithm}: {fault}"));
    let messages = form.cost().messages;
    let passes = if call.collective == Collective::AllReduce {
        2
    } else {
        1
    };
    let less = match algorithm {
        Algorithm::TwoTree { .. } => messages.saturating_sub(passes),
        _ => messages,
    };
    let at = format!("{algorithm} for {call:?}");
    let counted_messages = proof.message_steps;
    assert!(
        (less..=messages).contains(&counted_messages),
        "{at}: {messages}, not {counted_messages}"
    );
    for (rank, traffic) in proof.traffic.iter().enumerate() {
        assert_eq!(form.load(rank), counted(traffic), "{at}, rank {rank}");
    }
}

#[test]
fn calls_without_a_closed_form_are_told_apart() {
    let call = Call::new(Collective::Reduce, 6, 10).commuting();
    let form = |name: &str, call: &Call| cost::closed_form(name.parse().unwrap(), call);
    assert!(form("binomial", &call).is_some());
    assert!(form("binomial", &call.clone().to_root(2)).is_none());
    for refused in [
        "hypercube",
        "direct",
        "cells",
        "circulant:segments=2",
        "ring",
    ] {
        assert!(form(refused, &call).is_none(), "{refused}");
    }
}
