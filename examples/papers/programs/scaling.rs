//! The second exercise of the hypercube text: how Floyd's algorithm scales.

use rankfold::cost::{Floyd, Model};

/// A size at which Floyd's algorithm on so many ranks is as efficient as is asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    pub ranks: usize,
    /// The isoefficiency function f(p): the least n with T(n, 1) ≥ C T₀(n, p).
    pub size: f64,
    /// The serial time T(n, 1).
    pub serial: f64,
    /// The overhead T₀(n, p) of all ranks together.
    pub overhead: f64,
    /// The memory M(n) of all ranks together, in elements.
    pub memory: f64,
    /// The scalability function M(f(p)) / p.
    pub each: f64,
}

/// The points for 2, 4, 8, ... ranks, with a unit of time for a relaxation and for an element moved.
pub fn points(constant: f64, most: usize) -> Vec<Point> {
    let model = Model {
        alpha: 0.0,
        beta: 1.0,
        gamma: 1.0,
    };
    let powers = std::iter::successors(Some(2), |p| Some(2 * p));
    let powers = powers.take_while(|&p| p <= most);
    powers
        .map(|ranks| point(Floyd { model }, constant, ranks))
        .collect()
}

fn point(floyd: Floyd, constant: f64, ranks: usize) -> Point {
    let scaling = floyd.scaling();
    let size = floyd.isoefficiency(constant, ranks);
    Point {
        ranks,
        size,
        serial: (scaling.work)(size),
        overhead: (scaling.overhead)(size, ranks),
        memory: (scaling.memory)(size),
        each: floyd.scalability(constant, ranks),
    }
}
