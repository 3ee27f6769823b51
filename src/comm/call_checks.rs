//! Whether the arguments of a collective fit together.

use super::Comm;
use crate::collective::{Algorithm, Call as Shape, Collective};
use crate::engine::kept::{Ask, With};
use crate::error::{Error, Result};
use crate::names::Transport;
use crate::op::elements::Info;
use crate::transport::memory::cells::{self, CellPort};

impl Comm {
    /// Checks that root, algorithm and buffers are valid for the call.
    pub(super) fn check_call(&self, shape: &Shape, ask: &Ask, with: &With) -> Result<()> {
        let algorithm = ask.algorithm;
        if shape.collective.has_root() {
            self.check_rank("the root", shape.root)?;
        }
        if let Some(refusal) = algorithm.and_then(|algorithm| algorithm.refused(shape)) {
            return Err(Error::usage(refusal.to_string()));
        }
        check_cells(shape, algorithm, with.info)?;
        check_countable(shape)?;
        let wanted = match ask.from_input {
            true => (shape.length(), shape.length()),
            false => shape.buffers(self.rank()),
        };
        if wanted == with.lengths {
            return Ok(());
        }
        Err(wrong_lengths(wanted, with.lengths))
    }
}

/// Checks that a call with the algorithm `cells`, if that is requested, fits into a cell.
#[inline]
fn check_cells(shape: &Shape, algorithm: Option<Algorithm>, info: &'static Info) -> Result<()> {
    let by_messages = shape.transport == Transport::Channels;
    let fits = || by_messages || CellPort::fits(info, shape.most_written());
    if algorithm != Some(Algorithm::Cells) || fits() {
        return Ok(());
    }
    let bytes = shape.most_written().saturating_mul(info.size());
    Err(Error::usage(format!(
        "{bytes} bytes, aligned to {}, have no room in a cell, which holds {} bytes aligned to 64: choose another \
         algorithm",
        info.align(),
        cells::CELL_BYTES
    )))
}

/// Checks that the blocks of a gather or a scatter are not together longer than can be counted, which their length, that
/// of one times the ranks, does not exceed.
fn check_countable(shape: &Shape) -> Result<()> {
    use Collective::{AllGather, Gather, Scatter};
    let of_blocks = matches!(shape.collective, AllGather | Gather | Scatter);
    if !of_blocks || shape.length() < usize::MAX || shape.ranks() == 1 {
        return Ok(());
    }
    Err(Error::usage(format!(
        "the blocks of {} ranks together have {} elements or more",
        shape.ranks(),
        usize::MAX
    )))
}

#[cold]
fn wrong_lengths(wanted: (usize, usize), given: (usize, usize)) -> Error {
    let [input, output] = [(wanted.0, given.0), (wanted.1, given.1)];
    let (which, (wanted, given)) = match input.0 != input.1 {
        true => ("input", input),
        false => ("output", output),
    };
    Error::usage(format!(
        "this rank's {which} must have {wanted} elements, and has {given}"
    ))
}
