//! The two reductions that Xiong 1999 writes out for one topology each, in index arithmetic alone and over SEND and
//! RECV: bit for bit the result of the general loop over the same topology.
//!
//! No topology, table or schedule is used here: a rank knows its own number and the number of ranks. The exponent of
//! the 2-tree is the largest `u` for which `3^u` divides the rank, and for the root the least for which `3^u` is at
//! least the number of ranks. The text has three cases. The first two are right; into the third only the root falls,
//! and there it lists the predecessors of the last step alone.

mod common;

use common::{Map, compose, map, noise, stride, team};
use rankfold::op::Element;
use rankfold::topology::Topology;
use rankfold::{Comm, Rank, Result, Source, op};

const TAG: u32 = 1999;

// ── the 1-ring ──

/// The reduction of the 1-ring, `<p_{n-1},0,p_{n-2}>, ..., <p_1,n-2,p_0>`.
fn one_ring<T: Element>(comm: &Comm, v: &mut [T], op: impl Fn(T, T) -> T) -> Result<()> {
    let (h, n) = (comm.rank(), comm.size());
    if h + 1 < n {
        take(comm, h + 1, v, &op)?;
    }
    if h > 0 {
        comm.send(h - 1, TAG, v)?;
    }
    Ok(())
}

// ── the 2-tree ──

/// The reduction of the 2-tree: `<p_{3^(t+1) i + s 3^t}, t, p_{3^(t+1) i}>` for s = 1, 2.
fn two_tree<T: Element>(
    comm: &Comm,
    v: &mut [T],
    op: impl Fn(T, T) -> T,
    source: impl Fn(Rank) -> Source,
) -> Result<()> {
    let (h, n) = (comm.rank(), comm.size());
    let mut power = 1;
    while receives(h, power, n) {
        for from in [h + power, h + 2 * power] {
            if from < n {
                take(comm, source(from), v, &op)?;
            }
        }
        power *= 3;
    }
    // Now h = 3^u (3 w + s), where s is 0 only at the root.
    if h > 0 {
        comm.send(h - h % (3 * power), TAG, v)?;
    }
    Ok(())
}

/// Returns whether the step of this power of 3 comes before u.
fn receives(h: Rank, power: usize, n: usize) -> bool {
    if h == 0 {
        power < n
    } else {
        h.is_multiple_of(3 * power)
    }
}

/// Folds in the vector that a rank sends.
fn take<T: Element>(
    comm: &Comm,
    from: impl Into<Source>,
    v: &mut [T],
    op: impl Fn(T, T) -> T,
) -> Result<()> {
    let (theirs, _) = comm.recv::<T>(from, TAG)?;
    assert_eq!(theirs.len(), v.len());
    v.iter_mut().zip(theirs).for_each(|(a, b)| *a = op(*a, b));
    Ok(())
}

// ── values whose sums depend on their order ──

/// Numbers of many magnitudes and both signs.
fn uneven(rank: Rank, i: usize) -> f64 {
    let bits = noise(rank as u64, i as u64);
    let power = (bits % 80) as i32 - 40;
    let sign = if bits >> 63 == 0 { 1.0 } else { -1.0 };
    sign * (1.0 + (bits >> 20) as f64 / 1e13) * 2f64.powi(power)
}

fn of<T>(rank: Rank, length: usize, value: fn(Rank, usize) -> T) -> Vec<T> {
    (0..length).map(|i| value(rank, i)).collect()
}

fn bits(v: &[f64]) -> Vec<u64> {
    v.iter().map(|x| x.to_bits()).collect()
}

/// A reduction that is written out for one topology.
type Form<T> = fn(&Comm, &mut [T], fn(T, T) -> T) -> Result<()>;

/// The topology that it is written out for.
type Tree = fn(usize) -> Topology;

/// For every number of ranks: the results of the form and of the general loop at the root.
fn both<T: Element + PartialEq + std::fmt::Debug>(
    form: Form<T>,
    tree: Tree,
    value: fn(Rank, usize) -> T,
    add: fn(T, T) -> T,
    commutes: bool,
) -> Vec<(Vec<T>, Vec<T>)> {
    let root = |n: usize| {
        let tree = tree(n);
        let mut all = team(n)
            .run(|comm| {
                let mut special = of(comm.rank(), 17, value);
                let mut general = special.clone();
                form(comm, &mut special, add)?;
                if commutes {
                    comm.reduce_over(&tree, &mut general, op::commutative(add))
                        .run()?;
                } else {
                    comm.reduce_over(&tree, &mut general, add).run()?;
                }
                Ok((special, general))
            })
            .unwrap();
        all.swap_remove(0)
    };
    (1..=40).step_by(stride()).map(root).collect()
}

fn chain(n: usize) -> Topology {
    Topology::chain(n)
}

fn tree(n: usize) -> Topology {
    Topology::k_tree(n, 2)
}

#[test]
fn both_forms_leave_the_bits_of_the_general_loop() {
    let forms: [(Form<f64>, Tree); 2] = [
        (|c, v, op| one_ring(c, v, op), chain),
        (|c, v, op| two_tree(c, v, op, Source::Rank), tree),
    ];
    for (form, tree) in forms {
        for (special, general) in both(form, tree, uneven, |a, b| a + b, true) {
            assert_eq!(bits(&special), bits(&general));
        }
    }
}

#[test]
fn the_sums_compared_depend_on_the_topology() {
    let sums = |tree: Tree| {
        let all = both(|_, _, _| Ok(()), tree, uneven, |a, b| a + b, true);
        bits(&all.last().unwrap().1)
    };
    assert_ne!(sums(chain), sums(tree));
}

#[test]
fn both_forms_keep_rank_order() {
    let forms: [(Form<Map>, Tree); 2] = [
        (|c, v, op| one_ring(c, v, op), chain),
        (|c, v, op| two_tree(c, v, op, Source::Rank), tree),
    ];
    for (form, tree) in forms {
        let all = both(form, tree, map, compose, false);
        for (n, (special, general)) in (1..=40).step_by(stride()).zip(all) {
            let in_order = |i| (0..n).map(|rank| map(rank, i)).reduce(compose).unwrap();
            assert_eq!(special, general);
            assert_eq!(special, (0..17).map(in_order).collect::<Vec<_>>());
        }
    }
}

#[test]
fn any_source_is_right_within_one_call() {
    let form: Form<u64> = |c, v, op| two_tree(c, v, op, |_| Source::Any);
    let value = |rank, i| noise(rank as u64, i as u64);
    for (special, general) in both(form, tree, value, u64::wrapping_add, true) {
        assert_eq!(special, general);
    }
}

// ── the case list of the text ──

/// A step, and a rank that sends or receives in it.
type Meeting = (usize, Rank);

/// The predecessors and the successor of rank h among n, as the text's three cases list them.
fn cases(h: Rank, n: usize) -> (Vec<Meeting>, Option<Meeting>) {
    let power = |u: usize| 3usize.pow(u as u32);
    let both = |base: usize, i: usize| {
        let two = [(i, base + power(i)), (i, base + 2 * power(i))];
        two.into_iter().filter(move |&(_, from)| from < n)
    };
    for u in (0..=8).rev() {
        let (rest, v) = (h % power(u + 1), h / power(u + 1));
        if h > 0 && (rest == power(u) || rest == 2 * power(u)) {
            return (
                (0..u).flat_map(|i| both(h, i)).collect(),
                Some((u, power(u + 1) * v)),
            );
        }
        if h == 0 && power(u) < n {
            return (both(0, u).collect(), None);
        }
    }
    (Vec::new(), None)
}

#[test]
fn the_texts_cases_give_every_rank_but_the_root_what_the_topology_gives_it() {
    for n in 1..200 {
        for h in 1..n {
            let tree = tree(n);
            let into: Vec<_> = tree.predecessors(h).map(|t| (t.step, t.from)).collect();
            assert_eq!(cases(h, n), (into, tree.successor(h)), "rank {h} of {n}");
        }
    }
}

#[test]
fn the_texts_third_case_gives_the_root_the_predecessors_of_its_last_step_alone() {
    for n in 1..200 {
        let tree = tree(n);
        let into: Vec<_> = tree.predecessors(0).map(|t| (t.step, t.from)).collect();
        let last = into
            .iter()
            .copied()
            .filter(|&(step, _)| step + 1 == tree.steps());
        assert_eq!(cases(0, n), (last.collect(), None));
        assert_eq!(cases(0, n).0 == into, n < 4);
    }
}

#[test]
fn three_indices_below_n_would_leave_out_a_triple_of_the_papers_example() {
    // The text asks that 3^(k+1) i, 3^(k+1) i + 3^k and 3^(k+1) i + 2 3^k all lie below n.
    let literally = |t: &rankfold::topology::Triple| {
        let power = 3usize.pow(t.step as u32);
        t.to + 2 * power < 8
    };
    let tree = tree(8);
    let lost: Vec<_> = tree
        .triples()
        .filter(|t| !literally(t))
        .map(|t| t.to_string())
        .collect();
    assert_eq!(lost, ["<7,0,6>"]);
}
