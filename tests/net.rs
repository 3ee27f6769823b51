//! The net under tests that may hang reports a hang when nothing in a process can move, and for no other reason.

mod support;

use support::net::{Net, Sight, Task, task};

/// Returns a look that finds threads in these states, with these numbers of switches.
fn seen(threads: &[(char, u64)], busy: f64) -> Sight {
    let task = |(id, &(state, switches)): (usize, &(char, u64))| Task {
        id: id as u32,
        name: format!("rank-{id}"),
        state,
        switches,
    };
    Sight {
        tasks: Some(threads.iter().enumerate().map(task).collect()),
        busy,
    }
}

/// Returns how many of a thousand looks pass before a hang is found.
fn found_after(mut sight: impl FnMut(u64) -> Sight) -> Option<u64> {
    let mut net = Net::new(1.0);
    (0..1000).find(|&look| net.look(sight(look)).is_some())
}

#[test]
fn threads_that_all_sleep_where_they_slept_hang() {
    let found = found_after(|_| seen(&[('S', 7), ('S', 9)], 1.0));
    assert_eq!(found, Some(60));
}

#[test]
fn a_thread_that_waits_for_a_cpu_is_only_slow() {
    assert_eq!(found_after(|_| seen(&[('S', 7), ('R', 9)], 1.0)), None);
}

#[test]
fn a_thread_that_ran_between_two_looks_is_only_slow() {
    let found = found_after(|look| seen(&[('S', 7), ('S', look / 50)], 1.0));
    assert_eq!(found, None);
}

#[test]
fn a_thread_that_came_or_went_between_two_looks_is_only_slow() {
    let found = found_after(|look| match look / 50 % 2 {
        0 => seen(&[('S', 7)], 1.0),
        _ => seen(&[('S', 7), ('S', 1)], 1.0),
    });
    assert_eq!(found, None);
}

#[test]
fn threads_that_run_without_end_hang_by_their_own_time_and_not_by_that_on_the_wall() {
    let alone = found_after(|look| seen(&[('R', look)], 3.0 + 2.0 * look as f64));
    assert_eq!(alone, Some(301));
    let beside_others = found_after(|look| seen(&[('R', look)], 3.0 + 0.1 * look as f64));
    assert_eq!(beside_others, None);
}

#[test]
fn where_the_system_does_not_tell_the_number_of_looks_decides() {
    assert_eq!(found_after(|_| Sight::default()), None);
    let mut net = Net::new(1.0);
    let found = (0..).find(|_| net.look(Sight::default()).is_some());
    assert_eq!(found, Some(1800));
}

#[test]
fn a_thread_is_read_from_what_the_system_says_of_it() {
    let status = "Name:\trank-3\nUmask:\t0022\nState:\tS (sleeping)\nTgid:\t7\n\
                  voluntary_ctxt_switches:\t40\nnonvoluntary_ctxt_switches:\t2\n";
    let expected = Task {
        id: 12,
        name: "rank-3".into(),
        state: 'S',
        switches: 42,
    };
    assert_eq!(task(12, status), Some(expected));
    assert_eq!(task(12, "Name:\trank-3\n"), None);
}
