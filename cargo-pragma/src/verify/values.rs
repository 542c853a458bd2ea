//! What the parameters of a case hold.
//!
//! Owns the meaning of `inputs(..)`, what a parameter gets without it, and keeping sizes and integer parameters within the
//! attribute's conditions. Which cases there are is `cases`' business.

use pragma_spec::form::{ElementLayout, Form};
use pragma_spec::{InputSpec, OffsetBase, ParamKind, Scalar, TuneSize};

use super::cases::Kind;
use super::spec::KernelSpec;
use crate::inputs::{Base, Column, Fill, Rng, Specials, Values, draw_one, first};

/// How often scalars are drawn anew where they break a condition.
const ATTEMPTS: usize = 40;

/// What a case is drawn for.
#[derive(Clone, Copy)]
pub struct Drawing<'a> {
    /// The kernel.
    pub spec: &'a KernelSpec,
    /// The kind of values.
    pub kind: Kind,
    /// The dimensions.
    pub dims: &'a [u64],
    /// The tuning size whose scalars it has.
    pub tune: Option<&'a TuneSize>,
    /// The seed of the case.
    pub seed: u64,
}

/// What every parameter holds, and how many elements.
pub struct Drawn {
    /// Elements.
    pub lens: Vec<u64>,
    /// Values.
    pub values: Vec<Values>,
    /// Whether something optional is absent.
    pub absent: bool,
}

impl Drawing<'_> {
    /// Lengths and values of all parameters; `None` where a shape does not fit the dimensions.
    pub fn draw(&self) -> Option<Drawn> {
        let spec = self.spec;
        let params = &spec.signature.params;
        let mut rng = Rng::new(Rng::derive(self.seed, 0xca5e));
        let mut scalars = self.scalars(&mut rng);
        for _ in 0..ATTEMPTS {
            let lookup = |name: &str| self.size(name, &scalars);
            let broken =
                |condition: &pragma_spec::Condition| condition.holds(&lookup) == Some(false);
            if self.tune.is_some() || !spec.attribute.conditions.iter().any(broken) {
                break;
            }
            scalars = self.scalars(&mut rng);
        }
        let mut drawn = Drawn {
            lens: Vec::with_capacity(params.len()),
            values: Vec::with_capacity(params.len()),
            absent: false,
        };
        for (i, param) in params.iter().enumerate() {
            let present = self.is_present(&param.name, &scalars);
            drawn.absent |= !present;
            let len = spec.len(i, self.dims)?;
            drawn.lens.push(match param.kind {
                ParamKind::Slice { .. } if !present => 0,
                _ => len,
            });
            let value = match scalars[i].clone() {
                Some(values) => values,
                None => self.buffer(i, &scalars),
            };
            drawn.values.push(if present {
                value
            } else {
                Values::plain(Fill::Constant(0.0))
            });
        }
        Some(drawn)
    }

    /// The value of a dimension or integer parameter.
    fn size(&self, name: &str, scalars: &[Option<Values>]) -> Option<u64> {
        if let Some(value) = self.spec.fixed(name, self.dims) {
            return Some(value);
        }
        let params = &self.spec.signature.params;
        let at = params.iter().position(|param| param.name == name)?;
        match scalars.get(at)?.as_ref()?.fill {
            Fill::Constant(value) if value >= 0.0 && value.fract() == 0.0 => Some(value as u64),
            _ => None,
        }
    }

    /// Whether what is called `name` is there: it is no part of an `Option` that is `None`.
    fn is_present(&self, name: &str, scalars: &[Option<Values>]) -> bool {
        let params = &self.spec.signature.params;
        let absent = |(flag, values): (&pragma_spec::ParamSig, &Option<Values>)| {
            let part = flag.name.strip_suffix(".is_some");
            let inside = part.is_some_and(|part| {
                name == part
                    || (name != flag.name
                        && name
                            .strip_prefix(part)
                            .is_some_and(|rest| rest.starts_with('.')))
            });
            inside && matches!(values, Some(values) if values.fill == Fill::Constant(0.0))
        };
        !params.iter().zip(scalars).any(absent)
    }

    /// The values of all scalars, in order; `None` for buffers. Whole numbers become constants, so that others can
    /// refer to them.
    fn scalars(&self, rng: &mut Rng) -> Vec<Option<Values>> {
        let params = &self.spec.signature.params;
        let mut out: Vec<Option<Values>> = vec![None; params.len()];
        for (i, param) in params.iter().enumerate() {
            let ParamKind::Scalar(elem) = param.kind else {
                continue;
            };
            let values = self.scalar(&param.name, elem, &out, rng);
            let whole = !elem.is_float() && !matches!(values.fill, Fill::Constant(_));
            let constant = whole
                .then(|| draw_one(elem, &values, rng.next_u64()))
                .flatten();
            out[i] = Some(match constant {
                Some(value) => Values::plain(Fill::Constant(value)),
                None => values,
            });
        }
        out
    }

    fn scalar(
        &self,
        name: &str,
        elem: Scalar,
        scalars: &[Option<Values>],
        rng: &mut Rng,
    ) -> Values {
        let spec = self.spec;
        let params = &spec.signature.params;
        let at = params.iter().position(|param| param.name == name);
        if let Some(bytes) = at.and_then(|at| spec.given.get(&at)) {
            return Values::plain(Fill::Constant(first(bytes, elem)));
        }
        if let Some(value) = spec.fixed(name, self.dims) {
            return Values::plain(Fill::Constant(value as f64));
        }
        // A scalar that the attribute gives a value for has it in tuning runs, and otherwise every other time.
        let tuned = self.tune.and_then(|tune| tune.get(name));
        let any = || spec.attribute.tunes.iter().find_map(|tune| tune.get(name));
        if let Some(value) = tuned.or_else(|| any().filter(|_| rng.below(2) == 0)) {
            return Values::plain(Fill::Constant(value));
        }
        if let Some(flag) = name.strip_suffix(".is_some")
            && matches!(
                spec.signature.form.at(flag).map(Form::peeled),
                Some(Form::Option(_))
            )
        {
            // What is optional is there in tuning runs, unless the attribute says otherwise.
            let there = self.tune.is_some() || rng.below(4) != 0;
            return Values::plain(Fill::Constant(f64::from(u8::from(there))));
        }
        if let Some(variants) = self.variants(name) {
            let which = if self.tune.is_some() {
                0
            } else {
                rng.below(variants)
            };
            return Values::plain(Fill::Constant(which as f64));
        }
        let declared = self.declared(name, scalars);
        let fixed = declared.is_some();
        let fill = match declared {
            Some(fill) => declared_kind(self.kind, fill),
            None => scalar_fill(self.kind, elem, rng),
        };
        // A special in every second scalar only, or nothing else would be seen.
        let plain = fixed || (self.kind.is_special() && rng.below(4) != 0);
        self.with_specials(fill, elem, fixed, !plain)
    }

    /// The number of variants, if the parameter is an enum.
    fn variants(&self, name: &str) -> Option<u64> {
        let mut form = self.spec.signature.form.at(name)?.peeled();
        if let Form::Option(inner) = form {
            form = inner.peeled();
        }
        match form {
            Form::Enum { variants, .. } => Some(variants.len() as u64),
            _ => None,
        }
    }

    fn buffer(&self, i: usize, scalars: &[Option<Values>]) -> Values {
        let spec = self.spec;
        let param = &spec.signature.params[i];
        let elem = param.kind.elem();
        if let Some(bytes) = spec.given.get(&i) {
            return Values::plain(Fill::Given(bytes.clone()));
        }
        let fill = match self.declared(&param.name, scalars) {
            Some(fill) => Some(declared_kind(self.kind, fill)),
            None => self.index(i, scalars),
        };
        let fixed = fill.is_some();
        let fill = fill.unwrap_or_else(|| free_fill(self.kind, elem));
        let fill = match self.columns(i, &fill) {
            Some(columns) => columns,
            None => fill,
        };
        self.with_specials(fill, elem, fixed, true)
    }

    /// Indices into another buffer stay inside of it, but for one case in twelve: a function that checks them has to be
    /// seen checking.
    fn index(&self, i: usize, scalars: &[Option<Values>]) -> Option<Fill> {
        let name = &self.spec.signature.params[i].name;
        let (_, bound) = self.spec.indices.iter().find(|(known, _)| known == name)?;
        let bound = bound.eval(&|name| self.size(name, scalars))?;
        let mut rng = Rng::new(Rng::derive(self.seed, 0x1dece5 + i as u64));
        let outside = self.tune.is_none() && rng.below(12) == 0;
        Some(match self.kind {
            Kind::Zeros | Kind::Constant => Fill::Constant(0.0),
            _ => Fill::Uniform {
                lo: 0.0,
                hi: bound.max(1) as f64 + if outside { 2.0 } else { 0.0 },
                inclusive: false,
            },
        })
    }

    /// For slices of records of several types: `fill` where the numbers of this leaf's own type are.
    fn columns(&self, i: usize, fill: &Fill) -> Option<Fill> {
        let leaf = self.spec.leaves.get(i)?;
        let elem = leaf.kind.elem();
        let slice = leaf.name.strip_suffix(&format!(".{elem}"))?;
        let records = match self.spec.signature.form.at(slice)?.peeled() {
            Form::Slice(elem) | Form::Vec(elem) | Form::Boxed(elem) | Form::Array(_, elem) => elem,
            _ => return None,
        };
        let layout = ElementLayout::of(records)?;
        if layout.views().len() < 2 || matches!(fill, Fill::Columns { rest: None, .. }) {
            return None;
        }
        let (known, rest) = match fill {
            Fill::Columns { parts, rest, .. } => (parts.clone(), rest.as_deref().cloned()),
            other => (Vec::new(), Some(other.clone())),
        };
        let mut parts: Vec<Column> = layout
            .fields
            .iter()
            .filter(|field| field.scalar == elem)
            .filter(|field| known.iter().all(|part| part.at != field.at()))
            .map(|field| Column {
                at: field.at(),
                count: field.count(),
                fill: rest.clone().unwrap_or(Fill::Constant(0.0)),
                above: None,
            })
            .collect();
        parts.extend(known);
        Some(Fill::Columns {
            stride: layout.size / elem.bytes() as u64,
            parts,
            rest: None,
        })
    }

    fn with_specials(&self, fill: Fill, elem: Scalar, fixed: bool, special: bool) -> Values {
        let signed = elem.is_float() || elem.is_signed();
        Values {
            fill,
            specials: match self.kind {
                Kind::OneSpecial if special => Specials::One,
                Kind::ManySpecials if special => Specials::Many,
                _ => Specials::None,
            },
            negate: self.kind == Kind::Negated && !fixed && signed,
        }
    }

    /// What the attribute's `inputs(..)` says, for these sizes.
    fn declared(&self, name: &str, scalars: &[Option<Values>]) -> Option<Fill> {
        let inputs = &self.spec.attribute.inputs;
        let (_, input) = inputs.iter().find(|(known, _)| known == name)?;
        self.fill(name, input, scalars)
    }

    fn fill(&self, name: &str, input: &InputSpec, scalars: &[Option<Values>]) -> Option<Fill> {
        let lookup = |dim: &str| self.size(dim, scalars);
        match input {
            InputSpec::Range { lo, hi, inclusive } => Some(Fill::Uniform {
                lo: *lo,
                hi: *hi,
                inclusive: *inclusive,
            }),
            InputSpec::DimRange { lo, hi } => Some(Fill::Uniform {
                lo: lo.eval(&lookup)? as f64,
                hi: hi.eval(&lookup)? as f64,
                inclusive: false,
            }),
            InputSpec::Set(values) => Some(Fill::Pick(values.clone())),
            InputSpec::Sorted(inner) => {
                Some(Fill::Sorted(Box::new(self.fill(name, inner, scalars)?)))
            }
            InputSpec::Permutation => Some(Fill::Permutation),
            InputSpec::Offset {
                base: OffsetBase::Input(base),
                lo,
                hi,
                inclusive,
            } => Some(Fill::Above {
                base: Box::new(self.base(base, scalars)?),
                lo: *lo,
                hi: *hi,
                inclusive: *inclusive,
            }),
            InputSpec::Columns { stride, parts } => {
                let elem = self.spec.signature.param(name)?.kind.elem();
                let part = |(at, count, spec): &(u64, u64, InputSpec)| {
                    let (fill, above) = match spec {
                        InputSpec::Offset {
                            base: OffsetBase::Column(base),
                            lo,
                            hi,
                            inclusive,
                        } => {
                            let difference = Fill::Uniform {
                                lo: *lo,
                                hi: *hi,
                                inclusive: *inclusive,
                            };
                            (difference, Some(*base))
                        }
                        spec => (self.fill(name, spec, scalars)?, None),
                    };
                    Some(Column {
                        at: *at,
                        count: *count,
                        fill,
                        above,
                    })
                };
                Some(Fill::Columns {
                    stride: *stride,
                    parts: parts.iter().map(part).collect::<Option<_>>()?,
                    rest: Some(Box::new(free_fill(self.kind, elem))),
                })
            }
            InputSpec::Offset { .. } | InputSpec::Expr(_) => None,
        }
    }

    /// Another parameter whose values a fill refers to. It must not depend on a third one.
    fn base(&self, name: &str, scalars: &[Option<Values>]) -> Option<Base> {
        let spec = self.spec;
        let at = spec
            .signature
            .params
            .iter()
            .position(|param| param.name == name)?;
        let values = match scalars.get(at)?.clone() {
            Some(values) => values,
            None => {
                let inputs = &spec.attribute.inputs;
                let declared = inputs.iter().find(|(known, _)| known == name);
                if matches!(declared, Some((_, InputSpec::Offset { .. }))) {
                    return None;
                }
                self.buffer(at, scalars)
            }
        };
        Some(Base {
            values,
            seed: Rng::derive(self.seed, at as u64),
            len: spec.len(at, self.dims)?,
        })
    }
}

/// A declared range is kept under every kind; constants are taken from inside it.
fn declared_kind(kind: Kind, fill: Fill) -> Fill {
    match (kind, fill) {
        (Kind::Zeros | Kind::Constant, Fill::Uniform { lo, .. }) => Fill::Constant(lo),
        (Kind::Zeros | Kind::Constant, Fill::Pick(values)) => {
            Fill::Constant(values.first().copied().unwrap_or(0.0))
        }
        (_, fill) => fill,
    }
}

fn free_fill(kind: Kind, elem: Scalar) -> Fill {
    let scale = if elem.is_float() { 1.0 } else { 16.0 };
    match kind {
        Kind::Plain | Kind::Negated | Kind::OneSpecial | Kind::ManySpecials => Fill::Bell { scale },
        Kind::Large => Fill::Bell { scale: 1e3 * scale },
        Kind::Small => Fill::Bell {
            scale: 1e-3 * scale,
        },
        Kind::Positive if elem.is_float() => Fill::Uniform {
            lo: 0.0,
            hi: 1.0,
            inclusive: false,
        },
        Kind::Positive => Fill::Uniform {
            lo: 0.0,
            hi: 100.0,
            inclusive: false,
        },
        Kind::Wide => Fill::Bits,
        Kind::Zeros => Fill::Constant(0.0),
        Kind::Constant => Fill::Constant(if elem.is_float() { 0.37 } else { 3.0 }),
        Kind::Subnormal => Fill::Subnormal,
    }
}

/// Scalars are parameters of an algorithm more often than data: they start from values that make sense as such.
fn scalar_fill(kind: Kind, elem: Scalar, rng: &mut Rng) -> Fill {
    match kind {
        Kind::Wide | Kind::Zeros | Kind::Large | Kind::Small => free_fill(kind, elem),
        _ if elem.is_float() => match rng.below(3) {
            0 => Fill::Bell { scale: 1.0 },
            _ => Fill::Pick(vec![1e-5, 0.5, 1.0, 2.0, 1.5, 0.1, 3.0]),
        },
        Kind::Negated => Fill::Bell { scale: 4.0 },
        _ => Fill::Uniform {
            lo: 0.0,
            hi: 8.0,
            inclusive: false,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pragma_spec::form::{FlattenPlace, Instance, NoTypes, SignatureForm};
    use pragma_spec::{DimExpr, KernelAttribute, KernelSignature, Shape};

    fn spec_of(signature: KernelSignature, attribute: &str, dims: &[&str]) -> KernelSpec {
        let attribute =
            KernelAttribute::parse(attribute.parse().expect("tokens")).expect("is an attribute");
        let attribute = attribute
            .resolve(&signature, &|_| None)
            .unwrap_or_else(|error| panic!("{}", error.message));
        let shapes: Vec<(String, Shape)> = attribute.shapes.clone();
        let dims: Vec<String> = dims.iter().map(|d| (*d).to_owned()).collect();
        KernelSpec::new(signature, attribute, &dims, shapes, String::new(), None)
            .expect("dims are determined")
    }

    fn spec(text: &str, attribute: &str, dims: &[&str]) -> KernelSpec {
        let item: syn::ItemFn = syn::parse_str(text).expect("parses");
        let nothing = std::collections::BTreeSet::new();
        let place = FlattenPlace {
            module: &[],
            owner: None,
            instance: &Instance::default(),
            lookup: &NoTypes,
            written: &nothing,
            unread: &nothing,
        };
        let signature = KernelSignature::flatten(&item.sig, &place).expect("is supported");
        spec_of(signature, attribute, dims)
    }

    fn draw(spec: &KernelSpec, dims: &[u64], seed: u64) -> Drawn {
        let drawing = Drawing {
            spec,
            kind: Kind::Plain,
            dims,
            tune: None,
            seed,
        };
        drawing.draw().expect("shapes fit")
    }

    #[test]
    fn options_come_both_ways() {
        let spec = spec(
            "fn f(x: &[f32], bias: Option<&[f32]>, k: Option<f32>, out: &mut [f32]) {}",
            "shape(x = [n], bias = [n], out = [n])",
            &["n"],
        );
        let names: Vec<&str> = spec
            .signature
            .params
            .iter()
            .map(|p| p.name.as_str())
            .collect();
        assert_eq!(
            names,
            ["x", "bias.is_some", "bias", "k.is_some", "k", "out"]
        );
        let mut seen = [0; 2];
        for seed in 0..60 {
            let drawn = draw(&spec, &[5], seed);
            let there = drawn.values[1].fill != Fill::Constant(0.0);
            seen[usize::from(there)] += 1;
            assert_eq!(drawn.lens[2], if there { 5 } else { 0 });
            assert_eq!(drawn.lens[4], 1);
            let all = there && drawn.values[3].fill != Fill::Constant(0.0);
            assert_eq!(drawn.absent, !all);
        }
        assert!(seen[0] > 3 && seen[1] > 20, "{seen:?}");
    }

    #[test]
    fn scalars_keep_conditions_and_follow_others() {
        let spec = spec(
            "fn f(x: &[f32], period: usize, twice: usize, out: &mut [f32]) {}",
            "shape(x = [n], out = [n]), inputs(period = 2..=64, twice = 2 * period, n >= period)",
            &["n"],
        );
        for seed in 0..40 {
            let drawn = draw(&spec, &[30], seed);
            let value = |i: usize| match drawn.values[i].fill {
                Fill::Constant(value) => value,
                ref other => panic!("{other:?}"),
            };
            assert!((2.0..=30.0).contains(&value(1)), "{}", value(1));
            assert_eq!(value(2), 2.0 * value(1));
        }
    }

    #[test]
    fn indices_stay_inside_by_default() {
        let mut spec = spec(
            "fn f(x: &[f32], idx: &[u32], out: &mut [f32]) {}",
            "shape(x = [v, d], idx = [n], out = [n, d])",
            &["v", "d", "n"],
        );
        spec.indices = vec![("idx".to_owned(), DimExpr::dim("v"))];
        let mut outside = 0;
        for seed in 0..100 {
            match draw(&spec, &[7, 2, 3], seed).values[1].fill {
                Fill::Uniform { lo, hi, .. } if lo == 0.0 && hi == 7.0 => {}
                Fill::Uniform { lo, hi, .. } if lo == 0.0 && hi == 9.0 => outside += 1,
                ref other => panic!("{other:?}"),
            }
        }
        assert!((1..30).contains(&outside), "{outside}");
    }

    #[test]
    fn records_of_two_types_share_their_memory() {
        let lines = [
            "param w: &slice struct crate::Block { d: f32, qs: array 4 i8 }",
            "param out: &mut slice f32",
            "return unit",
        ];
        let form = SignatureForm::parse_lines(&lines).expect("a form");
        let signature = KernelSignature::from_form("f".to_owned(), form).expect("leaves");
        let spec = spec_of(
            signature,
            "shape(w = [n], out = [n]), inputs(w.d = 0.5..1.0, w.qs = -3..=3)",
            &["n"],
        );
        let drawn = draw(&spec, &[6], 3);
        assert_eq!(drawn.lens, [12, 48, 6]);
        let case = crate::verify::cases::tuning(&spec, &TuneSize::default(), 1);
        assert!(case.is_none(), "`n` has no value");
        let args: Vec<_> = (0..3).map(|i| spec.view_of(i)).collect();
        assert_eq!(args, [None, Some(0), None]);
        // What a worker makes of it: first the numbers of one type, then those of the other over them.
        let mut bytes = vec![0; 48];
        for i in 0..2 {
            let elem = spec.signature.params[i].kind.elem();
            crate::inputs::fill(&mut bytes, elem, &drawn.values[i], 9 + i as u64);
        }
        for block in bytes.chunks_exact(8) {
            let d = f32::from_ne_bytes([block[0], block[1], block[2], block[3]]);
            assert!((0.5..1.0).contains(&d), "{d}");
            assert!(block[4..].iter().all(|b| (-3..=3).contains(&(*b as i8))));
        }
    }
}
