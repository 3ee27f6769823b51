//! Where the closed form says that a hybrid of exchange and halving is fastest, the simulator agrees.

use rankfold::collective::hybrid_all_reduce;
use rankfold::cost::{self, Model, best_stages};
use rankfold::simulate::{MachineModel, simulate};

/// alpha = L + 2o and beta = G.
fn simulated(ranks: usize, length: usize, stages: u32, model: &Model) -> f64 {
    let machine = MachineModel::alpha_beta_gamma(model.alpha, model.beta, model.gamma);
    let schedule = hybrid_all_reduce(ranks, length, stages);
    simulate(&schedule, &machine).unwrap().total
}

#[test]
fn the_simulator_picks_the_stages_that_the_closed_form_picks_or_some_as_good() {
    let models = [(1e-6, 1e-9, 1e-9), (5e-7, 2e-10, 1e-10), (2e-6, 4e-9, 0.0)];
    let mut between = 0;
    for (alpha, beta, gamma) in models {
        let model = Model { alpha, beta, gamma };
        for dimensions in 2..=10 {
            for length in (4..=24).map(|log| (1 << log) + 1) {
                let ranks = 1 << dimensions;
                let best = best_stages(ranks, length, &model);
                if !(1..dimensions).contains(&best) {
                    continue;
                }
                between += 1;
                let time = |stages| simulated(ranks, length, stages, &model);
                let least = (0..=dimensions).map(time).fold(f64::INFINITY, f64::min);
                let ours = time(best);
                assert!(
                    ours <= 1.01 * least,
                    "{ranks} ranks, {length}: {best} stages, {ours} {least}"
                );
                let form = cost::hybrid_all_reduce(ranks, length, best).time(&model);
                assert!(
                    (form - ours).abs() <= 0.05 * ours,
                    "{ranks} ranks, {length}: {form} {ours}"
                );
            }
        }
    }
    assert!(
        between > 20,
        "only {between} cases have a hybrid as their best"
    );
}
