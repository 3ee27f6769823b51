//! Two subjects in turn, so that disturbances of the machine affect both.
//!
//! ```text
//! ours ─ theirs ─ ours ─ theirs ─ ours ─ theirs ─ …
//!  └── ratio ──┘   └── ratio ──┘   └── ratio ──┘      their median, least and greatest
//! ```

use std::time::Duration;

use rankfold::measure::{median, sorted};

/// Target time of one side's turn. If a turn takes more than twice that, the side's next turns are made shorter.
const TURN: Duration = Duration::from_millis(20);

/// How much is done: the rounds, and the size of a turn.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    pub rounds: usize,
    /// Number of pieces in a turn; `None`: as many as make it long enough to be timed.
    pub pieces: Option<u64>,
}

impl Effort {
    /// The same for something that is long enough by itself.
    pub fn one_a_turn(self) -> Effort {
        Effort {
            pieces: Some(1),
            ..self
        }
    }
}

/// The result of all rounds: nanoseconds per piece, and ours over theirs.
#[derive(Debug)]
pub struct Compared {
    pub ours: Spread,
    pub theirs: Spread,
    pub ratio: Spread,
}

/// The median, the minimum and the maximum of some figures.
#[derive(Clone, Copy, Debug)]
pub struct Spread {
    pub median: f64,
    pub min: f64,
    pub max: f64,
}

impl Spread {
    /// # Panics
    ///
    /// If there are no figures.
    pub fn of(figures: Vec<f64>) -> Spread {
        let figures = sorted(figures);
        Spread {
            median: median(&figures),
            min: figures[0],
            max: figures[figures.len() - 1],
        }
    }
}

/// Runs both in turn. Each is told the number of pieces to do and returns the time it took.
pub fn compare(
    effort: Effort,
    ours: &dyn Fn(u64) -> Duration,
    theirs: &dyn Fn(u64) -> Duration,
) -> Compared {
    let mut pieces = [pieces_for(effort, ours), pieces_for(effort, theirs)];
    let mut times: [Vec<f64>; 2] = Default::default();
    for round in 0..effort.rounds {
        // The order alternates, so that neither always finds the machine in the same state.
        for side in [round % 2, 1 - round % 2] {
            let subject = [ours, theirs][side];
            let time = subject(pieces[side]);
            times[side].push(time.as_nanos() as f64 / pieces[side] as f64);
            if time > 2 * TURN {
                pieces[side] = (pieces[side] / 2).max(1);
            }
        }
    }
    let ratios = times[0].iter().zip(&times[1]).map(|(a, b)| a / b);
    let ratio = Spread::of(ratios.collect());
    let [ours, theirs] = times.map(Spread::of);
    Compared {
        ours,
        theirs,
        ratio,
    }
}

/// Returns the number of pieces in a turn.
fn pieces_for(effort: Effort, subject: &dyn Fn(u64) -> Duration) -> u64 {
    if let Some(pieces) = effort.pieces {
        return pieces;
    }
    let mut pieces = 4;
    while pieces < 1 << 30 {
        let time = subject(pieces);
        if time >= TURN / 4 {
            let whole = TURN.as_nanos() as f64 / time.as_nanos() as f64 * pieces as f64;
            return (whole as u64).max(1);
        }
        pieces *= 4;
    }
    pieces
}
