//! How the ranks of a communicator make a window: compiled once for all types of elements.

use std::any::Any;
use std::sync::Arc;

use crate::comm::values::append;
use crate::engine::Comm;
use crate::engine::call::InCall;
use crate::error::{Error, Result};
use crate::transport::communicator::call::Call;
use crate::transport::trace::origin::Birth;

/// A part, or the table of all parts, without its type.
pub(super) type AnyPart = Arc<dyn Any + Send + Sync>;

/// Makes the table of all parts out of them, on rank 0; `None` if their types differ.
pub(super) type Assemble = fn(Vec<AnyPart>) -> Option<AnyPart>;

/// Makes a communicator for a window, and collects the parts of all ranks in a table.
pub(super) fn create<W: Send + Sync + 'static>(
    comm: &Comm,
    call: Call,
    part: AnyPart,
    assemble: Assemble,
) -> Result<(Comm, Arc<W>)> {
    let (comm, table) = create_any(comm, call, part, assemble)?;
    let table = table.and_then(|table| table.downcast().ok());
    Ok((comm, table.ok_or_else(differing)?))
}

/// Reached only if the types differ and the fingerprints of the calls do not.
#[cold]
fn differing() -> Error {
    Error::usage("the ranks brought parts of different types")
}

fn create_any(
    comm: &Comm,
    call: Call,
    part: AnyPart,
    assemble: Assemble,
) -> Result<(Comm, Option<AnyPart>)> {
    let wish = (Some(0), comm.rank() as i64);
    let (place, table) = comm.collective(
        call,
        || Ok(()),
        |inside| {
            let place = inside.find_place(wish, |wishes| wishes, |_| Birth::Window)?;
            Ok((place, inside.collect(part, assemble)?))
        },
    )?;
    Ok((comm.at_place(place), table))
}

impl InCall<'_> {
    /// The table of all parts: rank 0 makes it, all get it.
    fn collect(&self, part: AnyPart, assemble: Assemble) -> Result<Option<AnyPart>> {
        let mut parts = Some(vec![part]);
        self.fold_up(0, &mut parts, &mut append)?;
        let mut table = parts.map(assemble);
        self.send_down(0, &mut table)?;
        Ok(table.flatten())
    }
}
