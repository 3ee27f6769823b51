//! Error codes and error handlers.

use std::ffi::{c_char, c_int};

use crate::abi::*;
use crate::error::{Out, bad, failure, require};
use crate::handle::Bad;
use crate::rank::{Handler, Rank};
use crate::text::Text;

/// Codes that the program adds begin here.
const ADDED: c_int = MPI_ERR_LASTCODE + 1;

/// Refuses a handle that is no error handler.
pub(super) fn check_handler(rank: &Rank, handler: MPI_Errhandler) -> Out {
    match handler {
        MPI_ERRORS_ARE_FATAL | MPI_ERRORS_RETURN | MPI_ERRORS_ABORT => Ok(()),
        MPI_ERRHANDLER_NULL => Err(failure(
            MPI_ERR_ERRHANDLER,
            "the error handler is MPI_ERRHANDLER_NULL",
        )),
        _ => {
            let number = handler.addr();
            let handles = rank.handlers.borrow().get(number).map(|it| it.handles);
            // One that some object still has may have no handle.
            let found = handles.and_then(|handles| match handles {
                0 => Err(Bad::Freed),
                _ => Ok(()),
            });
            found.map_err(|why| bad(MPI_ERR_ERRHANDLER, "error handler", number, why))
        }
    }
}

/// Keeps the address of an error handler.
pub(super) fn keep_handler(rank: &Rank, function: usize) -> usize {
    let handles = 1;
    rank.handlers
        .borrow_mut()
        .add(Handler { function, handles })
}

/// A handle of the error handler of an object, which the program frees as it frees others.
pub(super) fn further_handle(rank: &Rank, number: usize) -> MPI_Errhandler {
    if let Ok(own) = rank.handlers.borrow_mut().get_mut(number) {
        own.handles += 1;
    }
    std::ptr::without_provenance_mut(number)
}

/// The place of a code that the program added.
fn added(rank: &Rank, code: c_int) -> Option<usize> {
    let at = usize::try_from(code.checked_sub(ADDED)?).ok()?;
    (at < rank.added.borrow().len()).then_some(at)
}

fn text(rank: &Rank, code: c_int) -> Out<Text> {
    if let Some(at) = added(rank, code) {
        return Ok(rank.added.borrow()[at].1.clone());
    }
    let (name, meaning) =
        class_text(code).ok_or_else(|| failure(MPI_ERR_ARG, format!("{code} is no error code")))?;
    let last = rank.texts.borrow().get(&code).cloned();
    let text = last.unwrap_or_else(|| format!("{name}: {meaning}"));
    Ok(text.into())
}

fn add(rank: &Rank, class: Option<c_int>) -> c_int {
    let mut all = rank.added.borrow_mut();
    let code = ADDED + all.len() as c_int;
    all.push((class.unwrap_or(code), Text::default()));
    rank.last_code.set(code);
    code
}

super::calls! {
    fn MPI_Error_class(errorcode: c_int, errorclass: *mut c_int) |rank, caller| {
        let class = added(rank, errorcode).map(|at| rank.added.borrow()[at].0);
        caller.write(errorclass, class.unwrap_or(errorcode))
    }
    /// Of the errors of a class, it tells the last one.
    fn MPI_Error_string(errorcode: c_int, string: *mut c_char, resultlen: *mut c_int) |rank, caller| {
        let text = text(rank, errorcode)?;
        let written = caller.write_text(string, MPI_MAX_ERROR_STRING as usize, &text)?;
        caller.write(resultlen, written as c_int)
    }
    fn MPI_Add_error_class(errorclass: *mut c_int) |rank, caller| {
        caller.write(errorclass, add(rank, None))
    }
    fn MPI_Add_error_code(errorclass: c_int, errorcode: *mut c_int) |rank, caller| {
        let known = class_text(errorclass).is_some() || added(rank, errorclass).is_some();
        require(known, MPI_ERR_ARG, || format!("{errorclass} is no error class"))?;
        caller.write(errorcode, add(rank, Some(errorclass)))
    }
    fn MPI_Add_error_string(errorcode: c_int, string: *const c_char) |rank, caller| {
        let text = caller.text(string)?;
        let at = added(rank, errorcode);
        let at = at.ok_or_else(|| failure(MPI_ERR_ARG, format!("{errorcode} is no code that the program added")))?;
        rank.added.borrow_mut()[at].1 = text;
        Ok(())
    }
    fn MPI_Errhandler_free(errhandler: *mut MPI_Errhandler) |rank, caller| {
        let handler = caller.read(errhandler)?;
        check_handler(rank, handler)?;
        // Communicators that have it go on to call it.
        rank.release_handler(handler);
        caller.write(errhandler, MPI_ERRHANDLER_NULL)
    }
}
