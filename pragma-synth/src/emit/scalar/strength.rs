//! How tightly a piece of Rust binds, weakest first.

/// `if .. {} else {}` and `unsafe {}`, to be used anywhere but as an operand.
pub const ANY: u8 = 0;
/// `||`.
pub const OR_ELSE: u8 = 1;
/// `&&`.
pub const AND_THEN: u8 = 2;
/// `<` and the other comparisons; they do not chain.
pub const COMPARE: u8 = 3;
/// `|`.
pub const OR: u8 = 4;
/// `^`.
pub const XOR: u8 = 5;
/// `&`.
pub const AND: u8 = 6;
/// `<<`, `>>`.
pub const SHIFT: u8 = 7;
/// `+`, `-`.
pub const SUM: u8 = 8;
/// `*`, `/`, `%`.
pub const PRODUCT: u8 = 9;
/// `as`.
pub const CAST: u8 = 10;
/// `-x`, `!x`, `*x`.
pub const UNARY: u8 = 11;
/// Calls, fields, indexing, names, literals without a sign.
pub const POSTFIX: u8 = 12;
