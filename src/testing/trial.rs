//! One test of a program: it runs in several modes, is watched, and a failure is reported in full.

use std::env;
use std::fmt;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use super::order::MessageOrder;
use super::said::Said;
use crate::comm::Comm;
use crate::error::Result;
use crate::machine::Bind;
use crate::transport::memory::eager_limit::Buffering;
use crate::world::{World, WorldError};

/// Maximum duration of a wait in a test, unless `RANKFOLD_TIMEOUT` is set.
const PATIENCE: Duration = Duration::from_secs(20);

/// Time for the ranks to get a CPU for the first time on a loaded machine.
const TO_BEGIN: Duration = Duration::from_secs(2);

/// `RANKFOLD_TIMEOUT` in seconds, or the default.
pub(super) fn patience() -> Duration {
    let asked = env::var("RANKFOLD_TIMEOUT").ok();
    let seconds = asked.map(|text| match text.parse() {
        Ok(seconds) if seconds > 0.0 => Duration::from_secs_f64(f64::min(seconds, 1e9)),
        _ => panic!(
            "RANKFOLD_TIMEOUT={text} is not a number of seconds above 0; give one such as 2.5, or unset RANKFOLD_TIMEOUT"
        ),
    });
    seconds.unwrap_or(PATIENCE)
}

/// A program under test on one number of ranks, as [`ranks!`](crate::ranks) runs it.
///
/// It runs with messages in the order in which they arrive, and in an order drawn from a seed, see [`World::seed`];
/// each of these with unlimited buffers, and with none. In all of these modes lost messages are failures, and so are
/// requests that were neither waited for nor cancelled. The seed is new in each process; `RANKFOLD_SEED` sets it.
///
/// A rank that waits for too long fails as by [`World::timeout`]. If a rank does not return at all, as in an endless
/// loop, the trial ends without it, and leaves its thread running.
///
/// # Examples
///
/// ```
/// use rankfold::testing::Trial;
///
/// let failure = Trial::new(3).run(|comm| match comm.rank() {
///     0 => comm.recv::<u8>(1, 0).map(drop),
///     _ => Ok(()),
/// });
/// assert!(failure.unwrap_err().to_string().starts_with("3 ranks"));
/// ```
#[derive(Clone, Debug)]
#[must_use = "a trial does nothing until it is run"]
pub struct Trial {
    ranks: usize,
    order: Option<MessageOrder>,
    patience: Duration,
    lenient: bool,
    name: Option<String>,
    buffering: Option<Buffering>,
}

/// One mode in which to run a program.
#[derive(Clone, Copy, Debug)]
struct Manner {
    buffering: Buffering,
    controlled: bool,
}

impl fmt::Display for Manner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.buffering {
            Buffering::Zero => "no buffers, ",
            _ => "",
        })?;
        f.write_str(match self.controlled {
            true => "messages in the order of the seed",
            false => "messages as they came",
        })
    }
}

/// All modes.
fn manners() -> impl Iterator<Item = Manner> {
    let both = [Buffering::Unbounded, Buffering::Zero].into_iter();
    both.flat_map(|buffering| {
        [false, true].map(|controlled| Manner {
            buffering,
            controlled,
        })
    })
}

/// Why a program did not pass a [`Trial`].
#[non_exhaustive]
pub struct TrialFailure {
    /// The number of ranks.
    pub ranks: usize,
    /// The order that repeats the failure, if anything does.
    pub order: MessageOrder,
    /// Why it failed; `None` if it did not end.
    pub error: Option<WorldError>,
    manner: Manner,
    said: String,
    name: Option<String>,
}

impl fmt::Display for TrialFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TrialFailure {
            ranks,
            order,
            manner,
            said,
            ..
        } = self;
        let s = if *ranks == 1 { "" } else { "s" };
        writeln!(f, "{ranks} rank{s}, {manner}:")?;
        match &self.error {
            Some(error) => writeln!(f, "{error}")?,
            None => writeln!(f, "not all ranks come to an end: {}", HANGS)?,
        }
        f.write_str(said)?;
        let what = match self.manner.controlled {
            true => "repeats it",
            false => "repeats its random numbers",
        };
        match &self.name {
            Some(name) => write!(f, "RANKFOLD_SEED={order} cargo test {name}"),
            None => write!(f, "RANKFOLD_SEED={order} {what}"),
        }
    }
}

const HANGS: &str = "one is outside rankfold, in a loop or a lock of its own";

impl fmt::Debug for TrialFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // `unwrap` prints this: the report serves better than the fields.
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for TrialFailure {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.error.as_ref()?.source()
    }
}

impl Trial {
    /// Creates a trial on `ranks` ranks.
    pub fn new(ranks: usize) -> Trial {
        Trial {
            ranks,
            order: None,
            patience: patience(),
            lenient: false,
            name: None,
            buffering: None,
        }
    }

    /// Sets the seed, overriding `RANKFOLD_SEED`.
    pub fn seed(self, seed: u64) -> Trial {
        let order = Some(MessageOrder::Seed(seed));
        Trial { order, ..self }
    }

    /// Sets how long one wait may take. The default is `RANKFOLD_TIMEOUT` in seconds, or 20.
    pub fn timeout(self, patience: Duration) -> Trial {
        Trial { patience, ..self }
    }

    /// Sets the name of the test, for the command that repeats a failure.
    pub fn named(self, name: &str) -> Trial {
        let name = Some(name.to_owned());
        Trial { name, ..self }
    }

    /// Sets the buffering of sent messages, for a program that is meant to need buffers.
    pub fn buffering(self, buffering: Buffering) -> Trial {
        let buffering = Some(buffering);
        Trial { buffering, ..self }
    }

    /// Accepts lost messages.
    pub fn lenient(self) -> Trial {
        Trial {
            lenient: true,
            ..self
        }
    }

    /// Runs the program in every mode, until one fails.
    ///
    /// # Errors
    ///
    /// The first failure.
    pub fn run(
        &self,
        body: impl Fn(&Comm) -> Result<()> + Send + Sync + 'static,
    ) -> Result<(), Box<TrialFailure>> {
        let order = self.order.clone().or_else(MessageOrder::asked);
        let order = order.unwrap_or_else(|| MessageOrder::Seed(MessageOrder::fresh()));
        let body: Arc<Body> = Arc::new(body);
        let all = manners().filter(|manner| match self.buffering {
            None => true,
            Some(_) => manner.buffering == Buffering::Unbounded,
        });
        all.map(|manner| Manner {
            buffering: self.buffering.unwrap_or(manner.buffering),
            ..manner
        })
        .try_for_each(|manner| self.run_in(manner, &order, &body))
    }

    fn run_in(
        &self,
        manner: Manner,
        order: &MessageOrder,
        body: &Arc<Body>,
    ) -> Result<(), Box<TrialFailure>> {
        let (said, errors) = (Said::new(self.ranks), Said::new(self.ranks));
        let (body, speech, fate) = (body.clone(), said.clone(), errors.clone());
        let program = move |comm: &Comm| {
            let result = speech.by(comm.rank(), || body(comm));
            if let Err(error) = &result {
                fate.note(comm.rank(), &format!("failed: {error}"));
            }
            result
        };
        let error = match watched(self.world(manner, order), program, self.patience) {
            Some(Ok(())) => return Ok(()),
            Some(Err(error)) => Some(error),
            None => None,
        };
        // Without a report, the errors of the ranks that returned take its place.
        let errors = if error.is_some() {
            String::new()
        } else {
            errors.to_string()
        };
        Err(Box::new(TrialFailure {
            ranks: self.ranks,
            order: order.clone(),
            error,
            manner,
            said: said.to_string() + &errors,
            name: self.name.clone(),
        }))
    }

    fn world(&self, manner: Manner, order: &MessageOrder) -> World {
        let mut world = World::new(self.ranks)
            .bind(Bind::None)
            .buffering(manner.buffering)
            .timeout(self.patience)
            .random_seed(order.seed());
        if !self.lenient {
            world = world.strict();
        }
        if manner.controlled {
            world = world.controlled(order.chooser());
        }
        world
    }
}

type Body = dyn Fn(&Comm) -> Result<()> + Send + Sync;

/// Runs a world on a thread that can be abandoned; `None` if it had to be.
fn watched(
    world: World,
    program: impl Fn(&Comm) -> Result<()> + Send + Sync + 'static,
    patience: Duration,
) -> Option<Result<(), WorldError>> {
    let (done, end) = channel();
    let run = move || {
        let result = world
            .try_run_each(program)
            .and_then(|report| report.judged());
        // The receiver is gone if this took too long.
        let _ = done.send(result.map(drop));
    };
    // So that ranks that wait have time to report what they wait for.
    let patience = patience.saturating_mul(2).saturating_add(TO_BEGIN);
    let watch = thread::Builder::new().spawn(run);
    match end.recv_timeout(patience) {
        Ok(result) => Some(result),
        Err(RecvTimeoutError::Timeout) => None,
        Err(RecvTimeoutError::Disconnected) => match watch.map(thread::JoinHandle::join) {
            Ok(Err(payload)) => std::panic::resume_unwind(payload),
            Err(error) => Some(Err(WorldError::Spawn { rank: 0, error })),
            Ok(Ok(())) => None,
        },
    }
}
