//! Constructors of datatypes: each is a list of blocks, of elements of some datatype, at some place.

use std::ffi::c_int;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

use super::basic::Basic;
use super::decode::Made;
use super::signature::Signature;
use super::{Datatype, Segment, Type, add, of};
use crate::abi::*;
use crate::error::{Failure, Out, failure, require};

/// `len` elements of a datatype, one after the other, at a place.
pub(crate) struct Block<'t> {
    pub at: isize,
    pub len: usize,
    pub of: &'t Datatype,
}

/// No datatype has more segments: each takes 16 bytes.
pub(super) const MOST: usize = 1 << 24;

#[derive(Default)]
struct Flat {
    segments: Vec<Segment>,
    runs: Vec<(Basic, u64)>,
    size: usize,
    bounds: Option<(isize, isize)>,
    /// The bounds of its parts whose bounds were set: these alone count, if there are any.
    marked: Option<(isize, isize)>,
    align: usize,
}

impl Flat {
    fn segment(&mut self, at: isize, len: usize) {
        match self.segments.last_mut() {
            _ if len == 0 => {}
            Some(last) if last.at + last.len as isize == at => last.len += len,
            _ => self.segments.push(Segment { at, len }),
        }
    }

    fn run(&mut self, basic: Basic, times: u64) {
        match self.runs.last_mut() {
            Some((last, before)) if *last == basic => *before += times,
            _ => self.runs.push((basic, times)),
        }
    }

    /// Adds a block to size and bounds; `None` if one of its places is beyond the address space.
    fn cover(&mut self, block: &Block<'_>) -> Option<()> {
        let Block { at, len, of } = *block;
        let bytes = of.size.checked_mul(len)?;
        let size = self.size.checked_add(bytes)?;
        isize::try_from(size).ok()?;
        let reach = of.extent().checked_mul(isize::try_from(len - 1).ok()?)?;
        let other = at.checked_add(reach)?;
        let (first, end) = (at.min(other), at.max(other));
        let (lb, ub) = (first.checked_add(of.lb)?, end.checked_add(of.ub)?);
        let (true_lb, true_ub) = of.true_bounds();
        first.checked_add(true_lb)?;
        end.checked_add(true_ub)?;
        let bounds = match of.resized {
            true => &mut self.marked,
            false => &mut self.bounds,
        };
        let (low, high) = bounds.unwrap_or((lb, ub));
        let (low, high) = (low.min(lb), high.max(ub));
        high.checked_sub(low)?;
        self.size = size;
        *bounds = Some((low, high));
        Some(())
    }

    fn block(&mut self, block: &Block<'_>) -> Out {
        let Block { at, len, of } = *block;
        if len == 0 {
            return Ok(());
        }
        self.cover(block).ok_or_else(beyond)?;
        let (extent, last) = (of.extent(), (len - 1) as isize);
        match of.segments[..] {
            [] => {}
            // Elements of one segment that touch are one block, wherever the first begins.
            [it] if it.len as isize == extent => self.segment(at + it.at, it.len * len),
            _ => {
                for element in 0..=last {
                    let at = at + element * extent;
                    of.segments
                        .iter()
                        .for_each(|it| self.segment(at + it.at, it.len));
                    require(self.segments.len() <= MOST, MPI_ERR_NO_MEM, too_many)?;
                }
            }
        }
        self.align = self.align.max(of.align);
        Ok(())
    }

    /// The signature of blocks: that of their datatype, if they have one, or one after the other.
    fn sign(&mut self, blocks: &[Block<'_>]) -> Out {
        let mut filled = blocks.iter().filter(|block| block.len > 0);
        let Some(first) = filled.next() else {
            return Ok(());
        };
        if filled.clone().all(|block| block.of.runs == first.of.runs) {
            self.runs.clone_from(&first.of.runs);
            return Ok(());
        }
        for Block { len, of, .. } in [first].into_iter().chain(filled) {
            let bytes = (of.size * len) as u64;
            let sizes = of
                .runs
                .iter()
                .map(|(basic, times)| u64::from(basic.size) * times);
            let period: u64 = sizes.sum();
            match of.runs[..] {
                [(basic, _)] => self.run(basic, bytes / u64::from(basic.size)),
                _ => {
                    for _ in 0..bytes / period.max(1) {
                        of.runs
                            .iter()
                            .for_each(|(basic, times)| self.run(*basic, *times));
                        require(self.runs.len() <= MOST, MPI_ERR_NO_MEM, too_many)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn datatype(self, made: Made) -> Datatype {
        let (lb, ub) = self.marked.or(self.bounds).unwrap_or((0, 0));
        Datatype {
            segments: self.segments,
            size: self.size,
            lb,
            ub,
            signature: Signature::of(self.runs.clone()),
            runs: self.runs,
            align: self.align,
            resized: self.marked.is_some(),
            made,
            committed: AtomicBool::new(false),
            name: Mutex::default(),
            predefined: false,
        }
    }
}

pub(super) fn beyond() -> Failure {
    failure(MPI_ERR_ARG, "the datatype is larger than the address space")
}

pub(super) fn too_many() -> String {
    format!("the datatype has more than {MOST} parts")
}

pub(crate) fn predefined(name: &str, parts: &[Basic]) -> Datatype {
    let mut flat = Flat::default();
    let mut end = 0usize;
    for part in parts {
        let size = usize::from(part.size);
        // Complex numbers are aligned as their halves.
        let align = match part.holds {
            super::basic::Holds::Complex => size / 2,
            _ => size,
        };
        let align = align.min(16);
        let at = end.next_multiple_of(align);
        flat.segment(at as isize, size);
        flat.run(*part, 1);
        flat.size += size;
        flat.align = flat.align.max(align);
        end = at + size;
    }
    flat.bounds = Some((0, end.next_multiple_of(flat.align.max(1)) as isize));
    let mut datatype = flat.datatype(Made::named());
    datatype.committed = AtomicBool::new(true);
    datatype.name = Mutex::new(name.into());
    datatype.predefined = true;
    datatype
}

/// A datatype of blocks. Its extent is rounded up as that of a struct is, unless bounds were set: an array of it is aligned.
pub(crate) fn blocks(made: Made, blocks: &[Block<'_>]) -> Out<MPI_Datatype> {
    let mut flat = flat(blocks)?;
    if let Some((lb, ub)) = flat.bounds.filter(|_| flat.marked.is_none()) {
        let extent = ((ub - lb) as usize).checked_next_multiple_of(flat.align.max(1));
        let extent = extent.and_then(|extent| isize::try_from(extent).ok());
        let end = extent.and_then(|extent| lb.checked_add(extent));
        flat.bounds = Some((lb, end.ok_or_else(beyond)?));
    }
    Ok(add(flat.datatype(made)))
}

fn flat(blocks: &[Block<'_>]) -> Out<Flat> {
    let mut flat = Flat::default();
    blocks.iter().try_for_each(|block| flat.block(block))?;
    flat.sign(blocks)?;
    Ok(flat)
}

/// The same datatype with other bounds, or another way to have been made.
pub(crate) fn again(made: Made, of: &Datatype, bounds: Option<(isize, isize)>) -> MPI_Datatype {
    let (lb, ub) = bounds.unwrap_or((of.lb, of.ub));
    // Relaxed: as in `committed`.
    let committed = of.committed.load(std::sync::atomic::Ordering::Relaxed);
    add(Datatype {
        segments: of.segments.clone(),
        size: of.size,
        lb,
        ub,
        runs: of.runs.clone(),
        signature: of.signature,
        align: of.align,
        resized: of.resized || bounds.is_some(),
        made,
        committed: AtomicBool::new(bounds.is_none() && committed),
        name: Mutex::default(),
        predefined: false,
    })
}

/// `number` blocks of one length, each a stride after the one before; the stride in bytes.
pub(crate) fn strided(
    made: Made,
    (number, len, stride): (usize, usize, isize),
    of: &Datatype,
) -> Out<MPI_Datatype> {
    let whole = isize::try_from(len).ok();
    let is_one_block = whole.and_then(|len| len.checked_mul(of.extent())) == Some(stride);
    if number > MOST && is_one_block {
        let len = number.checked_mul(len).ok_or_else(beyond)?;
        return blocks(made, &[Block { at: 0, len, of }]);
    }
    require(number <= MOST, MPI_ERR_NO_MEM, too_many)?;
    let block = |i: usize| {
        let at = (i as isize).checked_mul(stride).ok_or_else(beyond)?;
        Ok(Block { at, len, of })
    };
    let all: Out<Vec<_>> = (0..number).map(block).collect();
    blocks(made, &all?)
}

fn length(number: impl Into<i64>) -> Out<usize> {
    let number = number.into();
    usize::try_from(number).map_err(|_| {
        let text = format!("a length of a block is {number}, which is negative");
        failure(MPI_ERR_COUNT, text)
    })
}

/// Blocks of lengths at places in bytes.
pub(crate) fn placed(
    made: Made,
    lens: impl IntoIterator<Item = impl Into<i64>>,
    places: impl IntoIterator<Item = isize>,
    of: &Datatype,
) -> Out<MPI_Datatype> {
    let block = |(len, at)| {
        Ok(Block {
            at,
            len: length(len)?,
            of,
        })
    };
    let all: Out<Vec<_>> = lens.into_iter().zip(places).map(block).collect();
    blocks(made, &all?)
}

/// Blocks of different datatypes.
pub(crate) fn mixed(
    made: Made,
    lens: &[i64],
    places: &[isize],
    types: &[MPI_Datatype],
) -> Out<MPI_Datatype> {
    let types: Out<Vec<Type>> = types.iter().map(|it| of(*it)).collect();
    let types = types?;
    let parts = lens.iter().zip(places).zip(&types);
    let all = parts.map(|((len, at), of)| {
        let len = length(*len)?;
        Ok(Block { at: *at, len, of })
    });
    let all: Out<Vec<_>> = all.collect();
    blocks(made, &all?)
}

/// A block of an array of several dimensions.
pub(crate) struct Subarray<'a> {
    pub sizes: &'a [i64],
    pub part: &'a [i64],
    pub starts: &'a [i64],
    pub order: c_int,
}

impl Subarray<'_> {
    fn check(&self) -> Out {
        require(!self.sizes.is_empty(), MPI_ERR_DIMS, || {
            "an array has at least one dimension".into()
        })?;
        let order = self.order;
        require(
            [MPI_ORDER_C, MPI_ORDER_FORTRAN].contains(&order),
            MPI_ERR_ARG,
            || format!("order {order} is neither MPI_ORDER_C nor MPI_ORDER_FORTRAN"),
        )?;
        for ((size, part), start) in self.sizes.iter().zip(self.part).zip(self.starts) {
            let end = start.checked_add(*part);
            let fits = *part >= 1 && *start >= 0 && end.is_some_and(|end| end <= *size);
            require(fits, MPI_ERR_ARG, || {
                format!("{part} elements from {start} on do not fit a dimension of {size}")
            })?;
        }
        Ok(())
    }

    /// The dimensions, those first that vary fastest.
    fn fastest_first(&self) -> Vec<usize> {
        let mut dimensions: Vec<usize> = (0..self.sizes.len()).collect();
        if self.order == MPI_ORDER_C {
            dimensions.reverse();
        }
        dimensions
    }

    /// Where the rows of the part begin, and the bytes of the whole array. A row is along the dimension that varies
    /// fastest.
    fn rows(&self, extent: isize) -> Out<(Vec<isize>, isize)> {
        let (mut places, mut stride) = (vec![0isize], extent);
        for (nth, dimension) in self.fastest_first().into_iter().enumerate() {
            let start = self.starts[dimension];
            let length = if nth == 0 { 1 } else { self.part[dimension] };
            let next = stride.checked_mul(self.sizes[dimension] as isize);
            let next = next.ok_or_else(beyond)?;
            let number = places.len().saturating_mul(length as usize);
            require(number <= MOST, MPI_ERR_NO_MEM, too_many)?;
            // Each step is within the dimension, whose length did not overflow.
            let steps = (start..start + length).map(|step| step as isize * stride);
            places = steps
                .flat_map(|step| places.iter().map(move |at| at + step))
                .collect();
            stride = next;
        }
        Ok((places, stride))
    }
}

pub(crate) fn subarray(made: Made, it: &Subarray<'_>, of: &Datatype) -> Out<MPI_Datatype> {
    it.check()?;
    let (places, whole) = it.rows(of.extent())?;
    let len = it.part[it.fastest_first()[0]] as usize;
    let all: Vec<_> = places.into_iter().map(|at| Block { at, len, of }).collect();
    blocks_within(made, &all, (0, whole))
}

/// A datatype of blocks with bounds of its own.
pub(crate) fn blocks_within(
    made: Made,
    blocks: &[Block<'_>],
    bounds: (isize, isize),
) -> Out<MPI_Datatype> {
    let mut flat = flat(blocks)?;
    flat.marked = Some(bounds);
    Ok(add(flat.datatype(made)))
}

/// The extent of a datatype times a number, as a place.
pub(crate) fn scaled(by: impl Into<i64>, of: &Datatype) -> Out<isize> {
    let place = isize::try_from(by.into()).ok();
    let place = place.and_then(|by| by.checked_mul(of.extent()));
    place.ok_or_else(|| failure(MPI_ERR_ARG, "a displacement is beyond the address space"))
}
