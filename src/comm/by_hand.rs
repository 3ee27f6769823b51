//! One all-reduce written by hand over the same lanes, as a reference for the executor.

use std::panic::Location;

use super::Comm;
use super::call::{InCall, elements};
use crate::error::{Error, Result};
use crate::execute::Link;
use crate::names::Collective;
use crate::op::{Element, Operator, fold_left, fold_right};
use crate::transport::communicator::call::{Call, Verb};
use crate::transport::lanes::lane::Form;
use crate::unwind;

impl Comm {
    /// All-reduce by simple exchange, without a schedule, for short vectors and a power of two of ranks. It exists only
    /// for the benchmark that measures the overhead of running a schedule.
    #[doc(hidden)]
    #[track_caller]
    pub fn all_reduce_by_hand<T: Element>(
        &self,
        buf: &mut [T],
        op: impl Operator<T>,
    ) -> Result<()> {
        let call = Call {
            op: op.kind(),
            ..elements::<T>(
                self.call(Verb::Collective(Collective::AllReduce), Location::caller()),
                buf.len(),
            )
        };
        let known = self.size().is_power_of_two();
        let known = known
            .then_some(())
            .ok_or_else(|| Error::usage("not a power of two of ranks"));
        self.collective(call, || known, |inside| inside.exchange_by_hand(buf, &op))
    }
}

impl InCall<'_> {
    #[inline]
    fn exchange_by_hand<T: Element>(&self, buf: &mut [T], op: &impl Operator<T>) -> Result<()> {
        for dimension in 0..self.size().ilog2() {
            let peer = self.rank() ^ 1 << dimension;
            if !self.post(peer, Form::Exchange, buf)? {
                return Err(Error::usage("not a short vector"));
            }
            self.receive(peer, Form::Exchange, buf.len(), &mut |data: &[T]| {
                unwind::operator(|| match peer > self.rank() {
                    true => fold_right(op, buf, data),
                    false => fold_left(op, buf, data),
                });
                Ok(())
            })?;
        }
        Ok(())
    }
}
