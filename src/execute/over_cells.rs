//! The collectives over cells: which rank writes for which, and what each reads.
//!
//! Each is a function of its own, and a call names the one that it needs: a caller compiles no other.

#[cfg(feature = "mpi")]
use super::cells::Contribution;
use super::cells::{HeldVector, RankAtCells};
use crate::collective::Collective;
use crate::engine::at_cells::Readers;
use crate::engine::combine::combined;
use crate::error::{Error, Result};
use crate::op::{Element, First, Operator};
use crate::schedule::Combine;

/// The collective of the call, whichever [folds](Collective::folds): this compiles all of those.
pub(crate) fn folding<T: Element, O: Operator<T>>(
    table: &mut RankAtCells<'_, '_>,
    input: &[T],
    output: &mut [T],
    op: &O,
) -> Result<()> {
    match table.call.collective {
        Collective::AllReduce if table.call.from_input => all_reduce_into(table, input, output, op),
        Collective::AllReduce => all_reduce(table, input, output, op),
        Collective::Reduce => reduce(table, input, output, op),
        Collective::ReduceScatter => reduce_scatter(table, input, output, op),
        Collective::Scan => scan(table, input, output, op),
        Collective::ExclusiveScan => exclusive_scan(table, input, output, op),
        _ => none(table, input, output, op),
    }
}

/// A collective that is not done over cells.
#[cold]
fn none<T: Element, O: Operator<T>>(
    table: &mut RankAtCells<'_, '_>,
    _: &[T],
    _: &mut [T],
    _: &O,
) -> Result<()> {
    let collective = table.call.collective;
    Err(Error::usage(format!("{collective} is not done over cells")))
}

#[inline]
pub(crate) fn all_reduce<T: Element, O: Operator<T>>(
    table: &mut RankAtCells<'_, '_>,
    _: &[T],
    output: &mut [T],
    op: &O,
) -> Result<()> {
    table.all_reduce(&mut HeldVector(output, op, None))
}

/// The all-reduce of separate inputs.
#[inline]
pub(crate) fn all_reduce_into<T: Element, O: Operator<T>>(
    table: &mut RankAtCells<'_, '_>,
    input: &[T],
    output: &mut [T],
    op: &O,
) -> Result<()> {
    table.all_reduce(&mut HeldVector(output, op, Some(input)))
}

#[inline]
pub(crate) fn barrier<T: Element, O: Operator<T>>(
    table: &mut RankAtCells<'_, '_>,
    _: &[T],
    _: &mut [T],
    op: &O,
) -> Result<()> {
    table.all_reduce_held(&mut HeldVector(&mut [], op, None))
}

#[inline]
pub(crate) fn broadcast<T: Element, O: Operator<T>>(
    table: &mut RankAtCells<'_, '_>,
    _: &[T],
    all: &mut [T],
    _: &O,
) -> Result<()> {
    let root = table.call.root;
    match table.me == root {
        true => table.write_to_all(all),
        false => table.copy(root, all),
    }
}

#[inline]
pub(crate) fn reduce<T: Element, O: Operator<T>>(
    table: &mut RankAtCells<'_, '_>,
    input: &[T],
    output: &mut [T],
    op: &O,
) -> Result<()> {
    if table.me != table.call.root {
        return table.write_to(table.call.root, input);
    }
    // A rank in the middle of the order reads its own contribution from its own cell.
    if table.me > 1 {
        table.write_to(table.me, output)?;
    }
    table.fold(output, op)
}

/// An all-reduce of which the root of the call, the first or the second rank, does `more` with the fold of all vectors
/// before the others copy it. What has an input is copied from there first.
#[cfg(feature = "mpi")]
#[inline]
pub(crate) fn all_reduce_at_root<T: Element, O: Operator<T>>(
    table: &mut RankAtCells<'_, '_>,
    input: Option<&[T]>,
    output: &mut [T],
    op: &O,
    more: impl FnOnce(&mut [T]) -> Result<()>,
) -> Result<()> {
    let root = table.call.root;
    let mut held = HeldVector(output, op, input);
    if table.me != root {
        table.write_held(Readers::One(root), &held)?;
        return table.replace(root, &mut held);
    }
    held.begin();
    table.fold_held(&mut held)?;
    more(held.0)?;
    table.write_held(table.others, &held)
}

#[inline]
pub(crate) fn reduce_scatter<T: Element, O: Operator<T>>(
    table: &mut RankAtCells<'_, '_>,
    input: &[T],
    own: &mut [T],
    op: &O,
) -> Result<()> {
    table.write_blocks(input)?;
    let block = table.call.blocks.block(table.me);
    if let Readers::One(_) = table.others {
        own.copy_from_slice(&input[block]);
        return table.fold(own, op);
    }
    let counted = table.wait_for_others(0)?;
    for from in 0..table.ranks {
        let combine = match from {
            0 => Combine::Replace,
            _ => Combine::FoldRight,
        };
        match from == table.me {
            true => combined(combine, own, &input[block.clone()], op),
            false => table.take_block_of_all(counted, (from, combine), input.len(), own, op)?,
        }
    }
    Ok(())
}

#[inline]
pub(crate) fn scan<T: Element, O: Operator<T>>(
    table: &mut RankAtCells<'_, '_>,
    _: &[T],
    output: &mut [T],
    op: &O,
) -> Result<()> {
    table.write_to_those_above(output)?;
    table.fold_those_below(output, op, Combine::FoldLeft)
}

/// Rank 0 keeps what it has.
#[inline]
pub(crate) fn exclusive_scan<T: Element, O: Operator<T>>(
    table: &mut RankAtCells<'_, '_>,
    _: &[T],
    output: &mut [T],
    op: &O,
) -> Result<()> {
    table.write_to_those_above(output)?;
    table.fold_those_below(output, op, Combine::Replace)
}

#[inline]
pub(crate) fn all_gather<T: Element, O: Operator<T>>(
    table: &mut RankAtCells<'_, '_>,
    own: &[T],
    all: &mut [T],
    _: &O,
) -> Result<()> {
    table.write_to_all(own)?;
    table.collect(own, all)
}

#[inline]
pub(crate) fn gather<T: Element, O: Operator<T>>(
    table: &mut RankAtCells<'_, '_>,
    own: &[T],
    all: &mut [T],
    _: &O,
) -> Result<()> {
    match table.me == table.call.root {
        true => table.collect(own, all),
        false => table.write_to(table.call.root, own),
    }
}

#[inline]
pub(crate) fn scatter<T: Element, O: Operator<T>>(
    table: &mut RankAtCells<'_, '_>,
    all: &[T],
    own: &mut [T],
    _: &O,
) -> Result<()> {
    let (root, block) = (table.call.root, table.call.blocks.block(table.me));
    if table.me == root {
        table.write_blocks(all)?;
        own.copy_from_slice(&all[block]);
        return Ok(());
    }
    table.take_block(root, table.call.length(), Combine::Replace, own, &First)
}

#[inline]
pub(crate) fn all_to_all<T: Element, O: Operator<T>>(
    table: &mut RankAtCells<'_, '_>,
    input: &[T],
    output: &mut [T],
    _: &O,
) -> Result<()> {
    table.write_blocks(input)?;
    let block = table.call.blocks.block(table.me);
    let place = |from| from * block.len()..(from + 1) * block.len();
    output[place(table.me)].copy_from_slice(&input[block.clone()]);
    let counted = table.wait_for_others(0)?;
    for from in table.all_others() {
        let (place, read) = (&mut output[place(from)], (from, Combine::Replace));
        table.take_block_of_all(counted, read, input.len(), place, &First)?;
    }
    Ok(())
}
