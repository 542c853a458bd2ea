//! The end of a pass: types settled, sizes named, and what nobody uses taken out.

use std::collections::{BTreeMap, BTreeSet};

use pragma_spec::{Scalar, Shape};
use proc_macro2::Span;

use super::cleanup::{
    compact, drop_dead, edit_exprs, edit_stmts, fold_temporaries, freeze, retain,
};
use super::error::{Interrupt, Unliftable};
use super::fold;
use super::polish::{drop_proven_panics, merge_selects, propagate_copies, unwrap_single_rounds};
use super::poly::Poly;
use super::reader::Reader;
use super::shapes::Origin;
use super::{Lifted, function};
use crate::ir::{BufId, BufRole, Expr, Param, Program, Stmt, VarId};

/// Turns a finished pass into its result.
#[expect(clippy::result_large_err, reason = "as for `lift`")]
pub(super) fn finish(mut reader: Reader<'_>) -> Result<Lifted, Unliftable> {
    let result = finish_inner(&mut reader);
    result.map_err(|interrupt| match interrupt {
        Interrupt::Refuse(refusal) => *refusal,
        Interrupt::Refine(_) => Unliftable {
            span: function::whole_span(&reader.request),
            message: "the lengths of the slices do not settle".to_owned(),
            why: "a kernel needs to know how the lengths of its slices relate".to_owned(),
            help: "write the shapes in the attribute: `shape(x = [rows, d], ..)`".to_owned(),
        },
    })
}

fn finish_inner(reader: &mut Reader<'_>) -> Result<Lifted, Interrupt> {
    let body = reader.blocks.pop().unwrap_or_default();
    reader.program.body = body;
    one_result(reader);
    settle_types(reader)?;
    drop_proven_panics(reader);
    drop_needless_fills(reader);
    propagate_copies(&mut reader.program);
    super::best::carry_best_values(reader);
    let shapes = name_sizes(reader)?;
    let program = &mut reader.program;
    drop_dead(program);
    unwrap_single_rounds(&mut program.body);
    merge_selects(&mut program.body);
    propagate_copies(program);
    fold_temporaries(program, &reader.temporaries, &reader.open_casts);
    drop_dead(program);
    freeze(program);
    super::hoist::trim_declines(&mut program.body);
    super::assertions::hoist_assertions(program);
    if !super::hoist::hoist_declines(program) {
        let span = reader.request.function.sig.ident.span();
        return Err(reader.refuse(
            span,
            "the function may fail after it has written something",
            "a kernel hands a call that fails over to the reference, which must find all \
             arguments as they were",
            "check everything that can fail before the first write",
        ));
    }
    drop_dead(program);
    compact(program);
    // rustc has accepted the function, so what it was read as should be well-formed too; where
    // it is not, something was misread.
    if let Err(errors) = crate::ir::verify::verify(program) {
        let first = errors.first().map(ToString::to_string).unwrap_or_default();
        let span = reader.request.function.sig.ident.span();
        return Err(reader.refuse(
            span,
            "the function was not understood",
            format!("the loop nest read from it is not well-formed: {first}"),
            "please report this function; until then leave it to the reference",
        ));
    }
    let dependencies = std::mem::take(&mut reader.dependencies)
        .into_iter()
        .collect();
    Ok(Lifted {
        program: std::mem::take(&mut reader.program),
        shapes,
        dependencies,
        swaps: std::mem::take(&mut reader.swaps),
        notes: std::mem::take(&mut reader.notes),
    })
}

/// The results of all versions of the body are one.
fn one_result(reader: &mut Reader<'_>) {
    for (from, to) in std::mem::take(&mut reader.same_result) {
        let both = reader.complete.contains(&from) && reader.complete.contains(&to);
        if !both {
            reader.complete.remove(&to);
        }
        reader.types.unify(reader.elem_ty(from), reader.elem_ty(to));
        reader.local_lens.remove(&from);
        edit_stmts(&mut reader.program.body, &mut |stmt| match stmt {
            Stmt::Store { buf, .. } | Stmt::Alloc { buf, .. } if *buf == from => *buf = to,
            _ => {}
        });
        edit_exprs(&mut reader.program.body, &mut |expr| match expr {
            Expr::Load { buf, index } if buf == from => Expr::Load { buf: to, index },
            other => other,
        });
    }
}

/// A returned `Vec` that is filled element by element needs no first filling.
fn drop_needless_fills(reader: &mut Reader<'_>) {
    for returned in reader.program.returns.buffers() {
        if reader.complete.contains(&returned) {
            let mut body = std::mem::take(&mut reader.program.body);
            retain(
                &mut body,
                &mut |stmt| !matches!(stmt, Stmt::Alloc { buf, .. } if *buf == returned),
            );
            reader.program.body = body;
        }
    }
}

/// Literals become constants, variables and buffers get their types.
fn settle_types(reader: &mut Reader<'_>) -> Result<(), Interrupt> {
    let unsettled = |reader: &Reader<'_>, span: Span, what: &str| {
        reader.refuse(
            span,
            format!("the type of {what} is not known"),
            "nothing that was read says what it is",
            "write its type",
        )
    };
    let name_span = reader.request.function.sig.ident.span();
    // Literals that `sum` and the like start from default as their items do.
    let mut constants = Vec::with_capacity(reader.literals.len());
    for (literal, ty, span) in &reader.literals {
        let scalar = reader.types.settled(*ty);
        constants.push(match scalar {
            Some(scalar) => match Reader::constant(literal, scalar) {
                Some(value) => Ok(Expr::Const(value)),
                None => Err((*span, format!("this literal, as `{scalar}`,"))),
            },
            None => Err((*span, "this literal".to_owned())),
        });
    }
    let vars: Vec<Option<Scalar>> = reader
        .var_ty
        .iter()
        .map(|ty| reader.types.settled(*ty))
        .collect();
    let bufs: Vec<Option<Scalar>> = reader
        .buf_ty
        .iter()
        .map(|ty| reader.types.settled(*ty))
        .collect();
    let mut failure = None;
    let mut body = std::mem::take(&mut reader.program.body);
    let casts: BTreeSet<VarId> = reader.open_casts.iter().copied().collect();
    {
        let reader = &*reader;
        edit_exprs(&mut body, &mut |expr| {
            if let Some((_, _, _)) = reader.as_literal(&expr)
                && let Expr::Var(var) = &expr
            {
                let index = (var.0 - (1 << 30)) as usize;
                return match &constants[index] {
                    Ok(value) => value.clone(),
                    Err(error) => {
                        failure.get_or_insert(error.clone());
                        expr
                    }
                };
            }
            expr
        });
    }
    if let Some((span, what)) = failure {
        return Err(unsettled(reader, span, &what));
    }
    for (i, scalar) in vars.iter().enumerate() {
        let decl = &mut reader.program.vars[i];
        match scalar {
            Some(scalar) => decl.scalar = *scalar,
            None => {
                let what = format!("`{}`", decl.name);
                return Err(unsettled(reader, name_span, &what));
            }
        }
    }
    for (i, scalar) in bufs.iter().enumerate() {
        let decl = &mut reader.program.bufs[i];
        match scalar {
            Some(scalar) => decl.elem = *scalar,
            None => {
                let what = format!("the elements of `{}`", decl.name);
                return Err(unsettled(reader, name_span, &what));
            }
        }
    }
    // Counters whose type was open: cast where they are not `usize` after all.
    edit_stmts(&mut body, &mut |stmt| {
        if let Stmt::Let { var, value } = stmt
            && casts.contains(var)
            && let Some(Some(scalar)) = vars.get(var.0 as usize)
        {
            let inner = std::mem::replace(value, Expr::index(0));
            *value = fold::cast(*scalar, Some(Scalar::Usize), inner);
        }
    });
    reader.program.body = body;
    Ok(())
}

/// Decides which sizes are dimensions of the program, names them, and gives shapes to buffers.
fn name_sizes(reader: &mut Reader<'_>) -> Result<Vec<(String, Shape)>, Interrupt> {
    let params: Vec<String> = reader
        .request
        .signature
        .params
        .iter()
        .map(|param| param.name.clone())
        .collect();
    reader.table.name_all(&params);
    let name_span = reader.request.function.sig.ident.span();
    // Lengths of buffers, then of the result.
    let mut lens: Vec<(String, Poly, Option<Shape>, Option<BufId>)> = Vec::new();
    for (index, buf) in reader.table.bufs.iter().enumerate() {
        let id = reader
            .buf_params
            .iter()
            .find(|(_, param)| **param == index)
            .map(|(id, _)| *id);
        lens.push((
            buf.param.clone(),
            reader.table.len(index),
            buf.given.clone(),
            id,
        ));
    }
    for returned in &reader.returned {
        let len = reader.table.resolve(&returned.len);
        let given = reader.request.attribute.shape(&returned.name).cloned();
        // Where its elements came from says most about its extents.
        lens.push((returned.name.clone(), len, given, Some(returned.buf)));
    }
    let mut used: Vec<usize> = Vec::new();
    let mut fixed: BTreeMap<usize, Poly> = BTreeMap::new();
    let mut shapes = Vec::new();
    for (param, len, given, id) in &lens {
        let shape = match given {
            Some(shape) => Shape(
                shape
                    .0
                    .iter()
                    .map(|extent| reader.table.known_extent(extent))
                    .collect(),
            ),
            None => match reader.table.extents(param, len) {
                Some(shape) => shape,
                None => {
                    return Err(reader.refuse(
                        name_span,
                        format!("the length of `{param}` is not known"),
                        "a kernel needs to know how the lengths of its slices relate",
                        format!("write it in the attribute: `shape({param} = [rows, d])`"),
                    ));
                }
            },
        };
        for extent in &shape.0 {
            extent.for_each_dim(&mut |name| {
                if let Some(dim) = reader.table.find(name)
                    && !used.contains(&dim)
                {
                    used.push(dim);
                }
            });
        }
        if let Some(id) = id
            && let Some(decl) = reader.program.bufs.get_mut(id.0 as usize)
        {
            decl.shape = shape.clone();
        }
        shapes.push((param.clone(), shape));
    }
    let inferred: Vec<String> = lens
        .iter()
        .zip(&shapes)
        .filter(|((_, _, given, _), _)| given.is_none())
        .map(|(_, (param, shape))| format!("{param} = {shape}"))
        .collect();
    if !inferred.is_empty() {
        reader.notes.push(format!(
            "shapes found from use: {}; calls with other lengths run the reference",
            inferred.join(", ")
        ));
    }
    // Extents of arrays that are equal to others.
    for (dim, entry) in reader.table.dims.iter().enumerate() {
        if entry.origin != Origin::Extent {
            continue;
        }
        if let Some(value) = &entry.value {
            let value = reader.table.resolve(value);
            let shape = reader
                .table
                .dim_expr(&value)
                .map(|extent| Shape(vec![extent]));
            let Some(shape) = shape else {
                return Err(reader.refuse(
                    name_span,
                    format!("`{}` is not known", entry.name),
                    "a kernel needs to know how the extents of its arrays relate",
                    "write the shapes in the attribute: `shape(x = [rows, d], ..)`",
                ));
            };
            shape.0[0].for_each_dim(&mut |name| {
                if let Some(other) = reader.table.find(name)
                    && !used.contains(&other)
                {
                    used.push(other);
                }
            });
            shapes.push((entry.name.clone(), shape));
            fixed.insert(dim, value);
        }
    }
    name_local_sizes(reader, &used);
    // Dimensions in the order of the attribute first, then as the shapes name them.
    used.sort_by_key(|dim| {
        let origin = reader.table.dims[*dim].origin;
        (matches!(origin, Origin::Len | Origin::Derived), 0)
    });
    // Integer parameters are known by their names as long as those are unchanged.
    let mut integers: BTreeMap<VarId, usize> = BTreeMap::new();
    for param in &reader.program.params {
        if let Param::Scalar(var) = param
            && let Some(dim) = reader
                .scalar_leaves
                .get(var)
                .and_then(|name| reader.table.find(name))
        {
            integers.insert(*var, dim);
        }
    }
    let mut position: BTreeMap<usize, usize> = BTreeMap::new();
    for dim in &used {
        let name = reader.table.dims[*dim].name.clone();
        // A variable or buffer of that name makes way.
        rename(&mut reader.program, &name, &params);
        reader.program.dims.push(name);
        position.insert(*dim, reader.program.dims.len() - 1);
    }
    // Integer parameters that no shape uses are plain scalars.
    let mut scalars: BTreeMap<usize, (VarId, Scalar)> = BTreeMap::new();
    for param in &mut reader.program.params {
        let Param::Scalar(var) = *param else { continue };
        let decl = &reader.program.vars[var.0 as usize];
        let Some(&dim) = integers.get(&var) else {
            continue;
        };
        let known = match fixed.get(&dim).map(|value| value.atoms()) {
            Some(atoms) => match atoms[..] {
                [super::poly::Atom::Dim(other)] => position.get(&other),
                _ => None,
            },
            None => position.get(&dim),
        };
        match known {
            Some(index) => *param = Param::Dim(*index),
            None => {
                scalars.insert(dim, (var, decl.scalar));
            }
        }
    }
    let mut body = std::mem::take(&mut reader.program.body);
    let mut lost = false;
    {
        let table = &reader.table;
        edit_exprs(&mut body, &mut |expr| match &expr {
            Expr::Cast(to, inner) => match &**inner {
                Expr::Dim(dim) => match scalars.get(dim) {
                    Some((var, scalar)) if scalar == to => Expr::Var(*var),
                    _ => expr,
                },
                // `n as usize` of a scalar that stays one.
                Expr::Var(_) | Expr::Cast(..) => expr,
                _ => expr,
            },
            Expr::Dim(dim) if table.dims.get(*dim).is_some_and(|d| d.value.is_some()) => {
                let value = table.dims[*dim].value.clone().unwrap_or_default();
                table.interner.expr(&table.resolve(&value))
            }
            _ => expr,
        });
        // Bottom-up editing sees `Dim` before the `Cast` around it, hence a second round.
        edit_exprs(&mut body, &mut |expr| match &expr {
            Expr::Dim(dim) => match (position.get(dim), scalars.get(dim)) {
                (Some(index), _) => Expr::Dim(usize::MAX - *index),
                (None, Some((var, Scalar::Usize))) => Expr::Var(*var),
                (None, Some((var, _))) => Expr::Cast(Scalar::Usize, Box::new(Expr::Var(*var))),
                (None, None) => {
                    lost = true;
                    expr
                }
            },
            _ => expr,
        });
        edit_exprs(&mut body, &mut |expr| match expr {
            Expr::Dim(dim) => Expr::Dim(usize::MAX - dim),
            other => other,
        });
    }
    reader.program.body = body;
    if lost {
        return Err(reader.refuse(
            name_span,
            "a size that the function uses is not known",
            "every size must follow from the parameters",
            "write the shapes in the attribute: `shape(x = [rows, d], ..)`",
        ));
    }
    Ok(shapes)
}

/// Shapes of local buffers, as far as dimensions say them.
fn name_local_sizes(reader: &mut Reader<'_>, used: &[usize]) {
    let lens: Vec<(BufId, Expr)> = reader
        .local_lens
        .iter()
        .map(|(buf, len)| (*buf, len.clone()))
        .collect();
    for (buf, len) in lens {
        let len = reader.poly(&len);
        let len = reader.table.resolve(&len);
        let mut known = true;
        reader.table.interner.expr(&len).walk(&mut |part| {
            known &= match part {
                Expr::Dim(dim) => used.contains(dim),
                Expr::Var(_) | Expr::Load { .. } => false,
                _ => true,
            };
        });
        if known
            && let Some(len) = reader.table.dim_expr(&len)
            && let Some(decl) = reader.program.bufs.get_mut(buf.0 as usize)
            && decl.role == BufRole::Local
        {
            decl.shape = Shape(vec![len]);
        }
    }
}

/// Renames whatever is called `name`, unless it is a parameter's own variable.
fn rename(program: &mut Program, name: &str, params: &[String]) {
    let taken: BTreeSet<String> = program
        .vars
        .iter()
        .map(|var| var.name.clone())
        .chain(program.bufs.iter().map(|buf| buf.name.clone()))
        .chain(program.dims.iter().cloned())
        .chain(params.iter().cloned())
        .collect();
    let fresh = (1u32..)
        .map(|i| format!("{name}_{i}"))
        .find(|candidate| !taken.contains(candidate))
        .unwrap_or_default();
    for var in &mut program.vars {
        if var.name == name {
            fresh.clone_into(&mut var.name);
        }
    }
    for buf in &mut program.bufs {
        if buf.name == name {
            fresh.clone_into(&mut buf.name);
        }
    }
}
