//! Fused all-reduces: several vectors, of any types and with any operators, in one collective call.
//!
//! Over cells, each rank packs its vectors in its cell and folds those of other cells into its own vectors, each by its
//! own operator ([`HeldParts`]). By other algorithms the vectors travel in a block of one of three lengths, which is a
//! single element of an all-reduce, whose operator folds each vector at its place. Vectors that do not fit into one
//! block are packed into several, in their order; a vector that fits into none is reduced by itself.

use std::fmt;
use std::rc::Rc;

use super::Comm;
use super::using::Using;
use crate::collective::{Algorithm, Collective};
use crate::engine::at_cells::AtCellPort;
use crate::engine::call::InCall;
use crate::engine::combine::{commutes, kind_of};
use crate::engine::kept::{Ask, CallPath, Kept, Plan, With, ask};
use crate::error::{Error, Result};
use crate::execute::{Contribution, over_cells};
use crate::op::block::{Block, FusedVector, FusedVectors, List, OtherVectors};
use crate::op::elements::{Elements, ElementsMut};
use crate::op::folds::{FoldsOf, Operands};
use crate::op::signature::{Signature, TAIL};
use crate::op::{Element, Operator, OperatorKind};
use crate::schedule::Combine;
use crate::transport::memory::cells::{CellPort, Floor, Found};
use crate::transport::memory::stamp::{Label, Stamp};
use crate::unwind;

/// # Fused all-reduce
///
/// Several all-reduces at the price of one.
impl Comm {
    /// Folds several vectors of all ranks in one collective call, and gives every rank the results.
    ///
    /// The closure lists the vectors, each with its operator ([`Fused::all_reduce`]); types, lengths and operators may
    /// differ. After the closure has returned, the ranks meet once for all vectors. Each vector is then what
    /// [`all_reduce`](Self::all_reduce) would have made of it, with operands in rank order.
    ///
    /// # Shape
    ///
    /// All ranks list vectors of the same types and lengths, with the same operators, in the same order. Vectors may be
    /// empty, and there may be none.
    ///
    /// # Cost
    ///
    /// As one [`all_reduce`](Self::all_reduce) of as many bytes, and a few nanoseconds for each vector. More than 4 KiB
    /// (less 8 bytes) of consecutive vectors, with the gaps that their alignment needs, take one call for each 4 KiB; a
    /// longer vector, or one that is aligned to more than 64 bytes, takes a call of its own.
    ///
    /// An operator that has captured something is stored on the heap, as are all vectors after the eighth.
    ///
    /// A process keeps a description of each different list that it has fused, up to 65536 vectors in all lists, and
    /// as many again of lists that differ in the types of their operators alone. The vectors of further lists are reduced
    /// one by one.
    ///
    /// # Rounding
    ///
    /// Where both take the same algorithm, the results have the bits of separate calls. The algorithm for a list is
    /// chosen by its length as a whole, and may exchange operands only if all operators commute; so with more than 64
    /// ranks, with levels and with a tuning table, sums of floating-point numbers may be grouped differently.
    ///
    /// # Errors
    ///
    /// As [`broadcast`](Self::broadcast). Ranks that list different vectors get
    /// [`Mismatch`](crate::ErrorKind::Mismatch), which shows the lists.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::{World, op};
    ///
    /// let results = World::new(4).run(|comm| {
    ///     let (mut sum, mut most, mut all) = ([comm.rank() as f64, 0.5], [comm.rank()], [true]);
    ///     comm.fused(|f| {
    ///         f.all_reduce(&mut sum, op::Sum);
    ///         f.all_reduce(&mut most, op::Max);
    ///         f.all_reduce(&mut all, op::And);
    ///     })?;
    ///     Ok((sum, most[0], all[0]))
    /// })?;
    /// assert_eq!(results, [([6.0, 2.0], 3, true); 4]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    ///
    /// A vector is borrowed until the call has returned:
    ///
    /// ```compile_fail,E0503
    /// # rankfold::World::new(1).run(|comm| {
    /// let mut sum = [1];
    /// comm.fused(|f| {
    ///     f.all_reduce(&mut sum, rankfold::op::Sum);
    ///     sum[0] = 2;
    /// })
    /// # });
    /// ```
    ///
    /// ```compile_fail,E0499
    /// # rankfold::World::new(1).run(|comm| {
    /// let mut sum = [1];
    /// comm.fused(|f| {
    ///     f.all_reduce(&mut sum, rankfold::op::Sum);
    ///     f.all_reduce(&mut sum, rankfold::op::Max);
    /// })
    /// # });
    /// ```
    #[track_caller]
    pub fn fused<'buf>(&self, list: impl FnOnce(&mut Fused<'buf>)) -> Result<()> {
        self.automatic().fused(list)
    }
}

impl Using<'_> {
    /// [`Comm::fused`]. The algorithm is that of each call that the list takes.
    #[inline]
    #[track_caller]
    pub fn fused<'buf>(&self, list: impl FnOnce(&mut Fused<'buf>)) -> Result<()> {
        let ask = ask(Collective::AllReduce, 1).by(self.algorithm);
        let last = self.comm.last_fused(&ask);
        let mut vectors = Fused::new(last.as_ref().and_then(|last| last.ask.fused));
        list(&mut vectors);
        if vectors.exact {
            return self.comm.refuse_exact(&ask);
        }
        match (last, vectors.vectors.as_likely()) {
            // The closure may have swapped its list for that of another call.
            (Some(last), Some(mut parts)) if last.is_of(parts.signature()) => {
                self.comm.run_kept(&last, &mut parts)
            }
            _ => self.comm.run_fused(&ask, vectors.vectors.all()),
        }
    }
}

/// The list of vectors of a fused call; see [`Comm::fused`].
pub struct Fused<'buf> {
    vectors: List<'buf>,
    /// Whether one of them is to be summed exactly.
    exact: bool,
}

impl fmt::Debug for Fused<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fused").finish_non_exhaustive()
    }
}

impl<'buf> Fused<'buf> {
    #[inline(always)]
    fn new(likely: Option<&'static Signature>) -> Self {
        Fused {
            vectors: List::new(likely),
            exact: false,
        }
    }

    /// Lists a vector, to be folded as by [`Comm::all_reduce`].
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::{World, op};
    ///
    /// // A dot product and the lengths of both vectors.
    /// let products = World::new(2).run(|comm| {
    ///     let (x, y) = ([1.0, 2.0], [3.0, 4.0]);
    ///     let dot = |a: [f64; 2], b: [f64; 2]| a[0] * b[0] + a[1] * b[1];
    ///     let mut sums = [[dot(x, y)], [dot(x, x)], [dot(y, y)]];
    ///     comm.fused(|f| sums.iter_mut().for_each(|sum| f.all_reduce(sum, op::Sum)))?;
    ///     Ok(sums)
    /// })?;
    /// assert_eq!(products, [[[22.0], [10.0], [50.0]]; 2]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn all_reduce<T: Element>(&mut self, buf: &'buf mut [T], op: impl Operator<T> + 'buf) {
        self.exact |= op.exact_of().is_some();
        let named = (kind_of(&op), commutes(&op));
        self.vectors.push(buf, op, named);
    }
}

/// Calls a method for the type of the shortest block with room for this many bytes. Three lengths: each is an element of
/// its own, for which the library is compiled once more.
macro_rules! in_block {
    ($bytes:expr, $of:ident . $method:ident ($($argument:expr),*)) => {
        match $bytes + TAIL {
            ..=128 => $of.$method::<120>($($argument),*),
            ..=1024 => $of.$method::<1016>($($argument),*),
            _ => $of.$method::<4088>($($argument),*),
        }
    };
}

impl Comm {
    /// The error of a list with a sum whose ranks would have to exchange other elements than its own.
    #[cold]
    fn refuse_exact(&self, ask: &Ask) -> Result<()> {
        let refused = "op::SumExact is not for fused calls: call all_reduce with it";
        self.op(ask.site, &|| "fused".into(), || Err(Error::usage(refused)))
    }

    /// The last call at this line, whose vectors are probably those of this one.
    fn last_fused(&self, ask: &Ask) -> Option<Rc<Kept>> {
        self.core.kept.last_fused(ask, self.alike.into())
    }

    /// Runs as many calls as the vectors need: one if there are none.
    #[inline(never)]
    fn run_fused(&self, ask: &Ask, parts: &mut [FusedVector<'_>]) -> Result<()> {
        if self.shared.spans() {
            return self.run_each(ask, parts);
        }
        let alike = self.alike.into();
        let lists = has_keys_of(parts);
        let kept = self.core.kept.find_fused(ask, alike, lists);
        let found = self.run_if(kept.as_deref(), parts);
        found.unwrap_or_else(|| self.run_blocks(ask, parts))
    }

    /// Runs a call whose signature may be that of the vectors; `None` if it is not.
    fn run_if(&self, kept: Option<&Kept>, parts: &mut [FusedVector<'_>]) -> Option<Result<()>> {
        let kept = kept?;
        let mut parts = FusedVectors::new(kept.ask.fused?, parts)?;
        Some(self.run_kept(kept, &mut parts))
    }

    /// Runs a call whose signature is that of the vectors.
    fn run_kept(&self, kept: &Kept, parts: &mut FusedVectors<'_, '_>) -> Result<()> {
        let check = || Ok(());
        let run = |inside: &InCall<'_>| match kept.plan.path {
            CallPath::Cells => inside.fuse_over_cells(&kept.plan, parts),
            _ => inside.fuse_by_elements(&kept.plan, parts),
        };
        self.again(&kept.described, check, run)
    }

    /// Runs a call for each block that the vectors need.
    #[cold]
    fn run_blocks(&self, ask: &Ask, mut parts: &mut [FusedVector<'_>]) -> Result<()> {
        loop {
            let (block, rest) = parts.split_at_mut(in_one_block(parts));
            self.run_one(ask, block)?;
            if rest.is_empty() {
                return Ok(());
            }
            parts = rest;
        }
    }

    /// Reduces vectors that fit into one block, or a single one that fits into none.
    fn run_one(&self, ask: &Ask, parts: &mut [FusedVector<'_>]) -> Result<()> {
        let kept = self.kept_fused(ask, parts)?;
        let found = self.run_if(kept.as_deref(), parts);
        found.unwrap_or_else(|| self.run_each(ask, parts))
    }

    /// The call of these vectors; `None` if they have no signature.
    fn kept_fused(&self, ask: &Ask, parts: &[FusedVector<'_>]) -> Result<Option<Rc<Kept>>> {
        let alike = self.alike.into();
        if let Some(kept) = self.core.kept.find_fused(ask, alike, has_keys_of(parts)) {
            return Ok(Some(kept));
        }
        // A line that lists operators of several types keeps one call for all of them.
        let vectors = || parts.iter().map(FusedVector::vector);
        let is_of = |of: &'static Signature| of.is_of(vectors());
        if let Some(kept) = self.core.kept.find_fused(ask, alike, is_of) {
            return Ok(Some(kept));
        }
        let signature = Signature::of(vectors());
        let kept = signature.map(|signature| self.keep_fused(ask, signature));
        kept.transpose()
    }

    /// Describes and caches the call of a signature.
    fn keep_fused(&self, ask: &Ask, signature: &'static Signature) -> Result<Rc<Kept>> {
        let with = in_block!(signature.bytes(), self.with_block());
        let ask = Ask {
            commutes: signature.commutes(),
            fused: Some(signature),
            ..*ask
        };
        self.keep(ask, with)
    }

    fn with_block<const N: usize>(&self) -> With {
        With::new::<Block<N>>(self, OperatorKind::None, (0, 1))
    }

    /// Reduces vectors one by one.
    #[cold]
    fn run_each(&self, ask: &Ask, parts: &mut [FusedVector<'_>]) -> Result<()> {
        parts
            .iter_mut()
            .try_for_each(|part| self.run_alone(ask, part))
    }

    /// Reduces a vector in a call of its own, by an algorithm that is compiled for elements of any type.
    fn run_alone(&self, ask: &Ask, part: &mut FusedVector<'_>) -> Result<()> {
        let vector = part.vector();
        let ask = Ask {
            site: part.site,
            length: vector.count,
            commutes: vector.commutes,
            alone: true,
            ..*ask
        };
        let with = With::of(self, vector.op, (0, vector.count), vector.info);
        let kept = match self.core.kept.find(&ask, &with) {
            Some(kept) => kept,
            None => self.keep_by(ask, with, without_cells)?,
        };
        let mut operands = part.operands();
        self.again(
            &kept.described,
            || Ok(()),
            |inside| inside.go_by_elements(&kept.plan, &mut operands),
        )
    }
}

impl InCall<'_> {
    #[inline]
    fn fuse_over_cells(&self, plan: &Plan, parts: &mut FusedVectors<'_, '_>) -> Result<()> {
        let mut held = HeldParts(parts);
        over_cells(&mut AtCellPort::new(self), &plan.shape, |table| {
            table.all_reduce(&mut held)
        })
    }

    #[inline(never)]
    fn fuse_by_elements(&self, plan: &Plan, parts: &mut FusedVectors<'_, '_>) -> Result<()> {
        in_block!(parts.signature().bytes(), self.fuse_block(plan, parts))
    }

    fn fuse_block<const N: usize>(
        &self,
        plan: &Plan,
        parts: &mut FusedVectors<'_, '_>,
    ) -> Result<()> {
        let mut block = [parts.block::<N>()];
        let operator = parts.operator();
        let mut operands = Operands {
            input: Elements::of::<Block<N>>(&[]),
            output: ElementsMut::of(&mut block),
            folds: &FoldsOf::<Block<N>, _>::new(&operator),
        };
        self.go_by_elements(plan, &mut operands)?;
        parts.unpack_block(&block[0]).map_err(other_vectors)
    }
}

/// The vectors of a rank, which travel packed.
struct HeldParts<'h, 'p, 'a>(&'h mut FusedVectors<'p, 'a>);

impl Contribution for HeldParts<'_, '_, '_> {
    #[inline(always)]
    fn count(&self) -> usize {
        1
    }

    #[inline(always)]
    fn bytes(&self) -> usize {
        self.0.signature().bytes()
    }

    #[inline(always)]
    fn post(&self, cell_port: &mut CellPort, stamp: Stamp) {
        cell_port.post_packed(stamp, self.0);
    }

    #[inline(always)]
    fn combine(
        &mut self,
        combine: Combine,
        found: Found<'_>,
        stamp: Stamp,
    ) -> Result<Floor, Label> {
        let parts = &mut *self.0;
        let (theirs, floor) = found.open_packed(stamp, parts.signature())?;
        match combine {
            Combine::Replace => parts.unpack(theirs),
            Combine::FoldRight => unwind::operator(|| parts.fold_right(theirs)),
            Combine::FoldLeft => unwind::operator(|| parts.fold_left(theirs)),
        }
        Ok(floor)
    }
}

/// Whether a signature is that of these vectors, with their keys.
fn has_keys_of(parts: &[FusedVector<'_>]) -> impl Fn(&'static Signature) -> bool {
    |signature| signature.has_keys_of(parts.iter().map(FusedVector::vector))
}

/// Cells are used by code that is compiled for one type of elements.
fn without_cells(algorithm: Algorithm) -> Algorithm {
    match algorithm {
        Algorithm::Cells => Algorithm::Direct,
        other => other,
    }
}

/// The number of vectors that go into one block, or 1 if the first fits into none.
#[inline]
fn in_one_block(parts: &[FusedVector<'_>]) -> usize {
    let mut end = 0;
    let fits = |part: &&FusedVector<'_>| {
        let place = part.vector().after(end);
        end = place.as_ref().map_or(end, |place| place.end);
        place.is_some()
    };
    let count = parts.iter().take_while(fits).count();
    count.max(1).min(parts.len())
}

/// The error where ranks have packed different vectors although the fingerprints of their calls are equal.
#[cold]
fn other_vectors(_: OtherVectors) -> Error {
    Error::usage(
        "the ranks fuse vectors of different types or lengths, or with different operators",
    )
}
