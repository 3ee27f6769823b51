//! Two threads that pass a number back and forth. Every number is compared, even while the clock runs.
//!
//! ```text
//! 0 ── 7 ──▶ 1      one trip is there and back;
//! 0 ◀── 7 ── 1      half of it is one message
//! ```

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, mpsc};
use std::time::Duration;

use crossbeam_channel::{Receiver, unbounded};
use crossbeam_utils::CachePadded;
use rankfold::Result;

use super::{On, ranks, threads};

/// Both sides of every subject: send and receive by the two closures, and compare.
fn bounce<E>(
    me: usize,
    trips: u64,
    mut send: impl FnMut(u64) -> Result<(), E>,
    mut recv: impl FnMut() -> Result<u64, E>,
) -> Result<(), E> {
    for trip in 0..trips {
        if me == 0 {
            send(trip)?;
        }
        assert_eq!(recv()?, trip);
        if me == 1 {
            send(trip)?;
        }
    }
    Ok(())
}

/// The same for sides that cannot fail.
fn bounce_plain(me: usize, trips: u64, mut send: impl FnMut(u64), mut recv: impl FnMut() -> u64) {
    let Ok(()) = bounce::<std::convert::Infallible>(
        me,
        trips,
        |number| {
            send(number);
            Ok(())
        },
        || Ok(recv()),
    );
}

/// Eight bytes through the mailbox.
pub fn mailbox(on: On, trips: u64) -> Duration {
    ranks(on, 2, |comm| {
        let (me, peer) = (comm.rank(), 1 - comm.rank());
        let mut got = [0u64];
        bounce(
            me,
            trips,
            |number| comm.send(peer, 0, &[number]),
            || comm.recv_into(peer, 0, &mut got).map(|_| got[0]),
        )
    })
}

/// A persistent send of `n` numbers there, and another one back, whose buffers stay as they are.
pub fn persistent(on: On, trips: u64, n: usize) -> Duration {
    ranks(on, 2, |comm| {
        let (me, peer) = (comm.rank(), 1 - comm.rank());
        let mut got = vec![0u64; n];
        let mut send = comm.send_init(peer, 0, vec![me as u64; n])?;
        for _ in 0..trips {
            if me == 0 {
                send.start()?;
                send.wait()?;
            }
            comm.recv_into(peer, 0, &mut got)?;
            assert_eq!((got[0], got[n - 1]), (peer as u64, peer as u64));
            if me == 1 {
                send.start()?;
                send.wait()?;
            }
        }
        Ok(())
    })
}

/// One cache line that both threads write.
pub fn one_line(on: On, trips: u64, pause: fn()) -> Duration {
    let line = CachePadded::new(AtomicU64::new(0));
    threads(on, 2, |me| {
        // Thread 0 leaves odd words, thread 1 even ones.
        let me_word = me as u64;
        let send = |number: u64| line.store(2 * number + 1 + me_word, Ordering::Release);
        let recv = || loop {
            let word = line.load(Ordering::Acquire);
            if word % 2 == me_word {
                return (word - 1) / 2;
            }
            pause();
        };
        bounce_plain(me, trips, send, recv);
    })
}

/// One cache line per direction, each with one writer.
pub fn two_lines(on: On, trips: u64, pause: fn()) -> Duration {
    let lines = [0; 2].map(|zero| CachePadded::new(AtomicU64::new(zero)));
    threads(on, 2, |me| {
        let mut seen = 0;
        let send = |number: u64| lines[me].store(number + 1, Ordering::Release);
        let recv = || loop {
            let word = lines[1 - me].load(Ordering::Acquire);
            if word != seen {
                seen = word;
                return word - 1;
            }
            pause();
        };
        bounce_plain(me, trips, send, recv);
    })
}

/// The channel of the standard library.
pub fn std_channel(on: On, trips: u64) -> Duration {
    let (to_0, at_0) = mpsc::channel();
    let (to_1, at_1) = mpsc::channel();
    let ends = [(to_1, at_0), (to_0, at_1)].map(|ends| Mutex::new(Some(ends)));
    threads(on, 2, |me| {
        let ends = ends[me].lock().expect("nobody panicked").take();
        let (to, from) = ends.expect("each takes its own ends");
        bounce_plain(
            me,
            trips,
            |number| to.send(number).expect("the other is there"),
            || from.recv().expect("the other is there"),
        );
    })
}

/// A message of a channel with a number in it.
pub trait Numbered: Send {
    fn with(number: u64) -> Self;
    fn number(&self) -> u64;
}

impl Numbered for u64 {
    fn with(number: u64) -> Self {
        number
    }
    fn number(&self) -> u64 {
        *self
    }
}

/// As large as a packet of the mailbox.
impl Numbered for [u64; 8] {
    fn with(number: u64) -> Self {
        [number; 8]
    }
    fn number(&self) -> u64 {
        self[7]
    }
}

/// The channel under the mailbox, bare.
pub fn channel<M: Numbered>(on: On, trips: u64, take: fn(&Receiver<M>) -> M) -> Duration {
    let doors = [unbounded::<M>(), unbounded::<M>()];
    threads(on, 2, |me| {
        let (to, from) = (&doors[1 - me].0, &doors[me].1);
        bounce_plain(
            me,
            trips,
            |number| to.send(M::with(number)).expect("the other is there"),
            || take(from).number(),
        );
    })
}

/// The channel's own waiting: a short back-off, then sleep.
pub fn by_recv<M>(from: &Receiver<M>) -> M {
    from.recv().expect("the other is there")
}

/// Polls until there is a message.
pub fn by_spinning<M>(from: &Receiver<M>) -> M {
    loop {
        if let Ok(message) = from.try_recv() {
            return message;
        }
        std::hint::spin_loop();
    }
}

/// The protocol of a long message.
#[derive(Clone, Copy, Debug)]
pub enum Long {
    /// A waiting receiver reads it from the sender's memory.
    Lent,
    /// It is copied into a packet, and copied out on arrival: the case in which no receiver waits for it.
    Copied,
}

/// A message of `words` words, from buffer to buffer.
pub fn long(on: On, trips: u64, words: usize, how: Long) -> Duration {
    ranks(on, 2, |comm| {
        let (me, peer) = (comm.rank(), 1 - comm.rank());
        let (mut out, mut got) = (vec![0u64; words], vec![0u64; words]);
        let send = |number| {
            out[words - 1] = number;
            match how {
                Long::Lent => comm.send(peer, 0, &out),
                Long::Copied => comm.send_value(peer, 0, out.clone()),
            }
        };
        let recv = || {
            match how {
                Long::Lent => _ = comm.recv_into(peer, 0, &mut got)?,
                Long::Copied => got.copy_from_slice(&comm.recv_value::<Vec<u64>>(peer, 0)?.0),
            }
            Ok(got[words - 1])
        };
        bounce(me, trips, send, recv)
    })
}
