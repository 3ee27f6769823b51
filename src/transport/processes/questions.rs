//! How a rank that has found something wrong asks the other processes what they know of their ranks: whose calls are
//! compared is known only where they were made.
//!
//! A question is answered by whoever takes in messages in the other process. One that is not answered in time, since all
//! ranks there are busy elsewhere, is given up: then less is known.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::far::Far;
use super::page::Page;
use super::session::Nap;
use super::silence::{Say, To};
use crate::Rank;
use crate::error::Mismatch;
use crate::transport::Fabric;
use crate::transport::deadlock::record::Record;
use crate::transport::deadlock::wait_for_graph::Needs;
use crate::transport::port::Port;

/// Maximum time for which a rank waits for answers.
const PATIENCE: Duration = Duration::from_secs(1);

/// The questions of this process and of others.
pub(super) struct Questions {
    last: AtomicU32,
    /// By process: the last question that was answered, and the answer.
    seen: Mutex<Vec<Option<(u32, Page)>>>,
    /// Whether a question was asked here that is not answered.
    open: AtomicBool,
    /// Who asks, and the question.
    asked: Mutex<Vec<(usize, u32)>>,
    /// By process: the mismatch that was found when all ranks had ended, if it has said so.
    found: Mutex<Vec<Option<Option<Arc<Mismatch>>>>>,
}

/// The question that each process answers unasked, once its ranks have ended.
const LAST: u32 = u32::MAX;

impl Questions {
    /// None, of so many processes.
    pub(super) fn new(processes: usize) -> Questions {
        Questions {
            last: AtomicU32::new(0),
            seen: Mutex::new(vec![None; processes]),
            open: AtomicBool::new(false),
            asked: Mutex::default(),
            found: Mutex::new(vec![None; processes]),
        }
    }

    /// A process has said what it has found.
    pub(super) fn find(&self, from: usize, found: Option<Arc<Mismatch>>) {
        self.found.lock()[from] = Some(found);
    }

    /// A process asks. It is answered by this thread, once it is not inside MPI.
    pub(super) fn ask(&self, from: usize, question: u32) {
        self.asked.lock().push((from, question));
        // Relaxed: read by this thread.
        self.open.store(true, Ordering::Relaxed);
    }

    /// A process has answered.
    pub(super) fn see(&self, from: usize, question: u32, page: Page) {
        let seen = &mut self.seen.lock()[from];
        if seen.as_ref().is_none_or(|(before, _)| *before < question) {
            *seen = Some((question, page));
        }
    }
}

impl Far {
    /// Answers the questions of other processes. Not where the registry may be open, nor inside MPI.
    pub(super) fn answer(&self, fabric: Option<&Fabric>) {
        // Relaxed: whoever took the question in sees it.
        if !self.questions.open.swap(false, Ordering::Relaxed) {
            return;
        }
        let asked = std::mem::take(&mut *self.questions.asked.lock());
        for (from, question) in asked {
            let page = fabric.map_or_else(Page::default, |fabric| {
                let comms = fabric.comms();
                fabric.page(&fabric.open_registry(), &comms)
            });
            self.tell_silence(To::One(from), &Say::Seen { question, page });
        }
    }

    /// The near ranks have ended: tells all processes what they have called.
    pub(super) fn tell_last(&self, fabric: Option<&Fabric>) {
        let page = fabric.map_or_else(Page::default, |fabric| {
            let comms = fabric.comms();
            fabric.page(&fabric.open_registry(), &comms)
        });
        let question = LAST;
        self.tell_silence(To::All, &Say::Seen { question, page });
    }

    /// Whether all processes have done so.
    pub(super) fn knows_last(&self) -> bool {
        self.is_answered(LAST)
    }

    /// Tells all processes which mismatch was found here when all ranks had ended, the first time.
    pub(super) fn tell_found(&self, found: Option<Arc<Mismatch>>) {
        let (me, _) = self.process();
        if self.questions.found.lock()[me].is_none() {
            self.tell_silence(To::All, &Say::Found(found.clone()));
            self.questions.find(me, found);
        }
    }

    /// What the first process has found that has found anything, once all have said so.
    fn found(&self) -> Option<Option<Arc<Mismatch>>> {
        let found = self.questions.found.lock();
        let live = self.live();
        let said = found
            .iter()
            .zip(live)
            .all(|(one, live)| one.is_some() || !live);
        said.then(|| found.iter().flatten().flatten().next().cloned())
    }

    fn is_answered(&self, question: u32) -> bool {
        let seen = self.questions.seen.lock();
        let (me, _) = self.process();
        let mut all = seen.iter().zip(self.live()).enumerate();
        all.all(|(process, (seen, live))| {
            let answered = seen.as_ref().is_some_and(|(last, _)| *last >= question);
            process == me || !live || answered
        })
    }
}

impl Fabric {
    /// Whether the calls of a rank are known here.
    pub(in crate::transport) fn knows_calls_of(&self, rank: Rank) -> bool {
        self.asked_of(rank, |_| ()).is_some() || !self.is_far(rank)
    }

    /// The last calls of a far rank, as far as its process has told.
    pub(in crate::transport) fn far_records(&self, rank: Rank, context: u32) -> Vec<(u32, Record)> {
        let records = self.asked_of(rank, |page| page.records_of(rank, context));
        records.unwrap_or_default()
    }

    /// What far ranks needed when their processes told.
    pub(in crate::transport) fn far_needs(&self) -> Vec<(Rank, Needs)> {
        let Some(far) = &self.far else {
            return Vec::new();
        };
        let seen = far.questions.seen.lock();
        let rows = seen.iter().flatten().flat_map(|(_, page)| &page.rows);
        let rows = rows.filter(|row| !row.may_move);
        rows.map(|row| (row.rank, row.needs.clone())).collect()
    }

    /// Whether a rank had ended, and made its last call, when its calls became known here.
    pub(in crate::transport) fn is_over(&self, rank: Rank) -> bool {
        let told = self.asked_of(rank, |page| page.ended.contains(&rank));
        told.unwrap_or_else(|| !self.is_there(rank))
    }

    /// The mismatch that some process has found when all ranks had ended, `found` by this one: the same in all processes.
    pub(crate) fn found_anywhere(&self, found: Option<Arc<Mismatch>>) -> Option<Arc<Mismatch>> {
        let Some(far) = &self.far else {
            return found;
        };
        far.tell_found(found);
        let mut nap = Nap::default();
        loop {
            if let Some(found) = far.found() {
                return found;
            }
            far.poll(Some(self), true);
            nap.pass();
        }
    }

    /// Reads what the process of a far rank has answered.
    fn asked_of<R>(&self, rank: Rank, read: impl FnOnce(&Page) -> R) -> Option<R> {
        let far = self.far.as_ref().filter(|_| self.is_far(rank))?;
        let seen = far.questions.seen.lock();
        seen[far.process_of(rank)]
            .as_ref()
            .map(|(_, page)| read(page))
    }
}

impl Port {
    /// Asks the other processes where their ranks are and what they have called, and waits a while for the answers. Not
    /// where the registry may be open.
    #[cold]
    pub(crate) fn ask_far(&self) {
        let Some(far) = &self.fabric.far else {
            return;
        };
        // Relaxed: only the number matters.
        let question = far.questions.last.fetch_add(1, Ordering::Relaxed) + 1;
        far.tell_silence(To::All, &Say::Look(question));
        let begin = Instant::now();
        let mut nap = Nap::default();
        while !far.is_answered(question) && begin.elapsed() < PATIENCE {
            self.pump();
            nap.pass();
        }
    }
}
