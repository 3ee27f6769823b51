//! What is left to send, and the exit of all processes.

use super::traffic::Traffic;

impl Traffic {
    /// Whether all that was sent has left, to the processes that are `waited` for.
    pub(super) fn has_sent_all(&self, waited: &dyn Fn(usize) -> bool) -> bool {
        let mut outgoing = self.outgoing.iter().map(|(to, _)| *to);
        let mut others = self.lending.receivers().chain(self.node.receivers());
        !outgoing.any(waited) && !others.any(waited)
    }

    /// Whether something is on its way that needs polls.
    pub(super) fn is_busy(&self) -> bool {
        let mut others = self.lending.receivers().chain(self.node.receivers());
        !self.outgoing.is_empty() || self.bodies > 0 || others.next().is_some()
    }

    /// Whether all processes have come to their exit, and what they have sent has left, to those that are `waited` for. To
    /// be called until they have.
    pub(super) fn all_exit(&mut self, waited: &dyn Fn(usize) -> bool) -> Result<bool, String> {
        if self.exit.is_none() && self.has_sent_all(waited) {
            self.exit = Some(self.library.begin_barrier()?);
        }
        match &mut self.exit {
            Some(exit) => self.library.have_met(exit),
            None => Ok(false),
        }
    }

    /// Finalizes MPI.
    pub(super) fn finish(&mut self) {
        self.library.finalize(&mut self.letters);
    }
}
