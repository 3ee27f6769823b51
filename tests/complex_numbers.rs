//! Sums and products of complex numbers, and of arrays of them.
#![cfg(feature = "num-complex")]

mod again;

use num_complex::{Complex32, Complex64};
use rankfold::op::{Operator, OperatorKind, Product, Sum};
use rankfold::{World, op};

#[test]
fn complex_numbers_are_added_and_multiplied() {
    let results = World::new(4).run(|comm| {
        let mut sum = [Complex64::new(comm.rank() as f64, 1.0); 40];
        comm.all_reduce(&mut sum, op::Sum)?;
        let mut turned = [[Complex32::i(); 2]; 3];
        comm.all_reduce(&mut turned, op::Product)?;
        Ok((sum[39], turned[2][1]))
    });
    let expected = (Complex64::new(6.0, 4.0), Complex32::new(1.0, 0.0));
    assert_eq!(results.unwrap(), [expected; 4]);
}

#[test]
fn both_operators_commute() {
    let kinds = [
        (Operator::<Complex64>::kind(&Sum), OperatorKind::Sum),
        (Operator::<Complex32>::kind(&Product), OperatorKind::Product),
    ];
    assert!(kinds.iter().all(|(kind, expected)| kind == expected));
    assert!(Operator::<Complex64>::commutes(&Sum) && Operator::<Complex64>::commutes(&Product));
}

#[test]
fn all_of_it_holds_over_channels() {
    again::over_channels(&[]);
}
