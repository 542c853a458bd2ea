//! What a kernel's source may name.
//!
//! Owns the lists; walking a source text is in the parent. Whatever is not listed is refused.

/// Functions, types and constants outside of the kernel's own text: a path, or a path that ends in `::*` for all that
/// lies below it. `core` stands for `std` and `alloc` as well.
const ALLOWED: &[&str] = &[
    "pragma_runtime::simd::v3::*",
    "pragma_runtime::simd::v4::*",
    "pragma_runtime::parallel::for_blocks",
    "pragma_runtime::parallel::for_blocks_if",
    "pragma_runtime::parallel::Shared::*",
    "pragma_runtime::parallel::SharedConst::*",
    "core::arch::x86_64::*",
    "core::array::from_fn",
    "core::array::IntoIter",
    "core::cmp::*",
    "core::convert::identity",
    "core::convert::From::*",
    "core::convert::Into::*",
    "core::f32::consts::*",
    "core::f64::consts::*",
    "core::hint::assert_unchecked",
    "core::hint::black_box",
    "core::hint::unreachable_unchecked",
    "core::iter::*",
    "core::marker::PhantomData",
    "core::mem::MaybeUninit::*",
    "core::mem::align_of",
    "core::mem::replace",
    "core::mem::size_of",
    "core::mem::size_of_val",
    "core::mem::swap",
    "core::mem::take",
    "core::mem::transmute",
    "core::num::*",
    "core::ops::*",
    "core::ptr::copy",
    "core::ptr::copy_nonoverlapping",
    "core::ptr::NonNull::*",
    "core::ptr::read",
    "core::ptr::read_unaligned",
    "core::ptr::slice_from_raw_parts",
    "core::ptr::slice_from_raw_parts_mut",
    "core::ptr::swap",
    "core::ptr::write",
    "core::ptr::write_bytes",
    "core::ptr::write_unaligned",
    "core::slice::*",
    "core::vec::Vec::*",
    "core::primitive::*",
];

/// Of everything below [`ALLOWED`]'s stars, what is refused all the same.
const EXCEPT: &[&str] = &["core::ptr::NonNull::with_exposed_provenance"];

/// Types that are in scope without an import, and may have associated items named.
pub const PRELUDE_TYPES: &[&str] = &[
    "bool",
    "char",
    "str",
    "f32",
    "f64",
    "i8",
    "i16",
    "i32",
    "i64",
    "i128",
    "isize",
    "u8",
    "u16",
    "u32",
    "u64",
    "u128",
    "usize",
    "Option",
    "Result",
    "Vec",
    "Box",
    "Default",
    "From",
    "Into",
    "Iterator",
    "Clone",
    "PartialEq",
    "PartialOrd",
    "Ord",
    "Eq",
    "IntoIterator",
    "ExactSizeIterator",
    "DoubleEndedIterator",
    "AsRef",
    "AsMut",
    "Extend",
    "FromIterator",
    "TryFrom",
    "TryInto",
];

/// Constructors of listed types: functions when they are not called.
pub const CONSTRUCTORS: &[&str] = &[
    "Some",
    "Ok",
    "Err",
    "Wrapping",
    "Saturating",
    "Reverse",
    "Included",
    "Excluded",
    "Continue",
    "Break",
];

/// Macros whose arguments are ordinary expressions.
pub const MACROS: &[&str] = &[
    "assert",
    "assert_eq",
    "assert_ne",
    "debug_assert",
    "debug_assert_eq",
    "debug_assert_ne",
    "panic",
    "unreachable",
    "vec",
    "matches",
    "addr_of",
    "addr_of_mut",
];

/// Attributes that change neither what is compiled nor where it is found.
pub const ATTRIBUTES: &[&str] = &[
    "allow",
    "cold",
    "derive",
    "doc",
    "expect",
    "inline",
    "must_use",
    "repr",
    "rustfmt::skip",
    "target_feature",
    "warn",
];

/// Traits that may be derived.
pub const DERIVES: &[&str] = &[
    "Clone",
    "Copy",
    "Debug",
    "Default",
    "PartialEq",
    "Eq",
    "PartialOrd",
    "Ord",
];

/// How names of vector and bit instructions begin.
const INSTRUCTIONS: &[&str] = &[
    "_mm",
    "_MM_",
    "_CMP_",
    "__m",
    "_k",
    "_cvt",
    "_load_mask",
    "_store_mask",
    "_bzhi",
    "_tzcnt",
    "_lzcnt",
    "_popcnt",
    "_pext",
    "_pdep",
    "_bextr",
    "_bls",
    "_andn",
    "_mulx",
    "_addcarry",
    "_subborrow",
    "_bswap",
    "_bit_scan",
];

/// Instructions that read or change more than their operands: control registers, the clock, caches of others, random
/// numbers, transactions.
const NOT_ARITHMETIC: &[&str] = &[
    "_mm_setcsr",
    "_mm_getcsr",
    "_MM_SET_",
    "_MM_GET_",
    "_mm_clflush",
    "_mm_clwb",
    "_mm_monitor",
    "_mm_mwait",
    "_mm_cldemote",
    "_rdtsc",
    "__rdtscp",
    "__cpuid",
    "__get_cpuid",
    "_xgetbv",
    "_xsetbv",
    "_xsave",
    "_xrstor",
    "_fxsave",
    "_fxrstor",
    "_rdrand",
    "_rdseed",
    "_xbegin",
    "_xend",
    "_xabort",
    "_xtest",
    "has_cpuid",
    "ud2",
    "CpuidResult",
];

/// Whether a kernel may name this instruction of `core::arch::x86_64`.
pub fn is_instruction(name: &str) -> bool {
    INSTRUCTIONS.iter().any(|prefix| name.starts_with(prefix)) && !is_not_arithmetic(name)
}

/// Whether a name is that of an instruction that no kernel may use.
pub fn is_not_arithmetic(name: &str) -> bool {
    NOT_ARITHMETIC.iter().any(|prefix| name.starts_with(prefix))
}

/// A path with `std` and `alloc` written as `core`.
fn plain(path: &str) -> String {
    match path.split_once("::") {
        Some(("std" | "alloc", rest)) => format!("core::{rest}"),
        _ => path.to_owned(),
    }
}

/// Whether a kernel may name what lies at this path outside of its own text.
pub fn is_allowed(path: &str) -> bool {
    let path = plain(path);
    if let Some(name) = path.strip_prefix("core::arch::x86_64::") {
        return is_instruction(name);
    }
    let below = |entry: &str| match entry.strip_suffix("::*") {
        Some(root) => path
            .strip_prefix(root)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with("::")),
        None => path == entry,
    };
    ALLOWED.iter().any(|entry| below(entry)) && !EXCEPT.contains(&path.as_str())
}

/// Whether a `use` may bring this module into scope: what is named through it is looked up in full.
pub fn is_module(path: &str) -> bool {
    let root = format!("{}::", plain(path));
    root.matches("::").count() >= 2 && ALLOWED.iter().any(|entry| entry.starts_with(&root))
}

/// Whether everything in this module may be imported at once.
pub fn may_glob(path: &str) -> bool {
    matches!(
        plain(path).as_str(),
        "core::arch::x86_64" | "pragma_runtime::simd::v3" | "pragma_runtime::simd::v4"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_listed_is_refused() {
        for good in [
            "core::arch::x86_64::_mm256_add_ps",
            "std::arch::x86_64::__m512",
            "std::mem::MaybeUninit::uninit",
            "pragma_runtime::simd::v4::F32::splat",
            "core::ops::Range",
        ] {
            assert!(is_allowed(good), "{good}");
        }
        for bad in [
            "core::arch::x86_64::_rdtsc",
            "core::arch::x86_64::_mm_setcsr",
            "core::arch::asm",
            "std::fs::read",
            "std::mem::forget",
            "core::slicer::x",
            "pragma_runtime::parallel::threads",
            "pragma_runtime::harness::set_thread_limit",
            "pragma_runtime",
            "std::sync::atomic::AtomicU32",
        ] {
            assert!(!is_allowed(bad), "{bad}");
        }
        assert!(
            is_module("std::mem")
                && is_module("core::arch::x86_64")
                && is_module("pragma_runtime::parallel")
        );
        assert!(!is_module("std") && !is_module("pragma_runtime") && !is_module("std::fs"));
        assert!(may_glob("std::arch::x86_64") && !may_glob("pragma_runtime::parallel"));
    }
}
