//! All-reduce of long vectors by two ranks, compared with two threads that know where both vectors are:
//! `cargo bench --bench direct`.
//!
//! ```text
//! rankfold   comm.using(direct).all_reduce(…)
//! by hand    spin barrier;  s = a[i] + b[i];  a[i] = b[i] = s  for the thread's half;  spin barrier
//! limit      the same without barriers: the limit of the memory
//! ```
//!
//! All three run on the same threads and the same memory, in turn. *Back to back*: no thread touches the vectors
//! between calls. *Fresh*: before each call every rank writes its whole vector, which is not timed. The process fails
//! if a sum is wrong.

use std::cell::UnsafeCell;
use std::hint::spin_loop;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::Instant;

use crossbeam_utils::CachePadded;
use rankfold::collective::Algorithm;
use rankfold::machine::Cpus;
use rankfold::{Bind, Comm, Result, World, op};

const RANKS: usize = 2;

/// A barrier as written by hand: a counter and a turn.
#[derive(Default)]
struct SpinBarrier {
    count: CachePadded<AtomicUsize>,
    turn: CachePadded<AtomicU32>,
}

impl SpinBarrier {
    fn pass(&self) {
        let turn = self.turn.load(Ordering::Acquire);
        if self.count.fetch_add(1, Ordering::AcqRel) + 1 == RANKS {
            self.count.store(0, Ordering::Relaxed);
            self.turn.store(turn.wrapping_add(1), Ordering::Release);
        } else {
            while self.turn.load(Ordering::Acquire) == turn {
                spin_loop();
            }
        }
    }
}

/// A rank's vector, accessible to both ranks.
struct Vector(Box<[UnsafeCell<f32>]>);
// SAFETY: a rank touches another rank's vector only between barriers, and never the same elements.
unsafe impl Sync for Vector {}

impl Vector {
    fn new(n: usize) -> Self {
        Vector((0..n).map(|_| UnsafeCell::new(0.0)).collect())
    }

    fn start(&self) -> *mut f32 {
        self.0.as_ptr().cast_mut().cast()
    }

    /// # Safety
    ///
    /// No other thread touches the vector meanwhile.
    #[allow(clippy::mut_from_ref)]
    unsafe fn slice(&self) -> &mut [f32] {
        // SAFETY: the caller's promise.
        unsafe { std::slice::from_raw_parts_mut(self.start(), self.0.len()) }
    }
}

/// Both vectors of both ranks.
struct Ground {
    barrier: SpinBarrier,
    inputs: [Vector; RANKS],
    outputs: [Vector; RANKS],
}

/// What is timed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Subject {
    Library,
    ByHand,
    Limit,
}

/// Whether each rank has one vector, or reads one and writes another.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    InPlace,
    Into,
}

macro_rules! for_this_machine {
    ($name:ident, $fast:ident, ($($arg:ident: $t:ty),*) $body:block) => {
        #[inline(always)]
        unsafe fn $name($($arg: $t),*) {
            #[cfg(target_arch = "x86_64")]
            if is_x86_feature_detected!("avx2") {
                // SAFETY: the machine has the feature; the rest is the caller's promise.
                return unsafe { $fast($($arg),*) };
            }
            $body
        }
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2")]
        unsafe fn $fast($($arg: $t),*) $body
    };
}

for_this_machine!(add_to_both, add_to_both_fast, (a: *mut f32, b: *mut f32, n: usize) {
    for i in 0..n {
        // SAFETY: the caller has n elements in both.
        unsafe {
            let sum = *a.add(i) + *b.add(i);
            *a.add(i) = sum;
            *b.add(i) = sum;
        }
    }
});
for_this_machine!(add_into_both, add_into_both_fast,
    (a: *const f32, b: *const f32, c: *mut f32, d: *mut f32, n: usize) {
    for i in 0..n {
        // SAFETY: the caller has n elements in all three.
        unsafe {
            let sum = *a.add(i) + *b.add(i);
            *c.add(i) = sum;
            *d.add(i) = sum;
        }
    }
});
impl Ground {
    fn new(n: usize) -> Self {
        let pair = || [Vector::new(n), Vector::new(n)];
        Ground {
            barrier: SpinBarrier::default(),
            inputs: pair(),
            outputs: pair(),
        }
    }

    fn call(&self, comm: &Comm, subject: Subject, form: Form) -> Result<()> {
        let me = comm.rank();
        // SAFETY: a rank touches another's memory between barriers only, and only its own half of it.
        unsafe {
            match subject {
                Subject::Library => self.library(comm, form),
                Subject::ByHand => {
                    self.barrier.pass();
                    self.half(me, form);
                    self.barrier.pass();
                    Ok(())
                }
                Subject::Limit => {
                    self.half(me, form);
                    Ok(())
                }
            }
        }
    }

    unsafe fn library(&self, comm: &Comm, form: Form) -> Result<()> {
        let me = comm.rank();
        // SAFETY: each rank takes its own vectors.
        let (input, output) = unsafe { (self.inputs[me].slice(), self.outputs[me].slice()) };
        match form {
            Form::InPlace => comm.using(Algorithm::Direct).all_reduce(input, op::Sum),
            Form::Into => comm
                .using(Algorithm::Direct)
                .all_reduce_into(input, output, op::Sum),
        }
    }

    unsafe fn half(&self, me: usize, form: Form) {
        let n = self.inputs[0].0.len() / RANKS;
        let at = |vector: &Vector| vector.start().wrapping_add(me * n);
        let ([a, b], [c, d]) = (&self.inputs, &self.outputs);
        // SAFETY: inside all vectors, and the other rank touches the other half.
        unsafe {
            match form {
                Form::InPlace => add_to_both(at(a), at(b), n),
                Form::Into => add_into_both(at(a), at(b), at(c), at(d), n),
            }
        }
    }

    /// Returns nanoseconds per call, averaged over many calls.
    fn back_to_back(&self, comm: &Comm, subject: Subject, form: Form, calls: usize) -> Result<f64> {
        self.barrier.pass();
        let begin = Instant::now();
        for _ in 0..calls {
            self.call(comm, subject, form)?;
        }
        let mine = begin.elapsed().as_nanos() as f64 / calls as f64;
        self.barrier.pass();
        Ok(mine)
    }

    /// The same where each rank has just written its vector.
    fn fresh(&self, comm: &Comm, subject: Subject, form: Form, calls: usize) -> Result<f64> {
        let mut sum = 0.0;
        for call in 0..calls {
            // SAFETY: each rank takes its own vector.
            unsafe { self.inputs[comm.rank()].slice().fill(call as f32 * 0.5) }
            self.barrier.pass();
            let begin = Instant::now();
            self.call(comm, subject, form)?;
            sum += begin.elapsed().as_nanos() as f64;
            self.barrier.pass();
        }
        Ok(sum / calls as f64)
    }

    /// Checks that both ranks end with the sums.
    fn check(&self, comm: &Comm, subject: Subject, form: Form) -> Result<()> {
        let me = comm.rank();
        let value = |rank: usize, i: usize| ((i * 7 + rank * 3) % 1000) as f32;
        // SAFETY: each rank takes its own vector.
        let own = unsafe { self.inputs[me].slice() };
        own.iter_mut()
            .enumerate()
            .for_each(|(i, x)| *x = value(me, i));
        self.call(comm, subject, form)?;
        let vectors = if form == Form::InPlace {
            &self.inputs
        } else {
            &self.outputs
        };
        // SAFETY: each rank takes its own vector.
        let sums = unsafe { vectors[me].slice() };
        let right = |(i, sum): (usize, &f32)| *sum == value(0, i) + value(1, i);
        assert!(sums.iter().enumerate().all(right), "a sum is wrong");
        // SAFETY: each rank takes its own vector.
        unsafe { self.inputs[me].slice().fill(0.0) };
        self.barrier.pass();
        Ok(())
    }
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

type Timed = fn(&Ground, &Comm, Subject, Form, usize) -> Result<f64>;

fn main() {
    let test = std::env::args().any(|arg| arg == "--test");
    let rounds = if test { 1 } else { 15 };
    let most = if test { 64 << 10 } else { 64 << 20 };
    let cpus = Cpus::here().mask;
    let bind = if cpus.len() < RANKS {
        Bind::None
    } else {
        Bind::Cpus(cpus)
    };
    println!(
        "bytes     form      data          rankfold us   by hand us   ratio   limit us   of limit"
    );
    let world = World::new(RANKS).bind(bind).check(false);
    let mut bytes = 4 << 10;
    while bytes <= most {
        let ground = Ground::new(bytes / size_of::<f32>());
        let lines = world
            .run(|comm| lines(comm, &ground, bytes, rounds))
            .expect("the ranks do not fail");
        lines[0].iter().for_each(|line| println!("{line}"));
        bytes *= 4;
    }
}

/// The lines of one length; those of rank 0 are printed.
fn lines(comm: &Comm, ground: &Ground, bytes: usize, rounds: usize) -> Result<Vec<String>> {
    let timings: [(&str, Timed); 2] = [
        ("back to back", Ground::back_to_back),
        ("fresh", Ground::fresh),
    ];
    let mut lines = Vec::new();
    for (form, name) in [(Form::InPlace, "in place"), (Form::Into, "into")] {
        ground.check(comm, Subject::Library, form)?;
        ground.check(comm, Subject::ByHand, form)?;
        for (data, timed) in timings {
            let calls = ((4 << 20) / bytes).clamp(1, 200);
            let times = rounds_of(rounds, |subject| timed(ground, comm, subject, form, calls))?;
            lines.push(format!("{bytes:<9} {name:9} {data:13} {}", row(times)));
        }
    }
    Ok(lines)
}

/// The times of all subjects in turn, without those of the first round.
fn rounds_of(
    rounds: usize,
    mut timed: impl FnMut(Subject) -> Result<f64>,
) -> Result<[Vec<f64>; 3]> {
    let mut times: [Vec<f64>; 3] = Default::default();
    for round in 0..rounds + 1 {
        let subjects = [Subject::Library, Subject::ByHand, Subject::Limit];
        for (subject, times) in subjects.into_iter().zip(&mut times) {
            let time = timed(subject)?;
            if round > 0 {
                times.push(time);
            }
        }
    }
    Ok(times)
}

/// The medians, and that of the ratios of the library to what is written by hand.
fn row(mut times: [Vec<f64>; 3]) -> String {
    let mut ratios: Vec<f64> = times[0].iter().zip(&times[1]).map(|(a, b)| a / b).collect();
    let [ours, hand, limit] = times.each_mut().map(|times| median(times) / 1e3);
    let (ratio, share) = (median(&mut ratios), 100.0 * limit / ours);
    format!("{ours:11.2} {hand:12.2} {ratio:7.2} {limit:10.2} {share:9.0} %")
}
