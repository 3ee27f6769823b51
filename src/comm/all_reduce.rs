//! All-reduce: every rank gets the fold of the vectors of all ranks.

use super::Comm;
use super::kept::ask;
use crate::collective::{Algorithm, Collective};
use crate::error::Result;
use crate::op::{Associative, Element, Operator};

/// # All-reduce
///
/// Every rank gets the fold of the vectors of all ranks.
impl Comm {
    /// Folds the buffers of all ranks, and gives every rank the result.
    ///
    /// Every `buf[i]` becomes `x₀[i] ⊕ x₁[i] ⊕ … ⊕ xₚ₋₁[i]`, with operands in rank order. All ranks get the same bits,
    /// even for floating-point numbers, and the same bits in every run.
    ///
    /// # Shape
    ///
    /// `buf` has the same length on every rank; it may be empty.
    ///
    /// # Cost
    ///
    /// Short vectors: ⌊log₂ P⌋ steps of the whole buffer. Long ones: twice as many steps, in which a rank sends less
    /// than two vectors. Two more steps if P is not a power of two.
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
    /// Foster, *Designing and Building Parallel Programs*, 11.1 and 11.2; Rabenseifner, in Thakur,
    /// Rabenseifner and Gropp 2005, section 4.5.
    #[doc(alias = "MPI_Allreduce")]
    #[doc(alias = "MPI_IN_PLACE")]
    #[track_caller]
    pub fn all_reduce<T: Element>(&self, buf: &mut [T], op: impl Operator<T>) -> Result<()> {
        self.all_reduce_if(None, None, buf, &op)
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

    /// [`all_reduce`](Self::all_reduce) with the algorithm of your choice, the same on every rank.
    ///
    /// # Errors
    ///
    /// [`Usage`](crate::ErrorKind::Usage) if the algorithm [refuses](Algorithm::refused) the call; otherwise as
    /// [`all_reduce`](Self::all_reduce).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::{World, collective::Algorithm, op};
    ///
    /// let sums = World::new(6).run(|comm| {
    ///     let mut v = [comm.rank() as u32; 9];
    ///     comm.all_reduce_with(Algorithm::Hybrid { stages: 1 }, &mut v, op::Sum)?;
    ///     Ok(v[8])
    /// })?;
    /// assert_eq!(sums, [15; 6]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[track_caller]
    pub fn all_reduce_with<T: Element>(
        &self,
        algorithm: Algorithm,
        buf: &mut [T],
        op: impl Operator<T>,
    ) -> Result<()> {
        self.all_reduce_if(Some(algorithm), None, buf, &op)
    }

    /// [`all_reduce`](Self::all_reduce) from one buffer into another.
    ///
    /// # Shape
    ///
    /// `input` and `output` have the same length, the same on every rank. Ranks that reduce in place may take part.
    ///
    /// # Errors
    ///
    /// [`Usage`](crate::ErrorKind::Usage) if the two lengths differ; otherwise as [`broadcast`](Self::broadcast).
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
        self.all_reduce_if(None, Some(input), output, &op)
    }

    /// [`all_reduce_into`](Self::all_reduce_into) with a closure, which must be associative.
    ///
    /// # Errors
    ///
    /// As [`all_reduce_into`](Self::all_reduce_into).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// let firsts = World::new(3).run(|comm| {
    ///     let mut first = [' '];
    ///     comm.all_reduce_into_by(&[['a', 'b', 'c'][comm.rank()]], &mut first, |left, _| left)?;
    ///     Ok(first[0])
    /// })?;
    /// assert_eq!(firsts, ['a'; 3]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[track_caller]
    pub fn all_reduce_into_by<T: Element>(
        &self,
        input: &[T],
        output: &mut [T],
        op: impl Fn(T, T) -> T,
    ) -> Result<()> {
        self.all_reduce_into(input, output, Associative(op))
    }

    /// [`all_reduce_into`](Self::all_reduce_into) with the algorithm of your choice, the same on every rank.
    ///
    /// # Errors
    ///
    /// [`Usage`](crate::ErrorKind::Usage) if the algorithm [refuses](Algorithm::refused) the call; otherwise as
    /// [`all_reduce_into`](Self::all_reduce_into).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::{World, collective::Algorithm, op};
    ///
    /// let sums = World::new(4).run(|comm| {
    ///     let mut sum = [0; 4];
    ///     comm.all_reduce_into_with(Algorithm::Ring, &[1; 4], &mut sum, op::Sum)?;
    ///     Ok(sum)
    /// })?;
    /// assert_eq!(sums, [[4; 4]; 4]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[track_caller]
    pub fn all_reduce_into_with<T: Element>(
        &self,
        algorithm: Algorithm,
        input: &[T],
        output: &mut [T],
        op: impl Operator<T>,
    ) -> Result<()> {
        self.all_reduce_if(Some(algorithm), Some(input), output, &op)
    }

    #[track_caller]
    fn all_reduce_if<T: Element>(
        &self,
        algorithm: Option<Algorithm>,
        input: Option<&[T]>,
        output: &mut [T],
        op: &impl Operator<T>,
    ) -> Result<()> {
        let mut ask = ask(Collective::AllReduce, output.len()).folding(op);
        ask.from_input = input.is_some();
        self.run_call(ask.by(algorithm), input.unwrap_or(&[]), output, op)
    }
}
