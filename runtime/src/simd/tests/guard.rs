//! Partial accesses against a page that may not be touched.

use super::tier::*;
use crate::simd::tests::page::Page;

macro_rules! guard_tests {
    ($page:ident: $($T:ident, $e:ty, $load:ident, $store:ident;)*) => { $(
        for n in 0..=LANES {
            let end = $page.end().cast::<$e>().wrapping_sub(n);
            // SAFETY: `n` elements before the forbidden page are readable and writable.
            unsafe { $T::$load(end, n).$store(end, n) };
        }
    )* };
}

check! {
    fn partial_accesses_stop_at_the_end() {
        let page = Page::new();
        guard_tests! { page:
            F32, f32, load_partial, store_partial;
            F64, f64, load_partial, store_partial;
            I32, i32, load_partial, store_partial;
            U32, u32, load_partial, store_partial;
            I64, i64, load_partial, store_partial;
            U64, u64, load_partial, store_partial;
            I32, i8, load_i8_partial, store_i8_partial;
            I32, u8, load_u8_partial, store_u8_partial;
            I32, i16, load_i16_partial, store_i16_partial;
            I32, u16, load_u16_partial, store_u16_partial;
            F32, u16, load_f16_partial, store_f16_partial;
            F32, u16, load_bf16_partial, store_bf16_partial;
        }
    }

    fn a_prefetch_never_faults() {
        let page = Page::new();
        F32::prefetch(page.end().cast());
        F64::prefetch(page.end().cast::<f64>().wrapping_sub(1));
        I32::prefetch(std::ptr::null());
        U64::prefetch(std::ptr::without_provenance(usize::MAX));
    }

    fn full_accesses_stop_at_the_end() {
        let page = Page::new();
        let end = page.end();
        // SAFETY: a vector's bytes before the forbidden page are readable and writable.
        unsafe {
            let p = end.cast::<f32>().wrapping_sub(LANES);
            F32::load(p).store(p);
            let p = end.cast::<f64>().wrapping_sub(LANES);
            F64::load(p).store(p);
            let p = end.cast::<i8>().wrapping_sub(LANES);
            I32::load_i8(p).store_i8(p);
            let p = end.cast::<u16>().wrapping_sub(LANES);
            I32::load_u16(p).store_u16(p);
            F32::load_f16(p).store_f16(p);
        }
    }
}
