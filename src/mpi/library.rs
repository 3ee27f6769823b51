//! The functions of an MPI library that is found when the program runs.
//!
//! # Why this is sound
//!
//! - A function is called with the arguments that MPI says it has; a handle of 32 bits is passed in a register of 64, of
//!   which the callee reads the low half, see [`abi`](super::abi).
//! - All calls but the first and the last are made through `&mut Library`, and there is one in a process: MPI is never
//!   in two threads at once.
//! - Memory that MPI reads or writes until a request is complete belongs to [`Sending`] and [`Receiving`], which do not
//!   free it before.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::mem;
use std::ptr;

use super::abi::{self, Abi, Status};
use super::launcher::Launched;
use super::{Bytes, Message};

unsafe extern "C" {
    fn dlopen(name: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
    fn dlerror() -> *const c_char;
    fn atexit(function: extern "C" fn()) -> c_int;
}

/// Of Linux. The plug-ins of Open MPI look for its symbols among the global ones.
const NOW_AND_GLOBAL: c_int = 0x102;
/// `MPI_THREAD_SERIALIZED`, alike in all libraries.
const SERIALIZED: c_int = 2;
/// The longest text of an error, in any library.
const ERROR_TEXT: usize = 1 << 13;

/// Declares the functions, each with its name in MPI and its arguments; all of them return an error code.
macro_rules! functions {
    ($($name:ident = $symbol:literal ($($argument:ty),*);)*) => {
        #[derive(Clone, Copy)]
        struct Functions {
            $($name: unsafe extern "C" fn($($argument),*) -> c_int,)*
        }

        impl Functions {
            /// # Safety
            ///
            /// `library` is an MPI library.
            unsafe fn of(library: *mut c_void) -> Result<Functions, String> {
                $(let $name = symbol(library, $symbol)
                    .ok_or_else(|| format!("it has no {}", $symbol.to_string_lossy()))?;)*
                // SAFETY: in an MPI library the function of this name has these arguments.
                unsafe {
                    Ok(Functions {
                        $($name: mem::transmute::<*mut c_void, unsafe extern "C" fn($($argument),*) -> c_int>($name),)*
                    })
                }
            }
        }
    };
}

functions! {
    init_thread = c"MPI_Init_thread" (*mut c_int, *mut c_void, c_int, *mut c_int);
    initialized = c"MPI_Initialized" (*mut c_int);
    finalize = c"MPI_Finalize" ();
    rank = c"MPI_Comm_rank" (usize, *mut c_int);
    size = c"MPI_Comm_size" (usize, *mut c_int);
    dup = c"MPI_Comm_dup" (usize, *mut usize);
    set_errhandler = c"MPI_Comm_set_errhandler" (usize, usize);
    isend = c"MPI_Isend" (*const c_void, c_int, usize, c_int, c_int, usize, *mut usize);
    test = c"MPI_Test" (*mut usize, *mut c_int, *mut Status);
    improbe = c"MPI_Improbe" (c_int, c_int, usize, *mut c_int, *mut usize, *mut Status);
    imrecv = c"MPI_Imrecv" (*mut c_void, c_int, usize, *mut usize, *mut usize);
    get_count = c"MPI_Get_count" (*const Status, usize, *mut c_int);
    error_string = c"MPI_Error_string" (c_int, *mut c_char, *mut c_int);
}

/// An MPI library.
pub(super) struct Library {
    pub name: String,
    functions: Functions,
    abi: Abi,
    /// The communicator of all messages.
    mail: usize,
}

/// A message on its way to another process.
pub(super) struct Sending {
    request: usize,
    bytes: Bytes,
    has_left: bool,
}

/// A message on its way from another process.
pub(super) struct Receiving {
    pub source: usize,
    pub tag: i32,
    request: usize,
    message: Message,
    has_arrived: bool,
}

impl Library {
    /// Opens the launcher's library.
    pub(super) fn find(launched: &Launched) -> Result<Library, String> {
        if cfg!(target_endian = "big") {
            return Err("an MPI library can be used on little-endian machines only".into());
        }
        let mut errors = Vec::new();
        for name in &launched.libraries {
            match Library::open(name) {
                Ok(library) => return Ok(library),
                Err(error) => errors.push(error),
            }
        }
        let errors = errors.join("; ");
        Err(format!(
            "no MPI library was found, RANKFOLD_MPI names one: {errors}"
        ))
    }

    fn open(name: &str) -> Result<Library, String> {
        let path = CString::new(name).map_err(|_| format!("{name:?} is no path"))?;
        // SAFETY: a string that ends with a zero.
        let library = unsafe { dlopen(path.as_ptr(), NOW_AND_GLOBAL) };
        if library.is_null() {
            return Err(why());
        }
        let address = |name| symbol(library, name).map(|address| address as usize);
        let handles = || {
            let world = address(c"ompi_mpi_comm_world")?;
            let byte = address(c"ompi_mpi_byte")?;
            Some(abi::open_mpi(
                world,
                byte,
                address(c"ompi_mpi_errors_return")?,
            ))
        };
        // SAFETY: a library that was named as one of MPI, with all functions that are asked for.
        let functions = unsafe { Functions::of(library) };
        Ok(Library {
            functions: functions.map_err(|why| format!("{name} is no MPI library: {why}"))?,
            abi: handles().unwrap_or(abi::MPICH),
            mail: 0,
            name: name.into(),
        })
    }

    /// Initializes MPI. Returns the number of this process, and how many there are.
    pub(super) fn start(&mut self, last: extern "C" fn()) -> Result<(usize, usize), String> {
        let functions = self.functions;
        let (mut done, mut level) = (0, 0);
        // SAFETY: the words are there; MPI accepts null for the arguments of the program.
        unsafe {
            self.check((functions.initialized)(&mut done))?;
            if done != 0 {
                return Err(
                    "MPI was initialized by other code: rankfold must do that itself".into(),
                );
            }
            let (none, nothing) = (ptr::null_mut(), ptr::null_mut());
            self.check((functions.init_thread)(
                none, nothing, SERIALIZED, &mut level,
            ))?;
            atexit(last);
        }
        if level < SERIALIZED {
            return Err(format!(
                "{} does not allow calls from several threads",
                self.name
            ));
        }
        let (mut me, mut count) = (0, 0);
        let (world, mut mail) = (self.abi.world, 0);
        // SAFETY: MPI is initialized, and the words are there; `mail` is zero before it is written.
        unsafe {
            self.check((functions.rank)(world, &mut me))?;
            self.check((functions.size)(world, &mut count))?;
            self.check((functions.dup)(world, &mut mail))?;
            self.check((functions.set_errhandler)(mail, self.abi.errors_return))?;
        }
        self.mail = mail;
        Ok((me as usize, count as usize))
    }

    /// Ends the use of MPI.
    pub(super) fn finalize(&mut self) {
        // SAFETY: MPI is initialized, and nothing else of it is called after this.
        let _ = unsafe { (self.functions.finalize)() };
    }

    /// Starts to send a message of at most as many bytes as an `int` counts. `None`: it has left already.
    pub(super) fn send(
        &mut self,
        bytes: Bytes,
        to: usize,
        tag: i32,
    ) -> Result<Option<Sending>, String> {
        let mut sending = Sending {
            request: 0,
            bytes,
            has_left: false,
        };
        let (length, abi) = (sending.bytes.len() as c_int, self.abi);
        let first = sending.bytes.as_ptr().cast();
        let request = &mut sending.request;
        // SAFETY: the bytes stay where they are until the request is complete, see `Sending`.
        let code = unsafe {
            (self.functions.isend)(
                first,
                length,
                abi.byte,
                to as c_int,
                tag,
                self.mail,
                request,
            )
        };
        self.check(code)?;
        let has_left = self.has_left(&mut sending)?;
        Ok((!has_left).then_some(sending))
    }

    /// Whether a message has left.
    pub(super) fn has_left(&mut self, sending: &mut Sending) -> Result<bool, String> {
        sending.has_left = sending.has_left || self.test(&mut sending.request)?;
        Ok(sending.has_left)
    }

    /// Whether a message has arrived.
    pub(super) fn has_arrived(&mut self, receiving: &mut Receiving) -> Result<bool, String> {
        receiving.has_arrived = receiving.has_arrived || self.test(&mut receiving.request)?;
        Ok(receiving.has_arrived)
    }

    fn test(&mut self, request: &mut usize) -> Result<bool, String> {
        let (mut flag, mut status) = (0, Status::default());
        // SAFETY: a request that is not complete, and room for a flag and any status.
        let code = unsafe { (self.functions.test)(request, &mut flag, &mut status) };
        self.check(code)?;
        Ok(flag != 0)
    }

    /// Starts to receive the next message, if there is one.
    pub(super) fn next(&mut self) -> Result<Option<Receiving>, String> {
        let (abi, functions) = (self.abi, self.functions);
        let (mut flag, mut handle, mut status, mut count) = (0, 0usize, Status::default(), 0);
        let found = &mut handle;
        // SAFETY: room for a flag, a handle, which is zero, and any status.
        let code = unsafe {
            (functions.improbe)(
                abi.any_source,
                abi.any_tag,
                self.mail,
                &mut flag,
                found,
                &mut status,
            )
        };
        self.check(code)?;
        if flag == 0 {
            return Ok(None);
        }
        // SAFETY: the status of the probe.
        self.check(unsafe { (functions.get_count)(&status, abi.byte, &mut count) })?;
        let mut receiving = Receiving {
            source: status[abi.source] as usize,
            tag: status[abi.source + 1],
            request: 0,
            message: Message::zeros(count as usize),
            has_arrived: false,
        };
        let place = receiving.message.bytes_mut().as_mut_ptr().cast();
        // SAFETY: the probe's message, and room for its bytes that stays until the request is complete.
        let code = unsafe {
            (functions.imrecv)(place, count, abi.byte, &mut handle, &mut receiving.request)
        };
        self.check(code)?;
        Ok(Some(receiving))
    }

    fn check(&self, code: c_int) -> Result<(), String> {
        if code == 0 {
            return Ok(());
        }
        let (mut text, mut length) = (vec![0u8; ERROR_TEXT], 0);
        // SAFETY: room for the longest text; valid as soon as the library is loaded.
        let said =
            unsafe { (self.functions.error_string)(code, text.as_mut_ptr().cast(), &mut length) };
        text.truncate(if said == 0 { length as usize } else { 0 });
        Err(format!(
            "MPI failed with error {code}: {}",
            String::from_utf8_lossy(&text)
        ))
    }
}

impl Receiving {
    /// The message, which has arrived.
    pub(super) fn message(mut self) -> Message {
        assert!(self.has_arrived, "a message is read once it has arrived");
        mem::replace(&mut self.message, Message::zeros(0))
    }
}

impl Drop for Sending {
    fn drop(&mut self) {
        if !self.has_left {
            mem::forget(mem::take(&mut self.bytes));
        }
    }
}

impl Drop for Receiving {
    fn drop(&mut self) {
        if !self.has_arrived {
            mem::forget(mem::replace(&mut self.message, Message::zeros(0)));
        }
    }
}

fn symbol(library: *mut c_void, name: &CStr) -> Option<*mut c_void> {
    // SAFETY: a library that is open, and a string that ends with a zero.
    let found = unsafe { dlsym(library, name.as_ptr()) };
    (!found.is_null()).then_some(found)
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
