//! What a process does when all its ranks are at rest: it helps to prove [silence](super::silence), and tells its ranks
//! the [judgement](super::judgement).

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use super::far::Far;
use super::judged::Judged;
use super::judgement::Judgement;
use super::local_state::LocalState;
use super::notes::Writer;
use super::silence::{Count, Rest, Say, To};
use super::wire::Kind;
use crate::Rank;
use crate::error::{Cause, Error};
use crate::transport::deadlock::registry::Registry;
use crate::transport::{CommShared, Fabric};

impl Fabric {
    /// A rank has gone to sleep, or all have ended. The error if no rank of any process can move any more: all that sleep
    /// here are told.
    pub(in crate::transport) fn silenced(&self, me: Option<Rank>) -> Option<Error> {
        let far = self.far.as_ref()?;
        if self.rest(far).is_none() && !far.held.any() {
            return None;
        }
        self.conclude(far, me)
    }

    /// Tells the other processes what silence needs, if all near ranks are at rest.
    fn rest(&self, far: &Far) -> Option<()> {
        let _saying = far.may_speak()?;
        // Kept until the registry is closed: the last reference to one may be here.
        let comms = self.comms();
        let registry = self.open_registry();
        let count = self.count_at_rest(far, &registry)?;
        let before = far.silence.lock().wants_local_state();
        let Some(before) = before else {
            let waits = self.waits(&registry);
            // Not under the registry's lock: that of MPI comes before it.
            drop(registry);
            far.rest(Rest { count, waits });
            return Some(());
        };
        let local_state = (before == Some(count)).then(|| self.local_state(&registry, &comms));
        let say = far.silence.lock().turn(local_state);
        drop(registry);
        if let Some(say) = say {
            far.tell_silence(To::All, &say);
        }
        Some(())
    }

    /// The count of this process, if all its ranks are at rest.
    fn count_at_rest(&self, far: &Far, registry: &Registry) -> Option<Count> {
        let is_at_rest = |rank: Rank| {
            let asleep = || self.endpoints[rank].sleeper.asleep();
            registry.is_at_rest(rank, asleep)
        };
        let rests = self.near().all(is_at_rest) && !far.has_to_tell();
        rests.then(|| far.count())
    }

    /// The waits of the near ranks, as a hash.
    fn waits(&self, registry: &Registry) -> u64 {
        let near = self.near();
        let living = registry.living().filter(|(rank, _)| near.contains(rank));
        let mut hash = DefaultHasher::new();
        living.for_each(|(rank, wait)| (rank, wait.since).hash(&mut hash));
        hash.finish()
    }

    /// Tells the near ranks what all processes find by the local states of all, once those are here and the other processes
    /// have been told of it: what a rank does after that is held there. An error that it returns ends the sleep of `me`.
    pub(super) fn conclude(&self, far: &Far, me: Option<Rank>) -> Option<Error> {
        // Kept until the registry is closed: the last reference to one may be here.
        let comms = self.comms();
        let judged = far.judged()?;
        if !judged.verdicts.is_empty() && !far.tells(judged.round) {
            return None;
        }
        let mut registry = self.open_registry();
        if !self.can_be_told(far, &registry, &judged) {
            return None;
        }
        far.silence.lock().begins_to_tell();
        let mut error = None;
        for verdict in &judged.verdicts {
            let told = self.pronounce(&mut registry, me, (verdict, &judged), &comms);
            error = error.or(told);
        }
        if let (Some(me), Some(_)) = (me, &error) {
            // Before another rank that is told goes on: to that one it would seem to wait still.
            self.rise(&mut registry, me);
            registry.entries[me].verdict = None;
        }
        drop(registry);
        far.take_held(Some(self), judged.finds_nothing());
        error
    }

    /// Whether this is still to be done, and the near ranks that the verdicts concern sleep, or have ended. One that looks
    /// at this moment sleeps again later, since it can never move.
    fn can_be_told(&self, far: &Far, registry: &Registry, judged: &Judged) -> bool {
        let near = self.near();
        let concerned = judged.verdicts.iter().flat_map(|verdict| &verdict.ranks);
        let sleeps = |rank: &Rank| registry.entries[*rank].wait.is_some();
        let mut ranks = concerned.filter(|rank| near.contains(rank));
        ranks.all(|rank| sleeps(rank) || registry.end(*rank).is_some())
            && far.silence.lock().is_to_tell(judged.round)
    }

    /// Tells the near ranks that a verdict concerns, if they still wait as their local state says.
    fn pronounce(
        &self,
        registry: &mut Registry,
        me: Option<Rank>,
        (verdict, judged): (&Judgement, &Judged),
        comms: &[Arc<CommShared>],
    ) -> Option<Error> {
        let Judgement {
            cause,
            mut ranks,
            breaks,
        } = verdict.clone();
        if let Cause::Deadlock(deadlock) = &cause {
            registry.deadlocks.push(deadlock.clone());
        }
        for comm in comms.iter().filter(|comm| Some(comm.context) == breaks) {
            comm.cause.get_or_init(|| cause.clone());
        }
        ranks.retain(|rank| {
            let wait = registry.entries[*rank].wait.as_ref();
            wait.is_some_and(|wait| judged.since.get(rank) == Some(&wait.since))
        });
        // No rank has the number of all.
        let me = me.unwrap_or(registry.entries.len());
        self.sentence(registry, me, (cause, ranks))
    }
}

impl Far {
    /// This process was at rest: tells the others what silence needs.
    fn rest(&self, rest: Rest) {
        let says = self.silence.lock().rest(rest, &self.live());
        says.iter()
            .for_each(|(to, say)| self.tell_silence(*to, say));
    }

    /// The same where the world has not started: no rank of this process has called anything.
    pub(super) fn rest_without_ranks(&self) {
        let saying = self.may_speak();
        let wanted = self.silence.lock().wants_local_state();
        match wanted {
            None => self.rest(Rest {
                count: self.count(),
                waits: 0,
            }),
            Some(before) => {
                let same = before == Some(self.count());
                let say = self.silence.lock().turn(same.then(LocalState::default));
                say.iter().for_each(|say| self.tell_silence(To::All, say));
            }
        }
        drop(saying);
        if let Some(judged) = self.judged() {
            self.silence.lock().begins_to_tell();
            self.take_held(None, judged.finds_nothing());
        }
    }

    /// What the local states of all processes say, once they are here. It is judged once a round: ranks that look for
    /// messages ask for it again until it can be told.
    fn judged(&self) -> Option<Arc<Judged>> {
        let mut last = self.judged.lock();
        let (round, local_states) = {
            let silence = self.silence.lock();
            let round = silence.round();
            let of_round = last.as_ref().filter(|judged| judged.round == round);
            if let Some(judged) = of_round.filter(|_| silence.is_to_tell(round)) {
                return Some(judged.clone());
            }
            (round, silence.local_states(&self.live())?)
        };
        let judged = Arc::new(Judged::new(round, self.ranks(), local_states));
        *last = Some(judged.clone());
        Some(judged)
    }

    /// Tells the other processes, once, that the ranks here are told. Returns whether they were told that.
    fn tells(&self, round: u32) -> bool {
        let Some(_saying) = self.may_speak() else {
            return false;
        };
        let say = self.silence.lock().tells(round);
        if let Some(say) = say {
            self.tell_silence(To::All, &say);
            self.silence.lock().has_told(round);
        }
        self.silence.lock().is_told(round)
    }

    /// The ranks here have been told, or all processes found `nothing` to tell: takes in what was held, in order, and lets
    /// the next round begin.
    pub(super) fn take_held(&self, fabric: Option<&Fabric>, nothing: bool) {
        *self.judged.lock() = None;
        self.silence.lock().next_round(nothing);
        while let Some((from, letter, body)) = self.held.next() {
            if !self.session.membership.is_dropped(from) {
                self.take(fabric, from, letter.bytes(), body);
            }
        }
        self.silence.lock().concluding = false;
    }

    /// Says something of silence. It is not counted.
    pub(super) fn tell_silence(&self, to: To, say: &Say) {
        let (me, processes) = self.process();
        let hears = |process: &usize| to == To::All || to == To::One(*process);
        let all = (0..processes).filter(hears).collect::<Vec<_>>();
        let hears_at_once = all.contains(&me);
        // A rank here is told by the local states of all, and may then let its process exit: the others have this one first.
        let is_state = matches!(say, Say::LocalState { .. });
        if hears_at_once && !is_state {
            self.silence.lock().hear(me, say.clone());
        }
        let others = all.into_iter().filter(|process| *process != me);
        self.tell(Kind::Silence, others, Writer::default().say(say));
        if hears_at_once && is_state {
            self.silence.lock().hear(me, say.clone());
        }
    }
}
