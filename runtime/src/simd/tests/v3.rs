//! The tests on the AVX2 tier.

use crate::simd::v3 as tier;

/// A test whose body runs with the tier's features.
macro_rules! check {
    ($(fn $name:ident() $body:block)*) => { $(
        #[test]
        fn $name() {
            #[target_feature(enable = "avx2,fma,bmi1,bmi2,f16c,lzcnt,movbe,popcnt")]
            fn body() $body
            if crate::simd::tests::available(crate::tier::Tier::V3) {
                // SAFETY: the CPU has the tier's features.
                unsafe { body() }
            }
        }
    )* };
}

#[path = "float.rs"]
mod float;
#[cfg(target_os = "linux")]
#[path = "guard.rs"]
mod guard;
#[path = "int.rs"]
mod int;
#[path = "math.rs"]
mod math;
#[path = "memory.rs"]
mod memory;
