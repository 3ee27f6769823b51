//! The machine these tests run on: its description, and real pinning.
//!
//! Every pin is made in a separate thread: the thread of a test must keep its affinity.

use std::thread;

use rankfold::machine::{Bind, Cpus, Machine, PinError, pin, place};

fn in_a_thread<R: Send>(f: impl FnOnce() -> R + Send) -> R {
    thread::scope(|s| s.spawn(f).join().unwrap())
}

#[test]
fn here_the_mask_ascends_and_something_is_usable() {
    let cpus = Cpus::here();
    assert!(cpus.mask.is_sorted_by(|a, b| a < b), "{cpus:?}");
    assert!(cpus.quota.is_none_or(|quota| quota > 0.0), "{cpus:?}");
    assert!(cpus.usable() >= 1);
    assert_eq!(cpus.to_string().lines().count(), 1);
}

#[test]
fn usable_is_the_smaller_of_mask_and_whole_quota_and_never_none() {
    let usable = |n: usize, quota| {
        Cpus {
            mask: (0..n).collect(),
            quota,
        }
        .usable()
    };
    assert_eq!(usable(4, None), 4);
    assert_eq!(usable(4, Some(9.0)), 4);
    assert_eq!(usable(4, Some(2.99)), 2);
    assert_eq!(usable(4, Some(0.1)), 1);
    let parallel = thread::available_parallelism().unwrap().get();
    assert_eq!(usable(0, None), parallel);
    assert_eq!(usable(0, Some(1.0)), 1);
}

#[test]
fn cpus_print_in_one_line() {
    let text = |mask: &[usize], quota| {
        Cpus {
            mask: mask.to_vec(),
            quota,
        }
        .to_string()
    };
    assert_eq!(
        text(&[0, 1, 2, 5, 7, 8], None),
        "6 CPUs (0-2,5,7-8), no quota, 6 usable"
    );
    assert_eq!(text(&[3], Some(0.5)), "1 CPU (3), quota 0.50, 1 usable");
    assert_eq!(text(&[], Some(1.0)), "mask unknown, quota 1.00, 1 usable");
}

#[test]
#[cfg(target_os = "linux")]
fn a_thread_can_be_pinned_to_each_cpu_of_the_mask_in_turn() {
    let cpus = Cpus::here();
    in_a_thread(|| {
        for &cpu in &cpus.mask {
            assert_eq!(pin(cpu, &cpus), Ok(()));
            assert_eq!(Cpus::here().mask, [cpu]);
            assert_eq!(
                in_a_thread(|| Cpus::here().mask),
                [cpu],
                "a spawned thread inherits the pin"
            );
        }
    });
    assert_eq!(
        Cpus::here().mask,
        cpus.mask,
        "the other threads are left alone"
    );
}

#[test]
#[cfg(target_os = "linux")]
fn a_placement_can_be_carried_out() {
    let cpus = Cpus::here();
    let ranks = cpus.mask.len();
    let placement = place(ranks, &Bind::Compact, &cpus, true).unwrap();
    thread::scope(|s| {
        for cpu in placement.cpu.iter().flatten() {
            s.spawn(|| assert_eq!(pin(*cpu, &cpus), Ok(())));
        }
    });
    assert_eq!(placement.distinct_cpus(), Some(ranks));
}

#[test]
fn a_cpu_outside_the_mask_is_refused_even_where_it_exists() {
    let mut cpus = Cpus::here();
    let left_out = cpus.mask.pop().unwrap_or(0);
    let before = Cpus::here().mask;
    in_a_thread(|| {
        let mask = cpus.mask.clone();
        assert_eq!(
            pin(left_out, &cpus),
            Err(PinError::OutsideMask {
                cpu: left_out,
                mask
            })
        );
        assert_eq!(Cpus::here().mask, before);
    });
}

#[test]
fn numbers_that_no_mask_can_hold_are_refused_and_do_not_abort() {
    for cpu in [1024, 1025, 65_536, usize::MAX] {
        // Even where the caller claims that it exists.
        let cpus = Cpus {
            mask: vec![cpu],
            quota: None,
        };
        assert_eq!(
            in_a_thread(|| pin(cpu, &cpus)),
            Err(PinError::TooLarge { cpu })
        );
        assert_eq!(
            in_a_thread(|| pin(cpu, &Cpus::here())),
            Err(PinError::TooLarge { cpu })
        );
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_cpu_that_does_not_exist_is_refused_by_the_system() {
    let cpus = Cpus {
        mask: vec![1023],
        quota: None,
    };
    if Cpus::here().mask.contains(&1023) {
        return;
    }
    let before = Cpus::here().mask;
    in_a_thread(|| {
        assert_eq!(pin(1023, &cpus), Err(PinError::Refused { cpu: 1023 }));
        assert_eq!(Cpus::here().mask, before);
    });
}

#[test]
fn pin_errors_say_which_cpu() {
    let text = |error: PinError| error.to_string();
    assert_eq!(
        text(PinError::TooLarge { cpu: 2000 }),
        "cannot pin to CPU 2000: the last possible is 1023"
    );
    let mask = vec![0, 1, 4];
    assert_eq!(
        text(PinError::OutsideMask {
            cpu: 3,
            mask: mask.clone()
        }),
        "cannot pin to CPU 3: the mask is 0-1,4"
    );
    assert_eq!(
        text(PinError::Refused { cpu: 3 }),
        "cannot pin to CPU 3: the system refused"
    );
    assert_eq!(
        text(PinError::Ignored { cpu: 3, mask }),
        "pinned to CPU 3, but the mask is 0-1,4"
    );
    assert_eq!(
        text(PinError::Unsupported),
        "threads cannot be pinned on this system"
    );
}

#[test]
fn texts_of_too_many_levels_inside_each_other_are_refused() {
    let levels = |count| {
        let machine = Machine::from_text(&"l1:1 ".repeat(count));
        machine.map(|machine| machine.usable.mask.len())
    };
    assert_eq!(levels(32), Ok(1));
    for count in [33, 100_000] {
        let error = levels(count).unwrap_err().to_string();
        assert_eq!(error, "`l1:1`: more than 32 levels inside each other");
    }
}
