//! Measures the accuracy of the vector math: sweeps every `f32` through each unary function of each tier.
//!
//! `cargo run --release -p pragma-runtime --example ulp -- [--stride N] [--threads N] [FUNCTION..]`
//!
//! The reference is `f64` scalar math. The error is in units of the last place of the exact result: the distance of two
//! neighbouring `f32` there. Prints the table of `docs/vector-math.md`.

#[cfg(not(target_arch = "x86_64"))]
fn main() {
    println!("no tier of this architecture has vector math");
}

#[cfg(target_arch = "x86_64")]
fn main() -> std::process::ExitCode {
    sweep::main()
}

#[cfg(target_arch = "x86_64")]
mod sweep {
    use pragma_runtime::tier::Tier;
    use std::process::ExitCode;
    use std::sync::atomic::{AtomicU64, Ordering};

    unsafe extern "C" {
        // From the C math library that std links already; std has them in nightly only.
        safe fn erf(x: f64) -> f64;
        safe fn erfc(x: f64) -> f64;
    }

    const BATCH: usize = 4096;

    type Kernel = unsafe fn(&[f32; BATCH], &mut [f32; BATCH]);

    struct Function {
        name: &'static str,
        exact: fn(f64) -> f64,
        v3: Kernel,
        v4: Kernel,
    }

    macro_rules! functions {
        ($($name:ident = $exact:expr;)*) => {
            mod v3 {
                use pragma_runtime::simd::v3::*;
                $(
                    #[target_feature(enable = "avx2,fma,bmi1,bmi2,f16c,lzcnt,movbe,popcnt")]
                    pub fn $name(x: &[f32; super::BATCH], y: &mut [f32; super::BATCH]) {
                        for (x, y) in x.chunks_exact(LANES).zip(y.chunks_exact_mut(LANES)) {
                            // SAFETY: both chunks have `LANES` elements.
                            unsafe { F32::load(x.as_ptr()).$name().store(y.as_mut_ptr()) }
                        }
                    }
                )*
            }
            mod v4 {
                use pragma_runtime::simd::v4::*;
                $(
                    #[target_feature(
                        enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,fma,bmi1,bmi2,f16c,lzcnt,movbe,popcnt"
                    )]
                    pub fn $name(x: &[f32; super::BATCH], y: &mut [f32; super::BATCH]) {
                        for (x, y) in x.chunks_exact(LANES).zip(y.chunks_exact_mut(LANES)) {
                            // SAFETY: both chunks have `LANES` elements.
                            unsafe { F32::load(x.as_ptr()).$name().store(y.as_mut_ptr()) }
                        }
                    }
                )*
            }
            const FUNCTIONS: &[Function] =
                &[$(Function { name: stringify!($name), exact: $exact, v3: v3::$name, v4: v4::$name }),*];
        };
    }

    functions! {
        acos = f64::acos;
        asin = f64::asin;
        atan = f64::atan;
        cbrt = f64::cbrt;
        cos = f64::cos;
        cosh = f64::cosh;
        erf = |x| erf(x);
        erfc = |x| erfc(x);
        exp = f64::exp;
        exp2 = f64::exp2;
        exp_m1 = f64::exp_m1;
        ln = f64::ln;
        ln_1p = f64::ln_1p;
        log10 = f64::log10;
        log2 = f64::log2;
        one_plus_tanh = |x| if x < -64.0 * std::f64::consts::LN_2 { 0.0 } else { 2.0 / (1.0 + (-2.0 * x).exp()) };
        sigmoid = |x| 1.0 / (1.0 + (-x).exp());
        sin = f64::sin;
        sinh = f64::sinh;
        tan = f64::tan;
        tanh = f64::tanh;
    }

    /// What a sweep of one function on one tier found.
    #[derive(Clone, Copy, Default)]
    struct Found {
        worst: f64,
        input: f32,
        count: u64,
        rounded: u64,
    }

    impl Found {
        fn add(&mut self, x: f32, exact: f64, got: f32) {
            self.count += 1;
            let nearest = exact as f32;
            if got.to_bits() == nearest.to_bits() || got.is_nan() && nearest.is_nan() {
                self.rounded += 1;
                return;
            }
            let error = error(exact, got);
            if error > self.worst {
                *self = Found {
                    worst: error,
                    input: x,
                    ..*self
                };
            }
        }

        fn merge(&mut self, other: Found) {
            let (count, rounded) = (self.count + other.count, self.rounded + other.rounded);
            if other.worst > self.worst {
                *self = other;
            }
            *self = Found {
                count,
                rounded,
                ..*self
            };
        }
    }

    /// Units in the last place between a wrongly rounded result and the exact one; infinite for a wrong special value.
    fn error(exact: f64, got: f32) -> f64 {
        let nearest = exact as f32;
        if got.is_nan()
            || nearest.is_nan()
            || nearest.is_infinite() && !got.is_infinite() && got.abs() < f32::MAX
        {
            return f64::INFINITY;
        }
        if got == 0.0 && nearest == 0.0 {
            return f64::INFINITY; // the signs differ
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

    pub fn main() -> ExitCode {
        let mut stride = 1u64;
        let mut threads = std::thread::available_parallelism().map_or(1, |n| n.get());
        let mut names = Vec::new();
        let mut args = std::env::args().skip(1);
        while let Some(arg) = args.next() {
            let mut number = || {
                args.next()
                    .and_then(|value| value.parse::<u64>().ok())
                    .filter(|&n| n > 0)
            };
            match arg.as_str() {
                "--stride" => match number() {
                    Some(n) => stride = n,
                    None => return usage(),
                },
                "--threads" => match number() {
                    Some(n) => threads = n as usize,
                    None => return usage(),
                },
                name if FUNCTIONS.iter().any(|f| f.name == name) => names.push(arg),
                _ => return usage(),
            }
        }
        println!("| function | tier | largest error (ulp) | at | correctly rounded |");
        println!("|---|---|---|---|---|");
        for function in FUNCTIONS
            .iter()
            .filter(|f| names.is_empty() || names.iter().any(|n| n == f.name))
        {
            for (tier, found) in sweep(function, stride, threads) {
                println!(
                    "| `{}` | {} | {:.3} | `{:e}` | {:.2} % |",
                    function.name,
                    tier.name(),
                    found.worst,
                    found.input,
                    100.0 * found.rounded as f64 / found.count as f64
                );
            }
        }
        ExitCode::SUCCESS
    }

    fn usage() -> ExitCode {
        let names: Vec<_> = FUNCTIONS.iter().map(|f| f.name).collect();
        eprintln!(
            "usage: ulp [--stride N] [--threads N] [FUNCTION..]\nfunctions: {}",
            names.join(" ")
        );
        ExitCode::from(1)
    }

    /// Every `stride`th bit pattern through one function, on every tier that this CPU has.
    fn sweep(function: &Function, stride: u64, threads: usize) -> Vec<(Tier, Found)> {
        let tiers: Vec<(Tier, Kernel)> = [(Tier::V3, function.v3), (Tier::V4, function.v4)]
            .into_iter()
            .filter(|(tier, _)| *tier <= Tier::supported())
            .collect();
        let inputs = (1u64 << 32).div_ceil(stride);
        let next = AtomicU64::new(0);
        let work = || {
            let mut found = vec![Found::default(); tiers.len()];
            loop {
                let first = next.fetch_add(BATCH as u64, Ordering::Relaxed);
                if first >= inputs {
                    return found;
                }
                let x: [f32; BATCH] =
                    std::array::from_fn(|i| f32::from_bits(((first + i as u64) * stride) as u32));
                let exact = x.map(|x| (function.exact)(f64::from(x)));
                for ((_, kernel), found) in tiers.iter().zip(&mut found) {
                    let mut y = [0.0; BATCH];
                    // SAFETY: only tiers that the CPU has are in the list.
                    unsafe { kernel(&x, &mut y) };
                    for i in 0..BATCH {
                        found.add(x[i], exact[i], y[i]);
                    }
                }
            }
        };
        let mut total = vec![Found::default(); tiers.len()];
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            for worker in workers {
                let found = worker.join().expect("a sweep does not panic");
                total
                    .iter_mut()
                    .zip(found)
                    .for_each(|(total, found)| total.merge(found));
            }
        });
        tiers.into_iter().map(|(tier, _)| tier).zip(total).collect()
    }
}
