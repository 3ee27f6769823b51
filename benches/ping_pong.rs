//! Half a round trip of one message between two threads, each on a CPU of its own.
//!
//! ```text
//!          8 bytes                       64 KiB
//!
//! mailbox          0 ⇄ 1     lent     0's buffer ──────────────▶ 1's buffer
//! one cache line   0 ⇄ 1     copied   0's buffer ──▶ a vector ──▶ 1's buffer
//! a line each way  0 ⇄ 1
//! channels         0 ⇄ 1     the channel under the mailbox, bare
//! persistent       0 ⇄ 1     sends described before, from a kept buffer
//! kept             0         receives while so many messages are kept
//! ```
//!
//! After the first eight messages those of the mailbox take its fast box. Time is taken inside the threads; the result is
//! the time of one message, half of a round trip.

mod common;

use std::hint::spin_loop;
use std::time::{Duration, Instant};

use common::On::{self, Each};
use common::ping::{self, Long, by_recv, by_spinning};
use criterion::{BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main};
use rankfold::World;

type Group<'a> = BenchmarkGroup<'a, criterion::measurement::WallTime>;

/// Checks that the subject is right, then times half of each trip.
fn half(group: &mut Group<'_>, name: &str, subject: impl Fn(On, u64) -> Duration) {
    subject(Each, 10);
    group.bench_function(name, |b| b.iter_custom(|trips| subject(Each, trips) / 2));
}

fn short(c: &mut Criterion) {
    let mut group = c.benchmark_group("ping_pong/8B");
    half(&mut group, "mailbox", ping::mailbox);
    half(&mut group, "one line that both write", |on, trips| {
        ping::one_line(on, trips, spin_loop)
    });
    half(&mut group, "a line each way", |on, trips| {
        ping::two_lines(on, trips, spin_loop)
    });
    half(&mut group, "std mpsc", ping::std_channel);
    half(&mut group, "crossbeam recv", |on, trips| {
        ping::channel::<u64>(on, trips, by_recv)
    });
    half(&mut group, "crossbeam try_recv", |on, trips| {
        ping::channel::<u64>(on, trips, by_spinning)
    });
    half(&mut group, "crossbeam recv, 64 B", |on, trips| {
        ping::channel::<[u64; 8]>(on, trips, by_recv)
    });
    half(&mut group, "crossbeam try_recv, 64 B", |on, trips| {
        ping::channel::<[u64; 8]>(on, trips, by_spinning)
    });
    group.finish();
}

fn long(c: &mut Criterion) {
    const BYTES: usize = 64 << 10;
    let mut group = c.benchmark_group("ping_pong/64KiB");
    group.throughput(Throughput::Bytes(BYTES as u64));
    for how in [Long::Lent, Long::Copied] {
        let name = format!("{how:?}").to_lowercase();
        half(&mut group, &name, |on, trips| {
            ping::long(on, trips, BYTES / 8, how)
        });
    }
    group.finish();
}

fn persistent(c: &mut Criterion) {
    let mut group = c.benchmark_group("ping_pong/persistent");
    for n in [1, 512, 8192] {
        half(&mut group, &format!("{} B", 8 * n), |on, trips| {
            ping::persistent(on, trips, n)
        });
    }
    group.finish();
}

/// The time of so many receives of messages that are kept, all of one sender: they came before one that was received first.
fn kept_receives(messages: u64, receives: u64) -> Duration {
    let world = World::new(1).bind(On::First.bind());
    let times = world.run(|comm| {
        let (mut got, mut time) = ([0u64], Duration::ZERO);
        for _ in 0..receives.div_ceil(messages) {
            (0..messages).try_for_each(|number| comm.send(0, 0, &[number]))?;
            comm.send(0, 1, &[messages])?;
            comm.recv_into(0, 1, &mut got)?;
            let begin = Instant::now();
            for number in 0..messages {
                comm.recv_into(0, 0, &mut got)?;
                assert_eq!(got, [number]);
            }
            time += begin.elapsed();
        }
        Ok(time.mul_f64(receives as f64 / receives.next_multiple_of(messages) as f64))
    });
    times.expect("the rank does not fail")[0]
}

fn kept(c: &mut Criterion) {
    let mut group = c.benchmark_group("ping_pong/kept");
    for messages in [10, 1000, 10_000] {
        group.bench_function(messages.to_string(), |b| {
            b.iter_custom(|receives| kept_receives(messages, receives))
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_secs(1));
    targets = short, long, persistent, kept
}
criterion_main!(benches);
