//! Receives of bodies that were promised and seem never to have been sent.

use super::marks::ASKED;
use super::message::as_padded;
use super::requests::{Patience, Receiving};
use super::traffic::Traffic;

impl Traffic {
    /// Recalls the body that is next from a process, once, if a later letter has arrived and has waited for long.
    pub(super) fn recall_late(&mut self, from: usize) -> Result<(), String> {
        let waiting = &mut self.waiting[from];
        let is_last = waiting.len() == 1;
        let Some(first) = waiting.front_mut().filter(|_| !is_last) else {
            return Ok(());
        };
        let patience = match first.was_announced {
            true => Patience::Announced,
            false => Patience::Sent,
        };
        let Some(mut body) = first.body.take_if(|body| body.is_late(patience)) else {
            return Ok(());
        };
        let recalled = match self.is_behind(from, &mut body) {
            Ok(true) => self.library.recall(&mut body),
            other => other.map(drop),
        };
        if let Some(first) = self.waiting[from].front_mut() {
            first.body = Some(body);
        }
        recalled
    }

    /// Whether the body of a receive that is late will not come if MPI has not found it: a letter over MPI has come behind it.
    /// If the letters of its sender come through memory, it is asked for one.
    pub(super) fn is_behind(&mut self, from: usize, body: &mut Receiving) -> Result<bool, String> {
        if !self.node.has_moved(from) {
            return Ok(true);
        }
        if let Some(question) = body.asked {
            // They wrap.
            return Ok(self.answers[from].wrapping_sub(question) as i32 >= 0);
        }
        self.questions[from] = self.questions[from].wrapping_add(1);
        let question = self.questions[from];
        body.asked = Some(question);
        self.send_letter(from, [as_padded(&question.to_le_bytes()), &[]], ASKED)?;
        Ok(false)
    }

    /// Takes the answer to a question, if there was one with this number.
    pub(super) fn hears(&mut self, from: usize, question: [u8; 4]) -> bool {
        let question = u32::from_le_bytes(question);
        let open = self.questions[from].wrapping_sub(self.answers[from]);
        let is_open = (1..=open).contains(&question.wrapping_sub(self.answers[from]));
        if is_open {
            self.answers[from] = question;
        }
        is_open
    }
}
