//! The kernel function itself: its parameters, its body, what it returns.

use pragma_spec::{ParamKind, ReturnSig, Scalar, Shape};
use proc_macro2::Span;
use syn::spanned::Spanned;

use super::error::{Lift, SourceSpan};
use super::reader::{Exit, Frame, Reader};
use super::shapes::{Origin, ShapeTable};
use super::types::{Ty, Written};
use super::value::{Own, Value, View};
use super::{KernelRequest, items};
use crate::ir::{BufRole, Expr, Param, Returns, Stmt};

/// The file of the kernel function.
fn file<'a>(request: &KernelRequest<'a>) -> &'a str {
    request
        .krate
        .modules
        .iter()
        .find(|module| module.path == request.module)
        .map_or("", |module| module.file.as_str())
}

/// The span of the function's name.
pub(super) fn whole_span(request: &KernelRequest<'_>) -> SourceSpan {
    SourceSpan::new(file(request), request.function.sig.ident.span())
}

/// What the attribute says of lengths.
pub(super) fn table(request: &KernelRequest<'_>) -> ShapeTable {
    let mut table = ShapeTable::default();
    let params = &request.signature.params;
    for param in params {
        if matches!(param.kind, ParamKind::Scalar(scalar) if scalar.is_integer()) {
            table.add(param.name.clone(), Origin::Param);
        }
    }
    let given = |name: &str| {
        request
            .attribute
            .shapes
            .iter()
            .find(|(param, _)| param == name)
            .map(|(_, shape)| shape)
    };
    // Dimensions in the order in which the attribute names them.
    for (_, shape) in &request.attribute.shapes {
        for extent in &shape.0 {
            table.expr_of(extent);
        }
    }
    for param in params {
        match param.kind {
            ParamKind::Slice { .. } => table.add_buf(&param.name, given(&param.name), None),
            ParamKind::Array { len, .. } => {
                table.add_buf(&param.name, given(&param.name), Some(len));
            }
            ParamKind::Scalar(_) => {}
        }
    }
    table
}

impl Reader<'_> {
    /// Reads the whole function.
    pub(super) fn function(&mut self) -> Lift<()> {
        let request = self.request;
        self.program.name.clone_from(&request.signature.name);
        self.frames.push(Frame {
            module: request.module.to_vec(),
            file: file(&request).to_owned(),
            function: request.signature.name.clone(),
            exit: Exit::Kernel,
            generics: request
                .attribute
                .instantiate
                .iter()
                .filter_map(|(name, kind)| {
                    let scalar = kind.trim().parse::<Scalar>().ok()?;
                    Some((name.clone(), Written::Scalar(scalar)))
                })
                .collect(),
            consts: Default::default(),
            local_items: Vec::new(),
            self_type: None,
            loop_base: 0,
        });
        self.assume_extents();
        self.parameters()?;
        self.program.returns = match &request.signature.returns {
            ReturnSig::Nothing | ReturnSig::Vec(_) => Returns::Nothing,
            ReturnSig::Scalar(scalar) => Returns::Scalars(vec![*scalar]),
            ReturnSig::Tuple(scalars) => Returns::Scalars(scalars.clone()),
        };
        let block = &request.function.block;
        let value = self.body(block)?;
        if value != Value::Never {
            let span = block
                .stmts
                .last()
                .map_or_else(|| block.span(), Spanned::span);
            self.leave_kernel(value, span, true)?;
        }
        Ok(())
    }

    /// The extents that the attribute gave are not negative wherever a kernel runs.
    fn assume_extents(&mut self) {
        let shapes: Vec<Shape> = self
            .request
            .attribute
            .shapes
            .iter()
            .map(|(_, shape)| shape.clone())
            .collect();
        for shape in shapes {
            for extent in &shape.0 {
                let expr = self.table.expr_of(extent);
                let poly = self.poly(&expr);
                self.know(poly);
            }
        }
    }

    fn parameters(&mut self) -> Lift<()> {
        let request = self.request;
        let mut buffers = 0;
        for (i, param) in request.signature.params.iter().enumerate() {
            let mutable_binding = request
                .function
                .sig
                .inputs
                .iter()
                .nth(i)
                .is_some_and(|arg| {
                    matches!(arg, syn::FnArg::Typed(arg)
                    if matches!(&*arg.pat, syn::Pat::Ident(ident) if ident.mutability.is_some()))
                });
            let span = request
                .function
                .sig
                .inputs
                .iter()
                .nth(i)
                .map_or_else(Span::call_site, Spanned::span);
            // The body may call `type` only `r#type`.
            let raw = format!("r#{}", param.name);
            let is_raw = request
                .function
                .sig
                .inputs
                .iter()
                .nth(i)
                .is_some_and(|arg| {
                    matches!(arg, syn::FnArg::Typed(arg)
                    if matches!(&*arg.pat, syn::Pat::Ident(ident) if ident.ident == raw))
                });
            let bound = if is_raw { raw } else { param.name.clone() };
            match param.kind {
                ParamKind::Scalar(scalar) => {
                    let var = self.var(&param.name, Ty::Known(scalar), false);
                    self.program.params.push(Param::Scalar(var));
                    let expr = match self.table.find(&param.name) {
                        Some(dim) if scalar == Scalar::Usize => Expr::Dim(dim),
                        Some(dim) => Expr::Cast(scalar, Box::new(Expr::Dim(dim))),
                        None => Expr::Var(var),
                    };
                    let mut value = Value::scalar(expr, Ty::Known(scalar));
                    if mutable_binding {
                        value = self.storage(&param.name, value, span)?;
                    }
                    self.bind(&bound, value);
                }
                ParamKind::Slice { elem, mutable } => {
                    let own = Own::Borrowed(mutable);
                    let view = self.buffer(&param.name, elem, mutable, own, buffers);
                    self.bind(&bound, Value::View(view));
                    buffers += 1;
                }
                ParamKind::Array {
                    elem,
                    mutable,
                    by_value,
                    ..
                } => {
                    let own = if by_value {
                        Own::Array
                    } else {
                        Own::Borrowed(mutable)
                    };
                    let view = self.buffer(&param.name, elem, mutable, own, buffers);
                    buffers += 1;
                    if mutable_binding && by_value {
                        let copy = self.copy_of(&view, &param.name, span)?;
                        self.bind(&bound, Value::View(copy));
                    } else {
                        self.bind(&bound, Value::View(view));
                    }
                }
            }
        }
        Ok(())
    }

    fn buffer(&mut self, name: &str, elem: Scalar, mutable: bool, own: Own, index: usize) -> View {
        let role = if mutable {
            BufRole::Mutable
        } else {
            BufRole::Input
        };
        self.buf_ty.push(Ty::Known(elem));
        let buf = self.program.add_buf(name, elem, role, Shape::default());
        self.program.params.push(Param::Buffer(buf));
        self.buf_params.insert(buf, index);
        let len = self.table.len(index);
        Self::whole(buf, self.table.interner.expr(&len), own)
    }

    /// Leaves the kernel with `value`: `return value`, or the end of its body.
    pub(super) fn leave_kernel(&mut self, value: Value, span: Span, at_end: bool) -> Lift<()> {
        let returns = self.request.signature.returns.clone();
        match returns {
            ReturnSig::Nothing => {
                if !at_end {
                    self.emit(Stmt::Return(Vec::new()));
                }
                Ok(())
            }
            ReturnSig::Scalar(scalar) => {
                let num = self.num(value, span)?;
                self.unify(num.ty, Ty::Known(scalar), span)?;
                self.emit(Stmt::Return(vec![num.expr]));
                Ok(())
            }
            ReturnSig::Tuple(scalars) => {
                let Value::Tuple(parts) = self.read_value(value)? else {
                    return Err(self.unknown(span, "what the function returns"));
                };
                let mut values = Vec::with_capacity(parts.len());
                for (part, scalar) in parts.into_iter().zip(scalars) {
                    let num = self.num(part, span)?;
                    self.unify(num.ty, Ty::Known(scalar), span)?;
                    values.push(num.expr);
                }
                self.emit(Stmt::Return(values));
                Ok(())
            }
            ReturnSig::Vec(scalar) => self.return_vec(value, scalar, span, at_end),
        }
    }

    fn return_vec(&mut self, value: Value, scalar: Scalar, span: Span, at_end: bool) -> Lift<()> {
        let Value::View(view) = value else {
            return Err(self.unknown(span, "the `Vec` that the function returns"));
        };
        self.unify(self.elem_ty(view.buf), Ty::Known(scalar), span)?;
        if !at_end {
            return Err(self.refuse(
                span,
                "a `Vec` is returned from the middle of the function",
                "a kernel writes its result into memory that is allocated before it runs, so its \
                 length must be the same on every path",
                "return the `Vec` at the end only, or take `out: &mut [_]`",
            ));
        }
        let local = self.program.buf(view.buf).role == BufRole::Local;
        if view.own != Own::Vec || !local || view.offset != Expr::index(0) {
            return Err(self.refuse(
                span,
                "the returned `Vec` is not one that the function fills",
                "a kernel writes its result into memory that is allocated before it runs",
                "fill a `vec![..]` of the right length and return that, or use `.collect()`",
            ));
        }
        let len = self.poly(&view.len);
        if !self.table.is_size(&len) {
            return Err(self.refuse(
                span,
                "the length of the returned `Vec` depends on data",
                "a kernel writes its result into memory that is allocated before it runs",
                "take `out: &mut [_]`, or return a `Vec` whose length follows from the arguments",
            ));
        }
        if let Some(given) = self.request.attribute.shape("return").cloned() {
            let mut product = super::poly::Poly::constant(1);
            for extent in &given.0 {
                let expr = self.table.expr_of(extent);
                product = product.mul(&self.poly(&expr));
            }
            if product != len {
                self.learn_equal(&view.len, &self.table.interner.expr(&product))?;
                let params: Vec<String> = self
                    .request
                    .signature
                    .params
                    .iter()
                    .map(|param| param.name.clone())
                    .collect();
                let mut table = self.table.clone();
                table.name_all(&params);
                let found = table
                    .dim_expr(&len)
                    .map_or_else(|| "?".to_owned(), |len| len.to_string());
                return Err(self.refuse(
                    span,
                    format!("`shape(return = {given})` does not say the length of this `Vec`"),
                    format!("the function returns `{found}` elements"),
                    format!("write `shape(return = [{found}])`"),
                ));
            }
        }
        // The result is allocated by the caller; what fills all of it needs no first filling.
        if self.tables.values().any(|table| table.buf == view.buf) {
            return Err(self.unknown(span, "returning a constant table"));
        }
        self.program.bufs[view.buf.0 as usize].role = BufRole::Return;
        self.program.returns = Returns::Buffer(view.buf);
        self.returned_len = Some(len);
        Ok(())
    }

    /// The module's `const`s, helper functions and the like in a block are items of the frame.
    pub(super) fn declare_items(&mut self, stmts: &[syn::Stmt]) {
        let items: Vec<_> = stmts
            .iter()
            .filter_map(|stmt| match stmt {
                syn::Stmt::Item(item) if items::item_name(item).is_some() => {
                    Some(std::rc::Rc::new(item.clone()))
                }
                _ => None,
            })
            .collect();
        if let Some(frame) = self.frames.last_mut() {
            frame.local_items.extend(items);
        }
    }
}
