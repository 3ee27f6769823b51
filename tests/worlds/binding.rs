//! Which CPUs the ranks are bound to, and what the report says of it.

use std::sync::atomic::{AtomicUsize, Ordering};

use rankfold::machine::{Cpus, Unpinned};
use rankfold::{Bind, Comm, World, WorldError};

use crate::common;

/// Returns the CPUs that each rank's thread may use, and the placement.
fn masks(world: &World) -> (Vec<Vec<usize>>, rankfold::machine::Placement) {
    let report = world.run_each(|_| Ok(Cpus::here().mask));
    let masks = common::values(&report).into_iter().cloned().collect();
    (masks, report.placement.clone())
}

#[test]
fn unpinned_ranks_may_use_every_cpu_and_the_report_says_why() {
    let (masks, placement) = masks(&World::new(3).bind(Bind::None));
    let here = Cpus::here().mask;
    assert!(masks.iter().all(|mask| *mask == here));
    assert_eq!(
        (placement.cpu, placement.why_unpinned),
        (vec![None; 3], Some(Unpinned::NotAsked))
    );
}

#[test]
fn automatic_binding_pins_or_says_why_not() {
    let (masks, placement) = masks(&World::new(1));
    match (placement.cpu[0], &placement.why_unpinned) {
        (Some(cpu), None) => assert_eq!(masks, [[cpu]]),
        (None, Some(_)) => assert_eq!(masks, [Cpus::here().mask]),
        _ => panic!("{placement:?}"),
    }
}

#[test]
fn ranks_are_pinned_to_the_cpus_that_were_asked_for() {
    let here = Cpus::here().mask;
    let Some(&last) = here.last() else { return };
    let (seen, placement) = masks(&World::new(3).bind(Bind::Cpus(vec![last])));
    assert_eq!(
        (seen, placement.cpu),
        (vec![vec![last]; 3], vec![Some(last); 3])
    );
    let (seen, placement) = masks(&World::new(here.len()).bind(Bind::Compact));
    assert_eq!(seen, here.iter().map(|&cpu| vec![cpu]).collect::<Vec<_>>());
    assert_eq!(
        (
            placement.cpu.into_iter().flatten().collect::<Vec<_>>(),
            placement.why_unpinned
        ),
        (here.clone(), None)
    );
    // The caller's own thread has its affinity back.
    assert_eq!(Cpus::here().mask, here);
}

#[test]
fn more_ranks_than_cpus_are_not_pinned_one_by_one() {
    let ranks = Cpus::here().mask.len() + 1;
    let (_, placement) = masks(&World::new(ranks).bind(Bind::Compact));
    assert_eq!(placement.cpu, vec![None; ranks]);
    assert!(matches!(
        placement.why_unpinned,
        Some(Unpinned::Crowded { .. } | Unpinned::MaskUnknown)
    ));
}

#[test]
fn a_binding_to_a_cpu_that_is_not_there_is_refused_before_anything_runs() {
    let ran = AtomicUsize::new(0);
    for list in [
        vec![],
        vec![100_000],
        vec![Cpus::here().mask[0], usize::MAX],
    ] {
        let world = World::new(2).bind(Bind::Cpus(list));
        let count = |_: &Comm| {
            ran.fetch_add(1, Ordering::Relaxed);
            Ok(())
        };
        assert!(
            matches!(world.run(count), Err(WorldError::Usage(what)) if what.contains("cannot bind"))
        );
        assert!(matches!(world.start(), Err(WorldError::Usage(_))));
        assert!(world.seats().is_ok()); // seats are never pinned
    }
    assert_eq!(ran.into_inner(), 0);
}
