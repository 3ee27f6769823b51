//! Messages that nobody sends, or that are other ones than those wanted.

use rankfold::{ErrorKind, Source, Tag};

use super::{Wrong, all, each, last, left, right};

#[test]
fn everybody_receives_first_round_a_ring() {
    let program: Wrong = |comm, lines| {
        here!(lines, comm);
        comm.recv::<u8>(right(comm), 7)?;
        comm.send(left(comm), 7, &[0u8])
    };
    each(1, program, |run| run.exact_knot(&all(run), &all(run)));
}

#[test]
fn two_receive_from_each_other_while_others_return() {
    let program: Wrong = |comm, lines| {
        if comm.rank() > 1 {
            return Ok(());
        }
        here!(lines, comm);
        comm.recv::<u8>(1 - comm.rank(), 0).map(|_| ())
    };
    each(2, program, |run| run.exact_knot(&[0, 1], &[0, 1]));
}

#[test]
fn three_in_a_cycle_against_the_order_of_ranks() {
    let program: Wrong = |comm, lines| {
        if comm.rank() > 2 {
            return Ok(());
        }
        here!(lines, comm);
        comm.recv_value::<String>((comm.rank() + 2) % 3, 0)
            .map(|_| ())
    };
    each(3, program, |run| run.exact_knot(&[0, 1, 2], &[0, 2, 1]));
}

#[test]
fn a_rank_receives_from_itself() {
    let program: Wrong = |comm, lines| {
        if !last(comm) {
            return Ok(());
        }
        here!(lines, comm);
        comm.recv::<u8>(comm.rank(), Tag::Any).map(|_| ())
    };
    each(1, program, |run| {
        run.exact_knot(&[run.ranks - 1], &[run.ranks - 1])
    });
}

#[test]
fn a_wildcard_starves_when_all_others_have_ended() {
    let program: Wrong = |comm, lines| {
        if comm.rank() > 0 {
            return comm.send(0, 1, &[0u8]);
        }
        for _ in 1..comm.size() {
            comm.recv::<u8>(Source::Any, 1)?;
        }
        here!(lines, comm);
        comm.recv::<u8>(Source::Any, 1).map(|_| ())
    };
    each(1, program, |run| {
        run.exact_knot(&[0], &[]);
        let note = run.report.deadlocks[0].stuck[0].note.as_deref();
        assert_eq!(note, Some("every other rank has ended"));
    });
}

#[test]
fn everybody_waits_for_anybody() {
    let program: Wrong = |comm, lines| {
        here!(lines, comm);
        comm.probe(Source::Any, Tag::Any).map(|_| ())
    };
    each(2, program, |run| run.exact_knot(&all(run), &[0, 1]));
}

#[test]
fn a_wildcard_and_a_rank_that_waits_for_it() {
    let program: Wrong = |comm, lines| match comm.rank() {
        0 => {
            here!(lines, comm);
            comm.recv::<u8>(Source::Any, 3).map(|_| ())
        }
        1 => {
            here!(lines, comm);
            comm.discard(0, 3).map(|_| ())
        }
        _ => Ok(()),
    };
    each(2, program, |run| run.exact_knot(&[0, 1], &[0, 1]));
}

#[test]
fn the_tag_is_another() {
    let program: Wrong = |comm, lines| match comm.rank() {
        0 => {
            comm.send(1, 1, &[0u8])?;
            here!(lines, comm);
            comm.recv::<u8>(1, 3).map(|_| ())
        }
        1 => {
            here!(lines, comm);
            comm.recv::<u8>(0, 2).map(|_| ())
        }
        _ => Ok(()),
    };
    each(2, program, |run| {
        run.exact_knot(&[0, 1], &[0, 1]);
        assert_eq!((run.report.lost.len(), run.report.lost[0].tag), (1, 1));
    });
}

#[test]
fn the_type_is_another() {
    let program: Wrong = |comm, lines| match comm.rank() {
        0 => comm.send(1, 1, &[0u8; 100]),
        1 => {
            here!(lines, comm);
            comm.recv::<i8>(0, 1).map(|_| ())
        }
        _ => Ok(()),
    };
    each(2, program, |run| {
        let error = run.error(1);
        let ErrorKind::WrongType {
            sent: "u8",
            wanted: "i8",
            ..
        } = error.kind()
        else {
            panic!("{error}");
        };
        assert!(run.lines.is(1, error.site().unwrap()));
        assert_eq!(run.report.culprit, Some(1));
        assert_eq!(run.report.lost[0].contents, "100 x u8");
    });
}

#[test]
fn the_buffer_is_too_short() {
    let program: Wrong = |comm, lines| match comm.rank() {
        0 => comm.send(1, 1, &[0u8; 100]),
        1 => {
            here!(lines, comm);
            comm.recv_into(0, 1, &mut [0u8; 99]).map(|_| ())
        }
        _ => Ok(()),
    };
    each(2, program, |run| {
        let error = run.error(1);
        assert!(matches!(
            error.kind(),
            ErrorKind::TooShort {
                sent: 100,
                room: 99,
                ..
            }
        ));
        assert!(run.lines.is(1, error.site().unwrap()));
        assert_eq!(run.report.culprit, Some(1));
    });
}

#[test]
fn everybody_exchanges_with_the_wrong_neighbour() {
    let program: Wrong = |comm, lines| {
        here!(lines, comm);
        comm.sendrecv(right(comm), 0, &[0u64], right(comm), 0)
            .map(|_| ())
    };
    each(3, program, |run| {
        run.exact_knot(&all(run), &all(run));
        assert_eq!(run.report.lost.len(), run.ranks);
    });
}
