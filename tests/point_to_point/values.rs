//! Values that are moved, and dropped once.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rankfold::{ErrorKind, Source, Tag, World};

use crate::common;
use crate::common::{await_signal, signal};

/// A value that counts how often it was dropped.
struct Counted(Arc<AtomicUsize>, usize);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn values_arrive_without_a_copy() {
    World::new(2)
        .strict()
        .run(|comm| {
            if comm.rank() == 0 {
                let (boxed, many) = (
                    Box::new([7u8; 100]),
                    vec![String::from("a"), String::from("b")],
                );
                let places = (boxed.as_ptr().addr(), many.as_ptr().addr());
                comm.send_value(1, 1, places)?;
                comm.send_value(1, 2, boxed)?;
                comm.send_value(1, 3, many)?;
                return comm.send_value(
                    1,
                    4,
                    Box::new(|x: u8| x + 1) as Box<dyn Fn(u8) -> u8 + Send>,
                );
            }
            let (places, status) = comm.recv_value::<(usize, usize)>(0, 1)?;
            assert_eq!(status.count, 1);
            let (boxed, _) = comm.recv_value::<Box<[u8; 100]>>(0, Tag::Any)?;
            let (many, _) = comm.recv_value::<Vec<String>>(Source::Any, 3)?;
            assert_eq!(places, (boxed.as_ptr().addr(), many.as_ptr().addr()));
            let (add, _) = comm.recv_value::<Box<dyn Fn(u8) -> u8 + Send>>(0, 4)?;
            assert_eq!((many.join(""), add(1)), ("ab".into(), 2));
            Ok(())
        })
        .unwrap();
}

#[test]
fn every_value_is_dropped_once_whatever_becomes_of_it() {
    let drops: Vec<_> = (0..6).map(|_| Arc::new(AtomicUsize::new(0))).collect();
    let value = |i: usize| Counted(drops[i].clone(), i);
    let report = World::new(2).run_each(|comm| {
        if comm.rank() == 0 {
            (0..5).try_for_each(|i| comm.send_value(1, i as u32, value(i)))?;
            signal(comm, 1)?;
            let error = comm.recv::<u8>(1, 0).unwrap_err(); // rank 1 has ended
            assert!(matches!(error.kind(), ErrorKind::RankGone { rank: 1, .. }));
            comm.send_value(1, 5, value(5))?; // no rank will ever receive it
            return Ok(0);
        }
        let (received, _) = comm.recv_value::<Counted>(0, 0)?;
        comm.discard(0, 1)?;
        assert!(comm.recv_value::<String>(0, 2).is_err());
        assert!(comm.recv::<u8>(0, 2).is_err());
        assert_eq!(drops[2].load(Ordering::Relaxed), 0); // refused, and still queued
        comm.recv_value::<Counted>(0, 2)?;
        await_signal(comm, 0)?; // 3 and 4 have arrived before it
        Ok(received.1)
    });
    assert_eq!(common::values(&report), [&0, &0]);
    let counts: Vec<_> = drops
        .iter()
        .map(|drops| drops.load(Ordering::Relaxed))
        .collect();
    assert_eq!(counts, [1; 6]);
    // The last one may be counted before those that its receiver leaves behind as it ends.
    let mut lost: Vec<_> = report.lost.iter().map(|lost| lost.tag).collect();
    lost.sort_unstable();
    assert_eq!(lost, [3, 4, 5], "{:?}", report.lost);
}

#[test]
fn values_left_over_are_dropped_with_their_world_also_on_seats() {
    let drops = Arc::new(AtomicUsize::new(0));
    let seats = World::connect(2);
    std::thread::scope(|scope| {
        for seat in seats {
            let drops = drops.clone();
            scope.spawn(move || {
                let comm = seat.enter();
                let peer = 1 - comm.rank();
                for tag in 0..3 {
                    comm.send_value(peer, tag, Counted(drops.clone(), 0))
                        .unwrap();
                }
                comm.recv_value::<Counted>(peer, 1).unwrap(); // 0 is set aside, 2 may not have arrived
                comm.barrier().unwrap();
            });
        }
    });
    assert_eq!(drops.load(Ordering::Relaxed), 6);
}
