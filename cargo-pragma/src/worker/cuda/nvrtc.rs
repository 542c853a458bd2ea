//! NVRTC, NVIDIA's run-time compiler for CUDA C++, loaded at run time.
//!
//! Owns the handful of its functions that are used. Where the library is, and in which process it runs, is decided
//! elsewhere: it is someone else's code fed with candidates' text, so it gets a process of its own.

use std::ffi::{CStr, CString, c_char, c_int};
use std::path::Path;

type Program = *mut std::ffi::c_void;
type GetSize = unsafe extern "C" fn(Program, *mut usize) -> c_int;
type GetBytes = unsafe extern "C" fn(Program, *mut c_char) -> c_int;

/// The result of a compilation that went well.
#[derive(Clone, Debug, Default)]
pub struct Output {
    /// Portable assembly.
    pub ptx: Vec<u8>,
    /// Machine code; empty where the architecture was a virtual one.
    pub cubin: Vec<u8>,
    /// Warnings and what the assembler says about resources.
    pub log: String,
}

/// The compiler.
pub struct Nvrtc {
    create: unsafe extern "C" fn(
        *mut Program,
        *const c_char,
        *const c_char,
        c_int,
        *const *const c_char,
        *const *const c_char,
    ) -> c_int,
    destroy: unsafe extern "C" fn(*mut Program) -> c_int,
    compile: unsafe extern "C" fn(Program, c_int, *const *const c_char) -> c_int,
    ptx: (GetSize, GetBytes),
    cubin: (GetSize, GetBytes),
    log: (GetSize, GetBytes),
    describe: unsafe extern "C" fn(c_int) -> *const c_char,
    version: (i32, i32),
}

impl Nvrtc {
    /// Loads the library for the rest of this process.
    ///
    /// # Errors
    /// If it does not load or is too old to give machine code.
    pub fn open(library: &Path) -> Result<Self, String> {
        // NVRTC asks the loader for its built-in headers by name. The copy beside it must be the one that is found.
        for builtins in beside(library, "libnvrtc-builtins.so") {
            // SAFETY: the initialisers of a data library of NVIDIA's; the process has no other purpose.
            if let Ok(found) = unsafe { libloading::Library::new(&builtins) } {
                std::mem::forget(found);
            }
        }
        // SAFETY: as above.
        let library =
            unsafe { libloading::Library::new(library) }.map_err(|error| error.to_string())?;
        let library = Box::leak(Box::new(library));
        macro_rules! symbol {
            ($name:literal) => {
                // SAFETY: the types are those of nvrtc.h, unchanged since CUDA 11.1.
                *unsafe { library.get($name) }.map_err(|error| error.to_string())?
            };
        }
        let version: unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int =
            symbol!("nvrtcVersion");
        let (mut major, mut minor) = (0, 0);
        // SAFETY: both pointers are valid for writes.
        unsafe { version(&mut major, &mut minor) };
        Ok(Nvrtc {
            create: symbol!("nvrtcCreateProgram"),
            destroy: symbol!("nvrtcDestroyProgram"),
            compile: symbol!("nvrtcCompileProgram"),
            ptx: (symbol!("nvrtcGetPTXSize"), symbol!("nvrtcGetPTX")),
            cubin: (symbol!("nvrtcGetCUBINSize"), symbol!("nvrtcGetCUBIN")),
            log: (
                symbol!("nvrtcGetProgramLogSize"),
                symbol!("nvrtcGetProgramLog"),
            ),
            describe: symbol!("nvrtcGetErrorString"),
            version: (major, minor),
        })
    }

    /// The version of CUDA that it belongs to.
    pub fn version(&self) -> (i32, i32) {
        self.version
    }

    /// Compiles `source`, which messages call `name`.
    ///
    /// # Errors
    /// What the compiler says.
    pub fn compile(&self, source: &str, name: &str, options: &[String]) -> Result<Output, String> {
        let text =
            |text: &str| CString::new(text).map_err(|_| "the source holds a zero byte".to_owned());
        let (source, name) = (text(source)?, text(name)?);
        let options: Vec<CString> = options
            .iter()
            .map(|option| text(option))
            .collect::<Result<_, _>>()?;
        let options: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
        let count = c_int::try_from(options.len()).map_err(|error| error.to_string())?;
        let mut program: Program = std::ptr::null_mut();
        // SAFETY: the strings outlive the call, which copies them; there are no headers.
        let status = unsafe {
            (self.create)(
                &mut program,
                source.as_ptr(),
                name.as_ptr(),
                0,
                std::ptr::null(),
                std::ptr::null(),
            )
        };
        if status != 0 {
            return Err(self.error(status));
        }
        // SAFETY: the program was just created; `options` holds `count` strings that outlive the call.
        let status = unsafe { (self.compile)(program, count, options.as_ptr()) };
        let log = String::from_utf8_lossy(&get(program, self.log)).into_owned();
        let result = if status == 0 {
            Ok(Output {
                ptx: get(program, self.ptx),
                cubin: get(program, self.cubin),
                log,
            })
        } else if log.trim().is_empty() {
            Err(self.error(status))
        } else {
            Err(log)
        };
        // SAFETY: the program is destroyed once and not used again.
        unsafe { (self.destroy)(&mut program) };
        result
    }

    fn error(&self, status: c_int) -> String {
        // SAFETY: gives a static string for every number.
        let text = unsafe { (self.describe)(status) };
        if text.is_null() {
            return format!("NVRTC fails with status {status}");
        }
        // SAFETY: not null, so it is a string that lives as long as the library.
        unsafe { CStr::from_ptr(text) }
            .to_string_lossy()
            .into_owned()
    }
}

/// One of a program's results, without the zero byte that ends texts; empty if there is none.
fn get(program: Program, (size, bytes): (GetSize, GetBytes)) -> Vec<u8> {
    let mut count = 0;
    // SAFETY: the program is alive, the pointer valid.
    if unsafe { size(program, &mut count) } != 0 {
        return Vec::new();
    }
    let mut buffer = vec![0u8; count];
    // SAFETY: the buffer has the size that the library just asked for.
    if unsafe { bytes(program, buffer.as_mut_ptr().cast()) } != 0 {
        return Vec::new();
    }
    buffer
}

impl Output {
    /// The assembly as text.
    pub fn ptx_text(&self) -> String {
        String::from_utf8_lossy(&self.ptx)
            .trim_end_matches('\0')
            .to_owned()
    }
}

/// Files in the directory of `library` whose names begin with `prefix`.
fn beside(library: &Path, prefix: &str) -> Vec<std::path::PathBuf> {
    let real = std::fs::canonicalize(library).unwrap_or_else(|_| library.to_owned());
    let listing = real.parent().map(std::fs::read_dir);
    let mut found: Vec<_> = listing
        .and_then(Result::ok)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix))
        .map(|entry| entry.path())
        .collect();
    found.sort();
    found
}
