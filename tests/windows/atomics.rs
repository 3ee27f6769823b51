//! Atomic elements: exact totals, all operations and all types.

use std::fmt::Debug;

use rankfold::window::AtomicElement;
use rankfold::{AtomicWindow, World, op};

use super::SIZES;
use crate::common::scaled;
use crate::support::guarded;

#[test]
fn atomic_totals_are_exact() {
    for ranks in SIZES {
        let each = scaled(400) / ranks + 1;
        let case = || format!("{ranks} ranks");
        let results = guarded(&case, || {
            World::new(ranks).run(|comm| {
                let win = AtomicWindow::new(comm, vec![0u32; 3])?;
                let mut before = Vec::new();
                for turn in 0..each {
                    let target = (comm.rank() + turn) % comm.size();
                    win.accumulate(target, 0, &[1, 2], op::Sum)?;
                    before.push(win.fetch_and_op(0, 2, 1, op::Sum)?);
                    let mut now = win.get(target, 1)?;
                    loop {
                        let found = win.compare_and_swap(target, 1, now, now + 1)?;
                        if found == now {
                            break;
                        }
                        now = found;
                    }
                }
                win.fence()?;
                let mut sums = [0; 3];
                for target in 0..comm.size() {
                    let mut part = [0; 3];
                    win.get_into(target, 0, &mut part)?;
                    sums.iter_mut().zip(part).for_each(|(sum, e)| *sum += e);
                }
                Ok((before, sums))
            })
        });
        let (before, sums): (Vec<_>, Vec<_>) = results.unwrap().into_iter().unzip();
        let all = (ranks * each) as u32;
        assert_eq!(sums, vec![[all, 3 * all, all]; ranks], "{ranks} ranks");
        let mut before = before.concat();
        before.sort_unstable();
        assert!(before.into_iter().eq(0..all), "{ranks} ranks");
    }
}

fn all_operations<T: AtomicElement + PartialEq + Debug>(low: T, high: T) {
    let results = World::new(3).run(|comm| {
        let win = AtomicWindow::new(comm, vec![low; 2 + comm.rank()])?;
        assert_eq!((win.len(2), win.rank(), win.size()), (4, comm.rank(), 3));
        win.fence()?;
        if comm.rank() == 1 {
            win.put(2, 1, &[high, high, low])?;
            assert_eq!(win.compare_and_swap(2, 0, high, high)?, low);
            assert_eq!(win.compare_and_swap(2, 0, low, high)?, low);
            let mut before = [low; 2];
            win.get_accumulate(2, 2, &[low, high], &mut before, |_, new| new)?;
            assert_eq!(before, [high, low]);
            assert_eq!(win.fetch_and_op(2, 1, low, op::First)?, high);
        }
        win.fence()?;
        let mut all = [low; 4];
        win.get_into(2, 0, &mut all)?;
        assert_eq!(win.get(0, 1)?, low);
        Ok(all)
    });
    assert_eq!(results.unwrap(), [[high, high, low, high]; 3]);
}

#[test]
fn every_type_of_atomics_has_all_operations() {
    all_operations(0u8, u8::MAX);
    all_operations(1u16, u16::MAX);
    all_operations(2u32, u32::MAX);
    all_operations(3u64, u64::MAX);
    all_operations(4usize, usize::MAX);
    all_operations(i8::MIN, i8::MAX);
    all_operations(i16::MIN, i16::MAX);
    all_operations(i32::MIN, i32::MAX);
    all_operations(i64::MIN, i64::MAX);
    all_operations(isize::MIN, isize::MAX);
    all_operations(false, true);
    all_operations(-0.5f32, f32::INFINITY);
    all_operations(f64::MIN, 1e300);
}

#[test]
fn a_number_announces_what_was_written_before_it() {
    let report = guarded(&|| "flag".into(), || {
        World::new(4).run(|comm| {
            let (data, flag) = (
                AtomicWindow::new(comm, vec![0u64; 50])?,
                AtomicWindow::new(comm, vec![false])?,
            );
            for round in 1..=scaled(50) as u64 {
                if comm.rank() == 0 {
                    for target in 1..comm.size() {
                        data.put(target, 0, &[round; 50])?;
                        flag.put(target, 0, &[true])?;
                    }
                } else {
                    while !flag.get(comm.rank(), 0)? {
                        std::thread::yield_now();
                    }
                    let mut got = [0; 50];
                    data.get_into(comm.rank(), 0, &mut got)?;
                    assert_eq!(got, [round; 50]);
                    flag.put(comm.rank(), 0, &[false])?;
                }
                data.fence()?;
            }
            Ok(())
        })
    });
    report.unwrap();
}
