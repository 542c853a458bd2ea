//! The kernel function itself: its parameters, its body, what it returns.

use std::collections::BTreeMap;

use pragma_spec::{ParamKind, Scalar, Shape};
use syn::spanned::Spanned;

use super::error::{Lift, SourceSpan};
use super::reader::{Exit, Frame, Reader};
use super::shapes::{Origin, ShapeTable};
use super::types::Written;
use super::value::Value;
use super::{KernelRequest, items};

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
            let extent = param.name.contains(".shape.");
            table.add(
                param.name.clone(),
                if extent {
                    Origin::Extent
                } else {
                    Origin::Param
                },
            );
        }
    }
    // Dimensions in the order in which the attribute names them.
    for (_, shape) in &request.attribute.shapes {
        for extent in &shape.0 {
            table.expr_of(extent);
        }
    }
    let leaves = request.signature.form.leaves();
    for param in params {
        let leaf = leaves.iter().find(|leaf| leaf.name == param.name);
        let shape = request
            .attribute
            .shapes
            .iter()
            .find(|(name, _)| *name == param.name)
            .map(|(_, shape)| shape)
            .or(leaf.and_then(|leaf| leaf.shape.as_ref()));
        let fixed = match param.kind {
            ParamKind::Scalar(_) => continue,
            ParamKind::Slice { .. } => None,
            ParamKind::Array { len, .. } => Some(len),
        };
        let inner = leaf.map_or(1, |leaf| leaf.inner.iter().product());
        // The same elements, as numbers of another type.
        let twin = leaf.and_then(|leaf| leaf.view_of.as_ref()).and_then(|of| {
            let stride = leaves.iter().find(|leaf| leaf.name == *of)?;
            Some((of.clone(), stride.inner.iter().product::<u64>()))
        });
        table.add_buf(&param.name, shape, fixed, inner, twin);
    }
    // Extents that the attribute gives: `x.shape.0 = [h]`.
    for (name, shape) in &request.attribute.shapes {
        if let (Some(dim), [extent]) = (table.find(name), &shape.0[..])
            && table.dims[dim].origin == Origin::Extent
        {
            let expr = table.expr_of(extent);
            let value = table.interner.poly(&expr);
            table.apply(super::shapes::Refinement::Is(dim, value));
        }
    }
    table
}

impl Reader<'_> {
    /// Reads the whole function.
    pub(super) fn function(&mut self) -> Lift<()> {
        let request = self.request;
        self.program.name.clone_from(&request.signature.name);
        let (mut generics, mut consts) = (BTreeMap::new(), BTreeMap::new());
        for (name, value) in &request.signature.form.instance.0 {
            if let Ok(scalar) = value.trim().parse::<Scalar>() {
                generics.insert(name.clone(), Written::Scalar(scalar));
            } else if let Some(number) = request.signature.form.instance.constant(name) {
                consts.insert(name.clone(), i128::from(number));
            } else {
                let last = super::records::short_name(value);
                let written = match last.parse::<Scalar>() {
                    Ok(scalar) => Written::Scalar(scalar),
                    Err(_) => Written::Named(last),
                };
                generics.insert(name.clone(), written);
            }
        }
        self.frames.push(Frame {
            module: request.module.to_vec(),
            file: file(&request).to_owned(),
            function: request.signature.name.clone(),
            exit: Exit::Kernel,
            generics,
            consts,
            local_items: Vec::new(),
            self_type: request
                .signature
                .form
                .owner
                .as_deref()
                .map(super::records::short_name),
            loop_base: 0,
            fails_outright: false,
        });
        self.assume_extents();
        self.parameters()?;
        self.begin_returns();
        self.versions()
    }

    /// Reads the body, and what it returns at its end.
    pub(super) fn read_body(&mut self) -> Lift<()> {
        let block = &self.request.function.block;
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
