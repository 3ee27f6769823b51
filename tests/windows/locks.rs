//! Locks: mutual exclusion, and what they let others see.

use rankfold::World;

use super::SIZES;
use crate::common::{TOKEN, await_signal, scaled, signal};
use crate::support::guarded;

#[test]
fn an_exclusive_lock_keeps_all_others_out() {
    let each = scaled(300);
    for ranks in SIZES {
        let each = each / ranks + 2;
        let case = || format!("{ranks} ranks");
        let sums = guarded(&case, || {
            World::new(ranks).run(|comm| {
                // Two numbers that are the same whenever no rank writes between them.
                let win = comm.window(vec![0u64; 2])?;
                for turn in 0..each {
                    let target = turn % comm.size();
                    if turn % 3 == 0 {
                        let part = win.lock_shared(target)?;
                        assert_eq!(part[0], part[1]);
                    }
                    let mut part = win.lock_exclusive(target)?;
                    part[0] += 1;
                    std::hint::black_box(&mut part);
                    part[1] += 1;
                    assert_eq!(part[0], part[1]);
                }
                comm.barrier()?;
                let all = win.lock_all()?;
                Ok(all.iter().map(|part| part[0]).sum::<u64>())
            })
        });
        assert_eq!(sums.unwrap(), vec![(ranks * each) as u64; ranks]);
    }
}

#[test]
fn readers_hold_one_part_at_the_same_time() {
    let report = guarded(&|| "readers".into(), || {
        World::new(5).run(|comm| {
            let win = comm.window(vec![comm.rank(); 3])?;
            let part = win.lock_shared(2)?;
            // All ranks hold it here.
            comm.barrier()?;
            assert_eq!(*part, [2; 3]);
            comm.barrier()
        })
    });
    report.unwrap();
}

#[test]
fn a_writer_gets_the_lock_between_readers_that_never_stop_reading() {
    let report = guarded(&|| "readers that poll".into(), || {
        World::new(6).run(|comm| {
            let win = comm.window(vec![0u32])?;
            if comm.rank() == 1 {
                win.lock_exclusive(0)?[0] = 7;
                return Ok(());
            }
            while win.lock_shared(0)?[0] == 0 {}
            Ok(())
        })
    });
    report.unwrap();
}

#[test]
fn a_part_can_be_read_after_its_rank_has_ended() {
    let report = guarded(&|| "a part outlives its rank".into(), || {
        World::new(3).run(|comm| {
            let win = comm.window(vec![comm.rank() as u8 + 1; 1000])?;
            if comm.rank() == 1 {
                drop(win);
                return Ok(0);
            }
            comm.probe(1, TOKEN)
                .expect_err("it sends nothing, and ends");
            let part = win.lock_shared(1)?;
            Ok(part.iter().map(|e| u32::from(*e)).sum())
        })
    });
    assert_eq!(report.unwrap(), [2000, 0, 2000]);
}

#[test]
fn a_lock_passes_messages_written_before_it_is_given_up() {
    let report = guarded(&|| "locks and messages".into(), || {
        World::new(2).run(|comm| {
            let win = comm.window(vec![0; 4])?;
            if comm.rank() == 0 {
                let mut part = win.lock_exclusive(1)?;
                signal(comm, 1)?;
                part.fill(5);
                return Ok(());
            }
            await_signal(comm, 0)?;
            // Rank 0 has it, or has filled it.
            assert_eq!(*win.lock_shared(1)?, [5; 4]);
            Ok(())
        })
    });
    report.unwrap();
}
