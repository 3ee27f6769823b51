//! Measuring: the clock, the samples and their statistics, for the benchmarks and the command-line tool.
//!
//! A [`Point`] is what is measured: a collective (or a ping-pong), an algorithm, a number of ranks and a length.
//! [`prove`] runs it once, compares every element on every rank with an expectation computed independently of the
//! library, and counts its messages. [`pass`] times it. A careful run takes several passes over all points in turn, so
//! that disturbances of the machine affect all points alike. [`Measured`] is the result of a point over all passes.
//!
//! ```text
//! rank 0   fill ─ call ─ compare ─ warm up ─┃─ clock ─ calls ─ clock ─┃─ clock ─ calls ─ clock ─┃─ …
//! rank 1   fill ─ call ─ compare ─ warm up ─┃─ clock ─ calls ─ clock ─┃─ clock ─ calls ─ clock ─┃─ …
//!                                        barrier      a sample     barrier      a sample
//! ```
//!
//! - Where no rank leaves before all have arrived (barrier, all_reduce, ...), and for the ping-pong, a sample is a
//!   batch of back-to-back calls that takes [50 µs](BATCH) or more. Its time is the slowest rank's, divided by the
//!   number of calls.
//! - Collectives with a root, scans, and all calls on [fresh](Point::fresh) vectors are timed one call at a time: from
//!   the first rank's entry to the last rank's exit.
//!
//! The files, one idea each:
//! - `clock`: processor time; `statistics`: medians and their confidence intervals;
//! - `point`: what is measured; `kinds`: types and operators by name; `operator`: an operator chosen at run time;
//! - `vectors`: the ranks' inputs and the expected results; `call`: the call itself; `seat`: both without their type;
//! - `run`: the loop that times it; `record`: its results as plain structs; `plot`: charts of them;
//! - `noise`: other load on the machine; `ground`: what the machine itself can do; `host`: which machine it is;
//! - `latency`: the time of a message between each pair of CPUs; `fit`: the cost model that best fits measured times;
//! - `compare`: two programs side by side; `change`: whether they differ by more than runs of one program do;
//!   `student`: Student's t distribution, which `change` uses.
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
mod operator;
mod plot;
mod point;
mod record;
mod run;
mod seat;
mod statistics;
mod student;
mod vectors;

pub use call::{call, folded};
pub use clock::{process_cpu, thread_cpu};
pub use compare::{COMPARE_SCHEMA, ComparedPoint, Comparison, Verdict, compare};
pub use fit::{Sample, fit, worst};
pub use ground::{Pair, add, cache_line, copy, each_on};
pub use host::Host;
pub use kinds::{Op, Type, UnknownName};
pub use latency::{LATENCY_SCHEMA, Latency, MessagePath, Table, in_order};
pub use noise::{CpuTimes, Noise, Watch};
pub use plot::{chart, spread_in_words};
pub use point::{Point, Subject};
pub use record::{Build, Limit, Measured, Run, SCHEMA, Settings, Times};
pub use run::{BATCH, Control, Effort, Failure, Pass, Proved, pass, prove};
pub use statistics::{Interval, mean, median, median_interval, quantile, rank_sum, sorted};
pub use vectors::{Number, Vectors, Wrong};
