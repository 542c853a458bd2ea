//! Reading the crate's own functions in place of their calls: parameters, type parameters,
//! methods and operators of its structs.

use proc_macro2::Span;
use quote::ToTokens;
use syn::spanned::Spanned;

use super::calls::MAX_INLINE;
use super::error::Lift;
use super::fold;
use super::reader::{Exit, Frame, Reader};
use super::types::{Ty, Written};
use super::value::{Place, Value};

impl Reader<'_> {
    /// Remembers that the kernel depends on this item.
    pub(super) fn depend(&mut self, module: &[String], name: &syn::Ident, item: &impl ToTokens) {
        let mut path = module.join("::");
        if !path.is_empty() {
            path.push_str("::");
        }
        path.push_str(&name.to_string());
        self.dependencies
            .entry(path)
            .or_insert_with(|| item.to_token_stream());
    }

    /// Reads the body of a function in place of a call of it.
    pub(super) fn inline(
        &mut self,
        callee: &Inline<'_>,
        args: Vec<Value>,
        span: Span,
    ) -> Lift<Value> {
        let name = callee.sig.ident.to_string();
        let recursive = self.frames.iter().any(|frame| {
            frame.function == name
                && frame.module == callee.module
                && frame.self_type == callee.self_type
                && !matches!(frame.exit, Exit::Closure)
        });
        if recursive || self.frames.len() > MAX_INLINE {
            return Err(self.refuse(
                span,
                format!("`{name}` calls itself"),
                "helpers are read in place of their calls, which must come to an end",
                "use a loop",
            ));
        }
        if callee.sig.inputs.len() != args.len() {
            return Err(self.unknown(span, "a call with other arguments"));
        }
        let mut frame = Frame {
            module: callee.module.to_vec(),
            file: callee.file.to_owned(),
            function: name,
            exit: Exit::Tail,
            generics: self.frame().generics.clone(),
            consts: self.frame().consts.clone(),
            local_items: if callee.is_local {
                self.frame().local_items.clone()
            } else {
                Vec::new()
            },
            self_type: callee.self_type.clone(),
            loop_base: self.loops.len(),
            fails_outright: std::mem::take(&mut self.failing),
        };
        self.explicit_generics(callee, &mut frame)?;
        self.deeper(span, |reader| {
            reader.frames.push(frame);
            let env = std::mem::take(&mut reader.env);
            let result = reader.inline_inner(callee, args, span);
            reader.env = env;
            reader.frames.pop();
            result
        })
    }

    pub(super) fn inline_inner(
        &mut self,
        callee: &Inline<'_>,
        args: Vec<Value>,
        span: Span,
    ) -> Lift<Value> {
        for (input, arg) in callee.sig.inputs.iter().zip(args) {
            match input {
                syn::FnArg::Receiver(receiver) => {
                    let arg = match arg {
                        Value::Ref(..) => arg,
                        other => self.hold(other, "self_")?,
                    };
                    let arg = if receiver.mutability.is_some()
                        && matches!(receiver.kind, syn::ReceiverKind::Value)
                    {
                        self.storage("self_", arg, span)?
                    } else {
                        arg
                    };
                    self.bind("self", arg);
                }
                syn::FnArg::Typed(typed) => {
                    self.bind_generic(&typed.ty, &arg);
                    let written = self.written(&typed.ty)?;
                    self.annotate(&arg, &written, span)?;
                    self.bind_pattern(&typed.pat, arg)?;
                }
            }
        }
        let returns = match &callee.sig.output {
            syn::ReturnType::Default => Written::Tuple(Vec::new()),
            syn::ReturnType::Type(_, ty) => self.written(ty)?,
        };
        let value = self.inlined_body(callee.block, &returns, span)?;
        self.annotate(&value, &returns, span)?;
        Ok(value)
    }

    /// Type parameters given as `f::<f32>(..)`.
    pub(super) fn explicit_generics(&mut self, callee: &Inline<'_>, frame: &mut Frame) -> Lift<()> {
        let params: Vec<&syn::GenericParam> = callee
            .sig
            .generics
            .params
            .iter()
            .filter(|param| !matches!(param, syn::GenericParam::Lifetime(_)))
            .collect();
        for param in &params {
            match param {
                syn::GenericParam::Type(param) => {
                    frame
                        .generics
                        .insert(param.ident.to_string(), Written::Infer);
                }
                syn::GenericParam::Const(param) => {
                    frame.consts.remove(&param.ident.to_string());
                }
                syn::GenericParam::Lifetime(_) => {}
            }
        }
        let Some(last) = callee.generics.path.segments.last() else {
            return Ok(());
        };
        let syn::PathArguments::AngleBracketed(args) = &last.arguments else {
            return Ok(());
        };
        for (param, arg) in params.iter().zip(&args.args) {
            match (param, arg) {
                (syn::GenericParam::Type(param), syn::GenericArgument::Type(ty)) => {
                    let written = self.written(ty)?;
                    frame.generics.insert(param.ident.to_string(), written);
                }
                (syn::GenericParam::Const(param), syn::GenericArgument::Const(expr)) => {
                    let value = self.eval(expr)?;
                    let value = self.index(value, expr.span())?;
                    if let Some(value) = fold::as_int(&value) {
                        frame.consts.insert(param.ident.to_string(), value);
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Type parameters found from the arguments: `x: &[T]`, `n: T`.
    pub(super) fn bind_generic(&mut self, ty: &syn::Type, arg: &Value) {
        let mut ty = ty;
        loop {
            match ty {
                syn::Type::Reference(inner) => ty = &inner.elem,
                syn::Type::Paren(inner) => ty = &inner.elem,
                syn::Type::Slice(inner) => ty = &inner.elem,
                syn::Type::Array(inner) => {
                    if let (syn::Expr::Path(path), Value::View(view)) = (&inner.len, arg)
                        && let Some(name) = path.path.get_ident()
                        && let Some(len) = fold::as_int(&view.len)
                        && let Some(frame) = self.frames.last_mut()
                    {
                        frame.consts.entry(name.to_string()).or_insert(len);
                    }
                    ty = &inner.elem;
                }
                _ => break,
            }
        }
        let syn::Type::Path(path) = ty else { return };
        let Some(name) = path.path.get_ident().map(ToString::to_string) else {
            return;
        };
        if self.frame().generics.get(&name) != Some(&Written::Infer) {
            return;
        }
        let found = match arg {
            Value::View(view) => Some(self.elem_ty(view.buf)),
            Value::Scalar(num) => Some(num.ty),
            _ => None,
        };
        if let Some(Ty::Known(scalar)) = found.map(|ty| self.types.resolve(ty))
            && let Some(frame) = self.frames.last_mut()
        {
            frame.generics.insert(name, Written::Scalar(scalar));
        }
    }

    pub(super) fn struct_method(
        &mut self,
        kind: &str,
        value: Value,
        target: Place,
        call: &syn::ExprMethodCall,
        args: Vec<Value>,
    ) -> Lift<Value> {
        let span = call.span();
        let name = call.method.to_string();
        if let Some(value) = self.complex_method(&value, &name, &args, span)? {
            return Ok(value);
        }
        let mut fitted = vec![value.clone()];
        fitted.extend(args.iter().cloned());
        let Some((module, _, syn::ImplItem::Fn(member))) = self.fitting(kind, &name, &fitted)
        else {
            return Err(self.refuse(
                call.method.span(),
                format!("the method `{name}` of `{kind}` is not known"),
                "there is none, or more than one, in this crate's sources",
                "write it out here, or as a function of this crate",
            ));
        };
        self.depend(&module.path, &member.sig.ident, member);
        let by_ref = matches!(member.sig.inputs.first(),
            Some(syn::FnArg::Receiver(receiver)) if matches!(receiver.kind, syn::ReceiverKind::Reference(..)));
        let receiver = if by_ref {
            Value::Ref(Box::new(target), true)
        } else {
            self.read_value(value)?
        };
        let mut all = vec![receiver];
        all.extend(args);
        let Ok(generics) = syn::parse_str::<syn::ExprPath>("method") else {
            return Err(self.unknown(span, "this method"));
        };
        self.inline(
            &Inline {
                module: &module.path,
                file: &module.file,
                sig: &member.sig,
                block: &member.block,
                self_type: Some(kind.to_owned()),
                generics: &generics,
                is_local: false,
            },
            all,
            span,
        )
    }

    /// `a += b` of a struct: the `impl` of `AddAssign`, or of `Add` where that is what it means.
    pub(super) fn assign_operator(
        &mut self,
        name: &str,
        place: &Place,
        left: Value,
        right: Value,
        span: Span,
    ) -> Lift<Value> {
        let right = self.target(right, span)?;
        let kind = match &left {
            Value::Struct(kind, _) => kind.clone(),
            _ => return Err(self.unknown(span, "this operator on a struct")),
        };
        let method = format!("{name}_assign");
        if kind.starts_with("Complex") && self.items.associated(&kind, &method).is_none() {
            let value = self.operator(name, vec![left, right], span)?;
            self.write(place, value, span)?;
            return Ok(Value::Unit);
        }
        let target = Value::Ref(Box::new(place.clone()), true);
        self.operator_of(&kind, &method, vec![target, right], span)
    }

    /// An operator on structs: the `impl` of its trait.
    pub(super) fn operator(&mut self, name: &str, args: Vec<Value>, span: Span) -> Lift<Value> {
        let kind = match args.first() {
            Some(Value::Struct(kind, _)) => kind.clone(),
            // `2.0 * v`
            Some(Value::Scalar(num)) => match self.types.settled(num.ty) {
                Some(scalar) => {
                    // A literal is of the type that has the operator.
                    let mut of = vec![scalar];
                    if matches!(self.types.resolve(num.ty), Ty::Open(_)) {
                        of = vec![pragma_spec::Scalar::F32, pragma_spec::Scalar::F64];
                        of.retain(|scalar| !self.items.candidates(scalar.name(), name).is_empty());
                    }
                    let [only] = of[..] else {
                        return Err(self.unknown(span, "this operator on a struct"));
                    };
                    self.unify(num.ty, Ty::Known(only), span)?;
                    only.name().to_owned()
                }
                None => return Err(self.unknown(span, "this operator on a struct")),
            },
            _ => return Err(self.unknown(span, "this operator on a struct")),
        };
        self.operator_of(&kind, name, args, span)
    }

    fn operator_of(&mut self, kind: &str, name: &str, args: Vec<Value>, span: Span) -> Lift<Value> {
        let found = self.fitting(kind, name, &args);
        let kind = kind.to_owned();
        let Some((module, _, syn::ImplItem::Fn(member))) = found else {
            if let Some(value) = self.complex_operator(name, &args, span)? {
                return Ok(value);
            }
            return Err(self.refuse(
                span,
                format!("the operator `{name}` on `{kind}` is not known"),
                "there is no `impl` of it in this crate's sources, or more than one that fits",
                "write it out, or call a method",
            ));
        };
        self.depend(&module.path, &member.sig.ident, member);
        let Ok(generics) = syn::parse_str::<syn::ExprPath>("operator") else {
            return Err(self.unknown(span, "this operator"));
        };
        self.inline(
            &Inline {
                module: &module.path,
                file: &module.file,
                sig: &member.sig,
                block: &member.block,
                self_type: Some(kind),
                generics: &generics,
                is_local: false,
            },
            args,
            span,
        )
    }
}

impl<'a> Reader<'a> {
    /// The associated item `name` of `kind` whose parameters fit these arguments.
    pub(super) fn fitting(
        &mut self,
        kind: &str,
        name: &str,
        args: &[Value],
    ) -> Option<(
        &'a super::SourceModule,
        &'a syn::ItemImpl,
        &'a syn::ImplItem,
    )> {
        let all = self.items.candidates(kind, name);
        if all.len() <= 1 {
            return all.into_iter().next();
        }
        // A type's own methods come first.
        let own: Vec<_> = all
            .iter()
            .filter(|(_, item, _)| item.trait_.is_none())
            .collect();
        if let [one] = own[..] {
            return Some(*one);
        }
        let mut fitting = all.into_iter().filter(|(_, item, member)| {
            let syn::ImplItem::Fn(member) = member else {
                return false;
            };
            member.sig.inputs.len() == args.len()
                && member
                    .sig
                    .inputs
                    .iter()
                    .zip(args)
                    .all(|(input, arg)| match input {
                        syn::FnArg::Receiver(_) => true,
                        syn::FnArg::Typed(typed) => self.may_be(arg, &typed.ty, item),
                    })
        });
        let first = fitting.next()?;
        fitting.next().is_none().then_some(first)
    }

    /// Whether a value may be of a type, as far as one can see at once.
    fn may_be(&self, value: &Value, ty: &syn::Type, of: &syn::ItemImpl) -> bool {
        let Some(mut name) = super::items::type_name(ty) else {
            return true;
        };
        if name == "Self"
            && let Some(own) = super::items::type_name(&of.self_ty)
        {
            name = own;
        }
        let by_ref = matches!(ty, syn::Type::Reference(_));
        match value {
            Value::Struct(kind, _) => *kind == name,
            Value::Ref(..) => by_ref || name.parse::<pragma_spec::Scalar>().is_err(),
            Value::Scalar(num) => match self.types.resolve(num.ty) {
                Ty::Known(scalar) => scalar.name() == name,
                Ty::Open(_) => name
                    .parse::<pragma_spec::Scalar>()
                    .is_ok_and(|scalar| scalar.is_float() || scalar.is_integer()),
            },
            _ => true,
        }
    }
}

/// A function to be read in place of a call.
pub(super) struct Inline<'c> {
    pub(super) module: &'c [String],
    pub(super) file: &'c str,
    pub(super) sig: &'c syn::Signature,
    pub(super) block: &'c syn::Block,
    pub(super) self_type: Option<String>,
    pub(super) generics: &'c syn::ExprPath,
    /// Whether it stands in the body of the function that calls it, whose items it sees.
    pub(super) is_local: bool,
}
