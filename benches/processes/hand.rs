//! An all-reduce of two ranks in each process by hand, which does nothing but what any one has to: the rank of a process
//! that comes first leaves its vector and gives way until there is a result; the last one adds its own, exchanges with the
//! other process by MPI, and leaves the result. No call is named, compared or recorded, and no rank may fail.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::thread::{scope, yield_now};

use super::plain::Mpi;
use super::sizes;
use super::worker::{print, timed, vectors};

/// The ranks of a process.
const RANKS: usize = 2;

/// Where they meet.
#[derive(Default)]
struct Meeting {
    /// The vector of the rank that has come first, and whether it waits.
    first: Mutex<(Vec<f64>, bool)>,
    result: Mutex<Vec<f64>>,
    /// The number of results there were.
    results: AtomicUsize,
}

pub fn run(turn: f64) {
    let mpi = Mpi::open();
    mpi.init();
    let (me, size) = mpi.place();
    let meeting = Meeting::default();
    scope(|scope| {
        for near in 0..RANKS {
            let (mpi, meeting) = (&mpi, &meeting);
            scope.spawn(move || {
                let place = (RANKS * me + near, RANKS * size);
                sizes()
                    .into_iter()
                    .for_each(|bytes| meeting.measure(mpi, place, bytes, turn));
            });
        }
    });
    mpi.finalize();
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("no rank panics")
}

impl Meeting {
    fn measure(&self, mpi: &Mpi, (me, size): (usize, usize), bytes: usize, turn: f64) {
        let (input, sum) = vectors(me, size, bytes);
        let mut output = vec![0.0; input.len()];
        // All ranks take the time of the first one.
        let first = |ns: f64| {
            let mut of_first = [0.0];
            self.sum(mpi, &[if me == 0 { ns } else { 0.0 }], &mut of_first);
            Ok(of_first[0])
        };
        let ns = timed(turn, &first, |times| {
            (0..times).for_each(|_| self.sum(mpi, &input, &mut output));
            Ok(())
        });
        assert!(output.iter().all(|one| *one == sum));
        if me == 0 {
            print("hand", bytes, ns.expect("no call fails"));
        }
    }

    fn sum(&self, mpi: &Mpi, input: &[f64], output: &mut [f64]) {
        let mut guard = locked(&self.first);
        let (vector, waits) = &mut *guard;
        if *waits {
            *waits = false;
            vector
                .iter_mut()
                .zip(input)
                .for_each(|(sum, one)| *sum += one);
            // The other rank is in this call, and the result is not there: no other thread calls MPI.
            mpi.sum(vector, output);
            let mut result = locked(&self.result);
            result.clear();
            result.extend_from_slice(output);
            self.results.fetch_add(1, Ordering::Release);
        } else {
            *waits = true;
            vector.clear();
            vector.extend_from_slice(input);
            let before = self.results.load(Ordering::Relaxed);
            drop(guard);
            while self.results.load(Ordering::Acquire) == before {
                yield_now();
            }
            // The next result comes once this rank has come again.
            output.copy_from_slice(&locked(&self.result));
        }
    }
}
