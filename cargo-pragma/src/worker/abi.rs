//! The tool's side of the C ABI of `pragma_runtime::harness`.
//!
//! Owns a copy of its types: the tool must not depend on the runtime, and the runtime not on the tool. A test below
//! compares the two. Version 1.

/// The version of the ABI that this file describes.
pub const ABI_VERSION: u32 = 2;

/// The call returned normally.
pub const STATUS_OK: u32 = 0;
/// The kernel panicked.
pub const STATUS_PANIC: u32 = 1;
/// The argument list does not fit the kernel's signature.
pub const STATUS_BAD_ARGS: u32 = 2;
/// The shape guard refused these arguments: in the user's crate the reference would have run.
pub const STATUS_GUARD: u32 = 3;
/// The reference has no result for these arguments: it returned an `Err` or a `None`.
pub const STATUS_REFUSED: u32 = 4;
/// The compiler lays out a record otherwise than was assumed.
pub const STATUS_LAYOUT: u32 = 5;

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

#[cfg(test)]
mod tests {
    use super::*;
    use pragma_runtime::harness;
    use std::mem::{align_of, offset_of, size_of};

    #[test]
    fn both_sides_agree() {
        assert_eq!(ABI_VERSION, harness::ABI_VERSION);
        assert_eq!(
            [
                STATUS_OK,
                STATUS_PANIC,
                STATUS_BAD_ARGS,
                STATUS_GUARD,
                STATUS_REFUSED,
                STATUS_LAYOUT
            ],
            [
                harness::STATUS_OK,
                harness::STATUS_PANIC,
                harness::STATUS_BAD_ARGS,
                harness::STATUS_GUARD,
                harness::STATUS_REFUSED,
                harness::STATUS_LAYOUT
            ]
        );
        let layout = |size, align, offsets: [usize; 2]| (size, align, offsets);
        assert_eq!(
            layout(
                size_of::<RawArg>(),
                align_of::<RawArg>(),
                [offset_of!(RawArg, ptr), offset_of!(RawArg, len)]
            ),
            layout(
                size_of::<harness::RawArg>(),
                align_of::<harness::RawArg>(),
                [
                    offset_of!(harness::RawArg, ptr),
                    offset_of!(harness::RawArg, len)
                ]
            )
        );
        assert_eq!(
            layout(
                size_of::<RawReturn>(),
                align_of::<RawReturn>(),
                [offset_of!(RawReturn, context), offset_of!(RawReturn, sink)]
            ),
            layout(
                size_of::<harness::RawReturn>(),
                align_of::<harness::RawReturn>(),
                [
                    offset_of!(harness::RawReturn, context),
                    offset_of!(harness::RawReturn, sink)
                ]
            )
        );
    }
}
