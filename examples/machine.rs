//! The machine as the library sees it: where its description comes from, what it is made of, and the CPUs that this
//! process may use.
//!
//! ```sh
//! cargo run --example machine
//! taskset -c 0 cargo run --example machine
//! ```

use rankfold::machine::{Machine, Object, ObjectKind};

fn main() {
    let machine = Machine::here();
    println!("machine, from {}", machine.source);
    show(&machine.tree, 0);
    let (cpus, quota) = (&machine.usable.mask, machine.usable.quota);
    println!("CPUs that this process may use: {cpus:?}");
    if let Some(quota) = quota {
        println!("and the time of {quota} of them");
    }
    println!(
        "so ranks that need not take turns: {}",
        machine.usable.usable()
    );
}

/// Prints an object with its contents; cores stand for what is in them.
fn show(object: &Object, depth: usize) {
    println!(
        "{:width$}{} {}",
        "",
        object.kind,
        object.cpus.len(),
        width = 2 * depth
    );
    if object.kind != ObjectKind::Core {
        for part in &object.children {
            show(part, depth + 1);
        }
    }
}
