//! Messages sent from within scopes: received early or late, in every way, by ranks that live or die, after the scope
//! was left by its end, an error or a panic. Whatever becomes of a buffer after its scope, its message is whole.

mod again;
mod support;

use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Barrier, Mutex, PoisonError};

use rankfold::op::Element;
use rankfold::{Buffering, Comm, Error, Outcome, Rank, Result, Scope, Source, Tag, World};
use support::{Random, Spoiled, guarded, scale};

/// From messages inside packets to those that are copied by both ranks or past the caches.
const LENGTHS: [usize; 6] = [0, 3, 40, 600, 9_000, 262_144];

/// Messages are lent only while every live rank has a CPU: no two tests run at once.
fn alone<R>(case: &str, run: impl FnOnce() -> R) -> R {
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    guarded(&|| case.to_string(), run)
}

fn message(seed: usize, length: usize) -> Vec<u64> {
    (0..length).map(|i| (seed * 1_000_003 + i) as u64).collect()
}

/// Receives one message into a vector; `how` chooses the way.
fn receive(comm: &Comm, how: usize, from: Rank, tag: u32, length: usize) -> Result<Vec<u64>> {
    let mut buf = vec![0; length + how % 2];
    match how % 8 {
        0 => return Ok(comm.recv(from, tag)?.0),
        1 => _ = comm.recv_into(from, tag, &mut buf)?,
        2 => return Ok(comm.irecv(from, tag)?.wait()?.0),
        3 => comm.scope(|s| s.irecv_into(from, tag, &mut buf).map(drop))?,
        4 => return comm.probe_matched(from, tag)?.recv(),
        5 => {
            assert_eq!(comm.probe(from, tag)?.count, length);
            comm.recv_into(Source::Any, tag, &mut buf)?;
        }
        6 => {
            // Put back unread, and too long for a first try.
            drop(comm.probe_matched(Source::Any, tag)?);
            if length > 0 {
                comm.recv_into(from, tag, &mut buf[1..]).unwrap_err();
                comm.recv::<u8>(from, tag).unwrap_err();
            }
            comm.probe_matched(from, tag)?.recv_into(&mut buf)?;
        }
        _ => {
            let request = comm.irecv::<u64>(from, tag)?;
            if request.cancel()? {
                return Ok(comm.recv(from, Tag::Any)?.0);
            }
            // The message is back in its queue.
            return Ok(comm.recv(from, tag)?.0);
        }
    }
    buf.truncate(length);
    Ok(buf)
}

/// How a scope is left.
#[derive(Clone, Copy, Debug)]
enum Leave {
    AtItsEnd,
    ByAnError,
    ByAPanic,
}

/// Runs `body` in a scope that is left in this way.
fn scope_left<'env>(
    comm: &Comm,
    leave: Leave,
    body: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> Result<()>,
) {
    let scope = AssertUnwindSafe(|| {
        comm.scope(|s| {
            body(s)?;
            match leave {
                Leave::AtItsEnd => Ok(()),
                Leave::ByAnError => Err(Error::user("on purpose")),
                Leave::ByAPanic => resume_unwind(Box::new("on purpose")),
            }
        })
    });
    match (catch_unwind(scope), leave) {
        (Ok(Ok(())), Leave::AtItsEnd) | (Err(_), Leave::ByAPanic) => {}
        (Ok(Err(error)), Leave::ByAnError) => {
            assert!(error.to_string().contains("on purpose"), "{error}");
        }
        (other, _) => panic!("{leave:?}: {other:?}"),
    }
}

/// Starts to send each message to rank 1, with tags from 0.
fn send_all<'scope, 'env>(scope: &'scope Scope<'scope, 'env>, data: &'env [Spoiled]) -> Result<()> {
    for (tag, one) in (0..).zip(data) {
        scope.isend(1, tag, one)?;
    }
    Ok(())
}

#[test]
fn a_late_receiver_gets_what_the_buffer_held_in_the_scope() {
    for leave in [Leave::AtItsEnd, Leave::ByAnError, Leave::ByAPanic] {
        for length in LENGTHS {
            let has_left = Barrier::new(2);
            let run = |comm: &Comm| {
                for how in 0..8 {
                    if comm.rank() == 0 {
                        let data: Vec<_> = (0..3)
                            .map(|seed| Spoiled::new(message(seed, length)))
                            .collect();
                        scope_left(comm, leave, |s| send_all(s, &data));
                        drop(data);
                        has_left.wait();
                    } else {
                        has_left.wait();
                        for tag in 0..3 {
                            let got = receive(comm, how, 0, tag, length)?;
                            assert!(got == message(tag as usize, length), "{leave:?}, {how}");
                        }
                    }
                }
                Ok(())
            };
            let case = format!("{leave:?}, {length}");
            alone(&case, || World::new(2).strict().run(run)).unwrap();
        }
    }
}

/// The messages of one turn: equally many from every rank to every rank, with tags from 0.
struct Window {
    turn: usize,
    ranks: usize,
    each: usize,
    lengths: Vec<usize>,
}

impl Window {
    fn drawn(turn: usize, ranks: usize, random: &mut Random) -> Window {
        let each = 1 + random.below(5);
        let lengths = (0..ranks * ranks * each)
            .map(|_| {
                let most = random.of(&[3, 40, 600, 9_000, 9_000, 262_144 / ranks]);
                random.below(most + 1)
            })
            .collect();
        Window {
            turn,
            ranks,
            each,
            lengths,
        }
    }

    fn number(&self, from: Rank, to: Rank, tag: usize) -> usize {
        (from * self.ranks + to) * self.each + tag
    }

    fn length(&self, from: Rank, to: Rank, tag: usize) -> usize {
        self.lengths[self.number(from, to, tag)]
    }

    fn message(&self, from: Rank, to: Rank, tag: usize) -> Vec<u64> {
        let number = self.number(from, to, tag);
        message(number + self.turn, self.lengths[number])
    }

    /// Every other end and tag of the messages of one rank.
    fn ends(&self) -> impl Iterator<Item = (Rank, usize)> {
        (0..self.ranks * self.each).map(|i| (i / self.each, i % self.each))
    }
}

/// Sends all messages of a window, and starts the receives of some of them: all before the sends, or all after them.
fn exchange<'scope, 'env>(
    scope: &'scope Scope<'scope, 'env>,
    window: &Window,
    data: &'env [Spoiled],
    receives: impl Iterator<Item = ((Rank, usize), &'env mut Vec<u64>)>,
    posts: bool,
    waits: bool,
) -> Result<()> {
    let (early, late): (Vec<_>, Vec<_>) = receives.partition(|_| posts);
    let mut requests = Vec::new();
    for ((from, tag), buf) in early {
        requests.push(scope.irecv_into(from, tag as u32, buf)?);
    }
    for ((to, tag), one) in window.ends().zip(data) {
        scope.isend(to, tag as u32, one)?;
    }
    for ((from, tag), buf) in late {
        requests.push(scope.irecv_into(from, tag as u32, buf)?);
    }
    if waits {
        requests
            .into_iter()
            .try_for_each(|one| one.wait().map(drop))?;
    }
    Ok(())
}

/// Windows of messages of random lengths between all ranks, of which some are received within the scope and the others
/// after it.
fn windows(comm: &Comm, seed: u64, zero: bool) -> Result<()> {
    let (me, p) = (comm.rank(), comm.size());
    let mut shared = Random::new(seed);
    let mut own = Random::new(seed + 1 + me as u64);
    for turn in 0..((16.0 * scale()) as usize).max(2) {
        let window = Window::drawn(turn, p, &mut shared);
        let sent = |(to, tag)| Spoiled::new(window.message(me, to, tag));
        let data: Vec<_> = window.ends().map(sent).collect();
        let (within, after): (Vec<_>, Vec<_>) = window.ends().partition(|_| zero || own.one_in(2));
        let room = |&(from, tag): &(Rank, usize)| vec![0u64; window.length(from, me, tag)];
        let mut bufs: Vec<_> = within.iter().map(room).collect();
        let leave = match own.below(if zero { 1 } else { 3 }) {
            0 => Leave::AtItsEnd,
            1 => Leave::ByAnError,
            _ => Leave::ByAPanic,
        };
        let (posts, waits) = (own.one_in(2), own.one_in(2));
        // A scope that fails cancels what has not been waited for.
        let waits = waits || !matches!(leave, Leave::AtItsEnd);
        scope_left(comm, leave, |s| {
            let receives = within.iter().copied().zip(&mut bufs);
            exchange(s, &window, &data, receives, posts, waits)
        });
        drop(data);
        for (&(from, tag), buf) in within.iter().zip(&bufs) {
            assert!(
                *buf == window.message(from, me, tag),
                "{turn}: {from} {tag}"
            );
        }
        for (from, tag) in after {
            // The messages of a sender with one tag are received turn by turn; wildcards might take those of a later one.
            let how = own.of(&[0, 1, 2, 3, 4]);
            let got = receive(comm, how, from, tag as u32, window.length(from, me, tag))?;
            assert!(got == window.message(from, me, tag), "{turn}: {from} {tag}");
        }
    }
    Ok(())
}

#[test]
fn windows_of_random_lengths_are_received_whole() {
    for p in 1..=9 {
        for buffering in [Buffering::Unbounded, Buffering::Zero] {
            let zero = matches!(buffering, Buffering::Zero);
            let case = format!("{p} ranks, {buffering:?}");
            let world = World::new(p).buffering(buffering).strict();
            alone(&case, || world.run(|comm| windows(comm, p as u64, zero))).unwrap();
        }
    }
}

#[test]
fn a_discarded_message_lets_the_sender_go() {
    for length in LENGTHS {
        for late in [false, true] {
            let has_left = Barrier::new(2);
            let run = |comm: &Comm| {
                if comm.rank() == 0 {
                    let data = [0, 1, 2].map(|seed| Spoiled::new(message(seed, length)));
                    comm.scope(|s| send_all(s, &data))?;
                }
                if late {
                    has_left.wait();
                }
                if comm.rank() == 1 {
                    assert_eq!(comm.discard(0, 0)?.count, length);
                    assert_eq!(comm.discard(Source::Any, Tag::Any)?.tag, 1);
                    assert!(comm.recv::<u64>(0, 2)?.0 == message(2, length));
                }
                Ok(())
            };
            let case = format!("{length}, late {late}");
            alone(&case, || World::new(2).strict().run(run)).unwrap();
        }
    }
}

#[test]
fn a_receiver_that_dies_lets_the_sender_go() {
    for length in LENGTHS {
        for received in 0..4u32 {
            let report = alone(&format!("{length}, {received}"), || {
                World::new(2).run_each(|comm| {
                    if comm.rank() == 1 {
                        for tag in 0..received {
                            let got = comm.recv::<u64>(0, tag)?.0;
                            assert!(got == message(tag as usize, length));
                        }
                        // One more is in a slot that is never read, and one in its queue.
                        let _posted = comm.irecv::<u64>(0, received)?;
                        if received < 2 {
                            comm.probe(0, received + 1)?;
                        }
                        resume_unwind(Box::new("on purpose"));
                    }
                    for _ in 0..3 {
                        let data: Vec<_> = (0..4)
                            .map(|seed| Spoiled::new(message(seed, length)))
                            .collect();
                        comm.scope(|s| send_all(s, &data))?;
                    }
                    Ok(())
                })
            });
            assert!(
                matches!(report.outcomes[1], Outcome::Panicked { .. }),
                "{report:?}"
            );
            let culprit = |error: &Error| error.culprit() == Some(1);
            assert!(report.outcomes[0].error().is_none_or(culprit), "{report:?}");
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(align(64))]
struct Wide(u8);

/// Elements of any kind arrive unchanged, read in the scope or copied at its end.
fn travels<T: Element + PartialEq + Debug>(make: fn(usize) -> T) {
    for n in [0, 1, 2, 33, 700] {
        for late in [false, true] {
            let has_left = Barrier::new(2);
            let run = |comm: &Comm| {
                let all: Vec<T> = (0..n).map(make).collect();
                if comm.rank() == 0 {
                    let data = all.clone();
                    comm.scope(|s| s.isend(1, 0, &data).map(drop))?;
                    drop(data);
                }
                if late {
                    has_left.wait();
                }
                if comm.rank() == 1 {
                    assert_eq!(comm.recv::<T>(0, 0)?.0, all);
                }
                Ok(())
            };
            alone("odd types", || World::new(2).strict().run(run)).unwrap();
        }
    }
}

#[test]
fn elements_of_odd_types_travel_whole() {
    travels(|_| ());
    travels(|i| (i as u8, i as u64));
    travels(|i| ["", "a", "word", "a longer word"][i % 4]);
    travels(|i| Wide(i as u8));
    travels(|i| [i as f64; 20]);
    travels(|_| [0u64; 0]);
}

#[test]
fn all_of_it_holds_over_channels() {
    again::over_channels(&[]);
}
