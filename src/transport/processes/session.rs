//! The processes of this program, from the first world that is spread over them until the process exits.

use std::collections::VecDeque;
use std::process;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::membership::Membership;
use super::notes::{Hello, Reader, Writer};
use super::wire::{Envelope, Kind};
use crate::mpi::{Deliver, Launched, Left, Message, Processes};

/// The state of this process among the others, kept until it exits.
pub(super) struct Session {
    /// The process that has joined the others: one that it forks has not.
    pid: u32,
    pub processes: Processes,
    /// Number of worlds that were opened.
    worlds: AtomicU32,
    /// The world that is open.
    stage: Mutex<Stage>,
    /// Which processes take part.
    pub membership: Membership,
    /// Messages of worlds that this process has not opened yet, with their senders.
    early: Mutex<VecDeque<Early>>,
}

/// Where the world stands that is spread over the processes now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// There is none.
    Over,
    Runs,
    /// Its ranks in this process have ended. This thread waits for those elsewhere and for what is found, and then drops
    /// what is left of it; another process may open the next one before that.
    Ends(ThreadId),
}

/// A message of a world that this process has not opened yet: its sender, the letter and the body.
type Early = (usize, Message, Option<Message>);

static SESSION: OnceLock<Result<Session, String>> = OnceLock::new();

/// How long a thread that polls sleeps at first and at most between two looks that found nothing.
pub(super) const SHORT: Duration = Duration::from_micros(50);
pub(super) const LONG: Duration = Duration::from_millis(1);

/// For how long messages to processes that do not believe this one are waited for at the exit, and after which time the
/// goodbye is said again.
const PATIENCE: Duration = Duration::from_secs(1);

/// Called by the C library when the process exits, whatever has happened in it before; and when one exits that this process
/// has forked, which has nothing of MPI.
extern "C" fn last() {
    let session = SESSION.get().and_then(|session| session.as_ref().ok());
    if let Some(session) = session.filter(|session| session.pid == process::id()) {
        session.say_bye();
        session.processes.finish();
    }
}

/// The session; MPI is initialized by the first call.
pub(super) fn session(launched: &Launched) -> Result<&'static Session, String> {
    let join = || {
        let processes = Processes::join(launched, last)?;
        Ok(Session::new(processes))
    };
    let session = SESSION.get_or_init(join).as_ref().map_err(String::clone)?;
    match session.pid == process::id() {
        true => Ok(session),
        false => Err("this process was forked from one that had joined the others".into()),
    }
}

impl Session {
    pub(super) fn new(processes: Processes) -> Session {
        Session {
            pid: process::id(),
            worlds: AtomicU32::new(0),
            stage: Mutex::new(Stage::Over),
            membership: Membership::new((processes.me, processes.count)),
            early: Mutex::default(),
            processes,
        }
    }

    /// Opens a world together with all other processes. Returns its number, and what each process brings.
    pub(super) fn open(&self, hello: &Hello) -> Result<(u32, Vec<Hello>), String> {
        self.begin()?;
        let refused = self.processes.refused.as_deref().map(|why| Hello {
            refused: Some(why.into()),
            ..Hello::default()
        });
        let hello = refused.as_ref().unwrap_or(hello);
        // Relaxed: only the number matters.
        let world = self.worlds.fetch_add(1, Ordering::Relaxed) + 1;
        let greeted = self.greet(world, hello);
        if greeted.is_err() {
            // Who is to blame comes before the refusal that follows from it.
            self.tell_excluded();
        }
        if let Err(why) = &greeted
            && hello.refused.is_none()
        {
            self.take_back(world, why);
        }
        let greeted = greeted.and_then(all_take_part);
        if greeted.is_err() {
            self.close();
        }
        greeted.map(|all| (world, all))
    }

    /// Takes the place of the one open world. Waits for one whose ranks have ended in this process.
    fn begin(&self) -> Result<(), String> {
        let mut nap = Nap::default();
        loop {
            let before = self.stage.lock().begin();
            match before {
                Stage::Over => return Ok(()),
                Stage::Ends(thread) if thread != thread::current().id() => nap.pass(),
                Stage::Runs | Stage::Ends(_) => {
                    return Err(
                        "another world of this process is spread over the processes now".into(),
                    );
                }
            }
        }
    }

    /// The open world is about to be over.
    pub(super) fn ends(&self) {
        *self.stage.lock() = Stage::Ends(thread::current().id());
    }

    /// The world is over; another one may be opened.
    pub(super) fn close(&self) {
        *self.stage.lock() = Stage::Over;
    }

    /// Tells the others, which have been greeted, that this process does not take part after all.
    fn take_back(&self, world: u32, why: &str) {
        let hello = Hello {
            refused: Some(why.into()),
            ..Hello::default()
        };
        self.send_others(Kind::Hello, world, &Writer::default().hello(&hello));
    }

    fn send_others(&self, kind: Kind, world: u32, note: &Writer) {
        let (head, note) = (Envelope::of_note(kind, world).bytes(), note.bytes());
        self.others()
            .for_each(|other| self.processes.send(other, &head, &note));
    }

    fn others(&self) -> impl Iterator<Item = usize> {
        let (me, count) = (self.processes.me, self.processes.count);
        (0..count).filter(move |other| *other != me)
    }

    fn greet(&self, world: u32, hello: &Hello) -> Result<Vec<Hello>, String> {
        let processes = &self.processes;
        let left = |process: usize| self.membership.has_left(process);
        self.send_others(Kind::Hello, world, &Writer::default().hello(hello));
        let mut said: Vec<Option<Hello>> = vec![None; processes.count];
        said[processes.me] = Some(hello.clone());
        let mut nap = Nap::default();
        for (from, letter, body) in self.take_early() {
            self.hear(world, &mut said, (from, letter.bytes(), body));
        }
        while self.all_believed()? && said.iter().any(Option::is_none) {
            if let Some(gone) = self
                .others()
                .find(|other| said[*other].is_none() && left(*other))
            {
                return Err(format!("process {gone} has exited without this world"));
            }
            let hear = &mut |from, letter: &[u8], body| {
                self.hear(world, &mut said, (from, letter, body));
            };
            // It is reported once, and nothing is to be heard of them any more.
            let lost = |_: &String| self.others().for_each(|other| self.membership.leave(other));
            self.poll(true, hear, &mut Left::default())
                .inspect_err(lost)?;
            nap.pass();
        }
        Ok(said.into_iter().flatten().collect())
    }

    /// Why no world can be opened any more, if a process was excluded.
    fn all_believed(&self) -> Result<bool, String> {
        match self.membership.first_excluded() {
            None => Ok(true),
            Some(process) if process == self.processes.me => Err(
                "this process has sent others what they cannot read: they open no world with it"
                    .into(),
            ),
            Some(process) => Err(format!("process {process} has sent what cannot be read")),
        }
    }

    /// Takes in what has arrived, and tells the others which processes were excluded by that.
    #[inline]
    pub(super) fn poll<'s>(
        &'s self,
        all: bool,
        deliver: &mut dyn Deliver,
        left: &mut Left<'s>,
    ) -> Result<(), String> {
        let polled = self.processes.poll(all, deliver, left);
        if self.membership.has_news() {
            self.tell_excluded();
        }
        polled
    }

    /// Tells the others which processes were excluded here. Not inside MPI.
    pub(super) fn tell_excluded(&self) {
        for process in self.membership.take_news() {
            let mut note = Writer::default();
            note.number(process);
            let (head, note) = (Envelope::of_note(Kind::Excluded, 0).bytes(), note.bytes());
            self.others()
                .for_each(|other| self.processes.send_at_exit(other, &head, &note));
        }
    }

    /// The process that is to be excluded by what another one has told: that one itself, if it cannot be read.
    pub(super) fn excluded_in(&self, from: usize, note: &[u8]) -> usize {
        let process = Reader::of(note, 0).number();
        let there = process.filter(|process| *process < self.processes.count);
        there.unwrap_or(from)
    }

    /// Tells all processes that this one exits, and waits until all of them do: MPI would wait for them too, and leave
    /// what they send unread. They meet by a call of MPI itself, so that it does not matter who believes whom; but one
    /// that is not believed waits for what is not read of it until it hears so. To those that
    /// are not at their exit in time it says the same again: a body that is missing behind its letters was not sent.
    pub(super) fn say_bye(&self) {
        self.tell_excluded();
        let bye = Envelope::of_note(Kind::Bye, 0).bytes();
        let say = || self.processes.say_exit(self.others(), &bye);
        say();
        let (begin, mut nap, mut says_again) = (Instant::now(), Nap::default(), true);
        // What one that does not read it was sent may never leave.
        let waited = |to| !self.membership.is_dropped(to) || begin.elapsed() < PATIENCE;
        let hear = &mut |from, letter: &[u8], body: Option<Message>| {
            self.hear_at_exit(from, letter, body.as_ref());
        };
        let mut poll = || self.poll(true, hear, &mut Left::default()).is_ok();
        while !self.processes.all_exit(&waited) && poll() {
            if says_again && begin.elapsed() > PATIENCE {
                says_again = false;
                say();
            }
            nap.pass();
        }
    }

    /// Takes what arrives at the exit: only who is excluded matters.
    pub(super) fn hear_at_exit(&self, from: usize, letter: &[u8], body: Option<&Message>) {
        if self.membership.is_dropped(from) {
            return;
        }
        let excluded = match Envelope::open(letter) {
            None => from,
            Some((envelope, contents)) if envelope.kind == Kind::Excluded => {
                self.excluded_in(from, body.map_or(contents, Message::bytes))
            }
            Some(_) => return,
        };
        self.membership.exclude(excluded);
    }

    /// Whether all that was sent to processes that take part has left.
    pub(super) fn has_sent_all(&self) -> bool {
        let waited = |to| !self.membership.has_left(to);
        self.processes.has_sent_all(&waited)
    }

    /// Takes a greeting, which comes before all else of this world and of later ones; keeps other messages for later.
    fn hear(
        &self,
        world: u32,
        said: &mut [Option<Hello>],
        (from, letter, body): (usize, &[u8], Option<Message>),
    ) {
        if self.membership.is_dropped(from) {
            return;
        }
        let Some((envelope, contents)) = Envelope::open(letter) else {
            self.membership.exclude(from);
            return;
        };
        let note = || body.as_ref().map_or(contents, Message::bytes);
        let is_read = match envelope.kind {
            Kind::Hello if envelope.world == world => {
                let hello = Reader::of(note(), 0).hello();
                let is_read = hello.is_some();
                said[from] = hello;
                is_read
            }
            Kind::Excluded => {
                self.membership.exclude(self.excluded_in(from, note()));
                true
            }
            Kind::Bye => {
                self.membership.leave(from);
                true
            }
            // Left over from a world before, or early in this one or the next.
            _ if envelope.world < world => said[from].is_none(),
            _ if said[from].is_some() => return self.keep(from, letter, body),
            _ => false,
        };
        if !is_read {
            self.membership.exclude(from);
        }
    }

    /// Keeps a message of a world that is not open yet.
    pub(super) fn keep(&self, from: usize, letter: &[u8], body: Option<Message>) {
        let early = (from, Message::of(letter), body);
        self.early.lock().push_back(early);
    }

    /// Takes the messages that were kept.
    pub(super) fn take_early(&self) -> VecDeque<Early> {
        std::mem::take(&mut *self.early.lock())
    }
}

/// What all processes bring, if none of them refuses to take part.
fn all_take_part(all: Vec<Hello>) -> Result<Vec<Hello>, String> {
    let refused = |(process, one): (usize, &Hello)| {
        let why = one.refused.as_ref()?;
        Some(format!("process {process} cannot open the world: {why}"))
    };
    match all.iter().enumerate().find_map(refused) {
        Some(why) => Err(why),
        None => Ok(all),
    }
}

impl Stage {
    /// Another world wants to run. Returns what stood before: it does if that was none.
    fn begin(&mut self) -> Stage {
        let before = *self;
        if before == Stage::Over {
            *self = Stage::Runs;
        }
        before
    }
}

/// The sleep between looks that find nothing: yields at first, then longer and longer sleeps.
#[derive(Default)]
pub(super) struct Nap {
    looks: u32,
}

impl Nap {
    /// Number of looks between which the thread only yields.
    const YIELDS: u32 = 100;

    pub(super) fn pass(&mut self) {
        self.looks = self.looks.saturating_add(1);
        match self.looks.checked_sub(Self::YIELDS) {
            None => thread::yield_now(),
            Some(more) => thread::sleep((SHORT * (more + 1)).min(LONG)),
        }
    }
}

/// The looks between which a rank that looks for messages gives way.
const LOOKS: u32 = 16;

/// Between two looks for messages.
#[inline]
pub(super) fn pause(looks: &mut u32) {
    *looks = looks.wrapping_add(1);
    if looks.is_multiple_of(LOOKS) {
        thread::yield_now();
    }
}
