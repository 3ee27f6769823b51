//! The sequential model: which ranks complete.

use super::{Act, Message, Program};

/// The mailbox of one rank: the messages that have arrived, and the posted receives, in order.
#[derive(Default)]
struct Mail {
    come: Vec<Message>,
    posted: Vec<(Message, bool)>,
    done: Vec<usize>,
}

fn accepts((wanted, any_tag): (Message, bool), message: &Message) -> bool {
    wanted.from == message.from && (any_tag || wanted.tag == message.tag)
}

impl Mail {
    fn arrive(&mut self, message: Message) {
        match self
            .posted
            .iter()
            .position(|&wanted| accepts(wanted, &message))
        {
            Some(place) => self.done.push(self.posted.remove(place).0.id),
            None => self.come.push(message),
        }
    }

    fn take(&mut self, wanted: (Message, bool)) -> bool {
        let place = self
            .come
            .iter()
            .position(|message| accepts(wanted, message));
        place.map(|place| self.come.remove(place)).is_some()
    }
}

/// A program under way.
struct Run<'a> {
    program: &'a Program,
    /// The act that each rank has come to.
    at: Vec<usize>,
    /// How many barriers each rank has passed.
    met: Vec<usize>,
    mail: Vec<Mail>,
}

impl Run<'_> {
    /// Returns whether every rank is in the barrier of this rank, or past it.
    fn all_met(&self, rank: usize) -> bool {
        let (at, met, program) = (&self.at, &self.met, &self.program.0);
        let here = |other: usize| {
            met[other] > met[rank]
                || met[other] == met[rank]
                    && matches!(program[other].get(at[other]), Some(Act::Barrier))
        };
        (0..program.len()).all(here)
    }

    /// Does a rank's next act, and returns whether it goes on.
    fn step(&mut self, rank: usize) -> bool {
        let Some(act) = self.program.0[rank].get(self.at[rank]) else {
            return false;
        };
        let goes = match act {
            Act::Isend(message) | Act::Send(message) => {
                self.mail[message.to].arrive(*message);
                true
            }
            Act::Irecv { message, any_tag } => {
                let mail = &mut self.mail[rank];
                match mail.take((*message, *any_tag)) {
                    true => mail.done.push(message.id),
                    false => mail.posted.push((*message, *any_tag)),
                }
                true
            }
            Act::Recv {
                message, any_tag, ..
            } => self.mail[rank].take((*message, *any_tag)),
            Act::WaitReceives(_, ids) => ids.iter().all(|id| self.mail[rank].done.contains(id)),
            Act::Barrier => {
                let goes = self.all_met(rank);
                self.met[rank] += usize::from(goes);
                goes
            }
            _ => true,
        };
        self.at[rank] += usize::from(goes);
        goes
    }
}

/// Returns whether each rank reaches its end. Sequential, without wildcards, with room for every message.
pub fn completes(program: &Program) -> Vec<bool> {
    let n = program.0.len();
    let mut run = Run {
        program,
        at: vec![0; n],
        met: vec![0; n],
        mail: (0..n).map(|_| Mail::default()).collect(),
    };
    let mut moved = true;
    while std::mem::take(&mut moved) {
        for rank in 0..n {
            moved |= run.step(rank);
        }
    }
    // Requests that remain for the end are waited for there.
    let late = |rank: usize| run.mail[rank].posted.is_empty();
    (0..n)
        .map(|rank| run.at[rank] == program.0[rank].len() && late(rank))
        .collect()
}
