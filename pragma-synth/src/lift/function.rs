//! The kernel function itself: its parameters, its body, what it returns.

use pragma_spec::{ParamKind, Scalar, Shape};
use proc_macro2::Span;
use syn::spanned::Spanned;

use super::error::{Lift, SourceSpan};
use super::reader::{Exit, Frame, Reader};
use super::shapes::{Origin, ShapeTable};
use super::types::{Ty, Written};
use super::value::{Own, Value, View};
use super::{KernelRequest, items};
use crate::ir::{BufRole, Expr, Param};

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
            fails_outright: false,
        });
        self.assume_extents();
        self.parameters()?;
        self.begin_returns();
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
