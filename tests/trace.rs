//! Traces: every message with both ends, consistent times, and the output formats.

mod again;
mod page;
mod support;

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use proptest::prelude::*;
use rankfold::collective::Algorithm;
use rankfold::topology::TreeName;
use rankfold::{Comm, Rank, Report, Result, Source, Tag, Trace, World, op};
use serde_json::Value;
use support::random::{Calls, Kinds};
use support::random_draft::draw;

/// Returns the trace of a right program.
fn traced(ranks: usize, program: impl Fn(&Comm) -> Result<()> + Sync) -> Trace {
    let report = World::new(ranks).trace(true).run_each(program);
    let trace = report.trace().expect("it was traced");
    report.into_result().expect("the program is right");
    trace
}

/// Checks what holds for the trace of every right program.
fn holds_together(trace: &Trace) {
    for message in &trace.messages {
        let received = message.received.expect("every message is received");
        assert!(
            message.sent <= received,
            "{message:?} is received before it is sent"
        );
        let sender = &trace.calls[message.sent_in];
        let receiver = &trace.calls[message.received_in.expect("by a call")];
        assert_eq!((sender.rank, receiver.rank), (message.from, message.to));
        assert!(sender.begin <= message.sent && Some(message.sent) <= sender.end);
        assert!(receiver.begin <= received && Some(received) <= receiver.end);
    }
    for rank in 0..trace.ranks {
        let calls = trace.calls.iter().filter(|call| call.rank == rank);
        let mut time = Duration::ZERO;
        for call in calls {
            assert!(time <= call.begin, "time goes backwards in rank {rank}");
            time = call.end.expect("every call is over");
            assert!(call.begin <= time && !call.failed);
        }
        let sent = trace.messages.iter().filter(|message| message.from == rank);
        assert!(sent.map(|message| message.sent).is_sorted());
    }
}

#[test]
fn a_message_has_both_ends_a_tag_and_its_length() {
    let trace = traced(2, |comm| match comm.rank() {
        0 => comm
            .send(1, 7, &[1.0; 3])
            .and_then(|()| comm.send(1, 8, &[0u8])),
        _ => {
            comm.recv::<u8>(0, 8)?;
            comm.recv::<f64>(0, 7).map(|_| ())
        }
    });
    holds_together(&trace);
    let of = |nth: usize| {
        let message = &trace.messages[nth];
        let call = &trace.calls[message.received_in.unwrap()].call;
        (
            message.from,
            message.to,
            message.tag,
            message.bytes,
            call.as_str(),
        )
    };
    assert_eq!(of(0), (0, 1, Some(7), 24, "recv(from 0, tag 7)"));
    assert_eq!(of(1), (0, 1, Some(8), 1, "recv(from 0, tag 8)"));
}

#[test]
fn a_message_inside_a_collective_belongs_to_its_call() {
    let trace = traced(8, |comm| comm.broadcast(3, &mut [comm.rank(); 9]));
    holds_together(&trace);
    assert_eq!(trace.messages.len(), 7);
    for message in &trace.messages {
        assert_eq!((message.tag, message.bytes), (None, 72));
        assert_eq!(
            trace.calls[message.sent_in].call,
            "broadcast(root 3, 9 x usize)"
        );
    }
}

#[test]
fn a_lost_message_has_no_second_end_and_who_ended_inside_a_call_never_left_it() {
    let report = World::new(2)
        .trace(true)
        .run_each(|comm| match comm.rank() {
            0 => comm
                .send(1, 1, &[1u8])
                .and_then(|()| comm.recv::<u8>(1, 2).map(|_| ())),
            _ => panic!("it leaves"),
        });
    let trace = report.trace().unwrap();
    assert_eq!(trace.messages[0].received, None);
    let [send, recv] = &trace.calls[..] else {
        panic!("two calls")
    };
    assert!(!send.failed || send.end.is_some()); // rank 1 may have ended already
    assert!(recv.failed && recv.end.is_some());
    let picture = page::Page::read(&trace.svg().unwrap());
    // The arrow stops short of its receiver, with a cross at its end.
    assert_eq!(picture.crossed_ends(), [[false, true]]);
}

#[test]
fn a_message_that_its_sender_has_revoked_is_received_by_nobody() {
    let trace = traced(2, |comm| match comm.rank() {
        0 => {
            assert!(comm.issend(1, 5, vec![1])?.cancel()?);
            comm.send(1, 6, &[2])?;
            comm.ssend(1, 5, &[3])
        }
        _ => {
            comm.recv::<i32>(0, 6)?;
            comm.recv::<i32>(0, 5).map(drop)
        }
    });
    let messages = trace.messages.iter();
    let received: Vec<_> = messages
        .map(|message| (message.tag, message.received.is_some()))
        .collect();
    assert_eq!(
        received,
        [(Some(5), false), (Some(6), true), (Some(5), true)]
    );
}

#[test]
fn a_world_that_does_not_trace_has_no_trace() {
    let report: Report<()> = World::new(2).run_each(|comm| comm.barrier());
    assert!(report.trace().is_none());
    let alone = World::new(2)
        .record(false)
        .trace(true)
        .run_each(|comm| comm.barrier());
    assert_eq!(alone.trace().unwrap().calls.len(), 2);
    assert!(alone.recent().concat().is_empty());
}

#[test]
fn what_is_received_while_a_rank_asks_whether_a_request_is_done_is_received_in_a_call() {
    let trace = traced(4, |comm| {
        let request = comm.iall_gather(vec![comm.rank()])?;
        while !request.is_done() {}
        let mut again = comm.all_reduce_init(vec![1], op::Sum)?;
        again.start()?;
        while !again.test()? {}
        again.wait()?;
        request.wait().map(drop)
    });
    holds_together(&trace);
    assert!(!trace.messages.is_empty());
}

#[test]
fn asking_whether_a_receive_is_done_has_a_name_of_its_own() {
    let trace = traced(2, |comm| {
        if comm.rank() == 0 {
            return comm.barrier().and_then(|()| comm.send(1, 0, &[1]));
        }
        let request = comm.irecv::<i32>(0, 0)?;
        assert!(!request.is_done());
        comm.barrier()?;
        request.wait().map(drop)
    });
    let named = |name: &str| {
        let calls = trace.calls.iter();
        calls.filter(|call| call.call.starts_with(name)).count()
    };
    assert_eq!(
        (named("irecv"), named("is_done")),
        (1, 1),
        "{:?}",
        trace.calls
    );
}

#[test]
fn two_communicators_do_not_mix_their_messages() {
    let trace = traced(4, |comm| {
        let twin = comm.dup()?;
        let half = comm.split(comm.rank() as u32 % 2, 0)?;
        let (me, next) = (comm.rank(), (comm.rank() + 1) % 4);
        comm.send(next, 3, &[0u8])?;
        twin.send(next, 3, &[0u8; 2])?;
        twin.recv::<u8>(Source::Any, 3)?;
        comm.recv::<u8>(Source::Any, Tag::Any)?;
        half.sendrecv(1 - half.rank(), 3, &[me], Source::Any, 3)?;
        half.all_reduce(&mut [me], op::Sum)
    });
    holds_together(&trace);
    let of = |message: &&rankfold::TracedMessage| message.tag == Some(3);
    let lengths = trace
        .messages
        .iter()
        .filter(of)
        .map(|message| message.bytes);
    let mut counts = HashMap::new();
    lengths.for_each(|length| *counts.entry(length).or_insert(0) += 1);
    assert_eq!(counts, HashMap::from([(1, 4), (2, 4), (8, 4)]));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases((48.0 * support::scale()).ceil() as u32))]

    #[test]
    fn every_send_of_a_random_program_has_one_receive_and_none_comes_before_it(seed: u64) {
        let kinds = Kinds { rich: true, calls: Calls::All, spins: false };
        let program = draw(seed, kinds);
        let trace = traced(program.ranks.len(), |comm| program.play(comm));
        holds_together(&trace);
        let logical = trace.logical();
        holds_together(&logical);
        prop_assert_eq!(logical.messages.len(), trace.messages.len());
    }
}

fn reduce_along_a_binomial_tree() -> Trace {
    traced(8, |comm| {
        comm.using(Algorithm::tree(TreeName::BINOMIAL)).reduce(
            0,
            &mut [comm.rank() as u32],
            op::Sum,
        )
    })
}

#[test]
fn the_picture_of_a_binomial_reduce_of_eight_is_as_kept() {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/trace-binomial-8.svg");
    let drawn = reduce_along_a_binomial_tree().logical().svg().unwrap();
    if std::env::var_os("RANKFOLD_BLESS").is_some() {
        fs::write(&kept, &drawn).unwrap();
    }
    assert_eq!(drawn, fs::read_to_string(kept).unwrap());
}

#[test]
fn logical_times_of_a_binomial_reduce_grow_with_the_depth_of_the_tree() {
    let trace = reduce_along_a_binomial_tree().logical();
    holds_together(&trace);
    assert_eq!(trace.messages.len(), 7);
    let last = trace
        .messages
        .iter()
        .filter_map(|message| message.received)
        .max();
    // A leaf begins and sends; then each of the three steps is a receive and a send, except for the root's last.
    assert_eq!(last, Some(Duration::from_micros(2 + 2 * 3 - 1)));
}

#[test]
fn a_picture_with_times_has_a_bar_for_every_call_and_an_arrow_for_every_message() {
    let trace = reduce_along_a_binomial_tree();
    let picture = trace.svg().unwrap();
    assert_eq!(picture.matches("class=\"message\"").count(), 7);
    assert_eq!(picture.matches("height=\"10\"").count(), 8);
}

#[test]
fn what_is_too_long_to_be_drawn_is_refused_with_a_way_out() {
    let trace = traced(1, |comm| (0..4097).try_for_each(|_| comm.barrier()));
    let refused = trace.svg().unwrap_err().to_string();
    assert_eq!(
        refused,
        "4097 calls or messages are too many to draw, 4096 is the limit: trace a shorter run, or look at \
         the trace in Perfetto"
    );
}

/// Returns the events of a kind.
fn of_phase<'a>(events: &'a [Value], phase: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["ph"] == phase).collect()
}

/// Whether a slice of this rank covers the time of one end of a message: a viewer attaches its arrow to that slice.
fn is_covered(events: &[Value], end: &Value, rank: Rank) -> bool {
    let time = end["ts"].as_f64().unwrap();
    of_phase(events, "X").into_iter().any(|slice| {
        let begin = slice["ts"].as_f64().unwrap();
        slice["tid"] == rank
            && begin <= time
            && time <= begin + slice["dur"].as_f64().unwrap() + 1e-6
    })
}

#[test]
fn the_json_is_read_back_with_a_thread_a_rank_a_slice_a_call_and_both_ends_of_every_message() {
    let trace = traced(5, |comm| {
        comm.all_gather(&[comm.rank()], &mut [0; 5])?;
        comm.sendrecv(
            (comm.rank() + 1) % 5,
            9,
            &["\"quoted\\\""; 2],
            Source::Any,
            9,
        )?;
        comm.barrier()
    });
    let json: Value = serde_json::from_str(&trace.to_perfetto()).unwrap();
    let events = json["traceEvents"].as_array().unwrap();
    assert_eq!(of_phase(events, "M").len(), 5);
    assert_eq!(of_phase(events, "X").len(), trace.calls.len());
    let (starts, ends) = (of_phase(events, "s"), of_phase(events, "f"));
    assert_eq!(starts.len(), trace.messages.len());
    let by_id = |event: &&Value| event["id"].as_u64().unwrap();
    let ends: HashMap<u64, &Value> = ends.into_iter().map(|end| (by_id(&end), end)).collect();
    assert_eq!(ends.len(), starts.len());
    for (start, message) in starts.iter().zip(&trace.messages) {
        let end = ends[&by_id(start)];
        assert_eq!(start["name"], end["name"]);
        assert_eq!(
            (start["tid"].as_u64(), end["tid"].as_u64()),
            (Some(message.from as u64), Some(message.to as u64))
        );
        assert!(start["ts"].as_f64() <= end["ts"].as_f64());
        assert!(is_covered(events, start, message.from));
        assert!(is_covered(events, end, message.to));
    }
}

#[test]
fn all_of_it_holds_over_channels() {
    again::over_channels(&[]);
}
