//! Letters that are no messages: they announce bodies or want them, or say how letters go.

use super::lending::Ticket;
use super::marks::{ANNOUNCED, ANSWERED, ASKED, MARKS, MOVED, OFFERED, WANTED};
use super::message::as_padded;
use super::node::ADDRESS;
use super::requests::Receiving;
use super::traffic::{Straight, Traffic, is_short, tag_of};
use super::{Deliver, HEAD, Message};

impl Traffic {
    /// Offers the segment of this process to all others.
    pub(super) fn offer(&mut self, (me, count): (usize, usize)) -> Result<(), String> {
        let Some(offer) = self.node.offer() else {
            return Ok(());
        };
        let mut others = (0..count).filter(|to| *to != me);
        others.try_for_each(|to| self.send_letter(to, [as_padded(&offer), &[]], OFFERED))
    }

    /// Opens a letter whose last word is marked.
    #[inline(never)]
    pub(super) fn open_marked(
        &mut self,
        from: usize,
        (bytes, last): (&[u8], u64),
        deliver: &mut dyn Deliver,
    ) -> Result<(), String> {
        let is_read = match last {
            WANTED => self.is_wanted_by(from, bytes),
            OFFERED => match bytes.as_array() {
                Some(offer) => return self.accept(from, offer),
                None => false,
            },
            MOVED => bytes.is_empty() && self.node.moves(from),
            ASKED => match bytes.as_array::<4>() {
                Some(question) => {
                    return self.send_over_mpi(from, [as_padded(question), &[]], ANSWERED);
                }
                None => false,
            },
            ANSWERED => bytes
                .as_array()
                .is_some_and(|question| self.hears(from, *question)),
            _ if last & MARKS == ANNOUNCED => {
                let length = (last & !ANNOUNCED) as usize;
                return self.open_announced(from, (bytes, length), deliver);
            }
            _ => false,
        };
        if !is_read {
            self.read_no_more(from, deliver);
        }
        Ok(())
    }

    /// A process offers its segment: all letters to it go there, if this one can map it.
    fn accept(&mut self, from: usize, offer: &[u8; ADDRESS]) -> Result<(), String> {
        // Nothing is sent over MPI after the goodbye.
        let outbox = (!self.exits).then(|| self.node.map(from, offer));
        if let Some(outbox) = outbox.flatten() {
            self.send_letter(from, [&[], &[]], MOVED)?;
            self.node.accept(from, outbox);
        }
        Ok(())
    }

    /// Whether this letter says that its sender wants a body.
    fn is_wanted_by(&mut self, from: usize, bytes: &[u8]) -> bool {
        let ticket = bytes
            .as_array()
            .and_then(|word| Ticket::of(u64::from_le_bytes(*word)));
        if let Some(ticket) = ticket {
            self.lending.want(from, ticket);
        }
        ticket.is_some()
    }

    /// Opens a letter that announces a body of this length.
    fn open_announced(
        &mut self,
        from: usize,
        (bytes, length): (&[u8], usize),
        deliver: &mut dyn Deliver,
    ) -> Result<(), String> {
        let ticket = bytes.split_last_chunk().and_then(|(head, word)| {
            let ticket = Ticket::of(u64::from_le_bytes(*word))?;
            (head.len() == HEAD && !is_short(length)).then_some((head, ticket))
        });
        let Some((head, ticket)) = ticket else {
            self.read_no_more(from, deliver);
            return Ok(());
        };
        let in_one = self.library.is_one_part(length);
        let lent = match self.waiting[from].is_empty() && in_one {
            true => deliver.room(from, head, length),
            false => None,
        };
        let body = match lent {
            Some(lent) => Some(Receiving::into_lent(lent)),
            None => Receiving::room_for(length),
        };
        match body {
            Some(body) => self.want(from, (Message::of(head), ticket), (body, length)),
            None => {
                self.read_no_more(from, deliver);
                Ok(())
            }
        }
    }

    /// Posts the receive of a body that is announced, and says that it is wanted.
    fn want(
        &mut self,
        from: usize,
        (letter, ticket): (Message, Ticket),
        (mut body, length): (Receiving, usize),
    ) -> Result<(), String> {
        self.library
            .receive(&mut body, from, (length, tag_of(ticket)))?;
        let word = ticket.word().to_le_bytes();
        self.send_letter(from, [as_padded(&word), &[]], WANTED)?;
        if body.lent.is_some() {
            let heard = self.heard[from];
            self.straight = Some(Box::new(Straight { from, body, heard }));
            return Ok(());
        }
        self.await_body(from, letter, body, true);
        Ok(())
    }
}
