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

/// An error class or code that the program added.
pub(crate) struct Added {
    /// Of a class the class itself.
    class: c_int,
    text: Option<Text>,
}

/// Does something with a class or code that the program added and has not removed; `None` if there is no such one.
fn with_added<R>(rank: &Rank, code: c_int, f: impl FnOnce(&mut Option<Added>) -> R) -> Option<R> {
    let at = usize::try_from(code.checked_sub(ADDED)?).ok()?;
    let mut all = rank.added.borrow_mut();
    all.get_mut(at).filter(|it| it.is_some()).map(f)
}

/// The class of a code that the program added.
fn class_of_added(rank: &Rank, code: c_int) -> Option<c_int> {
    with_added(rank, code, |it| it.as_ref().map(|it| it.class)).flatten()
}

fn text(rank: &Rank, code: c_int) -> Out<Text> {
    let added = with_added(rank, code, |it| {
        it.as_ref()
            .and_then(|it| it.text.clone())
            .unwrap_or_default()
    });
    if let Some(text) = added {
        return Ok(text);
    }
    let (name, meaning) =
        class_text(code).ok_or_else(|| failure(MPI_ERR_ARG, format!("{code} is no error code")))?;
    let last = rank.errors.texts.borrow().get(&code).cloned();
    let text = last.unwrap_or_else(|| format!("{name}: {meaning}"));
    Ok(text.into())
}

/// Adds a code of a class, or a class; no number is used twice.
fn add(rank: &Rank, class: Option<c_int>) -> c_int {
    let mut all = rank.added.borrow_mut();
    let code = ADDED + all.len() as c_int;
    let (class, text) = (class.unwrap_or(code), None);
    all.push(Some(Added { class, text }));
    rank.last_code.set(code);
    code
}

/// Sets the text of a class or code that the program added, or removes the one that it has.
fn set_text(rank: &Rank, code: c_int, text: Option<Text>) -> Out {
    let removes = text.is_none();
    let set = |it: &mut Option<Added>| {
        it.as_mut()
            .and_then(|it| std::mem::replace(&mut it.text, text))
    };
    let before = with_added(rank, code, set);
    let before = before.ok_or_else(|| {
        failure(
            MPI_ERR_ARG,
            format!("{code} is no code that the program added"),
        )
    })?;
    require(!removes || before.is_some(), MPI_ERR_ARG, || {
        format!("no text was added to the error code {code}")
    })
}

/// Removes a class or a code that the program added, of which nothing else is left.
fn remove(rank: &Rank, code: c_int, is_class: bool) -> Out {
    let what = if is_class { "class" } else { "code" };
    let class = class_of_added(rank, code).filter(|class| (*class == code) == is_class);
    require(class.is_some(), MPI_ERR_ARG, || {
        format!("{code} is no error {what} that the program added")
    })?;
    let is_of = |(at, it): (usize, &Option<Added>)| {
        at as c_int + ADDED != code && it.as_ref().is_some_and(|it| it.class == code)
    };
    let has_codes = rank.added.borrow().iter().enumerate().any(is_of);
    require(!has_codes, MPI_ERR_ARG, || {
        format!("the error class {code} still has codes")
    })?;
    let has_text = |it: &mut Option<Added>| it.as_ref().is_some_and(|it| it.text.is_some());
    let has_text = with_added(rank, code, has_text) == Some(true);
    require(!has_text, MPI_ERR_ARG, || {
        format!("the error {what} {code} still has a text")
    })?;
    with_added(rank, code, |it| *it = None);
    Ok(())
}

super::calls! {
    fn MPI_Error_class(errorcode: c_int, errorclass: *mut c_int) |rank, caller| {
        caller.write(errorclass, class_of_added(rank, errorcode).unwrap_or(errorcode))
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
        let known = class_text(errorclass).is_some() || class_of_added(rank, errorclass).is_some();
        require(known, MPI_ERR_ARG, || format!("{errorclass} is no error class"))?;
        caller.write(errorcode, add(rank, Some(errorclass)))
    }
    fn MPI_Add_error_string(errorcode: c_int, string: *const c_char) |rank, caller| {
        set_text(rank, errorcode, Some(caller.text(string)?))
    }
    fn MPI_Remove_error_class(errorclass: c_int) |rank, _| {
        remove(rank, errorclass, true)
    }
    fn MPI_Remove_error_code(errorcode: c_int) |rank, _| {
        remove(rank, errorcode, false)
    }
    fn MPI_Remove_error_string(errorcode: c_int) |rank, _| {
        set_text(rank, errorcode, None)
    }
    fn MPI_Errhandler_free(errhandler: *mut MPI_Errhandler) |rank, caller| {
        let handler = caller.read(errhandler)?;
        check_handler(rank, handler)?;
        // Communicators that have it go on to call it.
        rank.release_handler(handler);
        caller.write(errhandler, MPI_ERRHANDLER_NULL)
    }
}
