//! Runs a program on ranks: one thread each, on which its `main` is called.
//!
//! A rank whose error handler is fatal, or which calls `MPI_Abort`, stops where it is: its thread never runs again, and
//! its stack is not unwound, since destructors of the program would call MPI, as those of a process that was ended never
//! do. The other ranks learn that it has ended.

use std::any::Any;
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::{ExitCode, Termination};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

use rankfold::testing::MessageOrder;
use rankfold::{Buffering, Outcome, Report, Seats, World};

use crate::abi::*;
use crate::asking::Doings;
use crate::attribute;
use crate::explore;
use crate::failed::{FAILED, Failed, PANICKED, number_of};
use crate::rank::{Phase, Rank, current, set};
use crate::report::{self, Known, Stop};
use crate::trace::{self, Entered};

/// What all ranks of a run share.
pub(crate) struct Shared {
    /// The number of the world in this process.
    pub number: usize,
    pub doings: Doings,
    pub launched: bool,
    universe: c_int,
    ended: Mutex<Vec<Option<Outcome<(), String>>>>,
    has_ended: Condvar,
    /// The call that each rank which has ended was in last.
    calls: Mutex<Vec<&'static str>>,
    remarks: Mutex<Vec<String>>,
    /// Whether it was told that files are not opened.
    has_told_of_files: AtomicBool,
    /// The calls of MPI of ranks that have ended, if the run is traced.
    entered: Mutex<Vec<Vec<Entered>>>,
    pub traced: bool,
    /// Whether datatypes and keys of attributes are each rank's own, as in programs in C.
    pub owns_datatypes: bool,
    /// The calls that ended ranks.
    stops: Mutex<BTreeMap<usize, Stop>>,
    /// The exit code that the first rank to fail asked for; 0 if none has failed.
    code: AtomicU8,
}

/// What a rank is in before its first call.
pub(crate) const NO_CALL: &str = "no call";

static TAG_UB: c_int = c_int::MAX;
static ONE: c_int = 1;
static ZERO: c_int = 0;
static NO_PROC: c_int = MPI_PROC_NULL;
static ANY_RANK: c_int = MPI_ANY_SOURCE;

impl Shared {
    fn new(ranks: usize, launched: bool) -> Shared {
        static WORLDS: AtomicUsize = AtomicUsize::new(0);
        Shared {
            // Relaxed: only distinct.
            number: WORLDS.fetch_add(1, Ordering::Relaxed),
            doings: Doings::new(ranks, None),
            launched,
            universe: ranks as c_int,
            ended: Mutex::new((0..ranks).map(|_| None).collect()),
            has_ended: Condvar::new(),
            calls: Mutex::new(vec![NO_CALL; ranks]),
            remarks: Mutex::default(),
            has_told_of_files: AtomicBool::new(false),
            entered: Mutex::new((0..ranks).map(|_| Vec::new()).collect()),
            traced: false,
            owns_datatypes: false,
            stops: Mutex::default(),
            code: AtomicU8::new(0),
        }
    }

    /// The value of a predefined attribute.
    pub(crate) fn predefined(&self, key: c_int) -> Option<&c_int> {
        match key {
            MPI_TAG_UB => Some(&TAG_UB),
            MPI_WTIME_IS_GLOBAL => Some(&ONE),
            MPI_UNIVERSE_SIZE => Some(&self.universe),
            MPI_HOST => Some(&NO_PROC),
            MPI_IO => Some(&ANY_RANK),
            MPI_APPNUM => Some(&ZERO),
            _ => None,
        }
    }

    pub(crate) fn remark(&self, what: String) {
        self.remarks
            .lock()
            .expect("no thread panics with it")
            .push(what);
    }

    /// Tells once that a call on a file has returned an error, which the program may not have looked at.
    pub(crate) fn remark_on_files(&self, error: &Stop) {
        // Relaxed: nothing depends on which call is told.
        if !self.has_told_of_files.swap(true, Ordering::Relaxed) {
            self.remark(format!("{error}; such calls return errors"));
        }
    }

    /// The calls of MPI of each rank of a traced run.
    pub(crate) fn entered(&self) -> MutexGuard<'_, Vec<Vec<Entered>>> {
        self.entered.lock().expect("no thread panics with it")
    }

    /// Notes the exit code that a rank asks for which fails: the run has that of the first. It is cut as the system cuts
    /// it, and what is 0 then is [`FAILED`]: a failure never looks like a success.
    pub(crate) fn note_code(&self, code: c_int) {
        let code = match code as u8 {
            0 => FAILED,
            code => code,
        };
        // Relaxed: who reads it has seen by the lock of `ended` that the rank has ended.
        _ = self
            .code
            .compare_exchange(0, code, Ordering::Relaxed, Ordering::Relaxed);
    }

    fn ends(&self, rank: usize, outcome: Outcome<(), String>) {
        #[cfg(feature = "exports")]
        if let Outcome::Failed(why) = &outcome {
            // Relaxed: this rank has noted one.
            crate::watch::note_failure(rank, why, self.code.load(Ordering::Relaxed));
        }
        self.ended.lock().expect("no thread panics with it")[rank].get_or_insert(outcome);
        self.has_ended.notify_all();
    }

    /// Waits until all ranks have ended.
    fn outcomes(&self) -> Vec<Outcome<(), String>> {
        let ended = self.ended.lock().expect("no thread panics with it");
        let running = |ended: &mut Vec<Option<_>>| ended.iter().any(Option::is_none);
        let mut ended = self
            .has_ended
            .wait_while(ended, running)
            .expect("no thread panics with it");
        ended.drain(..).flatten().collect()
    }
}

/// How a program is run.
///
/// # Examples
///
/// ```
/// use rankfold_mpi::Program;
/// use rankfold_mpi::abi::MPI_COMM_WORLD;
/// use rankfold_mpi::exports::*;
///
/// Program::new(4).zero_buffering().run(|| {
///     let mut rank = 0;
///     // SAFETY: pointers to what the calls write.
///     unsafe {
///         MPI_Init(std::ptr::null_mut(), std::ptr::null_mut());
///         MPI_Comm_rank(MPI_COMM_WORLD, &mut rank);
///         MPI_Finalize();
///     }
///     assert!((0..4).contains(&rank));
/// })?;
/// # Ok::<(), rankfold_mpi::Failed>(())
/// ```
#[derive(Clone, Debug)]
pub struct Program {
    pub(crate) ranks: usize,
    pub(crate) world: World,
    order: Option<MessageOrder>,
    trace: Option<PathBuf>,
    owns_datatypes: bool,
    timeout: Option<Duration>,
}

/// The `main` of a program.
pub(crate) type Main = Arc<dyn Fn() -> ExitCode + Send + Sync>;

/// A run that is over.
pub(crate) struct Ended {
    /// Why it failed, if it did, and the exit code.
    pub why: Option<String>,
    pub code: u8,
    /// What it left behind.
    pub left: Vec<String>,
}

impl Program {
    /// A program on some ranks.
    pub fn new(ranks: usize) -> Program {
        Program {
            ranks,
            world: World::new(ranks),
            order: None,
            trace: None,
            owns_datatypes: false,
            timeout: None,
        }
    }

    /// Compares collective calls before each of them; see [`World::check`].
    pub fn check(mut self) -> Program {
        self.world = self.world.check(true);
        self
    }

    /// Finds programs that rely on buffers: no send completes before its message is received.
    pub fn zero_buffering(mut self) -> Program {
        self.world = self.world.buffering(Buffering::Zero);
        self
    }

    /// Ends waits that take longer, and ranks that only ask for twice as long, by `MPI_Test` and its like, while no other one
    /// moves.
    pub fn timeout(mut self, patience: Duration) -> Program {
        self.world = self.world.timeout(patience);
        self.timeout = Some(patience);
        self
    }

    /// Takes the choices that a program leaves to MPI, such as the message that a receive from any source takes, by a
    /// seed; see [`World::seed`].
    pub fn seed(mut self, seed: u64) -> Program {
        self.world = self.world.seed(seed);
        self
    }

    /// Takes these choices as an [exploration](Program::explore) printed them: its failure is repeated.
    pub fn order(mut self, order: MessageOrder) -> Program {
        match order {
            MessageOrder::Seed(seed) => self.seed(seed),
            MessageOrder::Choices(_) => {
                self.order = Some(order);
                self
            }
        }
    }

    /// Writes a trace of the run to a file, for <https://ui.perfetto.dev>.
    pub fn trace(mut self, file: impl Into<PathBuf>) -> Program {
        self.world = self.world.trace(true);
        self.trace = Some(file.into());
        self
    }

    /// Tells of datatypes that are left at the end too, and makes each key of an attribute a new one. Programs in Rust keep
    /// theirs in statics, so that they are not told of, and ranks share keys, unless this is called; `rankfold-mpirun` calls
    /// it.
    pub fn own_datatypes(mut self) -> Program {
        self.owns_datatypes = true;
        self
    }

    /// Changes the world further, such as by [`World::inject`] or [`World::buffering`].
    ///
    /// # Examples
    ///
    /// ```
    /// let quick = rankfold_mpi::Program::new(2).world(|world| world.record(false));
    /// quick.run(|| {})?;
    /// # Ok::<(), rankfold_mpi::Failed>(())
    /// ```
    pub fn world(mut self, change: impl FnOnce(World) -> World) -> Program {
        self.world = change(self.world);
        self
    }

    /// Calls `main` on each rank.
    ///
    /// # Errors
    ///
    /// What went wrong: a rank ended with an error, panicked, aborted, or was in a deadlock.
    pub fn run<T: Termination>(
        &self,
        main: impl Fn() -> T + Send + Sync + 'static,
    ) -> Result<(), Failed> {
        let main: Main = Arc::new(move || main().report());
        if let Some(order) = &self.order {
            return explore::repeat(self, order, main);
        }
        let ended = self.once(&self.world, &main)?;
        ended.left.iter().for_each(|left| eprintln!("{left}"));
        let code = ended.code;
        ended.why.map_or(Ok(()), |text| Err(Failed { text, code }))
    }

    /// Runs the program once, in a world.
    pub(crate) fn once(&self, world: &World, main: &Main) -> Result<Ended, Failed> {
        let failed = |error: &dyn fmt::Display| Failed::new(error.to_string());
        let seats = world.seats().map_err(|error| failed(&error))?;
        let shared = Arc::new(Shared {
            traced: self.trace.is_some(),
            doings: Doings::new(self.ranks, self.timeout),
            owns_datatypes: self.owns_datatypes,
            ..Shared::new(self.ranks, true)
        });
        for rank in 0..self.ranks {
            let seat = seats.take(rank).map_err(|error| failed(&error))?;
            let (shared, main) = (shared.clone(), main.clone());
            let body = move || live(seat, shared, &*main);
            let spawned = thread::Builder::new()
                .name(format!("rank-{rank}"))
                .stack_size(STACK)
                .spawn(body);
            spawned.map_err(|error| {
                Failed::new(format!("the thread of rank {rank} cannot start: {error}"))
            })?;
        }
        let report = seats.report(shared.outcomes());
        let report = report.map_err(|error| failed(&error))?;
        if let Some(file) = &self.trace {
            trace::write(&report, &shared, file)?;
        }
        Ok(ended(&shared, &report))
    }
}

/// As large as that of a process's main thread.
pub(crate) const STACK: usize = 8 << 20;

fn ended(shared: &Shared, report: &Report<(), String>) -> Ended {
    let remarks = shared.remarks.lock().expect("no thread panics with it");
    let left = remarks.iter().cloned().chain(report::left(report));
    let stops = shared.stops.lock().expect("no thread panics with it");
    let calls = shared.calls.lock().expect("no thread panics with it");
    let known = Known {
        stops: &stops,
        calls: calls.clone(),
    };
    Ended {
        why: report::failure(report, &known),
        // Relaxed: as in `note_code`.
        code: shared.code.load(Ordering::Relaxed).max(FAILED),
        left: left.collect(),
    }
}

/// Calls `main` on `ranks` ranks.
///
/// # Errors
///
/// As [`Program::run`].
pub fn run<T: Termination>(
    ranks: usize,
    main: impl Fn() -> T + Send + Sync + 'static,
) -> Result<(), Failed> {
    Program::new(ranks).run(main)
}

/// The life of a rank's thread.
fn live(seat: rankfold::Seat, shared: Arc<Shared>, main: &(dyn Fn() -> ExitCode + Send + Sync)) {
    let number = seat.rank();
    // Faults that are injected strike here too.
    let entered = catch_unwind(AssertUnwindSafe(|| Rank::new(shared.clone(), seat.enter())));
    let rank = match entered {
        Ok(Ok(rank)) => Rc::new(rank),
        Ok(Err(error)) => return shared.ends(number, Outcome::Failed(error.to_string())),
        Err(payload) => return shared.ends(number, panicked(&*payload)),
    };
    set(Some(rank.clone()));
    let ended = catch_unwind(AssertUnwindSafe(main));
    let outcome: Outcome<(), String> = match ended {
        Ok(code) if code != ExitCode::SUCCESS => {
            let code = number_of(code);
            shared.note_code(code.into());
            Outcome::Failed(format!("its main returned the code {code}"))
        }
        Ok(_) if rank.phase.get() == Phase::Running => {
            Outcome::Failed("it returned without MPI_Finalize".into())
        }
        Ok(_) => Outcome::Returned(()),
        Err(payload) => {
            shared.note_code(PANICKED);
            panicked(&*payload)
        }
    };
    if matches!(outcome, Outcome::Failed(_)) {
        shared.note_code(FAILED.into());
    }
    let why: Option<String> = match &outcome {
        Outcome::Failed(text) => Some(text.clone()),
        Outcome::Panicked { message, .. } => Some(format!("a panic: {message}")),
        _ => None,
    };
    let why = why.as_ref().map(|text| text as &dyn fmt::Display);
    leave(&rank, why);
    set(None);
    drop(rank);
    shared.ends(number, outcome);
}

fn panicked(payload: &(dyn Any + Send)) -> Outcome<(), String> {
    Outcome::Panicked {
        message: said(payload).into(),
        site: None,
    }
}

fn said(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(ToString::to_string);
    let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "something that is no text".into())
}

/// Ends the rank for all others.
fn leave(rank: &Rank, why: Option<&dyn fmt::Display>) {
    crate::window::close_all(rank);
    rank.tell_rest();
    let well = why.is_none() && rank.phase.get() == Phase::Finalized;
    rank.shared.doings.leaves(rank.me(), well);
    rank.shared.entered()[rank.me()] = rank.entered.take();
    let call = rank.call.get();
    rank.shared.calls.lock().expect("no thread panics with it")[rank.me()] = call;
    Seats::end(&rank.world.comm, why);
    attribute::forget(rank);
}

/// Ends the rank where it is.
pub(crate) fn stop(rank: &Rank, stop: Stop) -> ! {
    let why = stop.to_string();
    if !rank.shared.launched {
        eprintln!("{why}");
        // Relaxed: this rank alone writes it.
        let code = rank.shared.code.load(Ordering::Relaxed).max(FAILED);
        std::process::exit(code.into());
    }
    rank.shared
        .stops
        .lock()
        .expect("no thread panics with it")
        .insert(rank.me(), stop);
    end(rank, Outcome::Failed(why))
}

/// Ends the rank where it is: its thread never runs again.
pub(crate) fn end(rank: &Rank, outcome: Outcome<(), String>) -> ! {
    let why = match &outcome {
        Outcome::Failed(why) => Some(why as &dyn fmt::Display),
        _ => None,
    };
    if why.is_some() {
        rank.shared.note_code(FAILED.into());
    }
    leave(rank, why);
    rank.shared.ends(rank.me(), outcome);
    loop {
        thread::park();
    }
}

/// The rank of a thread that calls `MPI_Init` and was not launched: the only one of a world.
pub(crate) fn singleton() -> Result<Rc<Rank>, String> {
    let seats = World::connect(1);
    let seat = seats.take(0).map_err(|error| error.to_string())?;
    let rank = Rank::new(Arc::new(Shared::new(1, false)), seat.enter());
    let rank = Rc::new(rank.map_err(|error| error.to_string())?);
    set(Some(rank.clone()));
    debug_assert!(current().is_some());
    Ok(rank)
}
