//! The second exercise of the hypercube text: how Floyd's algorithm scales.

use rankfold::cost::{Floyd, Model};

/// The size at which Floyd's algorithm on so many ranks is efficient, and the memory that each rank then needs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    pub ranks: usize,
    /// The isoefficiency function f(p): the least n with T(n, 1) ≥ C T₀(n, p).
    pub size: f64,
    /// The scalability function M(f(p)) / p, in elements.
    pub memory: f64,
}

/// The points for 2, 4, 8, ... ranks, with a unit of time for a relaxation and for an element moved.
pub fn points(constant: f64, most: usize) -> Vec<Point> {
    let floyd = Floyd {
        model: Model {
            alpha: 0.0,
            beta: 1.0,
            gamma: 1.0,
        },
    };
    let powers = std::iter::successors(Some(2), |p| Some(2 * p));
    powers
        .take_while(|&p| p <= most)
        .map(|ranks| Point {
            ranks,
            size: floyd.isoefficiency(constant, ranks),
            memory: floyd.scalability(constant, ranks),
        })
        .collect()
}
