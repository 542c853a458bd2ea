//! One copy of a vector loop's body: statements as vector code.
//!
//! Owns if-conversion: a branch whose condition differs between lanes runs both sides under
//! masks. Which copies a loop needs is `vector_loop`'s business.

use pragma_spec::Scalar;

use crate::analyze::reduce::Reduction;
use crate::ir::{BufId, Expr, Stmt, StoreHint, VarId};

use super::lines::Lines;
use super::vector::{Lanes, Value, vector_type};

/// How one copy of the body is written.
pub(super) struct Copy<'a> {
    /// Text of the index of lane 0, for the counter.
    pub index: &'a str,
    /// Suffix of accumulator names: `[u]`, `[0]` or nothing.
    pub slot: &'a str,
    /// The number of lanes that are there, if not all.
    pub partial: Option<&'a str>,
    /// The buffer whose store is aligned here and may stream.
    pub stream: Option<BufId>,
}

/// One copy of a loop body being written.
pub(super) struct Body<'a> {
    pub reductions: &'a [Reduction],
    pub copy: &'a Copy<'a>,
    /// Text of the first value of the counter.
    pub lo: &'a str,
}

impl Body<'_> {
    /// Writes `body`; with a mask, only its lanes take effect.
    pub fn block(
        &mut self,
        lanes: &mut Lanes<'_>,
        out: &mut Lines,
        body: &[Stmt],
        mask: Option<&str>,
    ) -> Result<(), String> {
        body.iter()
            .try_for_each(|stmt| self.stmt(lanes, out, stmt, mask))
    }

    fn stmt(
        &mut self,
        lanes: &mut Lanes<'_>,
        out: &mut Lines,
        stmt: &Stmt,
        mask: Option<&str>,
    ) -> Result<(), String> {
        let program = lanes.native.program;
        match stmt {
            Stmt::Let { var, value } => {
                let decl = program.var(*var);
                if decl.scalar == Scalar::Usize && !decl.mutable && lanes.stride(value).is_some() {
                    if !lanes.is_uniform(value) {
                        lanes.linear.insert(*var);
                    }
                    out.line(format!("let {} = {};", decl.name, lanes.native.text(value)));
                    lanes.native.scope.define(program, *var, value);
                    return Ok(());
                }
                let (keyword, text) = match (lanes.value(value)?, decl.mutable) {
                    (Value::Uniform(text), false) => {
                        out.line(format!("let {}: {} = {text};", decl.name, decl.scalar));
                        return Ok(());
                    }
                    (_, mutable) => (if mutable { "let mut" } else { "let" }, lanes.lanes(value)?),
                };
                lanes.varying.insert(*var);
                out.line(format!("{keyword} {} = {text};", decl.name));
                Ok(())
            }
            Stmt::Assign { var, value } => {
                let scalar = program.var(*var).scalar;
                let name = lanes.native.var(*var);
                let text = lanes.lanes(value)?;
                let text = match mask {
                    Some(mask) => lanes.blend(scalar, mask, &text, &name)?,
                    None => text,
                };
                out.line(format!("{name} = {text};"));
                Ok(())
            }
            Stmt::Store {
                buf,
                index,
                value,
                hint,
            } => {
                lanes.require_proven(*buf, index)?;
                if !lanes.is_contiguous(index) {
                    return Err(format!(
                        "`{}` is not written at consecutive elements",
                        program.buf(*buf).name
                    ));
                }
                let elem = program.buf(*buf).elem;
                if elem == Scalar::Bool {
                    return Err("vectors of `bool` in memory are not written yet".to_owned());
                }
                let suffix = match elem {
                    Scalar::I8 | Scalar::U8 | Scalar::I16 | Scalar::U16 => format!("_{elem}"),
                    _ => String::new(),
                };
                let mut place = lanes.native.place(*buf, index);
                if matches!(elem, Scalar::Usize | Scalar::Isize) {
                    place = format!("{place}.cast()");
                }
                let value = lanes.lanes(value)?;
                let conditional = mask.filter(|mask| *mask != "there");
                let line = match (conditional, &self.copy.partial) {
                    (Some(_), _) if !suffix.is_empty() => {
                        return Err(format!("there is no masked store of `{elem}` yet"));
                    }
                    (Some(mask), _) => format!("{value}.store_masked({place}, {mask});"),
                    (None, Some(n)) => format!("{value}.store{suffix}_partial({place}, {n});"),
                    (None, None)
                        if *hint == StoreHint::Stream && self.copy.stream == Some(*buf) =>
                    {
                        format!("{value}.stream({place});")
                    }
                    (None, None) => format!("{value}.store{suffix}({place});"),
                };
                out.line(line);
                Ok(())
            }
            Stmt::Prefetch { buf, index } => {
                let elem = program.buf(*buf).elem;
                let vector = vector_type(elem).filter(|_| elem.bytes() >= 4);
                // The remainder of a loop is too little to pay.
                if let (Some(vector), None) = (vector, &self.copy.partial)
                    && lanes.is_contiguous(index)
                {
                    lanes.types.insert(vector);
                    let name = &program.buf(*buf).name;
                    let cast = match elem {
                        Scalar::Usize | Scalar::Isize => ".cast()",
                        _ => "",
                    };
                    out.line(format!(
                        "{vector}::prefetch({name}.wrapping_add({}){cast});",
                        lanes.native.text(index)
                    ));
                }
                Ok(())
            }
            Stmt::If {
                cond,
                then,
                otherwise,
            } => {
                if let Some(Reduction::Arg { best, with, .. }) = Self::arg_of(self.reductions, cond)
                {
                    return self.arg_step(lanes, out, cond, (*best, with), then, mask);
                }
                if lanes.is_uniform(cond) {
                    out.open(format!("if {} {{", lanes.native.text(cond)));
                    self.block(lanes, out, then, mask)?;
                    if !otherwise.is_empty() {
                        out.reopen("} else {");
                        self.block(lanes, out, otherwise, mask)?;
                    }
                    out.close("}");
                    return Ok(());
                }
                self.branch(lanes, out, cond, then, otherwise, mask)
            }
            _ => Err("the body holds a statement that vectors cannot do".to_owned()),
        }
    }

    /// Runs both sides of a branch under masks.
    fn branch(
        &mut self,
        lanes: &mut Lanes<'_>,
        out: &mut Lines,
        cond: &Expr,
        then: &[Stmt],
        otherwise: &[Stmt],
        mask: Option<&str>,
    ) -> Result<(), String> {
        lanes.types.insert("Mask");
        let holds = lanes.lanes(cond)?;
        // With stores below, lanes that are not there must not be written either.
        let around = match (mask, &self.copy.partial) {
            (Some(mask), _) => Some(mask.to_owned()),
            (None, Some(n)) => Some(format!("Mask::first({n})")),
            (None, None) => None,
        };
        let depth = match mask {
            Some("there") | None => String::new(),
            Some(outer) => format!("{outer}_"),
        };
        let (yes, no) = (format!("{depth}holds"), format!("{depth}fails"));
        out.open("{");
        out.line(format!("let {yes} = {holds};"));
        let both = |side: String| match &around {
            Some(around) => format!("{side}.and({around})"),
            None => side,
        };
        if !otherwise.is_empty() {
            out.line(format!("let {no} = {};", both(format!("{yes}.not()"))));
        }
        if around.is_some() {
            out.line(format!("let {yes} = {};", both(yes.clone())));
        }
        self.block(lanes, out, then, Some(&yes))?;
        if !otherwise.is_empty() {
            self.block(lanes, out, otherwise, Some(&no))?;
        }
        out.close("}");
        Ok(())
    }

    fn arg_of<'r>(reductions: &'r [Reduction], cond: &Expr) -> Option<&'r Reduction> {
        reductions.iter().find(|reduction| match reduction {
            Reduction::Arg { best, .. } => cond.mentions(*best),
            Reduction::Plain { .. } => false,
        })
    }

    fn arg_step(
        &self,
        lanes: &mut Lanes<'_>,
        out: &mut Lines,
        cond: &Expr,
        reduction: (VarId, &[VarId]),
        then: &[Stmt],
        mask: Option<&str>,
    ) -> Result<(), String> {
        let (best, with) = reduction;
        let program = lanes.native.program;
        let candidate = then
            .iter()
            .find_map(|stmt| match stmt {
                Stmt::Assign { var, value } if *var == best => Some(value),
                _ => None,
            })
            .ok_or("an extreme that is not set")?;
        lanes.types.insert("Mask");
        lanes.types.insert("I32");
        let scalar = program.var(best).scalar;
        let holds = lanes.lanes(cond)?;
        let holds = match mask {
            Some(mask) => format!("{holds}.and({mask})"),
            None => holds,
        };
        out.line(format!("let wins = {holds};"));
        let value = lanes.lanes(candidate)?;
        let name = lanes.native.var(best);
        let blended = lanes.blend(scalar, "wins", &value, &name)?;
        out.line(format!("{name} = {blended};"));
        let Some(first) = with.first() else {
            return Ok(());
        };
        let at = lanes.native.var(*first);
        let offset = match self.lo {
            "0" => self.copy.index.to_owned(),
            lo => format!("({} - {lo})", self.copy.index),
        };
        out.line(format!(
            "{at} = wins.select_i32(I32::splat({offset} as i32).add(I32::iota()), {at});"
        ));
        Ok(())
    }
}
