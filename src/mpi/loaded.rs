//! A shared library that is loaded when the program runs, and stays loaded, and which binary interface one of MPI has.
//!
//! # Why this is sound
//!
//! A [`Loaded`] holds what `dlopen` has returned, which is never closed, so its symbols stay where they are. What a symbol
//! is, its user has to know.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::mem;
use std::os::unix::ffi::OsStrExt;

use super::abi::{self, Abi};

unsafe extern "C" {
    fn dlopen(name: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
    fn dlerror() -> *const c_char;
}

/// Of Linux. The plug-ins of Open MPI look for its symbols among the global ones.
const NOW_AND_GLOBAL: c_int = 0x102;

/// A library that is open.
#[derive(Clone, Copy)]
pub(super) struct Loaded(*mut c_void);

impl Loaded {
    /// Loads the library with this name or path. The initializers of the library run.
    pub(super) fn open(name: &OsStr) -> Result<Loaded, String> {
        let path = CString::new(name.as_bytes()).map_err(|_| format!("{name:?} is no path"))?;
        // SAFETY: a string that ends with a zero.
        let library = unsafe { dlopen(path.as_ptr(), NOW_AND_GLOBAL) };
        match library.is_null() {
            true => Err(why()),
            false => Ok(Loaded(library)),
        }
    }

    /// The address of a symbol of the library or of those that it depends on.
    pub(super) fn symbol(self, name: &CStr) -> Option<*mut c_void> {
        // SAFETY: a library that is open, and a string that ends with a zero.
        let found = unsafe { dlsym(self.0, name.as_ptr()) };
        (!found.is_null()).then_some(found)
    }
}

/// Why the last library could not be opened.
fn why() -> String {
    // SAFETY: it returns null or a string, which is copied at once.
    let text = unsafe { dlerror() };
    match text.is_null() {
        true => "it cannot be opened".into(),
        // SAFETY: as above.
        false => unsafe { CStr::from_ptr(text) }
            .to_string_lossy()
            .into_owned(),
    }
}

/// The binary interface of a library. One with the standard ABI may have another library's objects behind it, so that is
/// asked first; other libraries answer -1, or are older than the question.
///
/// # Safety
///
/// It is an MPI library.
pub(super) unsafe fn abi_of(library: Loaded) -> Result<Abi, String> {
    // SAFETY: the caller's promise.
    match unsafe { standard_version(library) } {
        Some(1) => return Ok(abi::STANDARD),
        None | Some(..=0) => {}
        Some(other) => return Err(format!("has version {other} of the standard ABI, not 1")),
    }
    let address = |name| library.symbol(name).map(|address| address as usize);
    let open_mpi = || {
        let world = address(c"ompi_mpi_comm_world")?;
        let byte = address(c"ompi_mpi_byte")?;
        let errors_return = address(c"ompi_mpi_errors_return")?;
        Some(abi::open_mpi(world, byte, errors_return))
    };
    Ok(open_mpi().unwrap_or(abi::MPICH))
}

/// The version of the standard ABI that a library says it has.
///
/// # Safety
///
/// It is an MPI library.
unsafe fn standard_version(library: Loaded) -> Option<c_int> {
    type Version = unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int;
    let found = library.symbol(c"MPI_Abi_get_version")?;
    let (mut major, mut minor) = (-1, -1);
    // SAFETY: in an MPI library the function of this name has these arguments, and may be called before MPI is initialized.
    let said = unsafe { mem::transmute::<*mut c_void, Version>(found)(&mut major, &mut minor) };
    (said == 0).then_some(major)
}
