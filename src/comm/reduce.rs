//! Reduce: the root gets the fold of the vectors of all ranks.

use super::Comm;
use super::kept::ask;
use super::run_call::kept_unless;
use crate::Rank;
use crate::collective::{Algorithm, Collective};
use crate::error::Result;
use crate::op::{Associative, Element, Operator};

/// # Reduce
///
/// The root gets the fold of the vectors of all ranks.
impl Comm {
    /// Folds the buffers of all ranks into the root's buffer; the buffers of the other ranks are unchanged.
    ///
    /// The root's `buf[i]` becomes `x₀[i] ⊕ x₁[i] ⊕ … ⊕ xₚ₋₁[i]`, where `xᵣ` is the buffer that rank `r` passed.
    /// Operands of an operator that does not commute stay in rank order, whatever the root.
    ///
    /// # Shape
    ///
    /// `buf` has the same length on every rank; it may be empty.
    ///
    /// # Cost
    ///
    /// Short vectors: ⌈log₂ P⌉ steps of the whole buffer, and one more for an operator that does not commute and a root
    /// that is not rank 0. Long ones: about twice as many steps, in which a rank sends less than two vectors.
    /// [`explain`](Self::explain) says which.
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
    /// The unified reduce loop of Xiong 2015 over its 1-tree (binomial tree); Rabenseifner's reduce, in
    /// Thakur, Rabenseifner and Gropp 2005, section 4.4.
    #[doc(alias = "MPI_Reduce")]
    #[track_caller]
    pub fn reduce<T: Element>(
        &self,
        root: Rank,
        buf: &mut [T],
        op: impl Operator<T>,
    ) -> Result<()> {
        self.reduce_if(None, root, buf, &op)
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
    /// // x -> 2x + rank, one after another: composing maps does not commute.
    /// let maps = World::new(3).run(|comm| {
    ///     let mut map = [(2, comm.rank() as u64)];
    ///     comm.reduce_by(1, &mut map, |f, g| (f.0 * g.0, f.0 * g.1 + f.1))?;
    ///     Ok(map[0])
    /// })?;
    /// assert_eq!(maps[1], (8, 2 * 1 + 4 * 2));
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

    /// [`reduce`](Self::reduce) with the algorithm of your choice, the same on every rank.
    ///
    /// # Errors
    ///
    /// [`Usage`](crate::ErrorKind::Usage) if the algorithm [refuses](Algorithm::refused) the call; otherwise as
    /// [`reduce`](Self::reduce).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::{World, collective::Algorithm, op};
    ///
    /// let sums = World::new(5).run(|comm| {
    ///     let mut v = [comm.rank() as u32];
    ///     comm.reduce_with("fibonacci".parse().unwrap(), 0, &mut v, op::Sum)?;
    ///     Ok(v[0])
    /// })?;
    /// assert_eq!(sums[0], 10);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[track_caller]
    pub fn reduce_with<T: Element>(
        &self,
        algorithm: Algorithm,
        root: Rank,
        buf: &mut [T],
        op: impl Operator<T>,
    ) -> Result<()> {
        self.reduce_if(Some(algorithm), root, buf, &op)
    }

    #[track_caller]
    fn reduce_if<T: Element>(
        &self,
        algorithm: Option<Algorithm>,
        root: Rank,
        buf: &mut [T],
        op: &impl Operator<T>,
    ) -> Result<()> {
        let ask = ask(Collective::Reduce, buf.len()).to_root(root).folding(op);
        let (input, output) = kept_unless(self.rank() == root, buf);
        self.run_call(ask.by(algorithm), input, output, op)
    }

    /// [`reduce`](Self::reduce) from inputs that stay unchanged on all ranks: the result goes to the root's `output`.
    ///
    /// Some ranks may call this and others [`reduce`](Self::reduce).
    ///
    /// # Shape
    ///
    /// `input` and the root's `output` have the same length on every rank. The outputs of the other ranks are left as
    /// they are, and may be empty.
    ///
    /// # Cost
    ///
    /// As [`reduce`](Self::reduce). A long vector is not copied first if all ranks fold it
    /// [directly](Algorithm::Direct).
    ///
    /// # Errors
    ///
    /// [`Usage`](crate::ErrorKind::Usage) if the root's output is not as long as its input; otherwise as
    /// [`reduce`](Self::reduce).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::{World, op};
    ///
    /// let sums = World::new(3).run(|comm| {
    ///     let mut sum = [0; 2];
    ///     comm.reduce_into(1, &[comm.rank(), 1], &mut sum, op::Sum)?;
    ///     Ok(sum)
    /// })?;
    /// assert_eq!(sums, [[0, 0], [3, 3], [0, 0]]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[track_caller]
    pub fn reduce_into<T: Element>(
        &self,
        root: Rank,
        input: &[T],
        output: &mut [T],
        op: impl Operator<T>,
    ) -> Result<()> {
        self.reduce_into_if(None, root, input, output, &op)
    }

    /// [`reduce_into`](Self::reduce_into) with a closure, which must be associative.
    ///
    /// # Errors
    ///
    /// As [`reduce_into`](Self::reduce_into).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// let first = World::new(3).run(|comm| {
    ///     let mut first = ['?'];
    ///     comm.reduce_into_by(0, &[['a', 'b', 'c'][comm.rank()]], &mut first, |left, _| left)?;
    ///     Ok(first[0])
    /// })?;
    /// assert_eq!(first, ['a', '?', '?']);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[track_caller]
    pub fn reduce_into_by<T: Element>(
        &self,
        root: Rank,
        input: &[T],
        output: &mut [T],
        op: impl Fn(T, T) -> T,
    ) -> Result<()> {
        self.reduce_into(root, input, output, Associative(op))
    }

    /// [`reduce_into`](Self::reduce_into) with the algorithm of your choice, the same on every rank.
    ///
    /// # Errors
    ///
    /// [`Usage`](crate::ErrorKind::Usage) if the algorithm [refuses](Algorithm::refused) the call; otherwise as
    /// [`reduce_into`](Self::reduce_into).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::{World, collective::Algorithm, op};
    ///
    /// let sums = World::new(5).run(|comm| {
    ///     let mut sum = [0];
    ///     comm.reduce_into_with(Algorithm::Direct, 0, &[comm.rank()], &mut sum, op::Sum)?;
    ///     Ok(sum[0])
    /// })?;
    /// assert_eq!(sums, [10, 0, 0, 0, 0]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[track_caller]
    pub fn reduce_into_with<T: Element>(
        &self,
        algorithm: Algorithm,
        root: Rank,
        input: &[T],
        output: &mut [T],
        op: impl Operator<T>,
    ) -> Result<()> {
        self.reduce_into_if(Some(algorithm), root, input, output, &op)
    }

    #[track_caller]
    fn reduce_into_if<T: Element>(
        &self,
        algorithm: Option<Algorithm>,
        root: Rank,
        input: &[T],
        output: &mut [T],
        op: &impl Operator<T>,
    ) -> Result<()> {
        let at_root = self.rank() == root;
        let mut ask = ask(Collective::Reduce, input.len())
            .to_root(root)
            .folding(op);
        if !at_root {
            return self.run_call(ask.by(algorithm), input, &mut [], op);
        }
        ask.from_input = true;
        self.run_reduce_into(ask.by(algorithm), input, output, op)
    }
}
