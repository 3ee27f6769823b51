//! Collectives of owned values in which pairs of ranks exchange them: all-to-all and scans.
//!
//! As in [`values`](super::values), the methods hold the values of a call and lend them to its body.

use std::panic::Location;

#[cfg(doc)]
use super::Comm;
use super::reduce_loop::taken;
use super::values::{Values, cloned};
use crate::Rank;
use crate::collective::Collective;
use crate::engine::call::{From, InCall};
use crate::error::Result;
use crate::op::OperatorKind;
use crate::transport::communicator::call::Call;
use crate::unwind;

impl Values<'_> {
    /// Sends a value to every rank and receives one from every rank: rank `r` gets `values[r]` of each rank, in rank
    /// order.
    ///
    /// # Cost
    ///
    /// P - 1 steps. No value is cloned.
    ///
    /// # Errors
    ///
    /// [`Usage`](crate::ErrorKind::Usage) if there is not one value for each rank; otherwise as [`Comm::broadcast`].
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// let letters = World::new(3).run(|comm| {
    ///     let to_each = (0..3).map(|to| format!("{} to {to}", comm.rank()));
    ///     comm.values().all_to_all(to_each.collect())
    /// })?;
    /// assert_eq!(letters[1], ["0 to 1", "1 to 1", "2 to 1"]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[track_caller]
    pub fn all_to_all<V: Send + 'static>(&self, values: Vec<V>) -> Result<Vec<V>> {
        let call = self
            .comm
            .value_call::<V>(Collective::AllToAll, None, Location::caller());
        let checked = self.comm.check_one_for_each(values.len());
        let mut held: Vec<Option<V>> = values.into_iter().map(Some).collect();
        let mut got: Vec<Option<V>> = held.iter().map(|_| None).collect();
        let body = |inside: &InCall<'_>| inside.exchange_all(&mut held, &mut got);
        self.comm.collective(call, || checked, body)?;
        Ok(got.into_iter().map(taken).collect())
    }

    /// Folds the values of ranks `0..=r`, in rank order, and gives rank `r` the result.
    ///
    /// # Cost
    ///
    /// ⌈log₂ P⌉ steps, with at most a clone and a fold in each.
    ///
    /// # Errors
    ///
    /// As [`Comm::broadcast`].
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// let texts = World::new(4).run(|comm| {
    ///     comm.values().scan(comm.rank().to_string(), |left, right| left + &right)
    /// })?;
    /// assert_eq!(texts, ["0", "01", "012", "0123"]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[track_caller]
    pub fn scan<V: Clone + Send + 'static>(
        &self,
        value: V,
        mut fold: impl FnMut(V, V) -> V,
    ) -> Result<V> {
        let call = self
            .comm
            .value_call::<V>(Collective::Scan, None, Location::caller());
        let call = Call {
            op: OperatorKind::Closure,
            ..call
        };
        let mut held = Some(value);
        let body = |inside: &InCall<'_>| inside.fold_before(0, &mut held, &mut fold);
        self.comm
            .collective(call, || Ok(()), body)
            .map(|()| taken(held))
    }

    /// Folds the values of ranks `0..r`, in rank order, and gives rank `r` the result, and rank 0 `None`.
    ///
    /// # Cost
    ///
    /// ⌈log₂ (P - 1)⌉ + 1 steps, with at most a clone and a fold in each.
    ///
    /// # Errors
    ///
    /// As [`Comm::broadcast`].
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// let texts = World::new(4).run(|comm| {
    ///     comm.values().exclusive_scan(comm.rank().to_string(), |left, right| left + &right)
    /// })?;
    /// assert_eq!(texts, [None, Some("0".into()), Some("01".into()), Some("012".into())]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[track_caller]
    pub fn exclusive_scan<V: Clone + Send + 'static>(
        &self,
        value: V,
        mut fold: impl FnMut(V, V) -> V,
    ) -> Result<Option<V>> {
        let call = self
            .comm
            .value_call::<V>(Collective::ExclusiveScan, None, Location::caller());
        let call = Call {
            op: OperatorKind::Closure,
            ..call
        };
        let (mut own, mut held) = (Some(value), None);
        let body = |inside: &InCall<'_>| {
            inside.move_up(&mut own, &mut held)?;
            inside.fold_before(1, &mut held, &mut fold)
        };
        self.comm.collective(call, || Ok(()), body).map(|()| held)
    }
}

impl InCall<'_> {
    /// Sends the values in `held` to the ranks with their numbers, and puts those of these ranks into `got`.
    fn exchange_all<V: Send + 'static>(
        &self,
        held: &mut [Option<V>],
        got: &mut [Option<V>],
    ) -> Result<()> {
        let (me, ranks) = (self.rank(), self.size());
        got[me] = held[me].take();
        for distance in 1..ranks {
            let (to, from) = ((me + distance) % ranks, (me + ranks - distance) % ranks);
            self.hand_on(to, taken(held[to].take()))?;
            got[from] = Some(self.expect_value(&From::Rank(from))?.1);
        }
        Ok(())
    }

    /// Moves the value of each rank to the next one, where it is held; rank 0 then holds none. That of the last rank
    /// stays where it is.
    fn move_up<V: Send + 'static>(&self, own: &mut Option<V>, held: &mut Option<V>) -> Result<()> {
        let next = self.rank() + 1;
        if next < self.size() {
            self.hand_on(next, taken(own.take()))?;
        }
        if self.rank() > 0 {
            *held = Some(self.expect_value(&From::Rank(self.rank() - 1))?.1);
        }
        Ok(())
    }

    /// Folds into the value of each rank from `first` on those of the ranks from `first` up to it, in rank order
    /// (Hillis and Steele). The ranks before `first` hold none.
    fn fold_before<V: Clone + Send + 'static>(
        &self,
        first: Rank,
        held: &mut Option<V>,
        fold: &mut impl FnMut(V, V) -> V,
    ) -> Result<()> {
        let (me, ranks) = (self.rank(), self.size());
        let mut distance = 1;
        while me >= first && first + distance < ranks {
            if me + distance < ranks {
                self.hand_on(me + distance, cloned(held))?;
            }
            if me >= first + distance {
                let (_, theirs) = self.expect_value(&From::Rank(me - distance))?;
                let mine = taken(held.take());
                *held = Some(unwind::operator(|| fold(theirs, mine)));
            }
            distance *= 2;
        }
        Ok(())
    }
}
