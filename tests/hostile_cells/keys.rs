//! Calls at one line are told apart.

use rankfold::op::{self, Element, Sum};
use rankfold::{Comm, Rank, Result, World};

use crate::support::Random;

/// One line for calls of every kind: what is kept from the call before must not be used for this one.
fn at_one_line<T: Element>(comm: &Comm, v: &mut [T], op: impl op::Operator<T>) -> Result<()> {
    comm.all_reduce(v, op)
}

/// The same with a closure.
fn by_a_closure<T: Element>(comm: &Comm, v: &mut [T], op: impl Fn(T, T) -> T) -> Result<()> {
    comm.all_reduce(v, op)
}

/// Makes one of four calls with an operator and checks its result.
fn with_an_operator(comm: &Comm, which: usize, n: usize) -> Result<()> {
    let me = comm.rank() as u64 + 1;
    match which {
        0 => {
            let mut v = vec![me; n];
            at_one_line(comm, &mut v, Sum)?;
            assert_eq!(v, vec![6; n]);
        }
        1 => {
            let mut v = vec![me as i64; n];
            at_one_line(comm, &mut v, op::Max)?;
            assert_eq!(v, vec![3; n]);
        }
        2 => {
            let mut v = vec![me as f64; n];
            at_one_line(comm, &mut v, op::Product)?;
            assert_eq!(v, vec![6.0; n]);
        }
        _ => {
            let mut v = vec![me; n];
            at_one_line(comm, &mut v, op::commutative(|a, b| a ^ b))?;
            assert_eq!(v, vec![0; n]); // 1 ^ 2 ^ 3
        }
    }
    Ok(())
}

/// Makes one of three calls with a closure and checks its result.
fn with_a_closure(comm: &Comm, which: usize, n: usize) -> Result<()> {
    let me = comm.rank() as u64 + 1;
    match which {
        0 => {
            let mut v = vec![me; n];
            by_a_closure(comm, &mut v, |a, b| 10 * a + b)?;
            assert_eq!(v, vec![123; n]);
        }
        1 => {
            let mut v = vec![me; n];
            by_a_closure(comm, &mut v, |a, _| a)?;
            assert_eq!(v, vec![1; n]);
        }
        _ => {
            let mut v = vec![[me as u32, 7]; n];
            by_a_closure(comm, &mut v, |a, b| [a[0] + b[0], 7])?;
            assert_eq!(v, vec![[6, 7]; n]);
        }
    }
    Ok(())
}

#[test]
fn calls_at_one_line_are_told_apart_by_type_length_operator_and_communicator() {
    let sums = World::new(3).run(|comm| {
        let comms = [
            comm.dup()?,
            comm.dup()?,
            comm.split(0, -(comm.rank() as i64))?,
        ];
        let mut random = Random::new(1);
        for _ in 0..600 {
            let comm = random.of(&[comm, &comms[0], &comms[1], &comms[2]]);
            let n = random.of(&[0, 1, 2, 5, 511, 512, 513]);
            match random.below(7) {
                which @ 0..=3 => with_an_operator(comm, which, n)?,
                which => with_a_closure(comm, which - 4, n)?,
            }
        }
        Ok(())
    });
    sums.unwrap();
}

#[test]
fn communicators_made_in_a_loop_at_one_line_are_told_apart() {
    let run = World::new(2).run(|comm| {
        for turn in 0..500u64 {
            let other = comm.split(0, (turn % 2) as i64 * -(comm.rank() as i64))?;
            let mut v = [turn + other.rank() as u64];
            other.all_reduce(&mut v, Sum)?;
            assert_eq!(v, [2 * turn + 1]);
            other.broadcast((turn % 2) as Rank, &mut v)?;
            assert_eq!(v, [2 * turn + 1]);
        }
        Ok(())
    });
    run.unwrap();
}
