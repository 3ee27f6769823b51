//! Vectors of `vec_here` lie on the NUMA node of the rank that makes them, whether Linux uses huge pages or not.

use std::collections::BTreeSet;
use std::process::{Command, Stdio};

use rankfold::World;
use rankfold::machine::{Bind, Machine, vec_here};

const LENGTHS: [usize; 4] = [64 << 10, 1 << 20, 4 << 20, 16 << 20];
const HUGE: usize = 2 << 20;
const PAGE: usize = 4096;

/// Returns some vectors of `bytes` bytes; all ranks make theirs at the same time.
fn vectors(bytes: usize) -> Vec<Vec<u64>> {
    let count = if bytes < HUGE { 8 } else { 3 };
    (0..count)
        .map(|_| vec_here(bytes / 8, |i| i as u64))
        .collect()
}

/// Returns the pages of `size` bytes that a vector overlaps.
fn pages(vector: &[u64], size: usize) -> std::ops::RangeInclusive<usize> {
    let bytes = vector.as_ptr_range();
    bytes.start.addr() / size..=(bytes.end.addr() - 1) / size
}

#[test]
#[cfg(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64"))]
fn no_two_ranks_have_vectors_in_one_huge_page() {
    for bytes in LENGTHS {
        for _ in 0..4 {
            let taken = World::new(4).run(|comm| {
                comm.barrier()?;
                let made = vectors(bytes);
                comm.barrier()?;
                Ok(made
                    .iter()
                    .flat_map(|one| pages(one, HUGE))
                    .collect::<BTreeSet<_>>())
            });
            let taken = taken.unwrap();
            for (rank, mine) in taken.iter().enumerate() {
                for (other, theirs) in taken.iter().enumerate().skip(rank + 1) {
                    let shared = mine.intersection(theirs).count();
                    assert_eq!(
                        shared, 0,
                        "{bytes} bytes: ranks {rank} and {other} share huge pages"
                    );
                }
            }
        }
    }
}

#[test]
fn a_vector_is_as_long_as_it_was_asked_to_be() {
    for length in [0, 1, 1 << 14, 1 << 18] {
        let vector = vec_here(length, |i| i as u64);
        assert!(vector.iter().copied().eq(0..length as u64));
    }
    assert_eq!(vec_here(1 << 20, |_| ()).len(), 1 << 20);
}

/// Asks the kernel where pages of this process are: `move_pages` as a query, from another process.
const WHERE: &str = "
import ctypes, sys
pid, first, count = (int(word) for word in sys.argv[1:4])
pages = (ctypes.c_void_p * count)(*((first + i) * 4096 for i in range(count)))
status = (ctypes.c_int * count)(*([-1] * count))
if ctypes.CDLL(None, use_errno=True).syscall(279, pid, ctypes.c_ulong(count), pages, None, status, 0) != 0:
    sys.exit('move_pages: error %d' % ctypes.get_errno())
print(' '.join(str(node) for node in status))
";

/// Returns the nodes of a vector's pages; `None` where the kernel cannot be asked.
fn nodes(vector: &[u64]) -> Option<BTreeSet<i64>> {
    let pages = pages(vector, PAGE);
    let count = pages.end() - pages.start() + 1;
    let words = [std::process::id() as usize, *pages.start(), count].map(|word| word.to_string());
    let output = Command::new("python3")
        .args(["-c", WHERE])
        .args(words)
        .stderr(Stdio::inherit())
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let nodes = text.split_whitespace().map(str::parse);
    output
        .status
        .success()
        .then(|| nodes.collect::<Result<_, _>>().ok())?
}

#[test]
fn every_page_is_on_the_node_of_the_rank_that_made_the_vector() {
    let machine = Machine::here();
    if cfg!(not(all(target_os = "linux", target_arch = "x86_64"))) || machine.nodes.len() < 2 {
        eprintln!("skipped: this machine has one NUMA node, so every page is on it");
        return;
    }
    for bytes in LENGTHS {
        let found = World::new(2).bind(Bind::Scatter).run(|comm| {
            comm.barrier()?;
            let made = vectors(bytes);
            comm.barrier()?;
            Ok(made
                .iter()
                .map(|one| nodes(one))
                .collect::<Option<Vec<_>>>())
        });
        let placed = machine.place(2, &Bind::Scatter, true).unwrap();
        for (found, cpu) in found.unwrap().into_iter().zip(placed.cpu) {
            let (Some(found), Some(node)) = (found, cpu.and_then(|cpu| machine.node_of(cpu)))
            else {
                eprintln!("skipped: no python3, move_pages refused, or ranks not pinned");
                return;
            };
            for nodes in found {
                assert_eq!(nodes, BTreeSet::from([node as i64]), "{bytes} bytes");
            }
        }
    }
}
