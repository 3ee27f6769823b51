//! Copies of a program, one for each rank: a file that is loaded from another place has global variables of its own.
//!
//! # Why this is sound
//!
//! What is loaded is code that the caller of the launcher asks to run; the symbol `main` of it is a function as C's standard
//! says. Copies are never unloaded, since threads of ranks may still be in them. `fileno` gets a stream, as in C.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::{env, fs};

use crate::elf;

unsafe extern "C" {
    fn dlopen(file: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(object: *mut c_void, name: *const c_char) -> *mut c_void;
    fn dlerror() -> *const c_char;
    fn fileno_unlocked(stream: *mut c_void) -> c_int;
}

/// `fileno` of libraries that the program uses: the streams of the process have no file of their own. C++ asks for it
/// after `std::ios::sync_with_stdio(false)`.
#[unsafe(no_mangle)]
extern "C" fn fileno(stream: *mut c_void) -> c_int {
    // SAFETY: the caller's stream.
    rankfold_mpi::output::number_of(stream).unwrap_or_else(|| unsafe { fileno_unlocked(stream) })
}

/// Resolve all names now; they are this object's alone.
const NOW: c_int = 2;

/// The arguments of all ranks, which programs may keep.
static KEPT: Mutex<Vec<Vec<u8>>> = Mutex::new(Vec::new());

type Main = extern "C" fn(c_int, *const *mut c_char) -> c_int;

/// A program, and the folder of its copies, which is removed in the end.
pub struct Object {
    program: String,
    /// The name of the program and its arguments, each of which a rank may change.
    arguments: Vec<CString>,
    folder: PathBuf,
    /// What a copy has in it, where that is not what the program's file has.
    own: Option<Vec<u8>>,
    /// How often it was loaded.
    runs: usize,
}

/// The copies of one run.
pub struct Copies {
    mains: Vec<Main>,
    arguments: Vec<CString>,
}

fn last_error() -> String {
    // SAFETY: it returns null, or a string that is there until the next call.
    let text = unsafe { dlerror() };
    if text.is_null() {
        return "it cannot be loaded".into();
    }
    // SAFETY: not null, as above.
    unsafe { CStr::from_ptr(text) }
        .to_string_lossy()
        .into_owned()
}

fn load(file: &Path) -> Result<Main, String> {
    let name =
        CString::new(file.as_os_str().as_encoded_bytes()).map_err(|error| error.to_string())?;
    // SAFETY: a string; what is loaded is what the caller asked for.
    let object = unsafe { dlopen(name.as_ptr(), NOW) };
    if object.is_null() {
        return Err(last_error());
    }
    // SAFETY: an object that is loaded, and a string.
    let main = unsafe { dlsym(object, c"main".as_ptr()) };
    if main.is_null() {
        return Err(last_error());
    }
    // SAFETY: `main` of a program in C takes such arguments, or ignores them.
    Ok(unsafe { std::mem::transmute::<*mut c_void, Main>(main) })
}

impl Object {
    /// A program and its arguments.
    pub fn new(program: &str, rest: &[String]) -> Result<Object, String> {
        let folder = env::temp_dir().join(format!("rankfold-mpirun-{}", std::process::id()));
        let arguments = [program].into_iter().chain(rest.iter().map(String::as_str));
        let arguments: Result<_, _> = arguments.map(CString::new).collect();
        fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        Ok(Object {
            program: program.into(),
            arguments: arguments.map_err(|error| error.to_string())?,
            folder,
            own: fs::read(program).ok().and_then(elf::with_own_variables),
            runs: 0,
        })
    }

    /// Loads a copy for each rank: new ones for each run, since their global variables are to be as at the start.
    pub fn load(&mut self, ranks: usize) -> Result<Copies, String> {
        let program = &self.program;
        // The files of the run before have told the lines of its reports.
        for rank in 0..ranks {
            fs::remove_file(self.copy(rank)).ok();
        }
        self.runs += 1;
        let mut mains = Vec::new();
        for rank in 0..ranks {
            let copy = self.copy(rank);
            let copied = match &self.own {
                Some(own) => fs::write(&copy, own),
                None => fs::copy(program, &copy).map(drop),
            };
            copied.map_err(|error| format!("{program}: {error}"))?;
            let hint = "is it made by rankfold-mpicc?";
            rankfold_mpi::output::loads(rank);
            mains.push(load(&copy).map_err(|why| format!("{program}: {why}; {hint}"))?);
        }
        Ok(Copies {
            mains,
            arguments: self.arguments.clone(),
        })
    }

    /// The file of a copy. No two runs have the same, since what is loaded is known by its name.
    fn copy(&self, rank: usize) -> PathBuf {
        self.folder.join(format!("rank-{rank}.{}.so", self.runs))
    }

    pub fn folder(&self) -> CString {
        let path = self.folder.as_os_str().as_encoded_bytes();
        CString::new(path).expect("it was made, so has no zero")
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.folder).ok();
    }
}

impl Copies {
    /// Calls `main` of a copy.
    pub fn call_main(&self, copy: usize) -> c_int {
        let bytes = self.arguments.iter().map(|text| text.as_bytes_with_nul());
        let mut own: Vec<Vec<u8>> = bytes.map(<[u8]>::to_vec).collect();
        let places = own.iter_mut().map(|text| text.as_mut_ptr().cast());
        let mut pointers: Vec<*mut c_char> = places.collect();
        pointers.push(std::ptr::null_mut());
        KEPT.lock().expect("no thread panics with it").extend(own);
        self.mains[copy](self.arguments.len() as c_int, pointers.as_ptr())
    }
}
