//! What may stand where a collective takes an operator: those of `op`, one's own types, and all kinds of closures.

mod again;

use rankfold::op::{self, Element, Operator, OperatorKind, Product};
use rankfold::{ErrorKind, Result, World};

/// An operator of another crate, on two types.
#[derive(Clone, Copy)]
struct Gcd;

impl Operator<u32> for Gcd {
    fn combine(&self, left: u32, right: u32) -> u32 {
        match right {
            0 => left,
            _ => self.combine(right, left % right),
        }
    }
    fn commutes(&self) -> bool {
        true
    }
}

impl Operator<u64> for Gcd {
    fn combine(&self, left: u64, right: u64) -> u64 {
        match right {
            0 => left,
            _ => self.combine(right, left % right),
        }
    }
}

/// An operator of another crate, on every type, with a closure inside: its operands are exchanged.
#[derive(Clone, Copy)]
struct Exchanged<F>(F);

impl<T: Element, F: Fn(T, T) -> T> Operator<T> for Exchanged<F> {
    fn combine(&self, left: T, right: T) -> T {
        (self.0)(right, left)
    }
}

/// An operator behind a reference.
impl Operator<u8> for &Gcd {
    fn combine(&self, left: u8, right: u8) -> u8 {
        Gcd.combine(u32::from(left), u32::from(right)) as u8
    }
}

/// All-reduces one element of each of three ranks.
fn all<T: Element>(mine: [T; 3], op: impl Operator<T> + Copy + Sync) -> T {
    let results = World::new(3).run(|comm| {
        let mut v = [mine[comm.rank()]];
        comm.all_reduce(&mut v, op)?;
        Ok(v[0])
    });
    results.unwrap()[0]
}

#[test]
fn operators_of_ones_own_stand_beside_closures() {
    assert_eq!(all([12u32, 18, 27], Gcd), 3);
    assert_eq!(all([12u64, 18, 27], Gcd), 3);
    assert_eq!(all([12u8, 18, 27], &Gcd), 3);
    assert_eq!(all([1u64, 2, 3], Exchanged(concatenate)), 321);
    assert!(Operator::<u32>::commutes(&Gcd) && !Operator::<u64>::commutes(&Gcd));
}

/// A number that does not commute in a product, as a matrix does not.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Digits(u64);

impl Operator<Digits> for Product {
    fn combine(&self, left: Digits, right: Digits) -> Digits {
        Digits(concatenate(left.0, right.0))
    }
}

#[test]
fn arrays_and_tuples_commute_where_their_parts_do() {
    assert!(Operator::<[u8; 2]>::commutes(&Product));
    assert!(Operator::<(u8, f32)>::commutes(&Product));
    assert!(!Operator::<[Digits; 2]>::commutes(&Product));
    assert!(!Operator::<(u8, Digits)>::commutes(&Product));
    let parts = [1, 2, 3].map(|x| (x, [Digits(x); 2]));
    assert_eq!(all(parts, Product), (6, [Digits(123); 2]));
}

fn concatenate(left: u64, right: u64) -> u64 {
    let digits = right.checked_ilog10().map_or(1, |log| log + 1);
    left * 10u64.pow(digits) + right
}

#[test]
fn functions_and_pointers_to_them_are_operators() -> Result<()> {
    let results = World::new(4).run(|comm| {
        let me = comm.rank() as u64 + 1;
        let mut v = [me as f64];
        comm.all_reduce(&mut v, f64::max)?;
        let (mut most, mut sum) = ([me], [me]);
        comm.all_reduce(&mut most, Ord::max)?;
        comm.all_reduce(&mut sum, std::ops::Add::add)?;
        assert_eq!((most, sum), ([4], [10]));
        let mut text = [me];
        comm.all_reduce(&mut text, concatenate)?;
        let mut last = [me];
        comm.scan(&mut last, concatenate as fn(u64, u64) -> u64)?;
        let shared: &dyn Fn(u64, u64) -> u64 = &concatenate;
        let mut dynamic = [me];
        comm.reduce(0, &mut dynamic, shared)?;
        let boxed: Box<dyn Fn(u64, u64) -> u64> = Box::new(u64::min);
        let mut least = [me];
        comm.all_reduce(&mut least, &boxed)?;
        Ok((v[0], text[0], last[0], dynamic[0], least[0]))
    });
    let results = results.unwrap();
    assert_eq!(results[0], (4.0, 1234, 1, 1234, 1));
    assert_eq!(results[3], (4.0, 1234, 1234, 4, 1));
    Ok(())
}

/// Each form that the documentation of `Operator` names compiles without the types of the closure's parameters.
#[test]
fn the_parameters_of_a_closure_need_types_only_for_methods_and_fields() {
    let results = World::new(3).run(|comm| {
        let me = comm.rank() as u64;
        let (mut sum, mut least, mut first, mut most) = ([me], [me], [me], [me]);
        comm.all_reduce(&mut sum, |a, b| a + b)?;
        comm.all_reduce(&mut least, |a, b| if a < b { a } else { b })?;
        comm.all_reduce(&mut first, |left, _| left)?;
        comm.all_reduce(&mut most, |a, b| u64::max(b, a))?;
        let (mut cast, mut block, mut pair) = ([me], [me], [(me, 2)]);
        comm.all_reduce(&mut cast, |a, b| (a as u128 + b as u128) as u64)?;
        comm.all_reduce(&mut block, |a, b| {
            let sum = a + b;
            sum % 1009
        })?;
        comm.all_reduce(&mut pair, |(a, b), (c, d)| (a + c, b * d))?;
        assert_eq!((cast, block, pair), ([3], [3], [(3, 8)]));
        let (mut method, mut map, mut array) = ([me], [(2u64, me)], [[me; 2]]);
        comm.all_reduce(&mut method, |a: u64, b| a.max(b))?;
        comm.all_reduce(&mut map, |f: (u64, u64), g: (u64, u64)| {
            (f.0 * g.0, f.0 * g.1 + f.1)
        })?;
        comm.all_reduce(&mut array, |a: [u64; 2], b: [u64; 2]| {
            [a[0] + b[0], a[1].max(b[1])]
        })?;
        Ok((
            [sum[0], least[0], first[0], most[0], method[0]],
            map[0],
            array[0],
        ))
    });
    let expected = ([3, 0, 0, 2, 2], (8, 2 + 4 * 2), [3, 2]);
    assert_eq!(results.unwrap(), vec![expected; 3]);
}

#[test]
fn every_reduction_takes_a_closure() {
    let results = World::new(3).run(|comm| {
        let me = comm.rank() as u64 + 1;
        let tree = rankfold::topology::Topology::chain(comm.size());
        let (mut out, mut block) = ([0], [0]);
        comm.reduce_into(0, &[me], &mut out, |_, right| right)?;
        comm.reduce_scatter(&[me; 3], &mut block, concatenate)?;
        let mut v = [0];
        comm.reduce_scatter_v(&[me; 3], &[1, 1, 1], &mut v, concatenate)?;
        let mut before = [me];
        comm.exclusive_scan(&mut before, 0, |_, right| right)?;
        let mut over = [me];
        comm.reduce_over(&tree, &mut over, concatenate).run()?;
        let mut into = [0];
        comm.all_reduce_into(&[me], &mut into, |_, right| right)?;
        Ok([out[0], block[0], v[0], before[0], over[0], into[0]])
    });
    let [first, second, third] = results.unwrap().try_into().unwrap();
    assert_eq!(first, [3, 123, 123, 0, 123, 3]);
    assert_eq!(second, [0, 123, 123, 1, 2, 3]);
    assert_eq!(third, [0, 123, 123, 2, 3, 3]);
}

#[test]
fn a_closure_keeps_rank_order_unless_it_is_said_to_commute() {
    fn kind<T: Element>(op: &impl Operator<T>) -> (OperatorKind, bool) {
        (op.kind(), op.commutes())
    }
    let (closure, commutative) = (OperatorKind::Closure, OperatorKind::Commutative);
    assert_eq!(kind(&|a: u8, b: u8| a + b), (closure, false));
    assert_eq!(kind(&f64::max), (closure, false));
    assert_eq!(kind(&op::commutative(f64::max)), (commutative, true));
    assert_eq!(kind::<f64>(&op::Max), (OperatorKind::Max, true));
    assert_eq!(kind::<[f64; 3]>(&op::Max), (OperatorKind::Max, true));
}

#[test]
fn a_closure_and_a_named_operator_do_not_match() {
    let report = World::new(2).check(true).run_each(|comm| {
        let mut v = [1u64; 4];
        match comm.rank() {
            0 => comm.all_reduce(&mut v, op::Sum),
            _ => comm.all_reduce(&mut v, |a, b| a + b),
        }
    });
    let error = report.outcomes[1].error().unwrap();
    assert!(matches!(error.kind(), ErrorKind::Mismatch(..)), "{error}");
}

#[test]
fn all_of_it_holds_over_channels() {
    again::over_channels(&[]);
}
