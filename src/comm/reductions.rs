//! Collectives that fold: reduce, all_reduce, reduce_scatter, scan and exclusive_scan.
//!
//! All ranks of a communicator call the same collectives in the same order, with the same root, length, type, operator
//! and algorithm. Where they do not, the ranks in the call get [`ErrorKind::Mismatch`] with every rank's call and line;
//! no element crosses.
//!
//! [`ErrorKind::Mismatch`]: crate::ErrorKind::Mismatch

use super::Comm;
use super::kept::ask;
use super::run_call::{blocks_of, kept_unless};
use crate::Rank;
use crate::collective::{Algorithm, Collective};
use crate::error::Result;
use crate::op::{Associative, Element, Operator};

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

    /// Folds the vectors of all ranks, and gives rank `r` block `r` of the result.
    ///
    /// # Shape
    ///
    /// `input` has the same length N on every rank, and `output` has the length of the rank's own block:
    /// [`span::block(N, size, rank)`](crate::span::block).
    ///
    /// # Cost
    ///
    /// A rank sends its vector except its own block, in ⌈log₂ P⌉ steps or a few more.
    ///
    /// # Errors
    ///
    /// [`Usage`](crate::ErrorKind::Usage) if the output is not as long as the block; otherwise as
    /// [`broadcast`](Self::broadcast).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::{World, op};
    ///
    /// let blocks = World::new(3).run(|comm| {
    ///     let mut mine = [0; 2];
    ///     comm.reduce_scatter(&[1, 2, 3, 4, 5, 6], &mut mine, op::Sum)?;
    ///     Ok(mine)
    /// })?;
    /// assert_eq!(blocks, [[3, 6], [9, 12], [15, 18]]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    ///
    /// # Source
    ///
    /// Foster, *Designing and Building Parallel Programs*, 11.2: recursive halving.
    #[track_caller]
    pub fn reduce_scatter<T: Element>(
        &self,
        input: &[T],
        output: &mut [T],
        op: impl Operator<T>,
    ) -> Result<()> {
        self.reduce_scatter_if(None, input, output, &op)
    }

    /// [`reduce_scatter`](Self::reduce_scatter) with a closure, which must be associative.
    ///
    /// # Errors
    ///
    /// As [`reduce_scatter`](Self::reduce_scatter).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// let most = World::new(2).run(|comm| {
    ///     let mut mine = [0];
    ///     comm.reduce_scatter_by(&[comm.rank(), 7], &mut mine, |a, b| a.max(b))?;
    ///     Ok(mine[0])
    /// })?;
    /// assert_eq!(most, [1, 7]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[track_caller]
    pub fn reduce_scatter_by<T: Element>(
        &self,
        input: &[T],
        output: &mut [T],
        op: impl Fn(T, T) -> T,
    ) -> Result<()> {
        self.reduce_scatter(input, output, Associative(op))
    }

    /// [`reduce_scatter`](Self::reduce_scatter) with the algorithm of your choice, the same on every rank.
    ///
    /// # Errors
    ///
    /// [`Usage`](crate::ErrorKind::Usage) if the algorithm [refuses](Algorithm::refused) the call; otherwise as
    /// [`reduce_scatter`](Self::reduce_scatter).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::{World, collective::Algorithm, op};
    ///
    /// let sums = World::new(3).run(|comm| {
    ///     let mut mine = [0];
    ///     comm.reduce_scatter_with(Algorithm::Ring, &[1, 2, 3], &mut mine, op::Sum)?;
    ///     Ok(mine[0])
    /// })?;
    /// assert_eq!(sums, [3, 6, 9]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[track_caller]
    pub fn reduce_scatter_with<T: Element>(
        &self,
        algorithm: Algorithm,
        input: &[T],
        output: &mut [T],
        op: impl Operator<T>,
    ) -> Result<()> {
        self.reduce_scatter_if(Some(algorithm), input, output, &op)
    }

    #[track_caller]
    fn reduce_scatter_if<T: Element>(
        &self,
        algorithm: Option<Algorithm>,
        input: &[T],
        output: &mut [T],
        op: &impl Operator<T>,
    ) -> Result<()> {
        let ask = ask(Collective::ReduceScatter, input.len()).folding(op);
        self.run_call(ask.by(algorithm), input, output, op)
    }

    /// [`reduce_scatter`](Self::reduce_scatter) with blocks of any lengths: `counts[r]` elements for rank `r`, the same
    /// counts on every rank.
    ///
    /// # Errors
    ///
    /// [`Usage`](crate::ErrorKind::Usage) if a buffer does not fit the counts; otherwise as
    /// [`reduce_scatter`](Self::reduce_scatter).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::{World, op};
    ///
    /// let blocks = World::new(2).run(|comm| {
    ///     let mut mine = vec![0; [3, 1][comm.rank()]];
    ///     comm.reduce_scatter_v(&[1, 2, 3, 4], &[3, 1], &mut mine, op::Sum)?;
    ///     Ok(mine)
    /// })?;
    /// assert_eq!(blocks, [vec![2, 4, 6], vec![8]]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[track_caller]
    pub fn reduce_scatter_v<T: Element>(
        &self,
        input: &[T],
        counts: &[usize],
        output: &mut [T],
        op: impl Operator<T>,
    ) -> Result<()> {
        let ask = ask(Collective::ReduceScatter, input.len()).folding(&op);
        self.run_call_v(ask, blocks_of(self, counts), input, output, &op)
    }

    /// Gives rank `r` the fold of the vectors of ranks `0..=r`, in rank order.
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
    /// As [`broadcast`](Self::broadcast).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::{World, op};
    ///
    /// let sums = World::new(4).run(|comm| {
    ///     let mut v = [comm.rank() + 1];
    ///     comm.scan(&mut v, op::Sum)?;
    ///     Ok(v[0])
    /// })?;
    /// assert_eq!(sums, [1, 3, 6, 10]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    ///
    /// # Source
    ///
    /// Hillis and Steele, *Data parallel algorithms*, 1986.
    #[track_caller]
    pub fn scan<T: Element>(&self, buf: &mut [T], op: impl Operator<T>) -> Result<()> {
        self.scan_if(None, Collective::Scan, buf, &op)
    }

    /// [`scan`](Self::scan) with a closure, which must be associative.
    ///
    /// # Errors
    ///
    /// As [`scan`](Self::scan).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// let sums = World::new(3).run(|comm| {
    ///     let mut v = [1];
    ///     comm.scan_by(&mut v, |a, b| a + b)?;
    ///     Ok(v[0])
    /// })?;
    /// assert_eq!(sums, [1, 2, 3]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[track_caller]
    pub fn scan_by<T: Element>(&self, buf: &mut [T], op: impl Fn(T, T) -> T) -> Result<()> {
        self.scan(buf, Associative(op))
    }

    /// [`scan`](Self::scan) with the algorithm of your choice, the same on every rank.
    ///
    /// # Errors
    ///
    /// [`Usage`](crate::ErrorKind::Usage) if the algorithm [refuses](Algorithm::refused) the call; otherwise as
    /// [`scan`](Self::scan).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::{World, op};
    ///
    /// let sums = World::new(3).run(|comm| {
    ///     let mut v = [1; 10];
    ///     comm.scan_with("chain:segments=4".parse().unwrap(), &mut v, op::Sum)?;
    ///     Ok(v[9])
    /// })?;
    /// assert_eq!(sums, [1, 2, 3]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[track_caller]
    pub fn scan_with<T: Element>(
        &self,
        algorithm: Algorithm,
        buf: &mut [T],
        op: impl Operator<T>,
    ) -> Result<()> {
        self.scan_if(Some(algorithm), Collective::Scan, buf, &op)
    }

    /// Gives rank `r` the fold of the vectors of ranks `0..r`, in rank order, and gives rank 0 the identity.
    ///
    /// # Shape
    ///
    /// `buf` has the same length on every rank; it may be empty.
    ///
    /// # Cost
    ///
    /// ⌈log₂ P⌉ steps of the whole buffer, or one more.
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
    /// let firsts = World::new(4).run(|comm| {
    ///     let mut first = [10 * comm.rank()]; // how many items this rank has
    ///     comm.exclusive_scan(&mut first, 0, op::Sum)?;
    ///     Ok(first[0]) // the number of its first item
    /// })?;
    /// assert_eq!(firsts, [0, 0, 10, 30]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[track_caller]
    pub fn exclusive_scan<T: Element>(
        &self,
        buf: &mut [T],
        identity: T,
        op: impl Operator<T>,
    ) -> Result<()> {
        self.exclusive_scan_if(None, buf, identity, &op)
    }

    /// [`exclusive_scan`](Self::exclusive_scan) with a closure, which must be associative.
    ///
    /// # Errors
    ///
    /// As [`exclusive_scan`](Self::exclusive_scan).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// let most = World::new(3).run(|comm| {
    ///     let mut v = [comm.rank()];
    ///     comm.exclusive_scan_by(&mut v, 0, |a, b| a.max(b))?;
    ///     Ok(v[0])
    /// })?;
    /// assert_eq!(most, [0, 0, 1]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[track_caller]
    pub fn exclusive_scan_by<T: Element>(
        &self,
        buf: &mut [T],
        identity: T,
        op: impl Fn(T, T) -> T,
    ) -> Result<()> {
        self.exclusive_scan(buf, identity, Associative(op))
    }

    /// [`exclusive_scan`](Self::exclusive_scan) with the algorithm of your choice, the same on every rank.
    ///
    /// # Errors
    ///
    /// [`Usage`](crate::ErrorKind::Usage) if the algorithm [refuses](Algorithm::refused) the call; otherwise as
    /// [`exclusive_scan`](Self::exclusive_scan).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::{World, op};
    ///
    /// let sums = World::new(3).run(|comm| {
    ///     let mut v = [1; 10];
    ///     comm.exclusive_scan_with("chain".parse().unwrap(), &mut v, 0, op::Sum)?;
    ///     Ok(v[9])
    /// })?;
    /// assert_eq!(sums, [0, 1, 2]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[track_caller]
    pub fn exclusive_scan_with<T: Element>(
        &self,
        algorithm: Algorithm,
        buf: &mut [T],
        identity: T,
        op: impl Operator<T>,
    ) -> Result<()> {
        self.exclusive_scan_if(Some(algorithm), buf, identity, &op)
    }

    #[track_caller]
    fn exclusive_scan_if<T: Element>(
        &self,
        algorithm: Option<Algorithm>,
        buf: &mut [T],
        identity: T,
        op: &impl Operator<T>,
    ) -> Result<()> {
        self.scan_if(algorithm, Collective::ExclusiveScan, buf, op)?;
        if self.rank() == 0 {
            // `fill` would call the `Clone` implementation of the elements.
            buf.iter_mut().for_each(|one| *one = identity);
        }
        Ok(())
    }

    #[track_caller]
    fn scan_if<T: Element>(
        &self,
        algorithm: Option<Algorithm>,
        collective: Collective,
        buf: &mut [T],
        op: &impl Operator<T>,
    ) -> Result<()> {
        let ask = ask(collective, buf.len()).folding(op);
        self.run_call(ask.by(algorithm), &[], buf, op)
    }
}
