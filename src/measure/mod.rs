//! Measuring: the clock, samples and what they tell, for the benchmarks and the command-line tool.
//!
//! What is measured is a [`Point`]: a collective (or a ping-pong), an algorithm, a number of ranks, a length.
//! [`prove`] runs it once, compares every element on every rank with an expectation that is computed apart from
//! the library, and counts its messages. [`pass`] times it. A careful run takes several passes over all
//! points in turn, so that whatever the machine does meanwhile happens to all of them; [`Measured`] is what came
//! of a point in all passes.
//!
//! ```text
//! rank 0   fill ─ call ─ compare ─ warm up ─┃─ clock ─ calls ─ clock ─┃─ clock ─ calls ─ clock ─┃─ …
//! rank 1   fill ─ call ─ compare ─ warm up ─┃─ clock ─ calls ─ clock ─┃─ clock ─ calls ─ clock ─┃─ …
//!                                        barrier      a sample     barrier      a sample
//! ```
//!
//! - Where nobody leaves before all have come (barrier, all_reduce, ...), and for the ping-pong, a sample is a batch of calls of
//!   [50 µs](BATCH) or more, back to back; its time is the slowest rank's, divided by the calls.
//! - Collectives with a root and scans, and all calls on [fresh](Point::fresh) vectors, are timed one by one: from the first rank's
//!   entry to the last one's exit.
//!
//! The files, one idea each:
//! - `clock`: processor time; `statistics`: medians, and how far to trust them;
//! - `point`: what is measured; `kinds`: types and operators by name;
//! - `vectors`: what ranks begin with, and what must come of it; `call`: the call itself;
//! - `run`: the loop that times it; `record`: what came of it, as plain structs; `plot`: pictures of them;
//! - `noise`: what else the machine did; `ground`: what the machine itself can do; `host`: which machine it is;
//! - `latency`: how long a message takes between each two CPUs; `fit`: the cost model that fits measured times best;
//! - `compare`: two programs side by side; `change`: whether they differ by more than runs of one program do; `student`: the
//!   distribution that this rests on.
//!
//! # Examples
//!
//! ```
//! use rankfold::collective::Collective;
//! use rankfold::measure::{Control, Effort, Point, Type, call, pass, prove};
//! use rankfold::op;
//!
//! let point = Point::new(Collective::AllReduce.into(), 2, 64, Type::F32);
//! let body = |comm: &rankfold::Comm, vectors: &mut _| call(&point, comm, vectors, op::Sum);
//! let proved = prove::<f32>(&point, &body)?;
//! assert!(proved.messages >= 2);
//! let pass = pass::<f32>(&point, &Effort::samples(3), &Control::default(), &body)?;
//! assert_eq!(pass.samples.len(), 3);
//! # Ok::<(), rankfold::measure::Failure>(())
//! ```

mod call;
mod change;
mod clock;
mod compare;
mod fit;
mod ground;
mod host;
mod kinds;
mod latency;
mod noise;
mod plot;
mod point;
mod record;
mod run;
mod statistics;
mod student;
mod vectors;

pub use call::call;
pub use clock::{process_cpu, thread_cpu};
pub use compare::{COMPARE_SCHEMA, Comparison, Line, Verdict, compare};
pub use fit::{Sample, fit, worst};
pub use ground::{Pair, add, cache_line, copy, each_on};
pub use host::Host;
pub use kinds::{Op, Type, UnknownName};
pub use latency::{LATENCY_SCHEMA, Latency, Table, Way, in_order};
pub use noise::{Load, Noise, Watch};
pub use plot::{chart, spread_in_words};
pub use point::{Point, Subject};
pub use record::{Build, Limit, Measured, Run, SCHEMA, Settings, Times};
pub use run::{BATCH, Control, Effort, Failure, Pass, Proved, pass, prove};
pub use statistics::{Interval, mean, median, median_interval, quantile, rank_sum, sorted};
pub use vectors::{Number, Vectors, Wrong};
