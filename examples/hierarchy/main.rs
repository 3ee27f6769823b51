//! Is an all-reduce that follows the machine's hierarchy worthwhile? A simulation of two machines, not a measurement.
//!
//! `cargo run --example hierarchy` prints times; `cargo run --example hierarchy -- docs` writes the charts
//! `hierarchy-2x8.svg` and `hierarchy-8x16.svg` into the folder `docs`. The test compares the charts there with what it
//! computes.
//!
//! The ranks of a node share its link to other nodes. So the number of messages on that link matters: 2 per node and
//! level of the tree if leaders communicate for all, 16 in every step if all ranks exchange with all others.

use std::error::Error;
use std::fs;
use std::path::Path;

use rankfold::collective::{Algorithm, Call, Collective};
use rankfold::draw::{Curve, chart};
use rankfold::simulate::{Link, MachineModel, simulate};
use rankfold::topology::Levels;

/// Round figures of the order of two caches of one package.
const INSIDE: Link = Link {
    latency: 80e-9,
    overhead: 40e-9,
    gap: 40e-9,
    per_byte: 0.05e-9,
};

/// Round figures of the link between two packages.
const BETWEEN: Link = Link {
    latency: 200e-9,
    overhead: 60e-9,
    gap: 60e-9,
    per_byte: 0.05e-9,
};

/// Number of nodes, and ranks per node.
const MACHINES: [(usize, usize); 2] = [(2, 8), (8, 16)];

/// 8 bytes to 16 MiB.
fn lengths() -> impl Iterator<Item = usize> + Clone {
    (0..22).map(|power| 8 << power)
}

/// The flat algorithms: the one with fewest steps, the one with fewest bytes, and the tree that the hierarchy uses
/// inside.
fn algorithms() -> Vec<(Algorithm, &'static str)> {
    let named = |name: &str| name.parse().expect("the name of an algorithm");
    vec![
        (
            Algorithm::HIERARCHICAL,
            "hierarchical: leaders speak for their nodes",
        ),
        (named("exchange"), "exchange: flat, fewest steps"),
        (named("halving"), "halving and doubling: flat, fewest bytes"),
        (named("binomial"), "binomial: flat tree"),
    ]
}

/// Returns the seconds of an all-reduce of `bytes` bytes.
fn time(algorithm: Algorithm, (nodes, ranks): (usize, usize), bytes: usize) -> f64 {
    let levels = Levels::runs(nodes * ranks, &[ranks]);
    let call = Call::new(Collective::AllReduce, nodes * ranks, bytes / 8).on(levels);
    let schedule = algorithm
        .schedule(&call)
        .expect("any number of ranks and elements");
    let machine = MachineModel::two_level(ranks, INSIDE, BETWEEN).shared_links();
    let machine = machine.fold_cost(0.2e-9).element_bytes(8);
    simulate(&schedule, &machine)
        .expect("schedules of the register")
        .total
}

fn curves(machine: (usize, usize)) -> Vec<Curve> {
    let curve = |(algorithm, name): (Algorithm, &str)| Curve {
        name: name.into(),
        points: lengths()
            .map(|bytes| (bytes as f64, 1e6 * time(algorithm, machine, bytes)))
            .collect(),
    };
    algorithms().into_iter().map(curve).collect()
}

fn picture((nodes, ranks): (usize, usize)) -> String {
    let title =
        format!("all_reduce on {nodes} nodes of {ranks} ranks that share a link, simulated");
    chart(&title, ("bytes", "time/us"), &curves((nodes, ranks)))
}

fn file((nodes, ranks): (usize, usize)) -> String {
    format!("hierarchy-{nodes}x{ranks}.svg")
}

fn main() -> Result<(), Box<dyn Error>> {
    if let Some(folder) = std::env::args().nth(1) {
        for machine in MACHINES {
            fs::write(Path::new(&folder).join(file(machine)), picture(machine))?;
        }
        return Ok(());
    }
    for (nodes, ranks) in MACHINES {
        println!("{nodes} nodes of {ranks} ranks, times in us");
        let names: Vec<_> = algorithms()
            .iter()
            .map(|(a, _)| format!("{:>14}", a.to_string()))
            .collect();
        println!("{:>9} {}", "bytes", names.join(" "));
        for bytes in lengths() {
            let times = algorithms()
                .into_iter()
                .map(|(a, _)| time(a, (nodes, ranks), bytes));
            let times: Vec<_> = times.map(|time| format!("{:>14.2}", time * 1e6)).collect();
            println!("{bytes:>9} {}", times.join(" "));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(name: &str, machine: (usize, usize)) -> Vec<f64> {
        let algorithm = name.parse().unwrap();
        lengths()
            .map(|bytes| time(algorithm, machine, bytes))
            .collect()
    }

    /// Returns the lengths at which the hierarchy beats some flat algorithms.
    fn wins(machine: (usize, usize), flat: &[&str]) -> Vec<usize> {
        let leaders = times("hierarchical", machine);
        let flat: Vec<_> = flat.iter().map(|name| times(name, machine)).collect();
        let faster = |i: &usize| flat.iter().all(|times| leaders[*i] < times[*i]);
        let lengths: Vec<_> = lengths().collect();
        (0..lengths.len())
            .filter(faster)
            .map(|i| lengths[i])
            .collect()
    }

    #[test]
    fn it_beats_the_flat_exchange_as_soon_as_the_shared_link_counts() {
        let all: Vec<_> = lengths().collect();
        assert_eq!(wins((2, 8), &["exchange"]), all[6..], "from 512 bytes");
        assert_eq!(wins((8, 16), &["exchange"]), all, "always");
    }

    #[test]
    fn it_beats_both_flat_forms_until_bytes_count_for_more_than_messages() {
        let all: Vec<_> = lengths().collect();
        assert_eq!(
            wins((2, 8), &["exchange", "halving"]),
            all[6..9],
            "512 bytes to 2 KiB"
        );
        assert_eq!(
            wins((8, 16), &["exchange", "halving"]),
            all[..10],
            "up to 4 KiB"
        );
    }

    #[test]
    fn it_is_never_slower_than_the_flat_tree_where_ranks_lie_node_by_node() {
        for machine in MACHINES {
            let (leaders, tree) = (times("hierarchical", machine), times("binomial", machine));
            assert!(
                leaders
                    .iter()
                    .zip(&tree)
                    .all(|(leaders, tree)| leaders <= tree)
            );
        }
    }

    #[test]
    fn the_charts_in_the_documentation_show_what_is_computed() {
        for machine in MACHINES {
            let path = Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("docs")
                .join(file(machine));
            let kept = fs::read_to_string(&path).unwrap();
            assert!(
                kept == picture(machine),
                "cargo run --example hierarchy -- docs"
            );
        }
    }
}
