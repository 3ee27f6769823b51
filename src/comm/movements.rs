//! Collectives that only move elements: barrier, broadcast, gather, scatter, all_gather, all_to_all.

use super::Comm;
use super::kept::ask;
use super::run_call::blocks_of;
use crate::Rank;
use crate::collective::{Algorithm, Collective};
use crate::error::Result;
use crate::op::{Element, First};

impl Comm {
    /// Blocks until every rank has called it.
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
        self.run_call::<()>(ask(Collective::Barrier, 0), &[], &mut [], &First)
    }

    /// [`barrier`](Self::barrier) by messages, with the algorithm of your choice, the same on every rank.
    ///
    /// # Errors
    ///
    /// [`Usage`](crate::ErrorKind::Usage) if the algorithm [refuses](Algorithm::refused) the call; otherwise as
    /// [`barrier`](Self::barrier).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::{World, collective::Algorithm};
    ///
    /// World::new(5).run(|comm| comm.barrier_with(Algorithm::Dissemination))?;
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[track_caller]
    pub fn barrier_with(&self, algorithm: Algorithm) -> Result<()> {
        let ask = ask(Collective::Barrier, 0);
        self.run_call::<()>(ask.by(Some(algorithm)), &[], &mut [], &First)
    }

    /// Copies the root's buffer into the buffer of every other rank.
    ///
    /// # Shape
    ///
    /// `buf` has the same length on every rank; it may be empty.
    ///
    /// # Cost
    ///
    /// Short buffers: ⌈log₂ P⌉ steps of the whole buffer. Long ones: twice as many steps, in which a rank sends less
    /// than two buffers.
    ///
    /// # Errors
    ///
    /// [`Usage`](crate::ErrorKind::Usage) if there is no such root; [`RankGone`](crate::ErrorKind::RankGone),
    /// [`Mismatch`](crate::ErrorKind::Mismatch) and [`Broken`](crate::ErrorKind::Broken) if another rank makes the call
    /// fail: the buffer's contents are then unspecified.
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
    /// The binomial tree of Xiong 1999 (1-tree), run backwards; Sanders' lecture notes.
    #[track_caller]
    pub fn broadcast<T: Element>(&self, root: Rank, buf: &mut [T]) -> Result<()> {
        let ask = ask(Collective::Broadcast, buf.len()).to_root(root);
        self.run_call(ask.by(None), &[], buf, &First)
    }

    /// [`broadcast`](Self::broadcast) with the algorithm of your choice, the same on every rank.
    ///
    /// # Errors
    ///
    /// [`Usage`](crate::ErrorKind::Usage) if the algorithm [refuses](Algorithm::refused) the call; otherwise as
    /// [`broadcast`](Self::broadcast).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// let all = World::new(5).run(|comm| {
    ///     let mut v = if comm.rank() == 0 { [7; 100] } else { [0; 100] };
    ///     comm.broadcast_with("chain:segments=10".parse().unwrap(), 0, &mut v)?;
    ///     Ok(v[99])
    /// })?;
    /// assert_eq!(all, [7; 5]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[track_caller]
    pub fn broadcast_with<T: Element>(
        &self,
        algorithm: Algorithm,
        root: Rank,
        buf: &mut [T],
    ) -> Result<()> {
        let ask = ask(Collective::Broadcast, buf.len()).to_root(root);
        self.run_call(ask.by(Some(algorithm)), &[], buf, &First)
    }

    /// Collects a block from every rank at the root. The root gets them in rank order, the other ranks get `None`.
    ///
    /// # Shape
    ///
    /// Blocks have the same length on every rank; for other lengths see [`gather_v`](Self::gather_v).
    ///
    /// # Cost
    ///
    /// Short blocks: ⌈log₂ P⌉ steps. Long ones: P - 1 steps at the root, each block moved once.
    ///
    /// # Errors
    ///
    /// As [`broadcast`](Self::broadcast).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// let all = World::new(3).run(|comm| comm.gather(1, &[comm.rank(), 9]))?;
    /// assert_eq!(all, [None, Some(vec![0, 9, 1, 9, 2, 9]), None]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[track_caller]
    pub fn gather<T: Element>(&self, root: Rank, block: &[T]) -> Result<Option<Vec<T>>> {
        self.gather_if(None, root, block)
    }

    /// [`gather`](Self::gather) with the algorithm of your choice, the same on every rank.
    ///
    /// # Errors
    ///
    /// [`Usage`](crate::ErrorKind::Usage) if the algorithm [refuses](Algorithm::refused) the call; otherwise as
    /// [`gather`](Self::gather).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// let all = World::new(3).run(|comm| comm.gather_with("flat".parse().unwrap(), 0, &[comm.rank()]))?;
    /// assert_eq!(all, [Some(vec![0, 1, 2]), None, None]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[track_caller]
    pub fn gather_with<T: Element>(
        &self,
        algorithm: Algorithm,
        root: Rank,
        block: &[T],
    ) -> Result<Option<Vec<T>>> {
        self.gather_if(Some(algorithm), root, block)
    }

    #[track_caller]
    fn gather_if<T: Element>(
        &self,
        algorithm: Option<Algorithm>,
        root: Rank,
        block: &[T],
    ) -> Result<Option<Vec<T>>> {
        let ranks = if self.rank() == root { self.size() } else { 0 };
        // If the product overflows, the buffer is empty and the call is refused because of its length.
        let length = block.len().checked_mul(ranks).unwrap_or(0);
        // Any element serves as the initial value; an empty block leaves nothing to collect.
        let mut all: Vec<T> = block.iter().copied().cycle().take(length).collect();
        self.gather_to(algorithm, root, block, &mut all)?;
        Ok((self.rank() == root).then_some(all))
    }

    #[track_caller]
    fn gather_to<T: Element>(
        &self,
        algorithm: Option<Algorithm>,
        root: Rank,
        block: &[T],
        all: &mut [T],
    ) -> Result<()> {
        let length = block.len().saturating_mul(self.size());
        let ask = ask(Collective::Gather, length).to_root(root);
        self.run_call(ask.by(algorithm), block, all, &First)
    }

    /// [`gather`](Self::gather) into a buffer that the root provides.
    ///
    /// # Shape
    ///
    /// `all` has room for the blocks of all ranks at the root, and is empty on the other ranks.
    ///
    /// # Errors
    ///
    /// As [`broadcast`](Self::broadcast).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// World::new(3).run(|comm| {
    ///     let mut all = vec![0; if comm.rank() == 0 { 3 } else { 0 }];
    ///     comm.gather_into(0, &[10 * comm.rank()], &mut all)?;
    ///     assert!(comm.rank() > 0 || all == [0, 10, 20]);
    ///     Ok(())
    /// })?;
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[track_caller]
    pub fn gather_into<T: Element>(&self, root: Rank, block: &[T], all: &mut [T]) -> Result<()> {
        self.gather_to(None, root, block, all)
    }

    /// [`gather_into`](Self::gather_into) with the algorithm of your choice, the same on every rank.
    ///
    /// # Errors
    ///
    /// As [`gather_with`](Self::gather_with).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// World::new(3).run(|comm| {
    ///     let mut all = vec![0; if comm.rank() == 0 { 3 } else { 0 }];
    ///     comm.gather_into_with("flat".parse().unwrap(), 0, &[comm.rank()], &mut all)?;
    ///     assert!(comm.rank() > 0 || all == [0, 1, 2]);
    ///     Ok(())
    /// })?;
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[track_caller]
    pub fn gather_into_with<T: Element>(
        &self,
        algorithm: Algorithm,
        root: Rank,
        block: &[T],
        all: &mut [T],
    ) -> Result<()> {
        self.gather_to(Some(algorithm), root, block, all)
    }

    /// [`gather_into`](Self::gather_into) with blocks of any lengths: `counts[r]` elements from rank `r`, the same
    /// counts on every rank.
    ///
    /// # Errors
    ///
    /// [`Usage`](crate::ErrorKind::Usage) if a buffer does not fit the counts; otherwise as
    /// [`broadcast`](Self::broadcast).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// World::new(3).run(|comm| {
    ///     let counts = [2, 0, 1];
    ///     let mut all = vec![' '; if comm.rank() == 0 { 3 } else { 0 }];
    ///     comm.gather_v(0, &['a', 'b'][..counts[comm.rank()]], &counts, &mut all)?;
    ///     assert!(comm.rank() > 0 || all == ['a', 'b', 'a']);
    ///     Ok(())
    /// })?;
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[track_caller]
    pub fn gather_v<T: Element>(
        &self,
        root: Rank,
        block: &[T],
        counts: &[usize],
        all: &mut [T],
    ) -> Result<()> {
        let ask = ask(Collective::Gather, 0).to_root(root);
        self.run_call_v(ask, blocks_of(self, counts), block, all, &First)
    }

    /// Distributes the root's vector: rank `r` gets block `r`.
    ///
    /// # Shape
    ///
    /// Blocks have the same length on every rank; for other lengths see [`scatter_v`](Self::scatter_v). The root passes
    /// all blocks, the other ranks pass `None`.
    ///
    /// # Cost
    ///
    /// As [`gather`](Self::gather), of which it is the reverse.
    ///
    /// # Errors
    ///
    /// [`Usage`](crate::ErrorKind::Usage) if the root passes no vector or one of another length, or if another rank
    /// passes one; otherwise as [`broadcast`](Self::broadcast).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// let blocks = World::new(3).run(|comm| {
    ///     let all = [1, 2, 3, 4, 5, 6];
    ///     let mut mine = [0; 2];
    ///     comm.scatter(2, (comm.rank() == 2).then_some(&all[..]), &mut mine)?;
    ///     Ok(mine)
    /// })?;
    /// assert_eq!(blocks, [[1, 2], [3, 4], [5, 6]]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[track_caller]
    pub fn scatter<T: Element>(
        &self,
        root: Rank,
        all: Option<&[T]>,
        block: &mut [T],
    ) -> Result<()> {
        self.scatter_if(None, root, all, block)
    }

    /// [`scatter`](Self::scatter) with the algorithm of your choice, the same on every rank.
    ///
    /// # Errors
    ///
    /// [`Usage`](crate::ErrorKind::Usage) if the algorithm [refuses](Algorithm::refused) the call; otherwise as
    /// [`scatter`](Self::scatter).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// let blocks = World::new(2).run(|comm| {
    ///     let mut mine = [0];
    ///     let all = (comm.rank() == 0).then_some(&[5, 6][..]);
    ///     comm.scatter_with("flat".parse().unwrap(), 0, all, &mut mine)?;
    ///     Ok(mine[0])
    /// })?;
    /// assert_eq!(blocks, [5, 6]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[track_caller]
    pub fn scatter_with<T: Element>(
        &self,
        algorithm: Algorithm,
        root: Rank,
        all: Option<&[T]>,
        block: &mut [T],
    ) -> Result<()> {
        self.scatter_if(Some(algorithm), root, all, block)
    }

    #[track_caller]
    fn scatter_if<T: Element>(
        &self,
        algorithm: Option<Algorithm>,
        root: Rank,
        all: Option<&[T]>,
        block: &mut [T],
    ) -> Result<()> {
        let length = block.len().saturating_mul(self.size());
        let ask = ask(Collective::Scatter, length).to_root(root);
        self.run_call(ask.by(algorithm), all.unwrap_or(&[]), block, &First)
    }

    /// [`scatter`](Self::scatter) with blocks of any lengths: `counts[r]` elements to rank `r`, the same counts on
    /// every rank.
    ///
    /// # Errors
    ///
    /// [`Usage`](crate::ErrorKind::Usage) if a buffer does not fit the counts; otherwise as [`scatter`](Self::scatter).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// let blocks = World::new(2).run(|comm| {
    ///     let counts = [1, 2];
    ///     let mut mine = vec![0; counts[comm.rank()]];
    ///     let all = (comm.rank() == 1).then_some(&[5, 6, 7][..]);
    ///     comm.scatter_v(1, all, &counts, &mut mine)?;
    ///     Ok(mine)
    /// })?;
    /// assert_eq!(blocks, [vec![5], vec![6, 7]]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[track_caller]
    pub fn scatter_v<T: Element>(
        &self,
        root: Rank,
        all: Option<&[T]>,
        counts: &[usize],
        block: &mut [T],
    ) -> Result<()> {
        let ask = ask(Collective::Scatter, 0).to_root(root);
        self.run_call_v(
            ask,
            blocks_of(self, counts),
            all.unwrap_or(&[]),
            block,
            &First,
        )
    }

    /// Collects a block from every rank, in rank order, at every rank.
    ///
    /// # Shape
    ///
    /// `all` has the same length N on every rank, and `block` has the length of the rank's own block:
    /// [`span::block(N, size, rank)`](crate::span::block).
    ///
    /// # Cost
    ///
    /// Short blocks: ⌈log₂ P⌉ steps. Long ones: P - 1 steps of one block each.
    ///
    /// # Errors
    ///
    /// [`Usage`](crate::ErrorKind::Usage) if the block has another length; otherwise as [`broadcast`](Self::broadcast).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// let all = World::new(3).run(|comm| {
    ///     let mut all = [0; 3];
    ///     comm.all_gather(&[comm.rank() * comm.rank()], &mut all)?;
    ///     Ok(all)
    /// })?;
    /// assert_eq!(all, [[0, 1, 4]; 3]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    ///
    /// # Source
    ///
    /// Bruck et al., *Efficient algorithms for all-to-all communications in multiport message-passing
    /// systems*, 1997; the ring is Foster's, 11.2.
    #[track_caller]
    pub fn all_gather<T: Element>(&self, block: &[T], all: &mut [T]) -> Result<()> {
        let ask = ask(Collective::AllGather, all.len());
        self.run_call(ask.by(None), block, all, &First)
    }

    /// [`all_gather`](Self::all_gather) with the algorithm of your choice, the same on every rank.
    ///
    /// # Errors
    ///
    /// [`Usage`](crate::ErrorKind::Usage) if the algorithm [refuses](Algorithm::refused) the call; otherwise as
    /// [`all_gather`](Self::all_gather).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::{World, collective::Algorithm};
    ///
    /// let all = World::new(3).run(|comm| {
    ///     let mut all = [0; 3];
    ///     comm.all_gather_with(Algorithm::Ring, &[comm.rank()], &mut all)?;
    ///     Ok(all)
    /// })?;
    /// assert_eq!(all, [[0, 1, 2]; 3]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[track_caller]
    pub fn all_gather_with<T: Element>(
        &self,
        algorithm: Algorithm,
        block: &[T],
        all: &mut [T],
    ) -> Result<()> {
        let ask = ask(Collective::AllGather, all.len());
        self.run_call(ask.by(Some(algorithm)), block, all, &First)
    }

    /// [`all_gather`](Self::all_gather) with blocks of any lengths: `counts[r]` elements from rank `r`, the same counts
    /// on every rank.
    ///
    /// # Errors
    ///
    /// [`Usage`](crate::ErrorKind::Usage) if a buffer does not fit the counts; otherwise as
    /// [`broadcast`](Self::broadcast).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// let all = World::new(3).run(|comm| {
    ///     let counts = [1, 0, 2];
    ///     let mut all = [' '; 3];
    ///     comm.all_gather_v(&['x', 'y'][..counts[comm.rank()]], &counts, &mut all)?;
    ///     Ok(all)
    /// })?;
    /// assert_eq!(all, [['x', 'x', 'y']; 3]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[track_caller]
    pub fn all_gather_v<T: Element>(
        &self,
        block: &[T],
        counts: &[usize],
        all: &mut [T],
    ) -> Result<()> {
        let ask = ask(Collective::AllGather, 0);
        self.run_call_v(ask, blocks_of(self, counts), block, all, &First)
    }

    /// Sends block `q` of every rank's input to rank `q`, which stores them in the order of their senders.
    ///
    /// # Shape
    ///
    /// `input` has the same length N on every rank, and is cut into one block for each rank. `output` holds one piece
    /// from each rank, each of the length of this rank's own block, [`span::block(N, size, rank)`](crate::span::block).
    ///
    /// # Cost
    ///
    /// P - 1 steps; every element is moved once.
    ///
    /// # Errors
    ///
    /// [`Usage`](crate::ErrorKind::Usage) if the output has another length; otherwise as
    /// [`broadcast`](Self::broadcast).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// let all = World::new(3).run(|comm| {
    ///     let mine = [10, 20, 30].map(|column| column + comm.rank());
    ///     let mut transposed = [0; 3];
    ///     comm.all_to_all(&mine, &mut transposed)?;
    ///     Ok(transposed)
    /// })?;
    /// assert_eq!(all, [[10, 11, 12], [20, 21, 22], [30, 31, 32]]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[track_caller]
    pub fn all_to_all<T: Element>(&self, input: &[T], output: &mut [T]) -> Result<()> {
        let ask = ask(Collective::AllToAll, input.len());
        self.run_call(ask.by(None), input, output, &First)
    }

    /// [`all_to_all`](Self::all_to_all) with the algorithm of your choice, the same on every rank.
    ///
    /// # Errors
    ///
    /// [`Usage`](crate::ErrorKind::Usage) if the algorithm [refuses](Algorithm::refused) the call; otherwise as
    /// [`all_to_all`](Self::all_to_all).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::{World, collective::Algorithm};
    ///
    /// let all = World::new(2).run(|comm| {
    ///     let mut got = [0; 2];
    ///     comm.all_to_all_with(Algorithm::Pairwise, &[comm.rank(); 2], &mut got)?;
    ///     Ok(got)
    /// })?;
    /// assert_eq!(all, [[0, 1]; 2]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[track_caller]
    pub fn all_to_all_with<T: Element>(
        &self,
        algorithm: Algorithm,
        input: &[T],
        output: &mut [T],
    ) -> Result<()> {
        let ask = ask(Collective::AllToAll, input.len());
        self.run_call(ask.by(Some(algorithm)), input, output, &First)
    }
}
