//! Ranks in several processes beside plain MPI on the same cores: this program starts itself under the launchers of Open
//! MPI and MPICH, where those are installed. `cargo bench --features mpi --bench processes`.
//!
//! ```text
//! all_reduce 2 x 2   launch of 2 processes of 2 ranks ┃ launch of 4 processes of plain MPI ┃ …     in turn
//! … by hand          likewise, beside 2 processes of 2 threads that do only what has to be done
//! all_reduce 2 x 1   in each of 2 processes: ours ┃ MPI_Allreduce ┃ …                             in turn
//! send 2 x 1         likewise: send and recv_into ┃ MPI_Send and MPI_Recv, one way
//! ```
//!
//! Every result is checked. With arguments: `[open-mpi-core|open-mpi-none|mpich] [ROUNDS]`; `--test`: once, without
//! timing. The variable `PROCESSES_BENCH_SIZES` names sizes in bytes, such as `8,65536`, instead of all.

#[path = "../common/mod.rs"]
mod common;
mod hand;
mod plain;
mod worker;

use std::collections::BTreeMap;
use std::env;
use std::process::Command;

use common::rounds::{Compared, Spread};
use common::table::{machine, print, row};

/// Bytes of a vector or a message.
const SIZES: [usize; 8] = [
    8,
    64,
    1 << 10,
    4 << 10,
    16 << 10,
    64 << 10,
    256 << 10,
    1 << 20,
];

/// The sizes that are measured.
pub fn sizes() -> Vec<usize> {
    let named = env::var("PROCESSES_BENCH_SIZES");
    named.map_or(SIZES.to_vec(), |named| {
        let sizes = named.split(',').map(|size| size.parse());
        sizes.collect::<Result<_, _>>().expect("numbers of bytes")
    })
}

/// Names the job of a process of a launch.
const JOB: &str = "PROCESSES_BENCH_JOB";
const TEST: &str = "PROCESSES_BENCH_TEST";

/// What the processes of a launch measure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Job {
    /// MPI alone, one process for each rank.
    Plain,
    /// Two threads in each process by hand.
    Hand,
    /// Of so many ranks in each process.
    Ours(usize),
    /// Both, of one rank in each process.
    Beside,
}

/// A launcher with its arguments.
struct Launcher {
    name: &'static str,
    command: &'static [&'static str],
    /// More processes than cores.
    crowded: &'static [&'static str],
}

const LAUNCHERS: [Launcher; 3] = [
    Launcher {
        name: "open-mpi-core",
        command: &["mpirun.openmpi", "--bind-to", "core"],
        crowded: &[
            "mpirun.openmpi",
            "--oversubscribe",
            "--bind-to",
            "core:overload-allowed",
        ],
    },
    Launcher {
        name: "open-mpi-none",
        command: &["mpirun.openmpi", "--bind-to", "none"],
        crowded: &["mpirun.openmpi", "--oversubscribe", "--bind-to", "none"],
    },
    Launcher {
        name: "mpich",
        command: &["mpirun.mpich"],
        crowded: &["mpirun.mpich"],
    },
];

/// The greatest ratios of ours to plain MPI: four ranks, two ranks, messages, for vectors of so many bytes.
fn bounds(name: &str, bytes: usize) -> f64 {
    match (name, bytes) {
        ("all_reduce 2 x 2" | "2 x 2 by hand", _) => 0.5,
        ("all_reduce 2 x 1", 65536..) => 1.1,
        ("send 2 x 1", 65536..) => 1.3,
        _ => 1.5,
    }
}

/// Nanoseconds by name and bytes, one for each turn.
type Figures = BTreeMap<(String, usize), Vec<f64>>;

fn main() {
    let test = env::var_os(TEST).is_some();
    match env::var(JOB).as_deref() {
        Ok("plain") => return worker::run(Job::Plain, test),
        Ok("hand") => return worker::run(Job::Hand, test),
        Ok("ours") => return worker::run(Job::Ours(2), test),
        Ok("beside") => return worker::run(Job::Beside, test),
        _ => {}
    }
    let arguments: Vec<String> = env::args().skip(1).collect();
    let test = arguments.iter().any(|argument| argument == "--test");
    let rounds = arguments.iter().find_map(|argument| argument.parse().ok());
    println!("{}", machine());
    row("", "ours", "plain MPI", "ratio", "bound", "verdict");
    let named = |name| arguments.iter().any(|argument| argument == name);
    let any = LAUNCHERS.iter().any(|launcher| named(launcher.name));
    for launcher in LAUNCHERS.iter().filter(|one| !any || named(one.name)) {
        match launcher.is_there() {
            true => compare(launcher, test, rounds.unwrap_or(5)),
            false => println!("{}: not installed", launcher.name),
        }
    }
}

fn compare(launcher: &Launcher, test: bool, rounds: usize) {
    println!("{}", launcher.command.join(" "));
    let mut four = Figures::new();
    for _ in 0..if test { 1 } else { rounds } {
        launcher.launch(Job::Ours(2), test, &mut four);
        launcher.launch(Job::Hand, test, &mut four);
        if !launcher.launch(Job::Plain, test, &mut four) {
            break;
        }
    }
    show("all_reduce 2 x 2", &four, ["ours", "plain"]);
    show("2 x 2 by hand", &four, ["hand", "plain"]);
    let mut two = Figures::new();
    launcher.launch(Job::Beside, test, &mut two);
    show("all_reduce 2 x 1", &two, ["ours", "plain"]);
    show("send 2 x 1", &two, ["ours-send", "plain-send"]);
}

fn show(subject: &str, figures: &Figures, sides: [&str; 2]) {
    for bytes in sizes() {
        let [ours, plain] = sides.map(|side| figures.get(&(side.into(), bytes)));
        let name = format!("{subject}, {bytes} bytes");
        match (ours, plain) {
            (Some(ours), Some(plain)) => {
                let ratios = ours.iter().zip(plain).map(|(ours, plain)| ours / plain);
                let compared = Compared {
                    ratio: Spread::of(ratios.collect()),
                    ours: Spread::of(ours.clone()),
                    theirs: Spread::of(plain.clone()),
                };
                print(&name, "", bounds(subject, bytes), &compared);
            }
            (Some(ours), None) => {
                let ours = common::table::time(Spread::of(ours.clone()).median);
                row(&name, &ours, "did not end", "", "", "");
            }
            _ => row(&name, "did not end", "", "", "", "OVER"),
        }
    }
}

impl Launcher {
    fn is_there(&self) -> bool {
        let found = Command::new(self.command[0]).arg("--version").output();
        found.is_ok_and(|output| output.status.success())
    }

    /// Measures once, and adds the figures. Returns whether the launch has ended well, within its time.
    fn launch(&self, job: Job, test: bool, figures: &mut Figures) -> bool {
        let (name, processes, command) = match job {
            Job::Plain => ("plain", "4", self.crowded),
            Job::Hand => ("hand", "2", self.command),
            Job::Ours(_) => ("ours", "2", self.command),
            Job::Beside => ("beside", "2", self.command),
        };
        let mut launch = Command::new("timeout");
        launch.arg("30").args(command).args(["-n", processes]);
        launch.arg(env::current_exe().expect("this program is a file"));
        launch.env(JOB, name);
        launch.env("OMPI_ALLOW_RUN_AS_ROOT", "1");
        launch.env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
        if test {
            launch.env(TEST, "1");
        }
        let output = launch.output().expect("timeout is a command");
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            let mut words = line.split_whitespace();
            if words.next() != Some("figure") {
                continue;
            }
            let mut word = || words.next().expect("a figure has three words");
            let (name, bytes, ns) = (word().to_owned(), word(), word());
            let key = (name, bytes.parse().expect("a number"));
            let ns = ns.parse().expect("a number");
            figures.entry(key).or_default().push(ns);
        }
        if !output.status.success() && output.status.code() != Some(124) {
            eprintln!("{}", String::from_utf8_lossy(&output.stderr));
        }
        output.status.success()
    }
}
