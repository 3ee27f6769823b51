//! Elements of every shape and messages of every length.

use std::fmt::Debug;
use std::num::NonZero;

use rankfold::op::Element;
use rankfold::{Comm, EAGER_BYTES, Error, Rank, Tag, World};

use crate::common::{await_signal, signal};

#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(align(64))]
struct Wide(u8);

#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(align(64))]
struct WideNothing;

#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(align(32))]
struct JustFits([u64; 4]);

/// Sends each length to both ranks, once when the receiver waits and once when it is late.
fn round_trips<T: Element + PartialEq + Debug>(make: impl Fn(usize) -> T + Sync) {
    let fits = EAGER_BYTES / size_of::<T>().max(1);
    let mut lengths = vec![
        0,
        1,
        2,
        3,
        5,
        33,
        1000,
        fits.saturating_sub(1),
        fits,
        fits + 1,
    ];
    lengths.dedup();
    let message = |n: usize| (0..n).map(&make).collect::<Vec<T>>();
    World::new(2)
        .strict()
        .run(|comm| {
            for &n in &lengths {
                let want = message(n);
                exchange(comm, 1 - comm.rank(), &want)?;
                exchange(comm, comm.rank(), &want)?;
                late(comm, &want)?;
            }
            Ok(())
        })
        .unwrap();
}

/// Three messages to `peer`, received in all three ways. A rank that is its own peer sends first.
fn exchange<T: Element + PartialEq + Debug>(
    comm: &Comm,
    peer: Rank,
    want: &[T],
) -> Result<(), Error> {
    let (back, status) = comm.sendrecv(peer, 1, want, peer, 1)?;
    assert_eq!((&back[..], status.count), (want, want.len()));
    comm.send(peer, 2, want)?;
    comm.send(peer, 3, want)?;
    let mut exact = back.clone();
    let status = comm.recv_into(peer, 3, &mut exact)?;
    assert_eq!(
        (&exact[..], status.type_name()),
        (want, std::any::type_name::<T>())
    );
    let found = comm.probe(peer, Tag::Any)?;
    assert_eq!((found.tag, found.count), (2, want.len()));
    assert_eq!(comm.recv::<T>(peer, 2)?.0, want);
    Ok(())
}

/// From rank 0 to rank 1, which asks for the message long after it was sent.
fn late<T: Element + PartialEq + Debug>(comm: &Comm, want: &[T]) -> Result<(), Error> {
    if comm.rank() == 0 {
        comm.send(1, 4, want)?;
        return signal(comm, 1);
    }
    await_signal(comm, 0)?;
    assert_eq!(comm.recv::<T>(0, 4)?.0, want);
    Ok(())
}

#[test]
fn elements_of_every_shape_arrive_as_they_were() {
    const WORDS: [&str; 4] = ["", "one", "message", "passing"];
    round_trips(|_| ());
    round_trips(|i| i as u8);
    round_trips(|i| (i as u8, i as u64 * 3));
    round_trips(|i| WORDS[i % 4]);
    round_trips(|i| NonZero::<u32>::new(i as u32 % 3));
    round_trips(|i| Wide(i as u8));
    round_trips(|_| WideNothing);
    round_trips(|i| JustFits([i as u64; 4]));
    round_trips(|i| [i as f64; 1024]);
    round_trips(|i| u128::MAX - i as u128);
    round_trips(|i| (i % 2 == 0, 'x', i as i8));
    round_trips(|i| f32::from_bits(i as u32));
}

/// The buffer of a short message is aligned for what fits into it, and an empty message may be of a type that does not
/// fit.
#[test]
fn an_empty_message_of_a_wide_type_is_aligned_wherever_it_lands() {
    fn deep(comm: &Comm, depth: usize) -> Result<(), Error> {
        let padding = std::hint::black_box([depth as u8; 40]);
        comm.send::<Wide>(0, 1, &[])?;
        assert_eq!(comm.recv::<Wide>(0, 1)?.0, []);
        comm.send::<Wide>(0, 1, &[])?;
        assert_eq!(comm.recv_into::<Wide>(0, 1, &mut [])?.count, 0);
        std::hint::black_box(padding);
        if depth > 0 {
            deep(comm, depth - 1)
        } else {
            Ok(())
        }
    }
    World::new(1).run(|comm| deep(comm, 20)).unwrap();
}

#[test]
fn a_rank_may_send_itself_messages_of_every_length() {
    World::new(1)
        .strict()
        .run(|comm| {
            let lengths: Vec<usize> = (0..100).chain([1_000, 65_536, 1_000_000]).collect();
            for &n in &lengths {
                comm.send(0, n as u32, &vec![n as u8; n])?;
            }
            for &n in lengths.iter().rev() {
                assert_eq!(comm.recv::<u8>(0, n as u32)?.0, vec![n as u8; n]);
            }
            Ok(())
        })
        .unwrap();
}
