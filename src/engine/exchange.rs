//! The step of two ranks that reduce together: each sends its vector and folds the other's. It is run without what
//! steps may need besides, which takes longer than all else that such a call does.

use super::call::InCall;
use crate::Rank;
use crate::error::Result;
use crate::op::elements::Elements;
use crate::op::folds::Operands;
use crate::schedule::{Buffer, Combine, LocalCopy, Region, Step, Transfer};
use crate::unwind;

/// An exchange of whole vectors with one rank.
#[derive(Clone, Copy)]
pub(crate) struct Exchange {
    peer: Rank,
    /// The length of the vectors.
    length: usize,
    /// Whether this rank's vector is the input, and not the output.
    from_input: bool,
    /// Whether what arrives is the left operand.
    is_left: bool,
}

impl Exchange {
    /// What these steps of a rank are, if they are that.
    pub(crate) fn of(steps: &[Step]) -> Option<Exchange> {
        let [step] = steps else {
            return None;
        };
        let (send, recv) = (step.send?, step.recv?);
        let own = recv.region;
        let sent = match step.local {
            None => own,
            Some(_) => own.moved_to(Buffer::Input),
        };
        let copy = LocalCopy {
            from: sent,
            to: own,
            combine: Combine::Replace,
        };
        let is_whole = (own.buffer, own.start, own.count) == (Buffer::Output, 0, 1);
        let is_exchange = (send.peer, send.region) == (recv.peer, sent)
            && step.local.is_none_or(|local| local == copy)
            && step.combine != Combine::Replace
            && step.clash.is_none();
        (is_whole && is_exchange && !own.is_empty()).then_some(Exchange {
            peer: recv.peer,
            length: own.length,
            from_input: step.local.is_some(),
            is_left: step.combine == Combine::FoldLeft,
        })
    }

    /// Runs the step. Returns whether it did: if not, nothing has happened, as the vectors have other lengths or the
    /// message has to be lent.
    pub(crate) fn run(self, link: &InCall<'_>, operands: &mut Operands<'_>) -> Result<bool> {
        let Some(own) = self.sent(operands) else {
            return Ok(false);
        };
        let info = own.info();
        if !link.post(self.peer, own)? {
            return Ok(false);
        }
        link.receive(self.peer, self.length, info, |theirs| {
            self.fold(operands, &theirs);
            Ok(())
        })?;
        Ok(true)
    }

    /// What this rank sends; `None` if the vectors have other lengths.
    #[inline]
    pub(crate) fn sent<'a>(&self, operands: &'a Operands<'_>) -> Option<Elements<'a>> {
        let output = operands.output.shared();
        let own = match self.from_input {
            true => operands.input,
            false => output,
        };
        ((own.len(), output.len()) == (self.length, self.length)).then_some(own)
    }

    /// Folds what has arrived. The vectors have the lengths at which there is something that is [sent](Self::sent).
    #[inline]
    pub(crate) fn fold(&self, operands: &mut Operands<'_>, theirs: &Elements<'_>) {
        let Operands {
            input,
            output,
            folds,
        } = operands;
        unwind::operator(|| match (self.from_input, self.is_left) {
            (true, true) => folds.two(output, theirs, input),
            (true, false) => folds.two(output, input, theirs),
            (false, true) => folds.left(output, theirs),
            (false, false) => folds.right(output, theirs),
        });
    }

    /// What is received, and how it is combined.
    #[inline]
    pub(crate) fn received(&self) -> (Transfer, Combine) {
        let combine = match self.is_left {
            true => Combine::FoldLeft,
            false => Combine::FoldRight,
        };
        let (peer, region) = (self.peer, Region::output(0..self.length));
        (Transfer { peer, region }, combine)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use crate::collective::{Algorithm, Call, Collective};
    use crate::engine::resolved::Steps;

    #[test]
    fn two_ranks_exchange_and_more_do_not() {
        let exchange = |ranks, call: fn(Call) -> Call| {
            let call = call(Call::new(Collective::AllReduce, ranks, 3).commuting());
            let schedule = Algorithm::Exchange.schedule(&call).unwrap();
            Steps::of(schedule, 1).known().exchange()
        };
        for (call, from_input) in [
            ((|call| call) as fn(Call) -> Call, false),
            (Call::from_input, true),
        ] {
            let found = exchange(2, call).unwrap();
            assert_eq!(
                (found.peer, found.length, found.from_input),
                (0, 3, from_input)
            );
            assert!(found.is_left, "what rank 0 sends is the left operand");
            assert!(exchange(4, call).is_none());
        }
    }
}
