//! How much a problem must grow to keep more ranks busy.

/// The scaling behaviour of a parallel program: serial time, overhead and memory.
///
/// The overhead is the time that all ranks together spend beyond the serial work: `p · time(n, p) - work(n)`. It must
/// grow more slowly than the work as `n` grows; otherwise no size is large enough.
///
/// # Examples
///
/// Adding n numbers with a binomial tree, with unit time for an addition and for a message:
///
/// ```
/// use rankfold::cost::{Scaling, constant_for};
///
/// let adding = Scaling {
///     work: |n: f64| n,
///     overhead: |_: f64, p: usize| 2.0 * p as f64 * (p as f64).log2(),
///     memory: |n: f64| n,
/// };
/// let n = adding.isoefficiency(constant_for(0.8), 16).unwrap();
/// assert!((n - 4.0 * 2.0 * 16.0 * 4.0).abs() < 1e-6);
/// assert!((adding.efficiency(n, 16) - 0.8).abs() < 1e-9);
/// ```
///
/// # Source
///
/// Grama, Gupta, Karypis and Kumar, *Introduction to Parallel Computing*, chapter 5.
#[derive(Clone, Copy, Debug)]
pub struct Scaling<W, O, M> {
    /// The serial time for size `n`, `T(n, 1)`.
    pub work: W,
    /// The overhead for size `n` on `p` ranks, `T₀(n, p)`.
    pub overhead: O,
    /// The memory for size `n`, `M(n)`.
    pub memory: M,
}

impl<W, O, M> Scaling<W, O, M>
where
    W: Fn(f64) -> f64,
    O: Fn(f64, usize) -> f64,
    M: Fn(f64) -> f64,
{
    /// The fraction of the ranks' time that is useful work: `T / (T + T₀)`.
    pub fn efficiency(&self, n: f64, ranks: usize) -> f64 {
        let work = (self.work)(n);
        work / (work + (self.overhead)(n, ranks))
    }

    /// The isoefficiency function `f(p)`: the least `n ≥ 1` with `T(n, 1) ≥ C T₀(n, p)`.
    ///
    /// `None` if no number is large enough; where the overhead is infinite, the relation does not hold. If the relation
    /// holds for one `n`, it must hold for all larger ones; otherwise the result is one of the sizes at which the
    /// relation starts to hold.
    ///
    /// # Cost
    ///
    /// At most a few thousand evaluations.
    pub fn isoefficiency(&self, constant: f64, ranks: usize) -> Option<f64> {
        let holds = |n: f64| {
            let overhead = constant * (self.overhead)(n, ranks);
            overhead.is_finite() && (self.work)(n) >= overhead
        };
        if holds(1.0) {
            return Some(1.0);
        }
        let doubled = std::iter::successors(Some(2.0), |n| Some(2.0 * n));
        let enough = doubled
            .take_while(|n: &f64| n.is_finite())
            .find(|&n| holds(n))?;
        Some(least(enough / 2.0, enough, holds))
    }

    /// The scalability function `M(f(p)) / p`: the memory that each rank needs for a sufficiently large problem. The
    /// slower it grows, the better the program scales.
    pub fn scalability(&self, constant: f64, ranks: usize) -> Option<f64> {
        let n = self.isoefficiency(constant, ranks)?;
        Some((self.memory)(n) / ranks as f64)
    }
}

/// The constant `C` of the isoefficiency relation at which efficiency is `E`: `E / (1 - E)`.
pub fn constant_for(efficiency: f64) -> f64 {
    efficiency / (1.0 - efficiency)
}

/// Bisects between `low`, which is not enough, and `high`, which is, to the precision of `f64`.
fn least(mut low: f64, mut high: f64, enough: impl Fn(f64) -> bool) -> f64 {
    loop {
        let middle = low + (high - low) / 2.0;
        if middle <= low || middle >= high {
            return high;
        }
        if enough(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
}
