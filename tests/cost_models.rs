//! What a model derives from the closed forms: best segments, best stages, isoefficiency, scalability.

mod common;

use proptest::prelude::*;
use rankfold::cost::{
    self, Floyd, Form, Model, Pipeline, Scaling, TreeUse, best_stages, constant_for,
    hybrid_all_reduce, in_segments,
};
use rankfold::topology::Topology;

const WAYS: [TreeUse; 3] = [TreeUse::Broadcast, TreeUse::Reduce, TreeUse::AllReduce];

/// A pipeline and its cost with a given number of segments.
type Segmented = (&'static str, Pipeline, Box<dyn Fn(usize, TreeUse) -> Form>);

fn pipelines(p: usize, n: usize) -> Vec<Segmented> {
    let along = |name, tree: Topology, period: usize| -> Segmented {
        let pipeline = Pipeline::along(&tree, period);
        let form = move |k, way| in_segments(&tree, period, n, k, way);
        (name, pipeline, Box::new(form))
    };
    let cube = p.next_power_of_two();
    let esbt = move |k, way| cost::esbt(cube, n, k, way).unwrap();
    vec![
        along("chain", Topology::chain(p), 1),
        along("in-order", Topology::in_order(p), 2),
        along("fibonacci", Topology::fibonacci(p), 2),
        (
            "two-tree",
            Pipeline::two_tree(p),
            Box::new(move |k, way| cost::two_tree(p, n, k, way)),
        ),
        ("esbt", Pipeline::esbt(cube.ilog2()), Box::new(esbt)),
    ]
}

/// Times from a nanosecond to a second, and zero.
fn seconds() -> impl Strategy<Value = f64> {
    prop_oneof![8 => (-9.0..0.0).prop_map(|exponent| 10f64.powf(exponent)), 1 => Just(0.0)]
}

fn models() -> impl Strategy<Value = Model> {
    let times = (seconds(), seconds(), seconds());
    times.prop_map(|(alpha, beta, gamma)| Model { alpha, beta, gamma })
}

/// Returns whether `a` is at most `b`, except for rounding.
fn at_most(a: f64, b: f64) -> bool {
    a <= b * (1.0 + 1e-9)
}

proptest! {
    #![proptest_config(common::cases(150))]

    #[test]
    fn no_number_of_segments_is_faster_than_the_best(
        p in 1usize..70, n in 0usize..300, model in models()
    ) {
        for (name, pipeline, form) in pipelines(p, n) {
            for way in WAYS {
                let best = pipeline.best_segments(n, way, &model);
                prop_assert!((1..=n.max(1)).contains(&best), "{name}: {best} segments of {n}");
                let time = form(best, way).time(&model);
                for k in 1..=n {
                    let other = form(k, way).time(&model);
                    prop_assert!(at_most(time, other), "{name} {way:?}: {best} worse than {k}");
                }
            }
        }
    }

    #[test]
    fn no_number_of_stages_is_faster_than_the_best(
        p in 1usize..300, n in 0usize..100_000, model in models()
    ) {
        let best = hybrid_all_reduce(p, n, best_stages(p, n, &model)).time(&model);
        for stages in 0..=p.ilog2() {
            prop_assert!(best <= hybrid_all_reduce(p, n, stages).time(&model));
        }
    }

    #[test]
    fn the_solver_finds_what_the_closed_form_of_floyd_says(
        p in 1usize..5000, efficiency in 0.05f64..0.99, model in models()
    ) {
        prop_assume!(model.gamma > 0.0);
        let (floyd, constant) = (Floyd { model }, constant_for(efficiency));
        let closed = floyd.isoefficiency(constant, p);
        let found = floyd.scaling().isoefficiency(constant, p).unwrap();
        prop_assert!((found / closed - 1.0).abs() < 1e-9, "{found}, but {closed}");
        let share = floyd.scaling().scalability(constant, p).unwrap();
        prop_assert!((share / floyd.scalability(constant, p) - 1.0).abs() < 1e-9);
        let reached = floyd.scaling().efficiency(found, p);
        prop_assert!(reached > efficiency - 1e-9);
        prop_assert!(found == 1.0 || reached < efficiency + 1e-9);
    }
}

#[test]
fn best_segments_are_the_roots_of_the_literature() {
    let model = Model {
        alpha: 1e-5,
        beta: 1e-8,
        gamma: 0.0,
    };
    let n = 1_000_000;
    let ratio = n as f64 * model.beta / model.alpha;
    for p in [4usize, 8, 13, 100, 1024] {
        let logs = (p - 1).ilog2() as usize + 1;
        let in_order = p.ilog2() as usize + (p - 1).ilog2() as usize;
        let roots = [
            (Pipeline::chain(p), ratio * (p - 2) as f64),
            (Pipeline::in_order(p), ratio * (in_order - 2) as f64 / 2.0),
            (Pipeline::two_tree(p), ratio * (2 * logs - 2) as f64),
            (Pipeline::esbt(p.ilog2()), ratio * f64::from(p.ilog2())),
        ];
        for (pipeline, square) in roots {
            let best = pipeline.best_segments(n, TreeUse::Broadcast, &model) as f64;
            assert!(
                (best - square.sqrt().max(1.0)).abs() <= 1.0,
                "{pipeline:?}: {best}"
            );
        }
    }
}

#[test]
fn models_with_nothing_or_nonsense_in_them_still_give_a_number_of_segments() {
    let times = [0.0, 1.0, -1.0, f64::INFINITY, f64::NAN];
    for alpha in times {
        for beta in times {
            let model = Model {
                alpha,
                beta,
                gamma: 0.0,
            };
            for n in [0, 1, 100] {
                let best = Pipeline::chain(9).best_segments(n, TreeUse::Reduce, &model);
                assert!((1..=n.max(1)).contains(&best), "{model:?}");
            }
        }
    }
    // Free messages: one for every element; free elements: one message.
    let free = Model {
        alpha: 0.0,
        beta: 1.0,
        gamma: 0.0,
    };
    assert_eq!(
        Pipeline::chain(9).best_segments(100, TreeUse::Broadcast, &free),
        100
    );
    let free = Model {
        alpha: 1.0,
        beta: 0.0,
        gamma: 0.0,
    };
    assert_eq!(
        Pipeline::chain(9).best_segments(100, TreeUse::Broadcast, &free),
        1
    );
}

#[test]
fn with_unit_times_floyd_needs_c_p_log_p_nodes_and_c_squared_p_log_squared_p_memory() {
    let model = Model {
        alpha: 0.0,
        beta: 1.0,
        gamma: 1.0,
    };
    let scaling = Floyd { model }.scaling();
    for log in 1..=20u32 {
        let (p, logs) = (1usize << log, f64::from(log));
        for constant in [0.5, 1.0, 4.0, 9.0] {
            let n = scaling.isoefficiency(constant, p).unwrap();
            let want = constant * p as f64 * logs;
            assert!((n / want - 1.0).abs() < 1e-12, "{n}, but {want}");
            let share = scaling.scalability(constant, p).unwrap();
            let want = constant * constant * p as f64 * logs * logs;
            assert!((share / want - 1.0).abs() < 1e-12, "{share}, but {want}");
        }
    }
}

#[test]
fn the_solver_finds_every_power_and_gives_up_where_nothing_is_enough() {
    for power in 1..=6 {
        let scaling = Scaling {
            work: |n: f64| n.powi(power + 1),
            overhead: |n: f64, p: usize| n * (p as f64).powi(power),
            memory: |n: f64| 8.0 * n,
        };
        for p in [1usize, 2, 3, 1000, 1 << 30] {
            let n = scaling.isoefficiency(1.0, p).unwrap();
            assert!((n / p as f64 - 1.0).abs() < 1e-12, "{n}, but {p}");
            assert!((scaling.scalability(1.0, p).unwrap() - 8.0).abs() < 1e-9);
        }
    }
    let hopeless = Scaling {
        work: |n: f64| n,
        overhead: |n: f64, p: usize| n * p as f64,
        memory: |n: f64| n,
    };
    assert_eq!(hopeless.isoefficiency(1.0, 2), None);
    assert_eq!(hopeless.scalability(1.0, 2), None);
    assert_eq!(hopeless.isoefficiency(1.0, 1), Some(1.0));
    assert_eq!(hopeless.isoefficiency(f64::NAN, 1), None);
    let endless = Scaling {
        work: |n: f64| n.powi(3),
        overhead: |n: f64, _: usize| {
            if n > 1e12 {
                f64::INFINITY
            } else {
                n.powi(4) + 1.0
            }
        },
        memory: |n: f64| n,
    };
    assert_eq!(endless.isoefficiency(1.0, 2), None);
    assert_eq!(endless.scalability(1.0, 2), None);
}

#[test]
fn the_time_of_floyd_alone_is_its_work_and_among_ranks_that_share_evenly_its_work_and_overhead() {
    let model = Model {
        alpha: 3.0,
        beta: 0.5,
        gamma: 0.25,
    };
    let floyd = Floyd { model };
    let scaling = floyd.scaling();
    for p in [1usize, 2, 4, 5, 8, 13] {
        let n = 12 * p;
        let work = (scaling.work)(n as f64);
        let all = work + (scaling.overhead)(n as f64, p);
        assert!((floyd.time(n, p) * p as f64 / all - 1.0).abs() < 1e-12);
        assert_eq!(floyd.time(n, 1), work);
        assert_eq!(scaling.efficiency(n as f64, p), work / all);
    }
    // Seven rows among three ranks: one has three, and each row takes two steps to all.
    let want = 49.0 * 3.0 * 0.25 + 7.0 * 2.0 * (3.0 + 7.0 * 0.5);
    assert_eq!(floyd.time(7, 3), want);
}
