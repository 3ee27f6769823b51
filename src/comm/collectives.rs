//! Barrier, broadcast, reduce and all_reduce.
//!
//! All ranks of a communicator call the same collectives in the same order, with the same root,
//! length, type and operator. Where they do not, those inside get [`ErrorKind::Mismatch`] with every
//! rank's call and line; no element crosses.
//!
//! [`ErrorKind::Mismatch`]: crate::ErrorKind::Mismatch

use std::panic::Location;

use super::Comm;
use super::call::{From, InCall, elements};
use super::reduce_loop::fold_elements;
use super::reduce_over::Order;
use crate::Rank;
use crate::collective::{halving_all_reduce, simple_exchange};
use crate::error::{Result, Site};
use crate::op::{Associative, Element, Operator};
use crate::topology::{Topology, Triple};
use crate::transport::board::{Call, Verb};

impl Comm {
    /// Waits until every rank has come here.
    ///
    /// # Errors
    ///
    /// [`RankGone`](crate::ErrorKind::RankGone) if a rank has ended and will not come,
    /// [`Mismatch`](crate::ErrorKind::Mismatch) if a rank is in another collective.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    ///
    /// let here = AtomicUsize::new(0);
    /// World::new(4).run(|comm| {
    ///     here.fetch_add(1, Ordering::Relaxed);
    ///     comm.barrier()?;
    ///     assert_eq!(here.load(Ordering::Relaxed), 4);
    ///     Ok(())
    /// })?;
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[track_caller]
    pub fn barrier(&self) -> Result<()> {
        let call = self.call(Verb::Barrier, Location::caller());
        self.collective(call, || Ok(()), |inside| inside.pass_gate())
    }

    /// Copies the root's buffer into everybody's.
    ///
    /// # Shape
    ///
    /// `buf` has the same length on every rank; it may be empty.
    ///
    /// # Cost
    ///
    /// ⌈log₂ P⌉ steps of the whole buffer.
    ///
    /// # Errors
    ///
    /// [`Usage`](crate::ErrorKind::Usage) if there is no such root;
    /// [`RankGone`](crate::ErrorKind::RankGone), [`Mismatch`](crate::ErrorKind::Mismatch) and
    /// [`Broken`](crate::ErrorKind::Broken) if another rank spoils it: the buffer's contents are then
    /// unspecified.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// let all = World::new(5).run(|comm| {
    ///     let mut word = if comm.rank() == 3 { *b"here" } else { [0; 4] };
    ///     comm.broadcast(3, &mut word)?;
    ///     Ok(word)
    /// })?;
    /// assert_eq!(all, [*b"here"; 5]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    ///
    /// # Source
    ///
    /// The binomial tree of Xiong 1999 (1-tree) run backwards; Sanders' lecture notes.
    #[track_caller]
    pub fn broadcast<T: Element>(&self, root: Rank, buf: &mut [T]) -> Result<()> {
        let call = elements::<T>(self.call(Verb::Broadcast, Location::caller()), buf.len());
        let check = || self.check_rank("the root", root);
        self.collective(
            Call {
                root: Some(root),
                ..call
            },
            check,
            |inside| inside.send_down(&Topology::binomial(self.size()).rooted(root), buf),
        )
    }

    /// Folds the buffers of all ranks into the root's; the others keep theirs.
    ///
    /// The root's `buf[i]` becomes `x₀[i] ⊕ x₁[i] ⊕ … ⊕ xₚ₋₁[i]`, where `xᵣ` is what rank `r`
    /// passed. Operands of an operator that does not commute stay in rank order, whatever the root.
    ///
    /// # Shape
    ///
    /// `buf` has the same length on every rank; it may be empty.
    ///
    /// # Cost
    ///
    /// ⌈log₂ P⌉ steps of the whole buffer, one more for an operator that does not commute and a root
    /// that is not rank 0.
    ///
    /// # Errors
    ///
    /// As [`broadcast`](Self::broadcast).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::{World, op};
    ///
    /// let sums = World::new(4).run(|comm| {
    ///     let mut v = [comm.rank(), 1];
    ///     comm.reduce(2, &mut v, op::Sum)?;
    ///     Ok(v)
    /// })?;
    /// assert_eq!(sums, [[0, 1], [1, 1], [6, 4], [3, 1]]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    ///
    /// # Source
    ///
    /// The unified reduce loop of Xiong 2015 over its 1-tree (binomial tree).
    #[track_caller]
    pub fn reduce<T: Element>(
        &self,
        root: Rank,
        buf: &mut [T],
        op: impl Operator<T>,
    ) -> Result<()> {
        let call = elements::<T>(self.call(Verb::Reduce, Location::caller()), buf.len());
        let call = Call {
            root: Some(root),
            op: op.kind(),
            ..call
        };
        self.collective(
            call,
            || self.check_rank("the root", root),
            |inside| inside.reduce_to(root, buf, &op),
        )
    }

    /// [`reduce`](Self::reduce) with a closure, which must be associative.
    ///
    /// # Errors
    ///
    /// As [`reduce`](Self::reduce).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// // Composition of maps x -> a x + b: the order matters, and is kept.
    /// let all = World::new(3).run(|comm| {
    ///     let mut map = [(2i64, comm.rank() as i64)];
    ///     comm.reduce_by(1, &mut map, |f, g| (f.0 * g.0, f.0 * g.1 + f.1))?;
    ///     Ok(map[0])
    /// })?;
    /// assert_eq!(all[1], (8, 10));
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[track_caller]
    pub fn reduce_by<T: Element>(
        &self,
        root: Rank,
        buf: &mut [T],
        op: impl Fn(T, T) -> T,
    ) -> Result<()> {
        self.reduce(root, buf, Associative(op))
    }

    /// Folds the buffers of all ranks into one and leaves it with every rank.
    ///
    /// As [`reduce`](Self::reduce), but all ranks get the result, and all get the same bits.
    ///
    /// # Shape
    ///
    /// `buf` has the same length on every rank; it may be empty.
    ///
    /// # Cost
    ///
    /// 2 ⌈log₂ P⌉ steps of the whole buffer.
    ///
    /// # Errors
    ///
    /// As [`broadcast`](Self::broadcast).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::{World, op};
    ///
    /// let sums = World::new(4).run(|comm| {
    ///     let mut v = [comm.rank() as f64, 1.0];
    ///     comm.all_reduce(&mut v, op::Sum)?;
    ///     Ok(v)
    /// })?;
    /// assert_eq!(sums, [[6.0, 4.0]; 4]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    ///
    /// # Source
    ///
    /// Tree + tree (algorithms of Xiong 2015, and the same reversed).
    #[track_caller]
    pub fn all_reduce<T: Element>(&self, buf: &mut [T], op: impl Operator<T>) -> Result<()> {
        self.all_reduce_if(Ok(()), Location::caller(), buf, op)
    }

    /// [`all_reduce`](Self::all_reduce) with a closure, which must be associative.
    ///
    /// # Errors
    ///
    /// As [`all_reduce`](Self::all_reduce).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// let most = World::new(4).run(|comm| {
    ///     let mut v = [10.0 / (1.0 + comm.rank() as f64)];
    ///     comm.all_reduce_by(&mut v, |a, b| if a < b { b } else { a })?;
    ///     Ok(v[0])
    /// })?;
    /// assert_eq!(most, [10.0; 4]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[track_caller]
    pub fn all_reduce_by<T: Element>(&self, buf: &mut [T], op: impl Fn(T, T) -> T) -> Result<()> {
        self.all_reduce(buf, Associative(op))
    }

    /// [`all_reduce`](Self::all_reduce) from one buffer into another.
    ///
    /// # Shape
    ///
    /// `input` and `output` have the same length, the same on every rank.
    ///
    /// # Errors
    ///
    /// [`Usage`](crate::ErrorKind::Usage) if the two lengths differ; else as
    /// [`broadcast`](Self::broadcast).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::{World, op};
    ///
    /// let sums = World::new(3).run(|comm| {
    ///     let mut sum = [0];
    ///     comm.all_reduce_into(&[comm.rank()], &mut sum, op::Sum)?;
    ///     Ok(sum[0])
    /// })?;
    /// assert_eq!(sums, [3, 3, 3]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[track_caller]
    pub fn all_reduce_into<T: Element>(
        &self,
        input: &[T],
        output: &mut [T],
        op: impl Operator<T>,
    ) -> Result<()> {
        let lengths = same_length(input.len(), output.len());
        if lengths.is_ok() {
            output.copy_from_slice(input);
        }
        self.all_reduce_if(lengths, Location::caller(), output, op)
    }

    fn all_reduce_if<T: Element>(
        &self,
        arguments: Result<()>,
        site: Site,
        buf: &mut [T],
        op: impl Operator<T>,
    ) -> Result<()> {
        let call = elements::<T>(self.call(Verb::AllReduce, site), buf.len());
        self.collective(
            Call {
                op: op.kind(),
                ..call
            },
            || arguments,
            |inside| inside.all_reduce(buf, &op),
        )
    }
}

/// Refuses an output that is not as long as the input.
fn same_length(input: usize, output: usize) -> Result<()> {
    match input == output {
        true => Ok(()),
        false => Err(crate::Error::usage(format!(
            "the input has {input} elements, the output {output}"
        ))),
    }
}

impl InCall<'_> {
    fn all_reduce<T: Element>(&self, buf: &mut [T], op: &impl Operator<T>) -> Result<()> {
        let (ranks, length) = (self.size(), buf.len());
        if size_of_val(buf) <= 1024 || length < ranks {
            self.execute(&simple_exchange(ranks, length), &[], buf, op)
        } else {
            self.execute(&halving_all_reduce(ranks, length), &[], buf, op)
        }
    }

    /// Folds all buffers into the root's, in rank order where the operator needs it.
    fn reduce_to<T: Element>(
        &self,
        root: Rank,
        buf: &mut [T],
        op: &impl Operator<T>,
    ) -> Result<()> {
        let tree = Topology::binomial(self.size());
        if op.commutes() {
            return fold_elements(self, &tree.rooted(root), Order::Step, buf, op);
        }
        // The tree turned to another root would fold the last ranks before the first.
        if self.rank() == 0 && root != 0 {
            let mut folded = buf.to_vec();
            fold_elements(self, &tree, Order::Rank, &mut folded, op)?;
            return self.send(root, &folded);
        }
        fold_elements(self, &tree, Order::Rank, buf, op)?;
        if self.rank() == root && root != 0 {
            self.expect(&From::Rank(0), |data: &[T]| buf.copy_from_slice(data))?;
        }
        Ok(())
    }

    /// A topology run backwards: the root's buffer goes down to everybody.
    fn send_down<T: Element>(&self, tree: &Topology, buf: &mut [T]) -> Result<()> {
        if let Some((_, above)) = tree.successor(self.rank()) {
            self.expect(&From::Rank(above), |data: &[T]| buf.copy_from_slice(data))?;
        }
        let below: Vec<Triple> = tree.predecessors(self.rank()).collect();
        below
            .iter()
            .rev()
            .try_for_each(|triple| self.send(triple.from, buf))
    }
}
