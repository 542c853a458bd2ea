//! The tool's side of the C ABI of `pragma_runtime::harness`.
//!
//! Owns a copy of its types: the tool must not depend on the runtime, and the runtime not on the tool. A test in the
//! workspace compares the two. Version 1.

/// The version of the ABI that this file describes.
pub const ABI_VERSION: u32 = 1;

/// The call returned normally.
pub const STATUS_OK: u32 = 0;
/// The kernel panicked.
pub const STATUS_PANIC: u32 = 1;
/// The argument list does not fit the kernel's signature.
pub const STATUS_BAD_ARGS: u32 = 2;
/// The shape guard refused these arguments: in the user's crate the reference would have run.
pub const STATUS_GUARD: u32 = 3;

/// One argument: first element and number of elements. Scalars: the value and 1.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct RawArg {
    /// First element, aligned for its type; dangling where there are none.
    pub ptr: *mut u8,
    /// Number of elements.
    pub len: usize,
}

/// Where returned values go.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct RawReturn {
    /// Passed through to `sink`.
    pub context: *mut u8,
    /// Receives value `index` of the return tuple as `bytes` bytes at `data`.
    pub sink: unsafe extern "C" fn(context: *mut u8, index: usize, data: *const u8, bytes: usize),
}

/// An exported reference, oracle or candidate.
pub type Entry =
    unsafe extern "C" fn(args: *const RawArg, count: usize, ret: *const RawReturn) -> u32;

/// The export of candidates and oracles that sets the number of threads of their copy of the runtime.
pub const SET_THREADS: &str = "pragma_set_threads";
/// The export of candidates and oracles that gives the ABI version they were built against.
pub const GET_ABI_VERSION: &str = "pragma_abi_version";
/// The entry of a candidate.
pub const CANDIDATE: &str = "pragma_candidate";
/// The entry of an oracle.
pub const ORACLE: &str = "pragma_oracle";
/// The entry of a candidate that returns a `Vec`, with the buffer to fill as an additional last argument.
pub const CANDIDATE_INTO: &str = "pragma_candidate_into";
