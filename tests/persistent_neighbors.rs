//! Persistent collectives among neighbours: every block against a naive oracle, turn after turn.

mod again;
mod support;

use rankfold::{Cartesian, Comm, ErrorKind, Result, World};
use support::neighbors::{Edges, KINDS, case, drawn, make, right};

fn turn_after_turn(comm: &Comm, edges: &Edges) -> Result<()> {
    let graph = make(comm, edges)?;
    let me = comm.rank();
    // The lengths of call 0, whose blocks then differ from turn to turn.
    let cases = KINDS.map(|kind| case(edges, me, kind, (0, 5)));
    let mut calls = Vec::new();
    for one in &cases {
        calls.push(one.describe(&graph)?);
    }
    for turn in 0..6u64 {
        let shifted = |elements: &[u64]| elements.iter().map(|one| one ^ turn).collect::<Vec<_>>();
        for (one, call) in cases.iter().zip(&mut calls) {
            // Both are the buffers that were passed, whatever their lengths.
            call.input_mut()?.copy_from_slice(&shifted(&one.input));
            call.start()?;
            assert!(call.is_active() && call.input_mut().is_err());
        }
        if turn % 3 == 2 {
            graph.barrier()?;
        }
        for (one, call) in cases.iter().zip(&mut calls).rev() {
            while turn % 2 == 1 && !call.test()? {}
            call.wait()?;
            assert_eq!(call.output()?, shifted(&one.right), "{:?}", one.kind);
        }
    }
    Ok(())
}

#[test]
fn persistent_ones_give_what_their_buffers_hold_turn_after_turn() {
    for ranks in (1..=17).chain([33, 64]) {
        let edges = drawn(ranks, ranks as u64 | 9 << 16);
        let world = World::new(ranks).check(ranks % 2 == 0);
        right(world, &|| format!("{ranks} ranks"), |comm| {
            turn_after_turn(comm, &edges)
        });
    }
}

#[test]
fn a_persistent_call_on_a_grid_leaves_missing_blocks_as_they_are() {
    right(World::new(4), &|| "a line".into(), |comm| {
        let line = Cartesian::new(comm, &[4], &[false])?;
        let mut halo = line.neighbor_all_to_all_init(vec![0; 2], vec![99; 2])?;
        for turn in 0..4 {
            let me = line.rank();
            halo.input_mut()?
                .copy_from_slice(&[10 * turn + me, 100 + me]);
            halo.start()?;
            halo.wait()?;
            let below = if me == 0 { 99 } else { 100 + me - 1 };
            let above = if me == 3 { 99 } else { 10 * turn + me + 1 };
            assert_eq!(halo.output()?, [below, above]);
        }
        Ok(())
    });
}

#[test]
fn a_persistent_call_meets_the_plain_one_of_its_neighbour() {
    right(World::new(3), &|| "a ring".into(), |comm| {
        let ring = Cartesian::new(comm, &[3], &[true])?;
        let me = ring.rank();
        let sides = [2, 1].map(|by| (me + by) % 3);
        if me == 1 {
            for _ in 0..3 {
                let got = ring.ineighbor_all_gather(vec![me], vec![9; 2])?;
                assert_eq!(got.wait()?, sides);
            }
            return Ok(());
        }
        let mut all = ring.neighbor_all_gather_init(vec![me], vec![9; 2])?;
        for _ in 0..3 {
            all.start()?;
            let again = all.start().unwrap_err();
            assert!(matches!(again.kind(), ErrorKind::Usage(_)), "{again}");
            all.wait()?;
            assert_eq!(all.output()?, sides);
        }
        Ok(())
    });
}

#[test]
fn all_of_it_holds_over_channels() {
    again::over_channels(&[]);
}
