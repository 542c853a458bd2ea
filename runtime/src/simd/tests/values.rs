//! What the tests feed: special values in all pairings, then random bits. No test depends on the order.

/// A small generator (splitmix64), so that failures repeat.
pub struct Random(u64);

impl Random {
    pub fn new() -> Random {
        Random(42)
    }

    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

/// An element type with its special values.
pub trait Element: Copy + 'static {
    const SPECIAL: &'static [Self];

    fn random(random: &mut Random) -> Self;

    /// Equal bits, or both NaN.
    fn same(self, other: Self) -> bool;
}

macro_rules! float_element {
    ($($e:ident: $($more:expr),*;)*) => { $(
        impl Element for $e {
            const SPECIAL: &'static [$e] = &[
                0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, -1.5, 2.5, -2.5, 3.0, 0.1, -7.7, 1e9, -1e9, 3e9, 1e10, -1e10, 1e19,
                2e19, -1e19, 127.5, 65504.0, 65520.0, 1e30, -1e30, 2147483648.0, -2147483648.0, 4294967296.0,
                9223372036854775808.0, -9223372036854775808.0, 18446744073709551616.0, 4294967040.0, 2147483520.0,
                $e::NAN, -$e::NAN, $e::INFINITY, $e::NEG_INFINITY, $e::MAX, $e::MIN, $e::MIN_POSITIVE, -$e::MIN_POSITIVE,
                $e::from_bits(1), -$e::from_bits(1), $e::from_bits(12345), $e::EPSILON, 1.0 - $e::EPSILON / 2.0,
                0.5 - $e::EPSILON / 4.0, -0.5 + $e::EPSILON / 4.0, $($more),*
            ];

            fn random(random: &mut Random) -> $e {
                let bits = random.bits();
                if bits & 7 == 0 {
                    $e::from_bits(random.bits() as _)
                } else {
                    // Moderate magnitudes with fractions, where rounding modes differ.
                    ((random.bits() >> 40) as $e / 16384.0 - 512.0) * if bits & 8 == 0 { 1.0 } else { 1048576.0 }
                }
            }

            fn same(self, other: $e) -> bool {
                self.to_bits() == other.to_bits() || self.is_nan() && other.is_nan()
            }
        }
    )* };
}

float_element! {
    f32: 8388607.5, 8388608.0, 16777216.0, -4194303.5;
    f64: 4503599627370495.5, 9007199254740992.0, 4294967295.5, 2147483647.5, 4294967295.0, 2147483647.0, -2147483648.5,
        -2147483649.0, 9223372036854774784.0, 1e300, 1e-300, 3.4028235677973366e38, 1e39, 1e-46;
}

macro_rules! int_element {
    ($($e:ident)*) => { $(
        impl Element for $e {
            const SPECIAL: &'static [$e] = &[
                0, 1, 2, 3, 7, 31, 32, 33, 63, 64, 65, 127, 128i64 as $e, 255i64 as $e, 256i64 as $e, 32767i64 as $e,
                32768i64 as $e, 65535i64 as $e, 65536i64 as $e, 16777217i64 as $e, -256i64 as $e, -32768i64 as $e,
                -16777217i64 as $e, 9007199254740993i64 as $e, 36028797018963969i64 as $e, $e::MAX, $e::MIN, $e::MAX - 1,
                $e::MIN + 1, $e::MAX / 2, $e::MAX / 2 + 1, !0, !0 - 1, $e::MAX / 3,
            ];

            fn random(random: &mut Random) -> $e {
                // Any magnitude with equal probability.
                let bits = random.bits();
                (random.bits() as $e) >> (bits as u32 % $e::BITS)
            }

            fn same(self, other: $e) -> bool {
                self == other
            }
        }
    )* };
}

int_element! { i8 u8 i16 u16 i32 u32 i64 u64 }

/// Arrays that hold every special value next to every other one, then random ones.
pub fn arrays<E: Element, const N: usize>(count: usize) -> Vec<[[E; N]; 3]> {
    let mut random = Random::new();
    let special = |i: usize| E::SPECIAL[i % E::SPECIAL.len()];
    let mut all = Vec::new();
    for shift in 0..E::SPECIAL.len() {
        for start in (0..E::SPECIAL.len()).step_by(N) {
            all.push([
                std::array::from_fn(|i| special(start + i)),
                std::array::from_fn(|i| special(start + i + shift)),
                std::array::from_fn(|i| special(start + i + 2 * shift + 1)),
            ]);
        }
    }
    for _ in 0..count {
        all.push(std::array::from_fn(|_| {
            std::array::from_fn(|_| E::random(&mut random))
        }));
    }
    all
}

/// Units in the last place between `got` and `exact`: 0 if `got` is `exact` rounded, infinite if a special value is wrong.
pub fn error(exact: f64, got: f32) -> f64 {
    let nearest = exact as f32;
    if got.same(nearest) {
        return 0.0;
    }
    let overflow_missed = nearest.is_infinite() && got.abs() < f32::MAX;
    if got.is_nan() || nearest.is_nan() || overflow_missed || got == 0.0 && nearest == 0.0 {
        return f64::INFINITY;
    }
    let exponent = (exact.abs().to_bits() >> 52) as i32 - 1023;
    let ulp = 2f64.powi(exponent.max(-126) - 23);
    let got = if got.is_infinite() {
        2f64.powi(128).copysign(f64::from(got))
    } else {
        f64::from(got)
    };
    (got - exact).abs() / ulp
}

/// Arguments for a function of one `f32`: patterns strided over all there are, and every neighbour of the points where
/// some function here changes its course.
pub fn arguments() -> Vec<f32> {
    // Debug code is slow; the example `ulp` sweeps everything.
    let stride = if cfg!(debug_assertions) { 65521 } else { 4093 };
    let mut all: Vec<f32> = (0..=u32::MAX).step_by(stride).map(f32::from_bits).collect();
    let points = [
        0.0,
        f32::MIN_POSITIVE,
        f32::EPSILON / 4.0,
        f32::EPSILON / 2.0,
        0.41421357,
        0.5,
        0.75,
        0.9,
        1.0,
        1.5,
        2.4142136,
        3.92,
        3.95,
        9.01,
        9.195,
        10.055,
        10.2,
        18.0,
        87.33655,
        88.72284,
        89.0,
        89.41599,
        90.0,
        102.0,
        103.97208,
        104.0,
        126.0,
        128.0,
        129.0,
        149.0,
        150.0,
        151.0,
        std::f32::consts::FRAC_PI_2,
        std::f32::consts::PI,
        2.0,
        1000.0,
        65536.0,
        8388608.0,
        16777216.0,
        f32::MAX,
        f32::INFINITY,
        f32::NAN,
        std::f32::consts::LN_2,
        1e-20,
        1e10,
        6.0e37,
    ];
    for point in points {
        for offset in -70i32..=70 {
            let near = f32::from_bits(point.to_bits().wrapping_add_signed(offset));
            all.extend([near, -near]);
        }
    }
    all
}
