//! The functions of an MPI library that is found when the program runs.
//!
//! # Why this is sound
//!
//! - A function is called with the arguments that MPI says it has; a handle of 32 bits is passed in a register of 64, of
//!   which the callee reads the low half, see [`abi`](super::abi).
//! - All calls but the first and the last are made through `&mut Library`, and there is one in a process: MPI is never
//!   in two threads at once.
//! - Memory that MPI reads or writes until a request is complete belongs to [`Sending`], [`Receiving`] and
//!   [`Standing`], which neither free nor show it before. Memory that is [lent](super::Lent) to them stays
//!   there for as long, which is promised where it is lent.
#![allow(unsafe_code)]

use std::ffi::{OsStr, c_char, c_int, c_void};
use std::mem;
use std::ptr;

use super::Message;
use super::abi::{Abi, PART, Status};
use super::launcher::Launched;
use super::loaded::{Loaded, abi_of};
use super::requests::{Receiving, Sending, Standing};

unsafe extern "C" {
    fn atexit(function: extern "C" fn()) -> c_int;
}

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
            unsafe fn of(library: Loaded) -> Result<Functions, String> {
                $(let $name = library.symbol($symbol)
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
    irecv = c"MPI_Irecv" (*mut c_void, c_int, usize, c_int, c_int, usize, *mut usize);
    recv_init = c"MPI_Recv_init" (*mut c_void, c_int, usize, c_int, c_int, usize, *mut usize);
    start = c"MPI_Start" (*mut usize);
    request_free = c"MPI_Request_free" (*mut usize);
    ibarrier = c"MPI_Ibarrier" (usize, *mut usize);
    cancel = c"MPI_Cancel" (*mut usize);
    test_cancelled = c"MPI_Test_cancelled" (*const Status, *mut c_int);
    wait = c"MPI_Wait" (*mut usize, *mut Status);
    get_count = c"MPI_Get_count" (*const Status, usize, *mut c_int);
    error_class = c"MPI_Error_class" (c_int, *mut c_int);
    error_string = c"MPI_Error_string" (c_int, *mut c_char, *mut c_int);
}

/// An MPI library.
pub(super) struct Library {
    pub name: String,
    functions: Functions,
    abi: Abi,
    /// Whether this has initialized MPI.
    is_initialized: bool,
    /// The communicator of all messages.
    mail: usize,
    /// Where MPI writes the status of a letter.
    status: Status,
}

/// Whether a message has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arrival {
    No,
    Yes,
    /// It is longer or shorter than what was asked for.
    OtherLength,
}

/// A barrier that has begun: its request, until it is complete.
pub(super) struct Barrier(Option<usize>);

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

    fn open(name: &OsStr) -> Result<Library, String> {
        let library = Loaded::open(name)?;
        let name = name.to_string_lossy();
        // SAFETY: a library that was named as one of MPI, with all functions that are asked for.
        let functions = unsafe { Functions::of(library) };
        let functions = functions.map_err(|why| format!("{name} is no MPI library: {why}"))?;
        // SAFETY: it is one, as it has them all.
        let abi = unsafe { abi_of(library) }.map_err(|why| format!("{name} {why}"))?;
        Ok(Library {
            functions,
            abi,
            is_initialized: false,
            mail: 0,
            status: Status::default(),
            name: name.into(),
        })
    }

    /// Initializes MPI. Returns the number of this process, and how many there are.
    pub(super) fn start(&mut self, last: extern "C" fn()) -> Result<(usize, usize), String> {
        self.initialize(last)?;
        let functions = self.functions;
        let (mut me, mut count) = (0, 0);
        let (world, mut mail) = (self.abi.world, 0);
        // SAFETY: MPI is initialized, and the words are there; `mail` is zero before it is written.
        unsafe {
            self.check((functions.rank)(world, &mut me))?;
            self.check((functions.size)(world, &mut count))?;
            self.check((functions.dup)(world, &mut mail))?;
            self.check((functions.set_errhandler)(mail, self.abi.errors_return))?;
            // MPICH reports the error of a receive that is complete to the handler of the world.
            self.check((functions.set_errhandler)(world, self.abi.errors_return))?;
        }
        self.mail = mail;
        Ok((me as usize, count as usize))
    }

    fn initialize(&mut self, last: extern "C" fn()) -> Result<(), String> {
        let (functions, needed) = (self.functions, self.abi.serialized);
        let (mut done, mut level) = (0, 0);
        let (none, nothing) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: the words are there; MPI accepts null for the arguments of the program.
        unsafe {
            self.check((functions.initialized)(&mut done))?;
            if done != 0 {
                return Err(
                    "MPI was initialized by other code: rankfold must do that itself".into(),
                );
            }
            self.check((functions.init_thread)(none, nothing, needed, &mut level))?;
            self.is_initialized = true;
            atexit(last);
        }
        match level >= needed {
            true => Ok(()),
            false => Err(format!(
                "{} does not allow calls from several threads",
                self.name
            )),
        }
    }

    /// Ends the use of MPI, if it has begun. Nothing arrives in these receives any more.
    pub(super) fn finalize(&mut self, receives: &mut [Standing]) {
        if !self.is_initialized {
            return;
        }
        let functions = self.functions;
        for Standing {
            request, is_posted, ..
        } in receives
        {
            let mut status = Status::default();
            // SAFETY: a receive, which is waited for only while it is posted, and room for any status.
            unsafe {
                if *is_posted {
                    (functions.cancel)(request);
                    (functions.wait)(request, &mut status);
                }
                (functions.request_free)(request);
            }
            *is_posted = false;
        }
        // SAFETY: MPI is initialized, and nothing else of it is called after this.
        let _ = unsafe { (functions.finalize)() };
    }

    /// A receive of at most `length` bytes from any process, which is not posted.
    pub(super) fn standing(&mut self, length: usize, tag: i32) -> Result<Standing, String> {
        let mut memory = Message::room(length);
        let (abi, bytes, mut request) = (self.abi, length.min(PART) as c_int, 0);
        // SAFETY: there is room for these bytes, which stays where it is, and is not touched while the receive is posted,
        // see `Standing`.
        let code = unsafe {
            let (place, any) = (memory.first().cast(), abi.any_source);
            (self.functions.recv_init)(place, bytes, abi.byte, any, tag, self.mail, &mut request)
        };
        self.check(code)?;
        Ok(Standing {
            source: 0,
            memory,
            request,
            is_posted: false,
        })
    }

    /// Posts a receive that is not posted.
    pub(super) fn post(&mut self, standing: &mut Standing) -> Result<(), String> {
        assert!(!standing.is_posted, "a receive is posted once");
        standing.is_posted = true;
        // SAFETY: a receive that is not posted, as just checked.
        self.check(unsafe { (self.functions.start)(&mut standing.request) })
    }

    /// Whether a message has arrived by a receive that is posted, which it is not after that.
    #[inline]
    pub(super) fn has_come(&mut self, standing: &mut Standing) -> Result<Arrival, String> {
        let mut flag = 0;
        // SAFETY: a receive that is posted, and room for a flag and any status.
        let code =
            unsafe { (self.functions.test)(&mut standing.request, &mut flag, &mut self.status) };
        match (code, flag) {
            (0, 0) => Ok(Arrival::No),
            _ => self.take_in(standing, code, flag != 0),
        }
    }

    /// The same once the test has returned anything but that nothing has arrived.
    fn take_in(
        &self,
        standing: &mut Standing,
        code: c_int,
        is_done: bool,
    ) -> Result<Arrival, String> {
        if code != 0 && self.class_of(code) == self.abi.truncated {
            return Ok(Arrival::OtherLength);
        }
        self.check(code)?;
        if !is_done {
            return Ok(Arrival::No);
        }
        let written = self.count(&self.status)?;
        standing.source = self.status.0[self.abi.source] as usize;
        standing.is_posted = false;
        // SAFETY: MPI has written as many bytes from the first on.
        unsafe { standing.memory.has(written) };
        Ok(Arrival::Yes)
    }

    /// Whether a message of this length goes as one part.
    pub(super) fn is_one_part(&self, length: usize) -> bool {
        length <= self.abi.part_of(length)
    }

    /// Starts to send the bytes of a message that is not on its way. Returns whether they have left already.
    pub(super) fn send(
        &mut self,
        sending: &mut Sending,
        to: usize,
        tag: i32,
    ) -> Result<bool, String> {
        assert!(sending.open.is_empty(), "a message is sent once");
        let (_, length) = sending.contents();
        for begin in (0..length).step_by(self.abi.part_of(length)) {
            self.send_part(sending, begin, (to, tag))?;
        }
        self.has_left(sending)
    }

    /// Starts to send the part of a message that begins at a byte.
    #[inline]
    fn send_part(
        &mut self,
        sending: &mut Sending,
        begin: usize,
        (to, tag): (usize, i32),
    ) -> Result<(), String> {
        let (first, length) = sending.contents();
        let part = length.checked_sub(begin).expect("a part of the message");
        let part = part.min(self.abi.part_of(length)) as c_int;
        let (byte, mut request) = (self.abi.byte, 0);
        // SAFETY: the bytes stay where they are until the request is complete, see `Sending`.
        let code = unsafe {
            let (first, to) = (first.add(begin).cast(), to as c_int);
            (self.functions.isend)(first, part, byte, to, tag, self.mail, &mut request)
        };
        sending.open.push(request);
        self.check(code)
    }

    /// Whether a message has left.
    pub(super) fn has_left(&mut self, sending: &mut Sending) -> Result<bool, String> {
        while let Some(request) = sending.open.last_mut() {
            if self.completed(request)?.is_none() {
                return Ok(false);
            }
            sending.open.pop();
        }
        Ok(true)
    }

    /// Starts to receive `length` bytes from a process into memory that is not in use.
    pub(super) fn receive(
        &mut self,
        receiving: &mut Receiving,
        from: usize,
        (length, tag): (usize, i32),
    ) -> Result<(), String> {
        let (first, capacity) = receiving.room();
        assert!(receiving.open.is_empty() && length <= capacity);
        let (abi, from) = (self.abi, from as c_int);
        receiving.written = 0;
        let most = self.abi.part_of(length);
        for begin in (0..length).step_by(most) {
            let part = (length - begin).min(most);
            let (bytes, mut request) = (part as c_int, 0);
            // SAFETY: there is room for these bytes, which stays where it is and is not touched until the request is
            // complete, see `Receiving`.
            let code = unsafe {
                let place = first.add(begin).cast();
                (self.functions.irecv)(place, bytes, abi.byte, from, tag, self.mail, &mut request)
            };
            // The first part is tested first.
            receiving.open.insert(0, (request, part));
            self.check(code)?;
        }
        Ok(())
    }

    /// Whether a message has arrived.
    pub(super) fn has_arrived(&mut self, receiving: &mut Receiving) -> Result<Arrival, String> {
        while let Some((request, length)) = receiving.open.last_mut() {
            let (code, done) = self.test(request);
            if code != 0 && self.class_of(code) == self.abi.truncated {
                receiving.open.pop();
                return Ok(Arrival::OtherLength);
            }
            self.check(code)?;
            let Some(status) = done else {
                return Ok(Arrival::No);
            };
            let length = *length;
            receiving.open.pop();
            if receiving.is_recalled && self.is_cancelled(&status)? {
                return Ok(Arrival::OtherLength);
            }
            let count = self.count(&status)?;
            receiving.written += count;
            if count < length {
                return Ok(Arrival::OtherLength);
            }
        }
        if receiving.lent.is_none() {
            // SAFETY: each part is full, as just checked: MPI has written as many bytes from the first on.
            unsafe { receiving.memory.has(receiving.written) };
        }
        Ok(Arrival::Yes)
    }

    /// Recalls a receive: unless MPI has found its message, it will be one of [another length](Arrival::OtherLength).
    pub(super) fn recall(&mut self, receiving: &mut Receiving) -> Result<(), String> {
        receiving.is_recalled = true;
        for (request, _) in &mut receiving.open {
            // SAFETY: a receive that is not complete. It is tested until it is, as before.
            self.check(unsafe { (self.functions.cancel)(request) })?;
        }
        Ok(())
    }

    /// Whether a receive that is complete was cancelled.
    fn is_cancelled(&self, status: &Status) -> Result<bool, String> {
        let mut flag = 0;
        // SAFETY: the status of a receive, and room for a flag.
        self.check(unsafe { (self.functions.test_cancelled)(status, &mut flag) })?;
        Ok(flag != 0)
    }

    /// The number of bytes that a receive has written.
    fn count(&self, status: &Status) -> Result<usize, String> {
        let mut count = 0;
        // SAFETY: the status of a receive, and room for a number.
        self.check(unsafe { (self.functions.get_count)(status, self.abi.byte, &mut count) })?;
        Ok(count as usize)
    }

    /// Begins a barrier of all processes.
    pub(super) fn begin_barrier(&mut self) -> Result<Barrier, String> {
        let mut request = 0;
        // SAFETY: a communicator of all processes, and room for a request.
        self.check(unsafe { (self.functions.ibarrier)(self.mail, &mut request) })?;
        Ok(Barrier(Some(request)))
    }

    /// Whether all processes have come to a barrier.
    pub(super) fn have_met(&mut self, barrier: &mut Barrier) -> Result<bool, String> {
        if let Some(request) = &mut barrier.0 {
            if self.completed(request)?.is_none() {
                return Ok(false);
            }
            barrier.0 = None;
        }
        Ok(true)
    }

    /// The status of a request, if it is complete.
    fn completed(&self, request: &mut usize) -> Result<Option<Status>, String> {
        let (code, done) = self.test(request);
        self.check(code).map(|()| done)
    }

    /// The error code of a request, and its status if it is complete.
    fn test(&self, request: &mut usize) -> (c_int, Option<Status>) {
        let (mut flag, mut status) = (0, Status::default());
        // SAFETY: a request that is not complete, and room for a flag and any status.
        let code = unsafe { (self.functions.test)(request, &mut flag, &mut status) };
        (code, (flag != 0).then_some(status))
    }

    /// The class of an error.
    fn class_of(&self, code: c_int) -> c_int {
        let mut class = 0;
        // SAFETY: a code that the library has returned, and room for a number.
        let said = unsafe { (self.functions.error_class)(code, &mut class) };
        if said == 0 { class } else { code }
    }

    #[inline]
    fn check(&self, code: c_int) -> Result<(), String> {
        match code {
            0 => Ok(()),
            _ => Err(self.text_of(code)),
        }
    }

    #[cold]
    fn text_of(&self, code: c_int) -> String {
        let (mut text, mut length) = (vec![0u8; ERROR_TEXT], 0);
        // SAFETY: room for the longest text; valid as soon as the library is loaded.
        let said =
            unsafe { (self.functions.error_string)(code, text.as_mut_ptr().cast(), &mut length) };
        text.truncate(if said == 0 { length as usize } else { 0 });
        format!(
            "MPI failed with error {code}: {}",
            String::from_utf8_lossy(&text)
        )
    }
}
