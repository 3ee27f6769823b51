//! Parts, buffers and elements that do not fit.

use std::cell::RefCell;
use std::mem;

use rankfold::partitioned::{RecvParts, SendParts};
use rankfold::{Buffering, Comm, ErrorKind, Report, Result, World};

use super::run;
use crate::common::assert_usage;
use crate::support::guarded;

#[test]
fn parts_and_states_that_do_not_exist_are_refused_with_the_reason() {
    let report = run("wrong calls", 1, |comm| {
        ends_that_do_not_exist_are_refused(comm);
        states_that_do_not_exist_are_refused(comm)
    });
    report.into_result().unwrap();
}

fn ends_that_do_not_exist_are_refused(comm: &Comm) {
    assert_usage(
        SendParts::new(comm, 1, 0, 1, vec![0]),
        "the receiver 1 is not one of the 1 ranks",
    );
    assert_usage(
        RecvParts::new(comm, 1, 0, 1, vec![0]),
        "the sender 1 is not one of the 1 ranks",
    );
    assert_usage(
        SendParts::new(comm, 0, 0, 0, vec![0]),
        "1 to 1048576 parts, and not 0",
    );
    assert_usage(
        RecvParts::new(comm, 0, 0, 1 << 21, vec![0; 1 << 21]),
        "and not 2097152",
    );
    assert_usage(
        RecvParts::new(comm, 0, 0, 2, vec![0; 3]),
        "3 elements are not 2 parts of the same length",
    );
}

fn states_that_do_not_exist_are_refused(comm: &Comm) -> Result<()> {
    let mut sent = SendParts::new(comm, 0, 0, 2, vec![5, 6])?;
    let mut received = RecvParts::new(comm, 0, 0, 2, vec![0; 2])?;
    assert_usage(sent.ready(0), "it is not active: start it first");
    assert_usage(sent.split().map(drop), "it is not active: start it first");
    assert_usage(received.arrived(0), "it is not active: start it first");
    assert_usage(received.elements(), "it is not active: start it first");
    assert_usage(received.part(0), "part 0 has not arrived");
    sent.start()?;
    received.start()?;
    assert_usage(sent.start(), "it is active: wait for it first");
    assert_usage(received.start(), "it is active: wait for it first");
    assert_usage(received.elements(), "it is active: wait for it first");
    assert_usage(sent.ready(2), "part 2 is not one of the 2 parts");
    assert_usage(received.arrived(2), "part 2 is not one of the 2 parts");
    assert_usage(received.part(2), "part 2 is not one of the 2 parts");
    sent.ready(1)?;
    assert_usage(sent.ready(1), "part 1 is ready already");
    assert_usage(sent.part_mut(1), "part 1 is ready already");
    sent.ready(0)?;
    sent.wait()?;
    sent.part_mut(1)?[0] = 9; // it is inactive
    received.wait()?;
    assert_eq!(received.elements()?, [5, 6]);
    Ok(())
}

/// A rank that sends itself parts in this order: the numbers of parts and of elements at either end.
fn differing(out: (usize, usize), into: (usize, usize), order: &[usize]) -> Report<()> {
    run("ends that differ", 1, |comm| {
        let mut sent = SendParts::new(comm, 0, 0, out.0, vec![0_u8; out.1])?;
        let mut received = RecvParts::new(comm, 0, 0, into.0, vec![0_u8; into.1])?;
        sent.start()?;
        order.iter().try_for_each(|part| sent.ready(*part))?;
        sent.wait()?;
        received.start()?;
        received.wait()
    })
}

#[test]
fn a_part_outside_of_the_buffer_is_refused_and_one_that_is_not_wanted_any_more_is_reported() {
    let report = differing((2, 8), (2, 4), &[1, 0]);
    let error = report.outcomes[0].error().unwrap();
    assert!(matches!(error.kind(), ErrorKind::Usage(_)), "{error}");
    let says = "the sender's part 1 of 4 elements is not in the message, which has 4 here";
    assert!(error.to_string().contains(says), "{error}");
    assert_eq!(report.lost.len(), 2, "{report:?}");
    // The first part fills the buffer.
    let report = differing((2, 8), (2, 4), &[0, 1]);
    assert!(report.outcomes[0].value().is_some(), "{report:?}");
    assert_eq!(report.lost.len(), 1, "{report:?}");
}

#[test]
fn a_message_shorter_than_the_buffer_is_waited_for_in_vain() {
    let report = differing((2, 4), (2, 8), &[0, 1]);
    assert_eq!(report.deadlocks[0].cycle, [0], "{report:?}");
}

#[test]
fn elements_of_another_type_are_refused_and_stay() {
    let report = run("types", 1, |comm| {
        let mut sent = SendParts::new(comm, 0, 0, 1, vec![1_u8])?;
        sent.start()?;
        sent.ready(0)?;
        sent.wait()?;
        let mut wrong = RecvParts::new(comm, 0, 0, 1, vec![1_i8])?;
        wrong.start()?;
        for _ in 0..2 {
            let error = wrong.wait().unwrap_err();
            assert!(
                matches!(error.kind(), ErrorKind::WrongType { .. }),
                "{error}"
            );
            assert!(wrong.arrived(0).is_err());
        }
        let mut received = RecvParts::new(comm, 0, 0, 1, vec![0_u8])?;
        received.start()?;
        received.wait()?;
        assert_eq!(received.elements()?, [1]);
        Ok(())
    });
    report.into_result().unwrap();
}

#[test]
fn parts_of_two_messages_with_one_tag_are_not_mixed() {
    let report = run("two with one tag", 1, |comm| {
        let mut one = SendParts::new(comm, 0, 0, 2, vec![1, 1])?;
        let mut two = SendParts::new(comm, 0, 0, 2, vec![2, 2])?;
        let mut other = SendParts::new(comm, 0, 1, 2, vec![3, 3])?;
        one.start()?;
        two.start()?;
        other.start()?;
        one.ready(0)?;
        assert_usage(
            two.ready(1),
            "parts of another message to this rank with this tag have left, and not all",
        );
        other.ready(0)?;
        one.ready(1)?;
        two.ready(1)?;
        two.ready(0)?;
        other.ready(1)?;
        for (tag, want) in [(0, 1), (0, 2), (1, 3)] {
            let mut received = RecvParts::new(comm, 0, tag, 2, vec![0; 2])?;
            received.start()?;
            received.wait()?;
            assert_eq!(received.elements()?, [want, want]);
        }
        Ok(())
    });
    report.into_result().unwrap();
}

/// Sends a message of one element a part, all of it.
fn send_whole(comm: &Comm, data: &[i32]) -> Result<()> {
    let mut sent = SendParts::new(comm, 0, 0, data.len(), data.to_vec())?;
    sent.start()?;
    (0..data.len()).try_for_each(|part| sent.ready(part))?;
    sent.wait()
}

/// Starts another message as often as a number in the label of a part could not count.
fn start_others(comm: &Comm) -> Result<()> {
    let mut others = SendParts::new(comm, 0, 1, 1, vec![0])?;
    let mut taken = RecvParts::new(comm, 0, 1, 1, vec![0])?;
    for _ in 0..(1 << 12) - 1 {
        others.start()?;
        taken.start()?;
        others.ready(0)?;
        others.wait()?;
        taken.wait()?;
    }
    Ok(())
}

#[test]
fn elements_too_many_do_not_become_part_of_another_message_however_many_lie_between() {
    let report = run("left over", 1, |comm| {
        send_whole(comm, &[1; 3])?;
        let mut received = RecvParts::new(comm, 0, 0, 2, vec![0; 2])?;
        received.start()?;
        received.wait()?;
        start_others(comm)?;
        send_whole(comm, &[3; 2])?;
        // What was left over comes first, and is passed over.
        let mut received = RecvParts::new(comm, 0, 0, 2, vec![0; 2])?;
        received.start()?;
        received.wait()?;
        assert_eq!(received.elements()?, [3, 3]);
        Ok(())
    });
    assert_eq!(report.lost.len(), 1, "{report:?}");
    report.into_result().unwrap();
}

#[test]
fn a_message_that_was_dropped_half_sent_does_not_become_part_of_the_next() {
    let report = run("dropped half sent", 1, |comm| {
        let mut sent = SendParts::new(comm, 0, 0, 2, vec![1, 1])?;
        sent.start()?;
        sent.ready(1)?;
        drop(sent);
        start_others(comm)?;
        send_whole(comm, &[2; 2])?;
        let mut received = RecvParts::new(comm, 0, 0, 2, vec![0; 2])?;
        received.start()?;
        assert_usage(
            received.wait(),
            "another start of the sender than the parts before it, and 1 of 2 elements are",
        );
        // Given up, and begun anew.
        let mut received = RecvParts::new(comm, 0, 0, 2, vec![0; 2])?;
        received.start()?;
        received.wait()?;
        assert_eq!(received.elements()?, [2, 2]);
        Ok(())
    });
    report.into_result().unwrap();
}

#[test]
fn the_rest_of_a_message_whose_receive_was_given_up_does_not_become_part_of_the_next() {
    let report = run("given up half received", 2, |comm| {
        if comm.rank() == 0 {
            let mut sent = SendParts::new(comm, 1, 0, 3, vec![1_u64; 12])?;
            sent.start()?;
            [1, 0, 2]
                .into_iter()
                .try_for_each(|part| sent.ready(part))?;
            sent.wait()?;
            let mut sent = SendParts::new(comm, 1, 0, 1, vec![2_u64; 4])?;
            sent.start()?;
            sent.ready(0)?;
            return sent.wait();
        }
        let mut received = RecvParts::new(comm, 0, 0, 3, vec![0_u64; 12])?;
        received.start()?;
        while !received.arrived(1)? {}
        drop(received);
        let mut received = RecvParts::new(comm, 0, 0, 1, vec![0_u64; 4])?;
        received.start()?;
        received.wait()?;
        assert_eq!(received.elements()?, [2; 4]);
        Ok(())
    });
    assert!(report.outcomes[1].value().is_some(), "{report:?}");
    assert_eq!(report.lost.len(), 2, "{report:?}");
}

#[test]
fn calls_inside_an_operator_are_refused() {
    let report = run("inside an operator", 2, |comm| {
        let mut received = RecvParts::new(comm, comm.rank(), 0, 1, vec![0])?;
        received.start()?;
        let received = std::cell::RefCell::new(received);
        let mut v = [1];
        comm.all_reduce(&mut v, |a: i32, b: i32| {
            assert_usage(
                received.borrow_mut().arrived(0),
                "may not call a communicator",
            );
            a + b
        })?;
        assert_eq!(v, [2]);
        Ok(())
    });
    report.into_result().unwrap();
}

/// Parts for which there was no room are still there after a test that was refused.
#[test]
fn a_test_that_is_refused_retracts_no_part() {
    let sends = |comm: &Comm| {
        let mut sent = SendParts::new(comm, 1, 0, 2, vec![7; 2])?;
        sent.start()?;
        sent.ready(1)?;
        sent.ready(0)?;
        let sent = RefCell::new(sent);
        let asks = comm.irecv::<u8>(1, 5)?;
        let asks = asks.map(|_| assert_usage(sent.borrow_mut().test(), "may not call"));
        asks.wait()?;
        let mut sent = sent.into_inner();
        assert!(!sent.test()?);
        comm.send(1, 6, &[0_u8])?;
        while !sent.test()? {}
        Ok(())
    };
    let receives = |comm: &Comm| {
        comm.send(0, 5, &[0_u8])?;
        comm.recv::<u8>(0, 6)?;
        let mut received = RecvParts::new(comm, 0, 0, 2, vec![0; 2])?;
        received.start()?;
        received.wait()?;
        assert_eq!(received.elements()?, [7, 7]);
        Ok(())
    };
    let report = guarded(&|| "a test is refused".into(), || {
        World::new(2)
            .buffering(Buffering::Zero)
            .run_each(|comm| match comm.rank() {
                0 => sends(comm),
                _ => receives(comm),
            })
    });
    report.into_result().unwrap();
}

#[test]
fn a_message_that_one_receive_has_begun_does_not_go_on_in_another() {
    let report = run("two receives of one tag", 2, |comm| {
        if comm.rank() == 0 {
            [[1, 2], [3, 4]]
                .into_iter()
                .try_for_each(|pair| send_pair(comm, pair))?;
            return comm.send(1, 1, &[0_u8]);
        }
        let mut first = RecvParts::new(comm, 0, 0, 2, vec![0; 2])?;
        let mut second = RecvParts::new(comm, 0, 0, 2, vec![0; 2])?;
        first.start()?;
        second.start()?;
        while !first.arrived(0)? {}
        // Until the other part is there.
        comm.recv::<u8>(0, 1)?;
        let says = "another receive with this sender and tag has accepted parts";
        assert_usage(second.arrived(0), says);
        assert_usage(second.test(), says);
        assert_usage(second.wait(), says);
        first.wait()?;
        second.wait()?;
        assert_eq!(
            (first.elements()?, second.elements()?),
            (&[1, 2][..], &[3, 4][..])
        );
        Ok(())
    });
    report.into_result().unwrap();
}

/// A receive that was forgotten cannot be told from one that goes on: who polls for its rest is told so at once.
#[test]
fn the_rest_of_a_message_whose_receive_was_forgotten_is_refused_and_not_polled_for_in_vain() {
    let report = run("a receive is forgotten", 2, |comm| {
        if comm.rank() == 0 {
            return send_pair(comm, [1, 2]);
        }
        let mut first = RecvParts::new(comm, 0, 0, 2, vec![0; 2])?;
        first.start()?;
        while !first.arrived(0)? {}
        mem::forget(first);
        let mut second = RecvParts::new(comm, 0, 0, 2, vec![0; 2])?;
        second.start()?;
        let refused = loop {
            match second.test() {
                Ok(done) => assert!(!done),
                Err(error) => break Err(error),
            }
        };
        let says = "another receive with this sender and tag has accepted parts";
        assert_usage::<()>(refused, says);
        assert_usage(second.arrived(1), says);
        Ok(())
    });
    assert!(report.outcomes[1].value().is_some(), "{report:?}");
}

fn send_pair(comm: &Comm, pair: [i32; 2]) -> Result<()> {
    let mut sent = SendParts::new(comm, 1, 0, 2, pair.to_vec())?;
    sent.start()?;
    sent.ready(0)?;
    sent.ready(1)?;
    sent.wait()
}
