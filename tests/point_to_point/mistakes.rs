//! Wrong types and arguments, deadlines, and messages that nobody receives.

use std::time::Duration;

use rankfold::{Comm, ErrorKind, Source, Tag, World, WorldError};

use crate::common::{assert_usage, await_signal, signal};

#[test]
fn a_receive_of_the_wrong_type_shows_both_views_and_leaves_the_line_as_it_was() {
    World::new(2)
        .strict()
        .run(|comm| {
            if comm.rank() == 0 {
                comm.send(1, 1, &[1u8])?;
                comm.send(1, 7, &vec![2.5f64; 1000])?;
                comm.send(1, 7, &[3u8])?;
                return signal(comm, 1);
            }
            await_signal(comm, 0)?;
            the_wrong_type_is_refused(comm);
            too_short_a_buffer_is_refused(comm);
            // The order by tag and over all tags is unchanged.
            assert_eq!(comm.probe(0, Tag::Any)?.tag, 1);
            assert_eq!(comm.probe(0, 7)?.count, 1000);
            comm.discard(0, 1)?;
            assert_eq!(comm.recv::<f64>(Source::Any, Tag::Any)?.0, vec![2.5; 1000]);
            assert_eq!(comm.recv::<u8>(Source::Any, Tag::Any)?.0, [3]);
            Ok(())
        })
        .unwrap();
}

/// Receives the 1000 elements as those of another type, and as a moved value.
fn the_wrong_type_is_refused(comm: &Comm) {
    let error = comm.recv::<u32>(0, 7).unwrap_err();
    assert!(matches!(
        error.kind(),
        ErrorKind::WrongType {
            sent: "f64",
            wanted: "u32",
            ..
        }
    ));
    for part in [
        "recv(from 0, tag 7)",
        "rank 0",
        "tag 7",
        "1000 x f64",
        "u32",
        file!(),
    ] {
        assert!(
            error.to_string().contains(part),
            "{part} is not in: {error}"
        );
    }
    assert!(comm.recv_value::<f64>(0, 7).is_err()); // elements are not a moved value
}

/// Receives the 1000 elements into 999.
fn too_short_a_buffer_is_refused(comm: &Comm) {
    let mut short = [0.0f64; 999];
    let error = comm.recv_into(0, 7, &mut short).unwrap_err();
    assert!(matches!(
        error.kind(),
        ErrorKind::TooShort {
            sent: 1000,
            room: 999,
            ..
        }
    ));
    assert!(
        error.to_string().contains("1000") && error.to_string().contains("999"),
        "{error}"
    );
    assert_eq!(short, [0.0; 999]);
}

#[test]
fn a_moved_value_is_not_taken_for_elements_nor_for_another_type() {
    World::new(1)
        .strict()
        .run(|comm| {
            comm.send_value(0, 1, 5u32)?;
            let error = comm.recv::<u32>(0, 1).unwrap_err();
            assert!(error.to_string().contains("one moved value"), "{error}");
            assert!(comm.recv_value::<i32>(0, 1).is_err());
            assert!(comm.recv_into(0, 1, &mut [0u32]).is_err());
            assert_eq!(comm.probe(0, 1)?.type_name(), "u32");
            assert_eq!(comm.recv_value::<u32>(0, 1)?.0, 5);
            Ok(())
        })
        .unwrap();
}

#[test]
fn arguments_that_are_wrong_are_refused_and_nothing_is_sent() {
    World::new(2)
        .strict()
        .run(|comm| {
            assert_usage(
                comm.send(2, 0, &[1u8]),
                "receiver 2 is not one of the 2 ranks",
            );
            assert_usage(comm.send_value(9, 0, 1u8), "receiver 9");
            assert_usage(comm.recv::<u8>(2, 0), "sender 2");
            assert_usage(comm.recv::<u8>(-1, 0), "sender");
            assert_usage(comm.probe(7, Tag::Any), "sender 7");
            assert_usage(comm.discard(7, Tag::Any), "sender 7");
            assert_usage(comm.sendrecv(2, 0, &[0u8], 0, 0), "receiver 2");
            assert_usage(comm.sendrecv(1, 0, &[0u8; 100], 2, 0), "sender 2");
            comm.barrier()
        })
        .unwrap();
}

#[test]
fn a_receive_with_a_deadline_gives_up_and_the_message_may_come_later() {
    let short = Duration::from_millis(1);
    World::new(2)
        .strict()
        .run(|comm| {
            if comm.rank() == 0 {
                await_signal(comm, 1)?;
                return comm.send(1, 5, &[9u8; 100]);
            }
            let error = comm.recv_timeout::<u8>(0, 5, short).unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::TimedOut { waited, .. } if *waited > Duration::ZERO));
            assert!(error.to_string().contains("rank 0"), "{error}"); // the picture
            let never = comm.recv_timeout::<u8>(Source::Any, Tag::Any, Duration::ZERO);
            assert!(matches!(never.unwrap_err().kind(), ErrorKind::TimedOut { .. }));
            signal(comm, 0)?;
            assert_eq!(comm.recv_timeout::<u8>(0, 5, Duration::MAX)?.0, [9; 100]);
            // A message that has arrived is found without any patience.
            comm.send(1, 6, &[1u8])?;
            assert_eq!(comm.recv_timeout::<u8>(1, 6, Duration::ZERO)?.0, [1]);
            Ok(())
        })
        .unwrap();
}

// ── what was never received ──

#[test]
fn messages_never_received_are_all_reported_also_those_the_receiver_had_set_aside() {
    let report = World::new(2).run_each(|comm| {
        if comm.rank() == 0 {
            comm.send(1, 1, &[1.0f64; 3])?;
            comm.send(1, 2, &vec![2u8; 500])?;
            comm.send_value(1, 3, String::from("three"))?;
            comm.send(1, 4, &[4u8])?;
            return signal(comm, 1);
        }
        await_signal(comm, 0)?; // sets aside the four before it
        comm.recv::<u8>(0, 4).map(|_| ())
    });
    let lost: Vec<_> = report
        .lost
        .iter()
        .map(|lost| (lost.from, lost.to, lost.tag, &*lost.contents))
        .collect();
    let text = "a value of alloc::string::String";
    assert_eq!(
        lost,
        [(0, 1, 1, "3 x f64"), (0, 1, 2, "500 x u8"), (0, 1, 3, text)]
    );
}

#[test]
fn a_strict_world_fails_for_a_message_that_was_set_aside() {
    let result = World::new(1).strict().run(|comm| {
        comm.send(0, 1, &[1u8])?;
        comm.send(0, 2, &[2u8])?;
        comm.recv::<u8>(0, 2).map(|_| ())
    });
    assert!(matches!(result, Err(WorldError::Lost(lost)) if lost.len() == 1 && lost[0].tag == 1));
}
