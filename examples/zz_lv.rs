//! scratch
use rankfold::{World, op};
use std::time::Instant;
fn main() {
    for p in [1usize, 2] {
        let t = World::new(p)
            .check(false)
            .run(|comm| {
                let mut best = f64::MAX;
                for _ in 0..40 {
                    let n = 20_000;
                    let begin = Instant::now();
                    for _ in 0..n {
                        let mut v = [1.0f64];
                        comm.all_reduce(&mut v, op::Sum)?;
                    }
                    best = best.min(begin.elapsed().as_nanos() as f64 / n as f64);
                }
                Ok(best)
            })
            .unwrap();
        print!("P={p} {:.1} ns  ", t[0]);
        let t = World::new(p)
            .check(false)
            .run(|comm| {
                let mut best = f64::MAX;
                for _ in 0..40 {
                    let n = 20_000;
                    let begin = Instant::now();
                    for _ in 0..n {
                        comm.barrier()?;
                    }
                    best = best.min(begin.elapsed().as_nanos() as f64 / n as f64);
                }
                Ok(best)
            })
            .unwrap();
        print!("barrier {:.1} ns  ", t[0]);
    }
    println!();
}
