//! Loads and stores: full, partial, masked, gathered, streamed and narrow. Values and untouched surroundings are checked
//! here; that nothing outside is even read, in `guard.rs`.

use super::tier::*;
use crate::simd::tests::values::{Element, arrays};

/// Every access of one element type at every length.
macro_rules! memory_tests {
    ($T:ident, $e:ident, $module:ident) => {
        mod $module {
            use super::*;

            check! {
                fn loads_and_stores() {
                    for [a, b, _] in arrays::<$e, LANES>(50) {
                        let x = $T::from_array(a);
                        for n in 0..LANES + 2 {
                            // One element before and after the target must stay.
                            let mut memory = [b[0]; LANES + 2];
                            let kept = n.min(LANES);
                            // SAFETY: the arrays have `LANES` elements from these pointers on.
                            let (full, partial, masked) = unsafe {
                                x.store_partial(memory.as_mut_ptr().add(1), n);
                                let full = $T::load(a.as_ptr()).to_array();
                                let masked = $T::load_masked(a.as_ptr(), Mask::first(n).not()).to_array();
                                (full, $T::load_partial(a.as_ptr(), n).to_array(), masked)
                            };
                            for i in 0..LANES {
                                assert!(full[i].same(a[i]));
                                assert!(partial[i].same(if i < kept { a[i] } else { 0 as $e }), "{n} {i}");
                                assert!(masked[i].same(if i < kept { 0 as $e } else { a[i] }), "{n} {i}");
                                assert!(memory[i + 1].same(if i < kept { a[i] } else { b[0] }), "{n} {i}");
                            }
                            assert!(memory[0].same(b[0]) && memory[LANES + 1].same(b[0]));

                            let odd = Mask::from_bits(0xaaaa_aaaa);
                            let mut memory = [b[0]; LANES + 1];
                            // SAFETY: there are `LANES` elements from each pointer on.
                            unsafe { x.store_masked(memory.as_mut_ptr().add(1), odd) };
                            for i in 0..LANES {
                                assert!(memory[i + 1].same(if i % 2 == 1 { a[i] } else { b[0] }));
                            }
                            let mut memory = [b[0]; LANES + 1];
                            // SAFETY: as above.
                            unsafe { x.store(memory.as_mut_ptr().add(1)) };
                            assert!((0..LANES).all(|i| memory[i + 1].same(a[i])) && memory[0].same(b[0]));
                        }
                    }
                }

                fn gathers() {
                    let data: Vec<$e> = (0..100).map(|i| (i * 3) as $e).collect();
                    let index: [i32; LANES] = std::array::from_fn(|i| (i as i32 * 37) % 100 - 50);
                    // SAFETY: the base is 50 elements in, so every index is inside.
                    let got = unsafe { $T::gather(data.as_ptr().add(50), I32::from_array(index)) }.to_array();
                    for i in 0..LANES {
                        assert!(got[i].same(data[(index[i] + 50) as usize]));
                    }
                }
            }
        }
    };
}

memory_tests!(F32, f32, f32_tests);
memory_tests!(F64, f64, f64_tests);
memory_tests!(I32, i32, i32_tests);
memory_tests!(U32, u32, u32_tests);
memory_tests!(I64, i64, i64_tests);
memory_tests!(U64, u64, u64_tests);

macro_rules! float_memory_tests {
    ($T:ident, $e:ident, $module:ident) => {
        mod $module {
            use super::*;

            check! {
                fn masked_gathers_skip_wild_indices() {
                    let data: [$e; 4] = [1.0, 2.0, 3.0, 4.0];
                    let index = std::array::from_fn(|i| if i % 2 == 0 { i as i32 % 4 } else { i32::MAX - i as i32 });
                    let even = Mask::from_bits(0x5555_5555);
                    // SAFETY: only even lanes are read, with indices below 4.
                    let got = unsafe { $T::gather_masked(data.as_ptr(), I32::from_array(index), even) }.to_array();
                    for i in 0..LANES {
                        assert_eq!(got[i], if i % 2 == 0 { data[i % 4] } else { 0.0 });
                    }
                }

                fn streams() {
                    #[repr(align(64))]
                    struct Aligned([$e; LANES]);
                    let mut out = Aligned([0.0; LANES]);
                    // SAFETY: the target is large and aligned enough, and fenced before it is read.
                    unsafe { $T::iota().stream(out.0.as_mut_ptr()) };
                    stream_fence();
                    assert_eq!(out.0, $T::iota().to_array());
                }
            }
        }
    };
}

float_memory_tests!(F32, f32, f32_only);
float_memory_tests!(F64, f64, f64_only);

macro_rules! narrow_tests {
    ($e:ident, $load:ident, $load_partial:ident, $store:ident, $store_partial:ident) => {
        for [a, b, _] in arrays::<$e, LANES>(200) {
            for n in 0..LANES + 2 {
                let kept = n.min(LANES);
                // SAFETY: the array has `LANES` elements.
                let full = unsafe { I32::$load(a.as_ptr()) };
                // SAFETY: as above.
                let partial = unsafe { I32::$load_partial(a.as_ptr(), n) };
                let wide: [i32; LANES] =
                    std::array::from_fn(|i| i32::from(a[i]).wrapping_add(i as i32 * 0x0101_0000));
                let mut memory = [b[0]; LANES + 2];
                let mut all = [b[0]; LANES + 2];
                // SAFETY: there are `LANES` elements from each pointer on.
                unsafe {
                    I32::from_array(wide).$store_partial(memory.as_mut_ptr().add(1), n);
                    I32::from_array(wide).$store(all.as_mut_ptr().add(1));
                }
                for i in 0..LANES {
                    assert_eq!(full.extract(i), i32::from(a[i]));
                    assert_eq!(
                        partial.extract(i),
                        if i < kept { i32::from(a[i]) } else { 0 }
                    );
                    assert_eq!(memory[i + 1], if i < kept { wide[i] as $e } else { b[0] });
                    assert_eq!(all[i + 1], wide[i] as $e);
                }
                assert_eq!(
                    [memory[0], memory[LANES + 1], all[0], all[LANES + 1]],
                    [b[0]; 4]
                );
            }
        }
    };
}

/// IEEE half to single by its definition.
fn half_to_f32(h: u16) -> f32 {
    let (sign, exponent, fraction) = (h >> 15, h >> 10 & 31, f32::from(h & 1023));
    let magnitude = match exponent {
        0 => fraction * 2f32.powi(-24),
        31 if fraction == 0.0 => f32::INFINITY,
        31 => f32::NAN,
        _ => (1.0 + fraction / 1024.0) * 2f32.powi(i32::from(exponent) - 15),
    };
    if sign == 1 { -magnitude } else { magnitude }
}

/// bfloat16 to single by its definition.
fn bfloat_to_f32(h: u16) -> f32 {
    f32::from_bits(u32::from(h) << 16)
}

/// Whether `h` is the value of the format that is nearest to `x`, the even one of two.
fn is_nearest(x: f32, h: u16, widen: fn(u16) -> f32) -> bool {
    let value = widen(h);
    if x.is_nan() || value.is_nan() {
        return x.is_nan() && value.is_nan();
    }
    // Beyond the largest finite value, infinity stands where the next value would be.
    let place = |h: u16| {
        let (below, value) = (widen(h.wrapping_sub(1)), widen(h));
        if value.is_infinite() {
            f64::from(below) * 2.0 - f64::from(widen(h - 2))
        } else {
            f64::from(value)
        }
    };
    let magnitude = h & 0x7fff;
    let target = f64::from(x.abs());
    let error = |m: u16| (place(m) - target).abs();
    let infinite = widen(magnitude).is_infinite();
    if infinite && target >= place(magnitude) {
        return x.is_sign_negative() == (h >> 15 == 1);
    }
    let better = |other: u16| {
        error(other) < error(magnitude) || error(other) == error(magnitude) && magnitude & 1 == 1
    };
    let lower = magnitude > 0 && better(magnitude - 1);
    let upper = !infinite && better(magnitude + 1);
    x.is_sign_negative() == (h >> 15 == 1) && !lower && !upper
}

macro_rules! narrow_float_tests {
    ($widen:ident, $load:ident, $load_partial:ident, $store:ident, $store_partial:ident) => {{
        let all: Vec<u16> = (0..=u16::MAX).collect();
        for chunk in all.chunks_exact(LANES) {
            // SAFETY: the chunk has `LANES` elements.
            let (wide, part) = unsafe {
                (
                    F32::$load(chunk.as_ptr()),
                    F32::$load_partial(chunk.as_ptr(), 3),
                )
            };
            let mut back = [0u16; LANES];
            // SAFETY: as above.
            unsafe { wide.$store(back.as_mut_ptr()) };
            for i in 0..LANES {
                assert!(wide.extract(i).same($widen(chunk[i])), "{:#x}", chunk[i]);
                assert!(
                    part.extract(i)
                        .same(if i < 3 { $widen(chunk[i]) } else { 0.0 })
                );
                assert!(
                    back[i] == chunk[i] || $widen(chunk[i]).is_nan() && $widen(back[i]).is_nan()
                );
            }
        }
        for [a, b, c] in arrays::<f32, LANES>(5000) {
            let near: [f32; LANES] =
                std::array::from_fn(|i| f32::from_bits(a[i].to_bits() & 0xffff_f000 | 0x0800));
            for a in [a, b, c, near] {
                for n in [0, 1, 5, LANES, LANES + 1] {
                    let mut memory = [7u16; LANES + 1];
                    // SAFETY: there are `LANES` elements at the pointer.
                    unsafe { F32::from_array(a).$store_partial(memory.as_mut_ptr(), n) };
                    for i in 0..LANES {
                        let right = if i < n {
                            is_nearest(a[i], memory[i], $widen)
                        } else {
                            memory[i] == 7
                        };
                        assert!(right, "{} to {:#x}", a[i], memory[i]);
                    }
                    assert_eq!(memory[LANES], 7);
                }
            }
        }
    }};
}

check! {
    fn narrow_integers() {
        narrow_tests!(i8, load_i8, load_i8_partial, store_i8, store_i8_partial);
        narrow_tests!(u8, load_u8, load_u8_partial, store_u8, store_u8_partial);
        narrow_tests!(i16, load_i16, load_i16_partial, store_i16, store_i16_partial);
        narrow_tests!(u16, load_u16, load_u16_partial, store_u16, store_u16_partial);
    }

    fn half_precision() {
        narrow_float_tests!(half_to_f32, load_f16, load_f16_partial, store_f16, store_f16_partial);
    }

    fn bfloat16() {
        narrow_float_tests!(bfloat_to_f32, load_bf16, load_bf16_partial, store_bf16, store_bf16_partial);
    }
}
