//! Which arguments a candidate is tried on.
//!
//! Owns sizes (every tail around every vector and tile width, primes, large ones, tuning sizes and sizes like them,
//! held-out ones), the conditions that they keep, and kinds of values; `values` owns the values themselves. The same
//! seed gives the same cases.

use pragma_spec::{ParamKind, TuneSize};

use super::spec::KernelSpec;
use super::values::Drawing;
use crate::inputs::{Rng, Values};

/// A kind of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Ordinary: bell-shaped, or the attribute's range.
    Plain,
    /// Ordinary with the opposite sign.
    Negated,
    /// A thousand times larger.
    Large,
    /// A thousand times smaller.
    Small,
    /// Between 0 and 1.
    Positive,
    /// Many orders of magnitude at once; any bits of integers.
    Wide,
    /// All zeros.
    Zeros,
    /// One value everywhere.
    Constant,
    /// Denormal floats.
    Subnormal,
    /// One NaN or infinity.
    OneSpecial,
    /// Many NaNs and infinities.
    ManySpecials,
}

impl Kind {
    /// Those that every size is tried with in turn; [`Kind::Plain`] is tried with all of them.
    const ROTATION: [Kind; 10] = [
        Kind::Negated,
        Kind::OneSpecial,
        Kind::Large,
        Kind::Zeros,
        Kind::Wide,
        Kind::ManySpecials,
        Kind::Small,
        Kind::Subnormal,
        Kind::Positive,
        Kind::Constant,
    ];

    fn name(self) -> &'static str {
        match self {
            Kind::Plain => "plain",
            Kind::Negated => "negated",
            Kind::Large => "large",
            Kind::Small => "small",
            Kind::Positive => "positive",
            Kind::Wide => "wide",
            Kind::Zeros => "zeros",
            Kind::Constant => "constant",
            Kind::Subnormal => "denormal",
            Kind::OneSpecial => "one NaN or infinity",
            Kind::ManySpecials => "NaN and infinities",
        }
    }

    /// Whether values that are no ordinary numbers occur.
    pub fn is_special(self) -> bool {
        matches!(self, Kind::OneSpecial | Kind::ManySpecials)
    }
}

/// Arguments to try.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// The kind of values.
    pub kind: Kind,
    /// The dimensions, in the guard's order.
    pub dims: Vec<u64>,
    /// The number of elements of every parameter.
    pub lens: Vec<u64>,
    /// The values of every parameter.
    pub values: Vec<Values>,
    /// The seed of the values.
    pub seed: u64,
    /// Whether it is a tuning size.
    pub tuning: bool,
    /// Whether something optional is absent.
    pub absent: bool,
    /// The case's name: kind and sizes.
    pub name: String,
}

/// Buffers of search cases stay below this, bytes.
const SMALL_BYTES: u64 = 8 << 20;
/// The product of all dimensions stays below this: a bound on the reference's work.
const SMALL_WORK: u64 = 4 << 20;

/// The cases of a search: all that are small enough to be run on every candidate.
pub fn search(spec: &KernelSpec, seed: u64) -> Vec<Case> {
    let kinds = rotation(spec);
    let mut cases = Vec::new();
    for (i, dims) in allowed(spec, search_sizes(spec.guard.dims.len()), seed)
        .into_iter()
        .enumerate()
    {
        let seed = Rng::derive(seed, i as u64);
        cases.extend(case(spec, Kind::Plain, &dims, None, seed));
        cases.extend(case(
            spec,
            kinds[i % kinds.len()],
            &dims,
            None,
            Rng::derive(seed, 1),
        ));
    }
    // Every kind meets a size with full vectors, remainders and more than one row.
    for (i, &kind) in kinds.iter().enumerate() {
        for (at, base) in [37u64, 67, 150].into_iter().enumerate() {
            let dims: Vec<u64> = (0..spec.guard.dims.len())
                .map(|d| {
                    if d + 1 == spec.guard.dims.len() {
                        base
                    } else {
                        3 + d as u64
                    }
                })
                .collect();
            for dims in allowed(spec, vec![dims], seed ^ i as u64) {
                cases.extend(case(
                    spec,
                    kind,
                    &dims,
                    None,
                    Rng::derive(seed, 7_000 + 10 * i as u64 + at as u64),
                ));
            }
        }
    }
    cases
}

/// The additional cases of a full verification: sizes that only the seed knows, and the tuning sizes themselves as far
/// as `max_bytes` of buffers allow.
pub fn held_out(spec: &KernelSpec, seed: u64, max_bytes: u64) -> Vec<Case> {
    let mut rng = Rng::new(Rng::derive(seed, 0x4e1d));
    let kinds = rotation(spec);
    let count = spec.guard.dims.len();
    let mut cases = Vec::new();
    for i in 0..24u64 {
        let dims: Vec<u64> = (0..count)
            .map(|_| {
                // Uniform over orders of magnitude.
                let bits = 1 + rng.below(if count == 1 { 19 } else { 11 });
                1 + rng.below(1 << bits)
            })
            .collect();
        let dims = spec.pinned(dims);
        if keeps(spec, &dims) && fits(spec, &dims) {
            cases.extend(case(
                spec,
                Kind::Plain,
                &dims,
                None,
                Rng::derive(seed, 9_000 + i),
            ));
            cases.extend(case(
                spec,
                kinds[i as usize % kinds.len()],
                &dims,
                None,
                Rng::derive(seed, 9_500 + i),
            ));
        }
    }
    for (i, tune) in spec.attribute.tunes.iter().enumerate() {
        if let Some(dims) = tune_dims(spec, tune)
            && spec.bytes(&dims).is_some_and(|bytes| bytes <= max_bytes)
        {
            cases.extend(case(
                spec,
                Kind::Plain,
                &dims,
                Some(tune),
                Rng::derive(seed, 9_900 + i as u64),
            ));
        }
    }
    cases
}

/// The case that a tuning size is measured on.
pub fn tuning(spec: &KernelSpec, tune: &TuneSize, seed: u64) -> Option<Case> {
    case(spec, Kind::Plain, &tune_dims(spec, tune)?, Some(tune), seed)
}

/// The dimensions of a tuning size; `None` where one is missing or the guard would refuse them.
pub fn tune_dims(spec: &KernelSpec, tune: &TuneSize) -> Option<Vec<u64>> {
    let dims: Option<Vec<u64>> = spec
        .guard
        .dims
        .iter()
        .map(|dim| {
            tune.get(dim)
                .filter(|value| *value >= 1.0 && value.fract() == 0.0 && *value < 1e15)
                .map(|value| value as u64)
        })
        .collect();
    dims.filter(|dims| spec.accepts(dims) && spec.fits_given(dims))
}

/// More cases for when the self-test finds the usual ones too weak.
pub fn strengthened(spec: &KernelSpec, seed: u64, round: u64) -> Vec<Case> {
    let mut rng = Rng::new(Rng::derive(seed, 0x57e0 + round));
    let count = spec.guard.dims.len();
    let mut cases = Vec::new();
    for kind in [
        Kind::Plain,
        Kind::Wide,
        Kind::Positive,
        Kind::Large,
        Kind::Small,
    ] {
        for i in 0..6 {
            let dims: Vec<u64> = (0..count)
                .map(|_| 2 + rng.below(if count == 1 { 3000 } else { 120 }))
                .collect();
            let dims = spec.pinned(dims);
            if keeps(spec, &dims) && fits(spec, &dims) {
                cases.extend(case(spec, kind, &dims, None, rng.next_u64() ^ i));
            }
        }
    }
    cases
}

/// Arguments that the guard must refuse: a size of zero, and one buffer an element too long.
pub fn refused(spec: &KernelSpec, seed: u64) -> Vec<Case> {
    let dims: Vec<u64> = vec![5; spec.guard.dims.len()];
    let mut cases = Vec::new();
    for zero in 0..dims.len() {
        let mut dims = dims.clone();
        dims[zero] = 0;
        if let Some(case) = case(spec, Kind::Plain, &dims, None, seed) {
            cases.push(case);
        }
    }
    for i in 0..spec.signature.params.len() {
        if matches!(spec.signature.params[i].kind, ParamKind::Slice { .. })
            && let Some(mut case) = case(spec, Kind::Plain, &dims, None, seed)
        {
            case.lens[i] += 1;
            case.name = format!(
                "{} with one element too many in `{}`",
                case.name, spec.signature.params[i].name
            );
            cases.push(case);
        }
    }
    cases.retain(|case| spec.guard_on(&case.dims, &case.lens).is_none());
    cases
}

/// Sizes that do not keep the attribute's conditions: that many are tried all the same, for what the function does then.
const OUTSIDE: usize = 8;

/// The sizes that fit the shapes and are affordable. Where one breaks a condition, one nearby that does not takes its
/// place; a few stay as they are.
fn allowed(spec: &KernelSpec, sizes: Vec<Vec<u64>>, seed: u64) -> Vec<Vec<u64>> {
    let mut rng = Rng::new(Rng::derive(seed, 0xc0d));
    let mut out: Vec<Vec<u64>> = Vec::with_capacity(sizes.len());
    let mut outside = 0;
    for dims in sizes.into_iter().map(|dims| spec.pinned(dims)) {
        if keeps(spec, &dims) {
            if fits(spec, &dims) {
                out.push(dims);
            }
            continue;
        }
        if outside < OUTSIDE && fits(spec, &dims) {
            outside += 1;
            out.push(dims.clone());
        }
        let near = (0..64).find_map(|_| {
            let moved: Vec<u64> = dims
                .iter()
                .map(|dim| match rng.below(2) {
                    0 => *dim,
                    _ => 1 + rng.below(2 * dim + 4),
                })
                .collect();
            (keeps(spec, &moved) && fits(spec, &moved)).then_some(moved)
        });
        out.extend(near.filter(|near| !out.contains(near)));
    }
    out
}

/// Whether these dimensions break no condition of the attribute.
fn keeps(spec: &KernelSpec, dims: &[u64]) -> bool {
    let lookup = |name: &str| spec.fixed(name, dims);
    let mut conditions = spec.attribute.conditions.iter();
    conditions.all(|condition| condition.holds(&lookup) != Some(false))
}

/// Cases of sizes like the tuning sizes: the same proportions on a smaller scale, and one dimension a little off.
pub fn like_tuning(spec: &KernelSpec, seed: u64) -> Vec<Case> {
    let kinds = rotation(spec);
    let mut sizes: Vec<Vec<u64>> = Vec::new();
    for dims in spec
        .attribute
        .tunes
        .iter()
        .filter_map(|tune| tune_dims(spec, tune))
    {
        // Small dimensions are parameters (a kernel's width, a stride) rather than amounts, and stay.
        for (least, shift) in (0..24).flat_map(|shift| [(1, shift), (16, shift)]) {
            let scaled = |dim: &u64| {
                if *dim > least {
                    (dim >> shift).max(least)
                } else {
                    *dim
                }
            };
            let scaled: Vec<u64> = dims.iter().map(scaled).collect();
            for at in 0..dims.len() {
                for step in [0, 1, 2, 5] {
                    for moved in [scaled[at] + step, scaled[at].saturating_sub(step).max(1)] {
                        let mut dims = scaled.clone();
                        dims[at] = moved;
                        sizes.push(dims);
                    }
                }
            }
        }
    }
    sizes.retain(|dims| keeps(spec, dims) && fits(spec, dims));
    sizes.sort();
    sizes.dedup();
    let step = (sizes.len() / 60).max(1);
    let mut cases = Vec::new();
    for (i, dims) in sizes.iter().step_by(step).enumerate() {
        let seed = Rng::derive(seed, 20_000 + i as u64);
        cases.extend(case(spec, Kind::Plain, dims, None, seed));
        let kind = kinds[i % kinds.len()];
        cases.extend(case(spec, kind, dims, None, Rng::derive(seed, 1)));
    }
    cases
}

fn fits(spec: &KernelSpec, dims: &[u64]) -> bool {
    let work = dims
        .iter()
        .try_fold(1u64, |work, dim| work.checked_mul(*dim));
    work.is_some_and(|work| work <= SMALL_WORK)
        && spec.accepts(dims)
        && spec.fits_given(dims)
        && spec.bytes(dims).is_some_and(|bytes| bytes <= SMALL_BYTES)
}

fn search_sizes(count: usize) -> Vec<Vec<u64>> {
    match count {
        0 => vec![Vec::new(); 40],
        1 => (1..=67)
            .chain([
                79, 95, 96, 97, 127, 128, 129, 130, 143, 191, 255, 256, 257, 383, 511, 512, 513,
                1000, 1023, 1025, 2049, 4096, 4097, 10_007,
            ])
            .chain([65_537, 262_147, 1_000_003])
            .map(|n| vec![n])
            .collect(),
        _ => {
            const SWEEP: [u64; 36] = [
                1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 15, 16, 17, 19, 23, 29, 31, 32, 33, 47, 48, 49,
                63, 64, 65, 95, 97, 127, 128, 129, 257, 511, 1025, 4099, 65_537,
            ];
            const OTHERS: [u64; 7] = [3, 1, 5, 2, 7, 4, 17];
            let mut sizes = Vec::new();
            // The last dimension is the one that vectors run along, as a rule: it goes first.
            for swept in (0..count).rev() {
                for (i, &n) in SWEEP.iter().enumerate() {
                    let dims = (0..count)
                        .map(|d| {
                            if d == swept {
                                n
                            } else {
                                OTHERS[(i + d) % OTHERS.len()]
                            }
                        })
                        .collect();
                    sizes.push(dims);
                }
            }
            for n in [8, 16, 33, 64, 100] {
                sizes.push(vec![n; count]);
            }
            // Large enough to run on several threads, whichever dimension they share out.
            sizes.push(
                (0..count)
                    .map(|d| {
                        if d == 0 {
                            517
                        } else if d == 1 {
                            1025
                        } else {
                            3
                        }
                    })
                    .collect(),
            );
            sizes.push(
                (0..count)
                    .map(|d| {
                        if d == 0 {
                            70_001
                        } else if d == 1 {
                            5
                        } else {
                            2
                        }
                    })
                    .collect(),
            );
            sizes
        }
    }
}

/// The kinds that make sense for this kernel.
fn rotation(spec: &KernelSpec) -> Vec<Kind> {
    Kind::ROTATION
        .into_iter()
        .filter(|kind| !(kind.is_special() && spec.attribute.assume_finite))
        .collect()
}

/// A case; `None` where a shape does not fit the dimensions.
fn case(
    spec: &KernelSpec,
    kind: Kind,
    dims: &[u64],
    tune: Option<&TuneSize>,
    seed: u64,
) -> Option<Case> {
    let drawing = Drawing {
        spec,
        kind,
        dims,
        tune,
        seed,
    };
    let drawn = drawing.draw()?;
    let sizes: Vec<String> = spec
        .guard
        .dims
        .iter()
        .zip(dims)
        .map(|(name, value)| format!("{name} = {value}"))
        .collect();
    let absent = if drawn.absent {
        ", something absent"
    } else {
        ""
    };
    Some(Case {
        kind,
        dims: dims.to_vec(),
        lens: drawn.lens,
        values: drawn.values,
        seed,
        tuning: tune.is_some(),
        absent: drawn.absent,
        name: format!("{} values, {}{absent}", kind.name(), sizes.join(", ")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inputs::Fill;
    use pragma_spec::{KernelAttribute, KernelSignature, Shape};

    fn spec(text: &str, attribute: &str, dims: &[&str]) -> KernelSpec {
        let item: syn::ItemFn = syn::parse_str(text).expect("parses");
        let signature = KernelSignature::from_syn(&item.sig).expect("is supported");
        let attribute =
            KernelAttribute::parse(attribute.parse().expect("tokens")).expect("is an attribute");
        let shapes: Vec<(String, Shape)> = attribute.shapes.clone();
        let dims: Vec<String> = dims.iter().map(|d| (*d).to_owned()).collect();
        KernelSpec::new(signature, attribute, &dims, shapes, String::new(), None)
            .expect("dims are determined")
    }

    #[test]
    fn one_dimension_meets_every_tail() {
        let spec = spec(
            "fn f(x: &[f32], out: &mut [f32]) {}",
            "shape(x = [n], out = [n])",
            &["n"],
        );
        let cases = search(&spec, 1);
        for n in 1..=67 {
            assert!(cases.iter().any(|case| case.dims == [n]), "{n}");
        }
        for kind in Kind::ROTATION {
            assert!(
                cases.iter().filter(|case| case.kind == kind).count() >= 3,
                "{kind:?}"
            );
        }
        assert_eq!(cases, search(&spec, 1));
        assert_ne!(cases, search(&spec, 2));
        assert!(cases.iter().any(|case| case.dims[0] > 500_000));
    }

    #[test]
    fn several_dimensions_stay_affordable() {
        let spec = spec(
            "fn f(m: usize, a: &[f32], b: &[f32], c: &mut [f32]) {}",
            "shape(a = [m, k], b = [k, n], c = [m, n])",
            &["m", "k", "n"],
        );
        let cases = search(&spec, 1);
        assert!(cases.len() > 100);
        assert!(
            cases
                .iter()
                .all(|case| case.dims.iter().product::<u64>() <= SMALL_WORK)
        );
    }

    #[test]
    fn indices_stay_in_their_range() {
        let spec = spec(
            "fn f(x: &[f32], idx: &[u32], out: &mut [f32]) {}",
            "shape(x = [rows, d], idx = [n], out = [n, d]), inputs(idx = 0..rows)",
            &["rows", "d", "n"],
        );
        for case in search(&spec, 3) {
            match case.values[1].fill {
                Fill::Uniform { lo, hi, .. } => assert!(lo == 0.0 && hi == case.dims[0] as f64),
                Fill::Constant(value) => assert_eq!(value, 0.0),
                ref other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn refused_shapes_are_refused() {
        let spec = spec(
            "fn f(x: &[f32], w: &[f32], out: &mut [f32]) {}",
            "shape(x = [rows, d], w = [d], out = [rows, d])",
            &["rows", "d"],
        );
        let cases = refused(&spec, 1);
        assert!(cases.iter().any(|case| case.dims == [0, 5]));
        assert!(cases.iter().any(|case| case.lens[1] == 6));
    }

    #[test]
    fn tuning_sizes_come_at_full_level() {
        let spec = spec(
            "fn f(x: &[f32], e: f32, out: &mut [f32]) {}",
            "shape(x = [n], out = [n]), tune(n = 3000000, e = 0.25)",
            &["n"],
        );
        let cases = held_out(&spec, 1, 1 << 30);
        let last = cases.last().expect("there are cases");
        assert_eq!(
            (last.dims.as_slice(), &last.values[1].fill),
            (&[3_000_000][..], &Fill::Constant(0.25))
        );
        assert!(
            held_out(&spec, 1, 1 << 20)
                .iter()
                .all(|case| case.dims[0] < 3_000_000)
        );
    }
}
