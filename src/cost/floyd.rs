//! Floyd's all-pairs shortest paths by rows: its time, and its poor scalability.

use super::{Form, Model, Scaling, TreeUse, assert_some, ceil_log2, whole};
use crate::topology::Topology;

/// Floyd's algorithm on `n` nodes. The rows of the distance matrix are distributed over the ranks in blocks, and a row
/// is broadcast along a binomial tree before each of `n` relaxations of the whole matrix.
///
/// Here `γ` is the time to relax one entry.
///
/// # Examples
///
/// With `β = γ` and no start-up, `n` must grow as `C p log₂ p`, and the memory of a rank with it:
///
/// ```
/// use rankfold::cost::{Floyd, Model};
///
/// let floyd = Floyd { model: Model { alpha: 0.0, beta: 1.0, gamma: 1.0 } };
/// assert_eq!(floyd.isoefficiency(4.0, 16), 4.0 * 16.0 * 4.0);
/// assert_eq!(floyd.scalability(4.0, 16), 4.0 * 4.0 * 16.0 * 4.0 * 4.0); // C² p log₂² p
/// ```
///
/// # Source
///
/// Foster, *Designing and Building Parallel Programs*, 3.9, and Grama, Gupta, Karypis and Kumar,
/// *Introduction to Parallel Computing*, 10.4.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Floyd {
    /// The times of a message, an element, and the relaxation of one entry.
    pub model: Model,
}

impl Floyd {
    /// The broadcast of one row of `n` elements to all ranks.
    fn row(n: usize, ranks: usize) -> Form {
        whole(&Topology::binomial(ranks), n, TreeUse::Broadcast)
    }

    /// The time for `n` nodes on `ranks` ranks: the relaxations of the rank with the most rows, and all broadcasts.
    ///
    /// # Panics
    ///
    /// If `ranks` is 0.
    #[track_caller]
    pub fn time(&self, n: usize, ranks: usize) -> f64 {
        assert_some(ranks);
        let relaxed = n as f64 * n as f64 * n.div_ceil(ranks) as f64;
        relaxed * self.model.gamma + n as f64 * Floyd::row(n, ranks).time(&self.model)
    }

    /// `T = n³ γ`, `T₀ = p n ⌈log₂ p⌉ (α + n β)` and `M = n²`, for the numeric solver.
    pub fn scaling(
        self,
    ) -> Scaling<impl Fn(f64) -> f64, impl Fn(f64, usize) -> f64, impl Fn(f64) -> f64> {
        let Model { alpha, beta, gamma } = self.model;
        Scaling {
            work: move |n: f64| n * n * n * gamma,
            overhead: move |n: f64, p: usize| n * p_log_p(p) * (alpha + n * beta),
            memory: |n: f64| n * n,
        }
    }

    /// The isoefficiency function in closed form: the root of
    /// `γ n² = C p ⌈log₂ p⌉ (α + n β)`, at least 1.
    pub fn isoefficiency(&self, constant: f64, ranks: usize) -> f64 {
        let Model { alpha, beta, gamma } = self.model;
        let weight = constant * p_log_p(ranks) / gamma;
        let half = weight * beta / 2.0;
        (half + (half * half + weight * alpha).sqrt()).max(1.0)
    }

    /// The scalability function in closed form: the number of matrix elements per rank.
    pub fn scalability(&self, constant: f64, ranks: usize) -> f64 {
        let n = self.isoefficiency(constant, ranks);
        n * n / ranks as f64
    }
}

/// `p ⌈log₂ p⌉`.
fn p_log_p(p: usize) -> f64 {
    super::times(p as f64, ceil_log2(p))
}
