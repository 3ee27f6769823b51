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
//! Every result is checked. A launch that fails makes this program fail; one that takes too long is told. With arguments:
//! `[open-mpi-core|open-mpi-none|mpich] [ROUNDS]`; `--test`: once, without timing. The variable `PROCESSES_BENCH_SIZES`
//! names sizes in bytes, such as `8,65536`, instead of all.

#[path = "../common/mod.rs"]
mod common;
mod hand;
mod plain;
mod worker;

use std::collections::BTreeMap;
use std::env;
use std::process::{Command, ExitCode, ExitStatus};

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

const JOBS: [Job; 4] = [Job::Plain, Job::Hand, Job::Ours(2), Job::Beside];

impl Job {
    fn name(self) -> &'static str {
        match self {
            Job::Plain => "plain",
            Job::Hand => "hand",
            Job::Ours(_) => "ours",
            Job::Beside => "beside",
        }
    }
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

/// How a launch has ended, the worst last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum End {
    Well,
    /// It was stopped after its time.
    Late,
    Failed,
}

impl End {
    /// The exit code of `timeout` where the time was over.
    const TIME_IS_OVER: i32 = 124;

    fn of(status: ExitStatus) -> End {
        match status.code() {
            Some(0) => End::Well,
            Some(End::TIME_IS_OVER) => End::Late,
            _ => End::Failed,
        }
    }

    /// Returns what to say of figures that are missing.
    fn word(self) -> &'static str {
        match self {
            End::Well | End::Late => "did not end",
            End::Failed => "failed",
        }
    }
}

/// What came of some launches.
#[derive(Default)]
struct Taken {
    /// Nanoseconds by name and bytes, then by launch and number in it: sides are paired by these.
    figures: BTreeMap<(String, usize), Turns>,
    /// The worst end of each job.
    ends: BTreeMap<&'static str, End>,
}

type Turns = BTreeMap<(usize, usize), f64>;

impl Taken {
    fn add(&mut self, name: &str, bytes: usize, round: usize, ns: f64) {
        let turns = self.figures.entry((name.to_owned(), bytes)).or_default();
        let number = turns.range((round, 0)..(round + 1, 0)).count();
        turns.insert((round, number), ns);
    }

    fn worst(&self) -> End {
        self.ends.values().copied().max().unwrap_or(End::Well)
    }

    /// Returns what to say of a side without figures.
    fn missing(&self, side: &str) -> &'static str {
        let own = self.ends.get(side).or(self.ends.get(Job::Beside.name()));
        own.copied().unwrap_or(End::Failed).word()
    }
}

fn main() -> ExitCode {
    let test = env::var_os(TEST).is_some();
    let job = env::var(JOB).unwrap_or_default();
    if let Some(job) = JOBS.into_iter().find(|one| one.name() == job) {
        worker::run(job, test);
        return ExitCode::SUCCESS;
    }
    let arguments: Vec<String> = env::args().skip(1).collect();
    let test = arguments.iter().any(|argument| argument == "--test");
    let rounds = arguments.iter().find_map(|argument| argument.parse().ok());
    println!("{}", machine());
    row("", "ours", "plain MPI", "ratio", "bound", "verdict");
    let named = |name| arguments.iter().any(|argument| argument == name);
    let any = LAUNCHERS.iter().any(|launcher| named(launcher.name));
    let mut worst = End::Well;
    for launcher in LAUNCHERS.iter().filter(|one| !any || named(one.name)) {
        match launcher.is_there() {
            true => worst = worst.max(compare(launcher, test, rounds.unwrap_or(5))),
            false => println!("{}: not installed", launcher.name),
        }
    }
    match worst {
        End::Failed => ExitCode::FAILURE,
        _ => ExitCode::SUCCESS,
    }
}

/// Returns the worst end of the launches.
fn compare(launcher: &Launcher, test: bool, rounds: usize) -> End {
    println!("{}", launcher.command.join(" "));
    let mut four = Taken::default();
    for round in 0..if test { 1 } else { rounds } {
        launcher.launch(Job::Ours(2), test, round, &mut four);
        launcher.launch(Job::Hand, test, round, &mut four);
        if launcher.launch(Job::Plain, test, round, &mut four) != End::Well {
            break;
        }
    }
    show("all_reduce 2 x 2", &four, ["ours", "plain"]);
    show("2 x 2 by hand", &four, ["hand", "plain"]);
    let mut two = Taken::default();
    launcher.launch(Job::Beside, test, 0, &mut two);
    show("all_reduce 2 x 1", &two, ["ours", "plain"]);
    show("send 2 x 1", &two, ["ours-send", "plain-send"]);
    four.worst().max(two.worst())
}

fn show(subject: &str, taken: &Taken, sides: [&str; 2]) {
    for bytes in sizes() {
        let turns = |side: &str| taken.figures.get(&(side.to_owned(), bytes));
        let [ours, plain] = sides.map(|side| turns(side).cloned().unwrap_or_default());
        let name = format!("{subject}, {bytes} bytes");
        let spread = |turns: &Turns| Spread::of(turns.values().copied().collect());
        let both = ours
            .iter()
            .filter_map(|(turn, ns)| Some(ns / plain.get(turn)?));
        let ratios: Vec<f64> = both.collect();
        if !ratios.is_empty() {
            let compared = Compared {
                ratio: Spread::of(ratios),
                ours: spread(&ours),
                theirs: spread(&plain),
            };
            print(&name, "", bounds(subject, bytes), &compared);
        } else if ours.is_empty() {
            row(&name, taken.missing(sides[0]), "", "", "", "OVER");
        } else {
            let ours = common::table::time(spread(&ours).median);
            row(&name, &ours, taken.missing(sides[1]), "", "", "");
        }
    }
}

impl Launcher {
    fn is_there(&self) -> bool {
        let found = Command::new(self.command[0]).arg("--version").output();
        found.is_ok_and(|output| output.status.success())
    }

    /// Measures once, and adds the figures. Returns how the launch has ended.
    fn launch(&self, job: Job, test: bool, round: usize, taken: &mut Taken) -> End {
        let (processes, command) = match job {
            Job::Plain => ("4", self.crowded),
            Job::Hand | Job::Ours(_) | Job::Beside => ("2", self.command),
        };
        let mut launch = Command::new("timeout");
        launch.arg("30").args(command).args(["-n", processes]);
        launch.arg(env::current_exe().expect("this program is a file"));
        launch.env(JOB, job.name());
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
            let (name, bytes, ns) = (word(), word(), word());
            let ns = ns.parse().expect("a number");
            taken.add(name, bytes.parse().expect("a number"), round, ns);
        }
        let end = End::of(output.status);
        if end == End::Failed {
            eprintln!("{}", String::from_utf8_lossy(&output.stderr));
        }
        let worst = taken.ends.entry(job.name()).or_insert(end);
        *worst = end.max(*worst);
        end
    }
}
