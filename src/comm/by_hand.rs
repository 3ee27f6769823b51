//! One all-reduce written by hand over the same lanes, as a reference for the executor.

use std::panic::Location;

use super::Comm;
use crate::engine::call::{InCall, elements};
use crate::engine::combine::kind_of;
use crate::error::{Error, Result};
use crate::names::Collective;
use crate::op::elements::{Elements, Info};
use crate::op::{Element, Operator, fold_left, fold_right};
use crate::transport::communicator::call::{Call, Verb};
use crate::unwind;

/// All-reduce by simple exchange, without a schedule, for short vectors and a power of two of ranks. It exists only for
/// the benchmark that measures the overhead of running a schedule.
#[doc(hidden)]
#[track_caller]
pub fn all_reduce_by_hand<T: Element>(
    comm: &Comm,
    buf: &mut [T],
    op: impl Operator<T>,
) -> Result<()> {
    let verb = Verb::Collective(Collective::AllReduce);
    let call = Call {
        op: kind_of(&op),
        ..elements::<T>(comm.call(verb, Location::caller()), buf.len())
    };
    let known = comm.size().is_power_of_two();
    let known = known
        .then_some(())
        .ok_or_else(|| Error::usage("not a power of two of ranks"));
    comm.collective(call, || known, |inside| inside.exchange_by_hand(buf, &op))
}

impl InCall<'_> {
    #[inline]
    fn exchange_by_hand<T: Element>(&self, buf: &mut [T], op: &impl Operator<T>) -> Result<()> {
        for dimension in 0..self.size().ilog2() {
            let peer = self.rank() ^ 1 << dimension;
            if !self.post(peer, Elements::of(buf))? {
                return Err(Error::usage("not a short vector"));
            }
            self.receive(peer, buf.len(), Info::of::<T>(), |data| {
                let data = data.typed().expect("elements of this type");
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
