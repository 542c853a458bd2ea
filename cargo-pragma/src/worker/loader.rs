//! Loading compiled kernels into a worker and calling them.
//!
//! Owns the library handles and the calls. What runs here is not trusted: if it breaks its contract, this process is
//! lost, which is why it is a process of its own. Results are copied out and judged elsewhere.

use std::path::Path;

use super::abi::{ABI_VERSION, Entry, GET_ABI_VERSION, RawArg, RawReturn, SET_THREADS};
use super::memory::Region;

/// A loaded library and its entry.
pub struct Kernel {
    entry: Entry,
    set_threads: Option<unsafe extern "C" fn(usize)>,
}

/// Values handed to the sink, in order: index in the return tuple and bytes.
type Collected = Vec<(usize, Vec<u8>)>;

unsafe extern "C" fn collect(context: *mut u8, index: usize, data: *const u8, bytes: usize) {
    // SAFETY: `context` is the vector that `Kernel::call` passed, alive during the call and used by nobody else; the
    // callee promises `bytes` readable bytes at `data`.
    unsafe {
        let values = &mut *context.cast::<Collected>();
        let data = if bytes == 0 {
            &[][..]
        } else {
            std::slice::from_raw_parts(data, bytes)
        };
        values.push((index, data.to_vec()));
    }
}

unsafe extern "C" fn ignore(_: *mut u8, _: usize, data: *const u8, _: usize) {
    std::hint::black_box(data);
}

impl Kernel {
    /// Loads a library for the rest of this process: its threads may outlive any call, so it is never unloaded.
    ///
    /// # Errors
    /// If it does not load, lacks the entry, or was built against another version of the ABI.
    pub fn open(path: &Path, symbol: &str) -> Result<Self, String> {
        // SAFETY: running the initialisers of an untrusted library is what this process is for.
        let library =
            unsafe { libloading::Library::new(path) }.map_err(|error| error.to_string())?;
        let library = Box::leak(Box::new(library));
        // SAFETY: the exports have these types in every library that the harness builds.
        let (entry, set_threads, version) = unsafe {
            (
                library.get::<Entry>(symbol).map(|symbol| *symbol),
                library
                    .get::<unsafe extern "C" fn(usize)>(SET_THREADS)
                    .ok()
                    .map(|symbol| *symbol),
                library
                    .get::<unsafe extern "C" fn() -> u32>(GET_ABI_VERSION)
                    .ok()
                    .map(|symbol| symbol()),
            )
        };
        if let Some(version) = version.filter(|version| *version != ABI_VERSION) {
            return Err(format!(
                "pragma-runtime speaks harness ABI {version}, this tool {ABI_VERSION}: update one of them"
            ));
        }
        Ok(Kernel {
            entry: entry.map_err(|error| error.to_string())?,
            set_threads,
        })
    }

    /// Limits the threads of the library's own copy of the runtime. Libraries without that export ignore it.
    pub fn set_threads(&self, threads: usize) {
        if let Some(set) = self.set_threads {
            // SAFETY: the export stores a number.
            unsafe { set(threads) };
        }
    }

    /// Calls the entry and collects what it returns. `places` gives every argument's region and the bytes of its
    /// elements.
    pub fn call(&self, regions: &[Region], places: &[(usize, usize)]) -> (u32, Vec<Vec<u8>>) {
        let mut values: Collected = Vec::new();
        let ret = RawReturn {
            context: (&raw mut values).cast(),
            sink: collect,
        };
        let args = arguments(regions, places);
        // SAFETY: every argument points to live memory of the stated size; the sink fits its context.
        let status = unsafe { (self.entry)(args.as_ptr(), args.len(), &ret) };
        values.sort_by_key(|(index, _)| *index);
        (status, values.into_iter().map(|(_, bytes)| bytes).collect())
    }

    /// Calls the entry `times` times and drops what it returns; the last status.
    pub fn call_repeatedly(
        &self,
        regions: &[Region],
        places: &[(usize, usize)],
        times: usize,
    ) -> u32 {
        let ret = RawReturn {
            context: std::ptr::null_mut(),
            sink: ignore,
        };
        let args = arguments(regions, places);
        let mut status = 0;
        for _ in 0..times {
            // SAFETY: every argument points to live memory of the stated size; the sink looks at nothing.
            status = unsafe { (self.entry)(args.as_ptr(), args.len(), &ret) };
        }
        status
    }
}

/// The argument list of a call on these regions.
fn arguments(regions: &[Region], places: &[(usize, usize)]) -> Vec<RawArg> {
    places
        .iter()
        .map(|&(region, elem)| RawArg {
            ptr: regions[region].ptr(),
            len: regions[region].size() / elem,
        })
        .collect()
}
