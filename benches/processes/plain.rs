//! The plain side: the calls of a program in C, of the same library, which is found when the program runs.
//!
//! Where ranks of a spread world call this too, rankfold has initialized MPI, each process has one rank, and this rank
//! makes all calls; of two threads [by hand](super::hand), one calls it while the other waits: MPI is never in two threads
//! at once.

use std::ffi::{CString, c_char, c_int, c_void};
use std::mem;
use std::ptr;

unsafe extern "C" {
    fn dlopen(name: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
}

/// Of Linux: now, and for the plug-ins of the library.
const NOW_AND_GLOBAL: c_int = 0x102;

type Allreduce =
    unsafe extern "C" fn(*const c_void, *mut c_void, c_int, usize, usize, usize) -> c_int;
type Send = unsafe extern "C" fn(*const c_void, c_int, usize, c_int, c_int, usize) -> c_int;
type Recv =
    unsafe extern "C" fn(*mut c_void, c_int, usize, c_int, c_int, usize, *mut c_void) -> c_int;
type Init = unsafe extern "C" fn(*mut c_int, *mut c_void, c_int, *mut c_int) -> c_int;
/// `MPI_THREAD_SERIALIZED` of both libraries.
const SERIALIZED: c_int = 2;
type Number = unsafe extern "C" fn(usize, *mut c_int) -> c_int;

/// The functions and handles that the benchmark needs.
pub struct Mpi {
    library: *mut c_void,
    allreduce: Allreduce,
    send: Send,
    recv: Recv,
    world: usize,
    double: usize,
    sum: usize,
    max: usize,
    ignore: *mut c_void,
}

// SAFETY: functions and handles, which are the same in all threads. Those who share this call it one at a time, which MPI
// asks for where it is initialized as here.
unsafe impl Sync for Mpi {}

impl Mpi {
    /// Opens the library of the launcher.
    pub fn open() -> Mpi {
        let is_open_mpi = std::env::var_os("OMPI_COMM_WORLD_SIZE").is_some();
        let name = match is_open_mpi {
            true => c"libmpi.so.40",
            false => c"libmpich.so.12",
        };
        // SAFETY: a string that ends with a zero.
        let library = unsafe { dlopen(name.as_ptr(), NOW_AND_GLOBAL) };
        assert!(!library.is_null(), "{name:?} cannot be opened");
        let handle = |open_mpi: &str, mpich| match is_open_mpi {
            true => symbol(library, open_mpi) as usize,
            false => mpich,
        };
        // SAFETY: functions of MPI with these arguments; a handle of 32 bits is the low half of a register.
        unsafe {
            Mpi {
                allreduce: mem::transmute::<*mut c_void, Allreduce>(symbol(
                    library,
                    "MPI_Allreduce",
                )),
                send: mem::transmute::<*mut c_void, Send>(symbol(library, "MPI_Send")),
                recv: mem::transmute::<*mut c_void, Recv>(symbol(library, "MPI_Recv")),
                world: handle("ompi_mpi_comm_world", 0x4400_0000),
                double: handle("ompi_mpi_double", 0x4c00_080b),
                sum: handle("ompi_mpi_op_sum", 0x5800_0003),
                max: handle("ompi_mpi_op_max", 0x5800_0001),
                ignore: ptr::without_provenance_mut(usize::from(!is_open_mpi)),
                library,
            }
        }
    }

    /// Initializes MPI; for processes in which rankfold does not.
    pub fn init(&self) {
        let init = symbol(self.library, "MPI_Init_thread");
        let mut level = 0;
        // SAFETY: MPI accepts null for the arguments of the program.
        unsafe {
            let init = mem::transmute::<*mut c_void, Init>(init);
            init(ptr::null_mut(), ptr::null_mut(), SERIALIZED, &mut level);
        }
        assert!(level >= SERIALIZED, "threads may call MPI in turn");
    }

    /// This process, and how many there are.
    pub fn place(&self) -> (usize, usize) {
        let number = |name: &str| {
            let mut number = 0;
            // SAFETY: a function of MPI with these arguments.
            unsafe {
                let of = mem::transmute::<*mut c_void, Number>(symbol(self.library, name));
                of(self.world, &mut number);
            }
            number as usize
        };
        (number("MPI_Comm_rank"), number("MPI_Comm_size"))
    }

    pub fn finalize(&self) {
        let finalize = symbol(self.library, "MPI_Finalize");
        // SAFETY: nothing of MPI is called after this.
        unsafe { mem::transmute::<*mut c_void, unsafe extern "C" fn() -> c_int>(finalize)() };
    }

    /// The sum of the vectors of all processes.
    pub fn sum(&self, input: &[f64], output: &mut [f64]) {
        self.all_reduce(input, output, self.sum);
    }

    /// The greatest of the numbers of all processes.
    pub fn max(&self, number: f64) -> f64 {
        let mut most = [0.0];
        self.all_reduce(&[number], &mut most, self.max);
        most[0]
    }

    fn all_reduce(&self, input: &[f64], output: &mut [f64], op: usize) {
        assert_eq!(input.len(), output.len());
        let (from, to) = (input.as_ptr().cast(), output.as_mut_ptr().cast());
        let count = input.len() as c_int;
        // SAFETY: both vectors have as many numbers.
        let code = unsafe { (self.allreduce)(from, to, count, self.double, op, self.world) };
        assert_eq!(code, 0);
    }

    pub fn send(&self, to: usize, data: &[f64]) {
        let (first, count) = (data.as_ptr().cast(), data.len() as c_int);
        // SAFETY: as many numbers.
        let code = unsafe { (self.send)(first, count, self.double, to as c_int, 0, self.world) };
        assert_eq!(code, 0);
    }

    pub fn recv(&self, from: usize, data: &mut [f64]) {
        let (first, count) = (data.as_mut_ptr().cast(), data.len() as c_int);
        // SAFETY: room for as many numbers.
        let code = unsafe {
            (self.recv)(
                first,
                count,
                self.double,
                from as c_int,
                0,
                self.world,
                self.ignore,
            )
        };
        assert_eq!(code, 0);
    }
}

fn symbol(library: *mut c_void, name: &str) -> *mut c_void {
    let text = CString::new(name).expect("no name contains a zero");
    // SAFETY: a library that is open, and a string that ends with a zero.
    let found = unsafe { dlsym(library, text.as_ptr()) };
    assert!(!found.is_null(), "the library has no {name}");
    found
}
