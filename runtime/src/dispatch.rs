//! What the code emitted by `#[pragma_kernel]` needs around a call: where it is, and what its arguments are.
//!
//! Kernels take slices of numbers. The functions here make them out of the caller's arguments, where these have the
//! types that the kernel was made for; types are compared once more in the compiled program, because a definition may
//! have changed since. Not for hand-written code. Choosing a tier is [`crate::tier`](mod@crate::tier)'s work.

mod numbers;

pub use numbers::{
    field_is, gather_rows, give, number, numbers, numbers_mut, scatter_rows, spare, spare_one,
    split_rows, type_is,
};

/// Whether the module path `actual` (what `module_path!()` gives) is the module `expected_tail` of its crate.
///
/// The crate's own name, up to the first `::`, is not compared: the same source is `my_crate::a` as a library and
/// `my_bin::a` as a binary. The crate root is the empty tail.
///
/// ```
/// use pragma_runtime::dispatch::module_matches;
/// const HERE: bool = module_matches("my_crate::a::b", "a::b");
/// assert!(HERE);
/// assert!(module_matches("my_crate", ""));
/// assert!(!module_matches("my_crate::a", "a::b"));
/// ```
pub const fn module_matches(actual: &str, expected_tail: &str) -> bool {
    let actual = actual.as_bytes();
    let tail = expected_tail.as_bytes();
    let mut start = 0;
    while start < actual.len() {
        if actual[start] == b':' {
            start += 2;
            break;
        }
        start += 1;
    }
    if start > actual.len() || actual.len() - start != tail.len() {
        return false;
    }
    let mut i = 0;
    while i < tail.len() {
        if actual[start + i] != tail[i] {
            return false;
        }
        i += 1;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::module_matches;

    #[test]
    fn crate_name_is_not_compared() {
        assert!(module_matches("one::a::b", "a::b"));
        assert!(module_matches("two::a::b", "a::b"));
    }

    #[test]
    fn root_is_the_empty_tail() {
        assert!(module_matches("one", ""));
        assert!(!module_matches("one", "one"));
        assert!(!module_matches("one::a", ""));
    }

    #[test]
    fn prefixes_and_suffixes_do_not_match() {
        assert!(!module_matches("one::a::b", "b"));
        assert!(!module_matches("one::a::b", "a"));
        assert!(!module_matches("one::a", "a::b"));
        assert!(!module_matches("one::ab", "a"));
        assert!(!module_matches("one::a", "b"));
        assert!(!module_matches("one:", ""));
    }

    #[test]
    fn this_module() {
        const HERE: bool = module_matches(module_path!(), "dispatch::tests");
        const { assert!(HERE) }
    }
}
