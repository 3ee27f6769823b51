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

/// Returns whether each rank reaches its end. Sequential, without wildcards, with room for every message.
pub fn completes(program: &Program) -> Vec<bool> {
    let n = program.0.len();
    let mut at = vec![0; n];
    let mut met = vec![0; n];
    let mut mail: Vec<Mail> = (0..n).map(|_| Mail::default()).collect();
    let mut moved = true;
    while std::mem::take(&mut moved) {
        for rank in 0..n {
            let Some(act) = program.0[rank].get(at[rank]) else {
                continue;
            };
            let goes = match act {
                Act::Isend(message) | Act::Send(message) => {
                    mail[message.to].arrive(*message);
                    true
                }
                Act::Irecv { message, any_tag } => {
                    match mail[rank].take((*message, *any_tag)) {
                        true => mail[rank].done.push(message.id),
                        false => mail[rank].posted.push((*message, *any_tag)),
                    }
                    true
                }
                Act::Recv {
                    message, any_tag, ..
                } => mail[rank].take((*message, *any_tag)),
                Act::WaitReceives(_, ids) => ids.iter().all(|id| mail[rank].done.contains(id)),
                Act::Barrier => {
                    let here = |other: usize| {
                        met[other] > met[rank]
                            || met[other] == met[rank]
                                && matches!(program.0[other].get(at[other]), Some(Act::Barrier))
                    };
                    let goes = (0..n).all(here);
                    met[rank] += usize::from(goes);
                    goes
                }
                _ => true,
            };
            at[rank] += usize::from(goes);
            moved |= goes;
        }
    }
    // Requests that remain for the end are waited for there.
    let late = |rank: usize| mail[rank].posted.is_empty();
    (0..n)
        .map(|rank| at[rank] == program.0[rank].len() && late(rank))
        .collect()
}
