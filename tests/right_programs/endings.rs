//! Ranks that end early, and receivers that come late.

use rankfold::topology::Topology;
use rankfold::{Source, Tag, World, op};

use super::{LONG, compute, left, right, stays_silent};
use crate::support::guarded;

#[test]
fn ranks_that_end_without_a_word_while_others_go_on() {
    stays_silent(3, |comm| match comm.rank() {
        0 => comm.sendrecv(1, 0, &[1u8], 1, 0).map(|_| ()),
        1 => {
            compute();
            comm.sendrecv(0, 0, &[1u8], 0, 0).map(|_| ())
        }
        _ => Ok(()),
    });
}

#[test]
fn a_wildcard_whose_only_sender_was_parked_itself() {
    stays_silent(3, |comm| match comm.rank() {
        0 => comm.recv::<u8>(Source::Any, Tag::Any).map(|_| ()),
        rank if rank + 1 == comm.size() => {
            compute();
            comm.send(rank - 1, 0, &[0u8])
        }
        rank => {
            comm.recv::<u8>(rank + 1, 0)?;
            comm.send(rank - 1, 0, &[0u8])
        }
    });
}

#[test]
fn probes_by_everybody_of_everybody() {
    stays_silent(1, |comm| {
        for to in 0..comm.size() {
            comm.send(to, 0, &vec![0u16; to + LONG])?;
        }
        for _ in 0..comm.size() {
            let found = comm.probe(Source::Any, Tag::Any)?;
            assert_eq!(found.count, comm.rank() + LONG);
            comm.discard(found.source, found.tag)?;
        }
        Ok(())
    });
}

#[test]
fn values_on_a_round_trip() {
    stays_silent(1, |comm| {
        let mut bag = vec![comm.rank().to_string()];
        for _ in 0..comm.size() {
            comm.send_value(right(comm), 0, bag)?;
            bag = comm.recv_value::<Vec<String>>(left(comm), 0)?.0;
        }
        assert_eq!(bag, [comm.rank().to_string()]);
        Ok(())
    });
}

#[test]
fn survivors_of_nothing_are_all() {
    stays_silent(1, |comm| {
        let mut data = [1usize];
        let tree = Topology::binomial(comm.size());
        let who = comm.reduce_over(&tree, &mut data, op::Sum).survivors()?;
        assert!(who.is_none_or(|who| who.missing.is_empty() && data[0] == comm.size()));
        Ok(())
    });
}

/// The sender is often preempted between its post and its next action.
#[test]
fn receivers_that_end_as_soon_as_they_have_their_message() {
    let team = World::new(6).start().expect("threads");
    for turn in 0..2000 {
        let run = || {
            team.run(|comm| {
                if comm.rank().is_multiple_of(2) {
                    return comm.send(comm.rank() + 1, 0, &[turn]);
                }
                comm.recv::<i32>(comm.rank() - 1, 0).map(|_| ())
            })
        };
        guarded(&|| format!("turn {turn}"), run).expect("every message is received");
    }
}
