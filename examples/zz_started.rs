use rankfold::{World, op};
use std::time::Instant;
fn main() {
    let p: usize = std::env::args().nth(1).map_or(2, |s| s.parse().unwrap());
    for n in [1usize, 8, 128, 1024, 8192, 65536] {
        let turns = (2_000_000 / (n + 200)).max(20);
        let mut bl = vec![];
        let mut st = vec![];
        let mut ii = vec![];
        for _ in 0..9 {
            let t = World::new(p)
                .run(|comm| {
                    let mut v = vec![1f64; n];
                    for _ in 0..20 {
                        comm.all_reduce(&mut v, op::Max)?;
                    }
                    let t = Instant::now();
                    for _ in 0..turns {
                        comm.all_reduce(&mut v, op::Max)?;
                    }
                    let a = t.elapsed();
                    for _ in 0..20 {
                        v = comm.iall_reduce(v, op::Max)?.wait()?;
                    }
                    let t = Instant::now();
                    for _ in 0..turns {
                        v = comm.iall_reduce(v, op::Max)?.wait()?;
                    }
                    let b = t.elapsed();
                    let peer = comm.size() - 1 - comm.rank();
                    let t = Instant::now();
                    for _ in 0..turns {
                        let r = comm.irecv::<f64>(peer, 0)?;
                        let s = comm.isend(peer, 0, v)?;
                        v = s.wait()?;
                        r.wait()?;
                    }
                    let c = t.elapsed();
                    Ok((a, b, c))
                })
                .unwrap()[0];
            bl.push(t.0.as_nanos() as f64 / turns as f64);
            st.push(t.1.as_nanos() as f64 / turns as f64);
            ii.push(t.2.as_nanos() as f64 / turns as f64);
        }
        bl.sort_by(f64::total_cmp);
        st.sort_by(f64::total_cmp);
        ii.sort_by(f64::total_cmp);
        println!(
            "{:>8} B  blocking {:>9.0} ns  started {:>9.0} ns  {:.2}   isend+irecv {:>9.0}",
            n * 8,
            bl[4],
            st[4],
            st[4] / bl[4],
            ii[4]
        );
    }
}
