//! Loads and stores of a vector loop: runs of neighbours, strides, gathers and scatters.
//!
//! Owns the choice of access and its checks. An access that analysis could not show to be in
//! bounds is checked for the lanes that take part before any of them is made.

use pragma_spec::Scalar;

use crate::ir::{BinaryOp, BufId, Expr, Stmt, StoreHint};

use super::vector::{Lanes, Outcome, is_narrow, vector_type};

/// Strides beyond this could leave the range of a gather's 32-bit offsets.
const LARGEST_STRIDE: i64 = 1 << 26;

/// How sure the bounds of an access are.
#[derive(Clone, Copy, PartialEq)]
enum Proof {
    /// In every iteration.
    Always,
    /// In the iterations that get there.
    Here,
    None,
}

impl Lanes<'_> {
    fn proof(&self, buf: BufId, index: &Expr) -> Proof {
        let (scope, program) = (&self.native.scope, self.native.program);
        if scope.is_in_bounds_always(program, buf, index) {
            Proof::Always
        } else if scope.is_in_bounds(program, buf, index) {
            Proof::Here
        } else {
            Proof::None
        }
    }

    /// Takes note of scalar loads in `expr` that are checked.
    pub fn note_checks(&mut self, expr: &Expr) {
        let mut checks = false;
        expr.walk(&mut |node| {
            if let Expr::Load { buf, index } = node {
                checks |= self.proof(*buf, index) == Proof::None;
            }
        });
        self.checks |= checks;
    }

    /// Whether `expr` holds an access that is safe only where a condition in front of it holds.
    fn is_risky(&self, expr: &Expr) -> bool {
        let mut risky = false;
        expr.walk(&mut |node| {
            if let Expr::Load { buf, index } = node {
                risky |=
                    !self.private.contains_key(buf) && self.proof(*buf, index) != Proof::Always;
            }
        });
        risky
    }

    /// Refuses a scalar access that not every lane asks for: none might.
    pub(super) fn require_reached(&mut self, expr: &Expr) -> Outcome<()> {
        self.note_checks(expr);
        if self.guarded && self.is_risky(expr) {
            return Err("an access that all lanes share is guarded in each of them".to_owned());
        }
        Ok(())
    }

    /// The lanes of `expr`, which is evaluated only where `cond` holds (or does not).
    pub(super) fn guarded(&mut self, cond: &Expr, holds: bool, expr: &Expr) -> Outcome<String> {
        if !self.is_risky(expr) {
            return self.lanes(expr);
        }
        let (mask, guarded) = (self.mask.clone(), self.guarded);
        let scope = self.native.scope.clone();
        let program = self.native.program;
        if self.is_uniform(cond) {
            self.native.scope = scope.given(program, cond, holds);
            let text = self.lanes(expr)?;
            self.native.scope = scope;
            // `&` and `|` do not look at the right side either where the left one decides.
            let (test, other) = (self.native.text(cond), !holds);
            if self.scalar(expr) != Scalar::Bool {
                return Ok(text);
            }
            self.types.insert("Mask");
            let test = if holds { test } else { format!("!({test})") };
            return Ok(format!(
                "(if {test} {{ {text} }} else {{ Mask::splat({other}) }})"
            ));
        }
        let mut on = self.lanes(cond)?;
        if !holds {
            on = format!("{on}.not()");
        }
        if let Some(around) = self.on() {
            on = format!("{on}.and({around})");
        }
        self.native.scope = scope.given_in_lanes(program, cond, holds);
        self.mask = Some(on);
        self.guarded = true;
        let text = self.lanes(expr);
        self.native.scope = scope;
        self.mask = mask;
        self.guarded = guarded;
        text
    }

    /// The lanes that take part here, as a mask, if not all do.
    fn on(&mut self) -> Option<String> {
        if let Some(mask) = &self.mask {
            return Some(mask.clone());
        }
        let partial = self.partial.clone()?;
        self.types.insert("Mask");
        Some(format!("Mask::first({partial})"))
    }

    fn all_on(&mut self) -> String {
        let on = self.on();
        self.types.insert("Mask");
        on.unwrap_or_else(|| "Mask::splat(true)".to_owned())
    }

    /// A place whose neighbours the lanes access, one each.
    fn run(&mut self, buf: BufId, index: &Expr, proof: Proof) -> String {
        if proof != Proof::None {
            return self.native.place(buf, index);
        }
        // The lanes are neighbours: the first and the last one tell.
        let name = self.native.program.buf(buf).name.clone();
        let lanes = self.partial.clone().unwrap_or_else(|| "LANES".to_owned());
        let index = self.native.text(index);
        self.checks_runs = true;
        format!("{name}.add(checked_run({index}, {lanes}, {name}_len))")
    }

    pub(super) fn load(&mut self, buf: BufId, index: &Expr) -> Outcome<String> {
        if let Some(names) = self.private.get(&buf) {
            if !self.is_uniform(index) {
                return Err(format!(
                    "`{}` is read at a different element in each lane",
                    self.native.program.buf(buf).name
                ));
            }
            return Ok(format!("{}[{}]", names[self.copy], self.native.text(index)));
        }
        let elem = self.native.program.buf(buf).elem;
        let stride = self.stride(index);
        let proof = self.proof(buf, index);
        if stride == Some(1) && (proof == Proof::Always || self.mask.is_none()) {
            let place = self.run(buf, index, proof);
            return self.load_run(elem, &place);
        }
        if stride == Some(1) && proof == Proof::Here && !is_narrow(elem) && elem != Scalar::Bool {
            let vector = self.vector(elem)?;
            let place = self.cast_place(elem, self.native.place(buf, index));
            let mask = self.all_on();
            return Ok(format!("{vector}::load_masked({place}, {mask})"));
        }
        self.gather(buf, index, stride, proof)
    }

    fn load_run(&mut self, elem: Scalar, place: &str) -> Outcome<String> {
        let partial = self.partial.clone();
        let (end, count) = match &partial {
            None => ("", String::new()),
            Some(n) => ("_partial", format!(", {n}")),
        };
        if elem == Scalar::Bool {
            self.types.insert("I32");
            self.types.insert("Mask");
            return Ok(format!(
                "I32::load_u8{end}({place}.cast(){count}).ne(I32::zero())"
            ));
        }
        let vector = self.vector(elem)?;
        let suffix = if is_narrow(elem) {
            format!("_{elem}")
        } else {
            String::new()
        };
        let place = self.cast_place(elem, place.to_owned());
        Ok(format!("{vector}::load{suffix}{end}({place}{count})"))
    }

    /// Sizes are loaded as the 64-bit integers that they are.
    fn cast_place(&self, elem: Scalar, place: String) -> String {
        if matches!(elem, Scalar::Usize | Scalar::Isize) {
            format!("{place}.cast()")
        } else {
            place
        }
    }

    fn gather(
        &mut self,
        buf: BufId,
        index: &Expr,
        stride: Option<i64>,
        proof: Proof,
    ) -> Outcome<String> {
        if proof == Proof::Always && self.mask.is_some() {
            // Where no lane can do harm, all load: the same load elsewhere is then the same.
            let mask = self.mask.take();
            let text = self.gather(buf, index, stride, proof);
            self.mask = mask;
            return text;
        }
        let program = self.native.program;
        let elem = program.buf(buf).elem;
        if elem == Scalar::Bool {
            return Err("there is no gather of `bool` yet".to_owned());
        }
        let vector = self.vector(elem)?;
        if let Some(stride @ 2..=4) = stride
            && matches!(elem, Scalar::U8 | Scalar::I8)
            && proof != Proof::None
            && self.on().is_none()
        {
            let place = self.native.place(buf, index);
            return Ok(format!("{vector}::load_{elem}_every{stride}({place})"));
        }
        let near = stride.filter(|stride| (-LARGEST_STRIDE..=LARGEST_STRIDE).contains(stride));
        if let Some(stride) = near
            && !is_narrow(elem)
            && (proof == Proof::Always || proof == Proof::Here && self.mask.is_none())
        {
            self.types.insert("I32");
            let place = self.cast_place(elem, self.native.place(buf, index));
            let offsets = format!("I32::iota().mul(I32::splat({stride}))");
            return Ok(match self.on() {
                None => format!("{vector}::gather({place}, {offsets})"),
                Some(on) => format!("{vector}::gather_masked({place}, {offsets}, {on})"),
            });
        }
        if let Some((base, offset)) = self.short_offset(index)
            && !is_narrow(elem)
            && proof != Proof::None
        {
            let name = &program.buf(buf).name;
            // Every part of a sum that stays in bounds is itself within them.
            let place = match base {
                Some(base) => format!("{name}.add({})", self.native.text(&base)),
                None => name.clone(),
            };
            let place = self.cast_place(elem, place);
            let offsets = self.lanes(&offset)?;
            let offsets = match vector_type(self.scalar(&offset)) {
                Some("I32") => offsets,
                _ => format!("{offsets}.to_i32()"),
            };
            return Ok(match self.on() {
                None => format!("{vector}::gather({place}, {offsets})"),
                Some(on) => format!("{vector}::gather_masked({place}, {offsets}, {on})"),
            });
        }
        let indices = self.indices(buf, index, proof)?;
        let name = self.cast_place(elem, program.buf(buf).name.clone());
        let on = self.all_on();
        let suffix = if is_narrow(elem) {
            format!("_{elem}")
        } else {
            String::new()
        };
        Ok(format!(
            "{vector}::gather{suffix}_at({name}, {indices}, {on})"
        ))
    }

    /// An index as something uniform plus lanes of at most 16 bits, whose value fits a gather's
    /// offset whatever it is.
    fn short_offset(&self, index: &Expr) -> Option<(Option<Expr>, Expr)> {
        match index {
            Expr::Cast(Scalar::Usize, value)
                if matches!(self.scalar(value), Scalar::U8 | Scalar::U16) =>
            {
                Some((None, (**value).clone()))
            }
            Expr::Binary(BinaryOp::Add, a, b) => {
                let (uniform, rest) = match (self.is_uniform(a), self.is_uniform(b)) {
                    (true, false) => (a, b),
                    (false, true) => (b, a),
                    _ => return None,
                };
                let (base, offset) = self.short_offset(rest)?;
                let base = match base {
                    None => (**uniform).clone(),
                    Some(base) => Expr::binary(BinaryOp::Add, (**uniform).clone(), base),
                };
                Some((Some(base), offset))
            }
            _ => None,
        }
    }

    /// The index of every lane, checked if it has to be.
    fn indices(&mut self, buf: BufId, index: &Expr, proof: Proof) -> Outcome<String> {
        self.types.insert("U64");
        let text = self.lanes(index)?;
        if proof != Proof::None {
            return Ok(text);
        }
        let name = self.native.program.buf(buf).name.clone();
        let on = self.all_on();
        Ok(format!("{text}.checked({name}_len, {on})"))
    }

    /// A store as a statement; with a mask, only its lanes are written.
    pub(super) fn store(
        &mut self,
        stmt: &Stmt,
        mask: Option<&str>,
        stream: Option<BufId>,
    ) -> Outcome<String> {
        let Stmt::Store {
            buf,
            index,
            value,
            hint,
        } = stmt
        else {
            return Err("not a store".to_owned());
        };
        let program = self.native.program;
        let decl = program.buf(*buf);
        let elem = decl.elem;
        if let Some(names) = self.private.get(buf) {
            if !self.is_uniform(index) {
                return Err(format!(
                    "`{}` is written at a different element in each lane",
                    decl.name
                ));
            }
            let place = format!("{}[{}]", names[self.copy], self.native.text(index));
            let value = self.lanes(value)?;
            let value = match mask {
                Some(mask) => self.blend(elem, mask, &value, &place)?,
                None => value,
            };
            return Ok(format!("{place} = {value};"));
        }
        let proof = self.proof(*buf, index);
        let suffix = if is_narrow(elem) {
            format!("_{elem}")
        } else {
            String::new()
        };
        let mut value = self.lanes(value)?;
        let mut suffix = suffix;
        if elem == Scalar::Bool {
            self.types.insert("I32");
            value = format!("{value}.select_i32(I32::splat(1), I32::zero())");
            suffix = "_u8".to_owned();
        }
        let cast = |place: String| match elem {
            Scalar::Usize | Scalar::Isize | Scalar::Bool => format!("{place}.cast()"),
            _ => place,
        };
        if self.stride(index) == Some(1) && (mask.is_none() || proof != Proof::None) {
            let place = cast(self.run(*buf, index, proof));
            return Ok(match (mask, &self.partial) {
                (Some(mask), _) => format!("{value}.store{suffix}_masked({place}, {mask});"),
                (None, Some(n)) => format!("{value}.store{suffix}_partial({place}, {n});"),
                (None, None) if *hint == StoreHint::Stream && stream == Some(*buf) => {
                    format!("{value}.stream({place});")
                }
                (None, None) => format!("{value}.store{suffix}({place});"),
            });
        }
        let indices = self.indices(*buf, index, proof)?;
        let on = match mask {
            Some(mask) => mask.to_owned(),
            None => self.all_on(),
        };
        let name = cast(decl.name.clone());
        Ok(format!(
            "{value}.scatter{suffix}_at({name}, {indices}, {on});"
        ))
    }
}
