//! Macros that turn lists of intrinsics into functions over whole vectors, for both tiers.
//!
//! A tier's private modules (`v4/f32.rs`, `v4/word.rs`, ...) give each element type a `V` and the same set of functions;
//! `float_type!` and its siblings build the public types from them. `fns!` and `unsafe_fns!`, which add the features,
//! belong to each tier.

/// `name = intrinsic;` over one register.
macro_rules! unary {
    ($($name:ident = $f:path;)*) => { fns! { $( pub(super) fn $name(a: V) -> V { $f(a) } )* } };
}

/// `name = intrinsic;` over two registers.
macro_rules! binary {
    ($($name:ident = $f:path;)*) => { fns! { $( pub(super) fn $name(a: V, b: V) -> V { $f(a, b) } )* } };
}

/// `name = intrinsic;` over a vector of two registers.
macro_rules! unary_pair {
    ($($name:ident = $f:path;)*) => {
        fns! { $( pub(super) fn $name(a: V) -> V { [$f(a[0]), $f(a[1])] } )* }
    };
}

/// `name = intrinsic;` over two vectors of two registers.
macro_rules! binary_pair {
    ($($name:ident = $f:path;)*) => {
        fns! { $( pub(super) fn $name(a: V, b: V) -> V { [$f(a[0], b[0]), $f(a[1], b[1])] } )* }
    };
}
