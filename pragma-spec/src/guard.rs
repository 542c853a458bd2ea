//! From shapes to a test of the arguments at run time, and the dimensions it yields.
//!
//! Owns the plan, its evaluation in the tool and its tokens in the macro. Both follow the same steps, so
//! a kernel is tested on exactly the arguments that will reach it.

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;

use crate::{DimExpr, KernelSignature, ParamKind, Shape};

/// How to compute all dimensions from the arguments, or refuse them.
///
/// A guard refuses arguments whose lengths do not fit the shapes, and those where any dimension is 0:
/// the reference handles both. No arithmetic wraps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guard {
    /// The dimensions, in the order in which a kernel takes them.
    pub dims: Vec<String>,
    /// What to do, in order. A step uses only dimensions of earlier steps.
    pub steps: Vec<GuardStep>,
}

/// One step of a [`Guard`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GuardStep {
    /// `dim` is the value of the integer parameter `param`.
    BindScalar {
        /// The dimension.
        dim: String,
        /// The parameter.
        param: String,
    },
    /// `dim = (quantity(param) + add - subtract) / divisor`, refused unless exact.
    Solve {
        /// The dimension.
        dim: String,
        /// The parameter that tells it.
        param: String,
        /// What of the parameter tells it.
        of: Quantity,
        /// What the dimension is multiplied with in the length.
        divisor: DimExpr,
        /// What the length is short of.
        add: DimExpr,
        /// What the length has beside the multiple.
        subtract: DimExpr,
    },
    /// `quantity(param)` must be the number of elements of `shape`.
    Check {
        /// The parameter.
        param: String,
        /// What of it.
        of: Quantity,
        /// Its shape.
        shape: Shape,
    },
    /// The number of elements of `shape` must be computable: the returned `Vec` will have it.
    Fits {
        /// The shape of the `Vec`.
        shape: Shape,
    },
}

/// What a shape says something about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// The length of a slice or array.
    Length,
    /// The value of an integer: an extent of an array, as `x.shape.0`.
    Value,
}

/// What a guard needs to know of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GuardParam {
    /// An integer, whose value may be a dimension.
    Integer,
    /// Any other scalar.
    Other,
    /// A slice.
    Slice,
    /// An array of this many elements.
    Array(u64),
}

/// The shapes do not determine the dimensions.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GuardError {
    /// A shape names something that has no length.
    #[error("`{0}` has a shape but is not a slice or array parameter")]
    NotABuffer(String),
    /// Lengths alone leave several values possible.
    #[error(
        "the size `{dim}` cannot be computed from the lengths of the arguments; \
             give some argument a shape in which it is the only unknown size, or name it after an integer parameter"
    )]
    Undetermined {
        /// The dimension.
        dim: String,
    },
    /// A shape uses a dimension that the caller did not list.
    #[error("the size `{0}` is used but not declared")]
    Undeclared(String),
}

impl GuardParam {
    /// What a guard needs to know of a parameter of this kind.
    pub fn of(kind: ParamKind) -> Self {
        match kind {
            ParamKind::Scalar(scalar) if scalar.is_integer() => GuardParam::Integer,
            ParamKind::Scalar(_) => GuardParam::Other,
            ParamKind::Slice { .. } => GuardParam::Slice,
            ParamKind::Array { len, .. } => GuardParam::Array(len),
        }
    }

    /// The parameters of `sig` by name.
    pub fn all(sig: &KernelSignature) -> Vec<(String, GuardParam)> {
        let params = sig.params.iter();
        params
            .map(|param| (param.name.clone(), GuardParam::of(param.kind)))
            .collect()
    }
}

impl Guard {
    /// Plans the steps. `shapes` may include `return`, which is known only once the dimensions are.
    ///
    /// # Errors
    /// If the arguments do not determine every dimension.
    pub fn plan(
        dims: &[String],
        params: &[(String, GuardParam)],
        shapes: &[(String, Shape)],
    ) -> Result<Guard, GuardError> {
        for name in crate::attribute::dims_of(shapes) {
            if !dims.contains(&name) {
                return Err(GuardError::Undeclared(name));
            }
        }
        let mut steps = Vec::new();
        let mut known: Vec<&str> = Vec::new();
        for dim in dims {
            if params
                .iter()
                .any(|(name, param)| name == dim && *param == GuardParam::Integer)
            {
                known.push(dim);
                steps.push(GuardStep::BindScalar {
                    dim: dim.clone(),
                    param: dim.clone(),
                });
            }
        }
        let mut open: Vec<(&String, &Shape, Quantity)> = Vec::new();
        for (name, shape) in shapes.iter().filter(|(name, _)| !is_result(name)) {
            match params.iter().find(|(known, _)| known == name) {
                Some((_, GuardParam::Slice | GuardParam::Array(_))) => {
                    open.push((name, shape, Quantity::Length));
                }
                Some((_, GuardParam::Integer)) => open.push((name, shape, Quantity::Value)),
                _ => return Err(GuardError::NotABuffer(name.clone())),
            }
        }
        while let Some((at, dim, linear)) =
            open.iter().enumerate().find_map(|(at, (_, shape, _))| {
                let dim = single_unknown(shape, &known)?;
                Some((at, dim, linear_in(&shape.len(), dim)?))
            })
        {
            let (param, _, of) = open.remove(at);
            known.push(dim);
            steps.push(GuardStep::Solve {
                dim: dim.to_owned(),
                param: param.clone(),
                of,
                divisor: linear.factor,
                add: linear.minus,
                subtract: linear.plus,
            });
        }
        if let Some(dim) = dims.iter().find(|dim| !known.contains(&dim.as_str())) {
            return Err(GuardError::Undetermined { dim: dim.clone() });
        }
        for (param, shape, of) in open {
            steps.push(GuardStep::Check {
                param: param.clone(),
                of,
                shape: shape.clone(),
            });
        }
        for (_, shape) in shapes.iter().filter(|(name, _)| is_result(name)) {
            steps.push(GuardStep::Fits {
                shape: shape.clone(),
            });
        }
        Ok(Guard {
            dims: dims.to_vec(),
            steps,
        })
    }

    /// The dimensions, in order, for arguments with these scalar values and lengths; `None` if the
    /// guard refuses them.
    pub fn eval(
        &self,
        scalar: &dyn Fn(&str) -> Option<i128>,
        len: &dyn Fn(&str) -> Option<u64>,
    ) -> Option<Vec<u64>> {
        let mut known: Vec<(&str, u64)> = Vec::with_capacity(self.dims.len());
        let quantity = |param: &str, of: Quantity| match of {
            Quantity::Length => len(param),
            Quantity::Value => u64::try_from(scalar(param)?).ok(),
        };
        for step in &self.steps {
            let lookup = |name: &str| {
                let found = known.iter().find(|(dim, _)| *dim == name);
                found.map(|(_, value)| *value)
            };
            let (dim, value) = match step {
                GuardStep::BindScalar { dim, param } => (dim, u64::try_from(scalar(param)?).ok()?),
                GuardStep::Solve {
                    dim,
                    param,
                    of,
                    divisor,
                    add,
                    subtract,
                } => {
                    let multiple = quantity(param, *of)?
                        .checked_add(add.eval(&lookup)?)?
                        .checked_sub(subtract.eval(&lookup)?)?;
                    let divisor = divisor.eval(&lookup)?;
                    if multiple.checked_rem(divisor)? != 0 {
                        return None;
                    }
                    (dim, multiple / divisor)
                }
                GuardStep::Check { param, of, shape } => {
                    if shape.len().eval(&lookup)? != quantity(param, *of)? {
                        return None;
                    }
                    continue;
                }
                GuardStep::Fits { shape } => {
                    shape.len().eval(&lookup)?;
                    continue;
                }
            };
            if value == 0 {
                return None;
            }
            known.push((dim, value));
        }
        let value = |dim: &String| known.iter().find(|(name, _)| name == dim).map(|(_, v)| *v);
        self.dims.iter().map(value).collect()
    }

    /// An expression of type `Option<[usize; N]>`: the dimensions in order, or `None` if the guard
    /// refuses. It reads only the parameters, cannot panic and does no work beyond the steps.
    pub fn to_tokens(&self) -> TokenStream {
        let steps = self.steps.iter().map(GuardStep::tokens);
        let dims = self.dims.iter().map(|dim| dim_ident(dim));
        let count = self.dims.len();
        quote! {
            (|| -> ::core::option::Option<[::core::primitive::usize; #count]> {
                #(#steps)*
                ::core::option::Option::Some([#(#dims),*])
            })()
        }
    }
}

impl GuardStep {
    fn tokens(&self) -> TokenStream {
        let refuse = quote!(return ::core::option::Option::None);
        match self {
            GuardStep::BindScalar { dim, param } => {
                let (dim, param) = (dim_ident(dim), param_ident(param));
                quote! {
                    let ::core::result::Result::Ok(#dim) = <::core::primitive::usize as ::core::convert::TryFrom<_>>::try_from(#param) else { #refuse; };
                    if #dim == 0 { #refuse; }
                }
            }
            GuardStep::Solve {
                dim,
                param,
                of,
                divisor,
                add,
                subtract,
            } => {
                let dim = dim_ident(dim);
                let mut multiple = of.tokens(param);
                if *add != DimExpr::Const(0) {
                    let add = expr_tokens(add);
                    multiple = quote!(::core::primitive::usize::checked_add(#multiple, #add)?);
                }
                if *subtract != DimExpr::Const(0) {
                    let subtract = expr_tokens(subtract);
                    multiple = quote!(::core::primitive::usize::checked_sub(#multiple, #subtract)?);
                }
                if *divisor == DimExpr::Const(1) {
                    return quote! {
                        let #dim: ::core::primitive::usize = #multiple;
                        if #dim == 0 { #refuse; }
                    };
                }
                let divisor = expr_tokens(divisor);
                quote! {
                    let __pragma_multiple: ::core::primitive::usize = #multiple;
                    let __pragma_divisor: ::core::primitive::usize = #divisor;
                    let #dim: ::core::primitive::usize = ::core::primitive::usize::checked_div(__pragma_multiple, __pragma_divisor)?;
                    // Cannot wrap: a quotient times its divisor is at most the dividend.
                    if #dim == 0 || ::core::primitive::usize::wrapping_mul(#dim, __pragma_divisor) != __pragma_multiple { #refuse; }
                }
            }
            GuardStep::Check { param, of, shape } => {
                let (quantity, len) = (of.tokens(param), expr_tokens(&shape.len()));
                quote! {
                    if #quantity != #len { #refuse; }
                }
            }
            GuardStep::Fits { shape } => {
                let len = expr_tokens(&shape.len());
                quote!(let _: ::core::primitive::usize = #len;)
            }
        }
    }
}

impl Quantity {
    /// An expression of type `usize` inside a function that returns an `Option`.
    fn tokens(self, param: &str) -> TokenStream {
        let param = param_ident(param);
        match self {
            Quantity::Length => quote!(#param.len()),
            Quantity::Value => {
                quote!(<::core::primitive::usize as ::core::convert::TryFrom<_>>::try_from(#param).ok()?)
            }
        }
    }
}

/// Whether a shape of this name is one of a returned value: `return`, `return.1`.
pub(crate) fn is_result(name: &str) -> bool {
    name == "return" || name.starts_with("return.")
}

/// The variable that holds a dimension in emitted tokens; never the name of a parameter.
pub(crate) fn dim_ident(dim: &str) -> Ident {
    let plain = dim.strip_prefix("r#").unwrap_or(dim);
    path_ident("__pragma_dim_", plain)
}

/// One name for a path of names, another one for every path.
fn path_ident(prefix: &str, path: &str) -> Ident {
    let mut name = String::from(prefix);
    // Only a damaged manifest has other characters, and shall not stop the compiler.
    name.extend(path.chars().map(|c| {
        if c == '_' || c.is_alphanumeric() {
            c
        } else {
            '_'
        }
    }));
    let parts = || path.split('.');
    let vague = |part: &str| part.contains('_') || part.starts_with(|c: char| c.is_ascii_digit());
    if path.contains('.') && parts().any(vague) {
        // `a.b_c` is not `a_b.c`: tell where the dots are.
        for part in parts() {
            name.push_str(&format!("_{}", part.len()));
        }
    }
    syn::parse_str(&name).unwrap_or_else(|_| Ident::new("__pragma_name", Span::call_site()))
}

/// A parameter or function in emitted tokens, raw where the name is a keyword. A path gets a name of its own
/// (`self.gamma` is `__pragma_leaf_self_gamma`). What cannot be a name at all becomes one that nothing has, so that the
/// compiler and not a panic reports it.
pub fn param_ident(name: &str) -> Ident {
    if name.contains('.') {
        return path_ident("__pragma_leaf_", name);
    }
    syn::parse_str::<Ident>(name)
        .or_else(|_| syn::parse_str::<Ident>(&format!("r#{name}")))
        .unwrap_or_else(|_| Ident::new("__pragma_not_a_name", Span::call_site()))
}

/// An expression of type `usize` inside a function that returns an `Option`.
pub(crate) fn expr_tokens(expr: &DimExpr) -> TokenStream {
    let (a, b, op) = match expr {
        DimExpr::Const(value) => {
            let value = proc_macro2::Literal::u64_unsuffixed(*value);
            return quote!(#value);
        }
        DimExpr::Dim(name) => {
            let dim = dim_ident(name);
            return quote!(#dim);
        }
        DimExpr::Add(a, b) => (a, b, quote!(checked_add)),
        DimExpr::Sub(a, b) => (a, b, quote!(checked_sub)),
        DimExpr::Mul(a, b) => (a, b, quote!(checked_mul)),
        DimExpr::Div(a, b) => (a, b, quote!(checked_div)),
    };
    let (a, b) = (expr_tokens(a), expr_tokens(b));
    quote!(::core::primitive::usize::#op(#a, #b)?)
}

/// The same where a guard has already found that nothing overflows.
pub(crate) fn plain_tokens(expr: &DimExpr) -> TokenStream {
    let (a, b, op) = match expr {
        DimExpr::Const(_) | DimExpr::Dim(_) => return expr_tokens(expr),
        DimExpr::Add(a, b) => (a, b, quote!(+)),
        DimExpr::Sub(a, b) => (a, b, quote!(-)),
        DimExpr::Mul(a, b) => (a, b, quote!(*)),
        DimExpr::Div(a, b) => (a, b, quote!(/)),
    };
    let (a, b) = (plain_tokens(a), plain_tokens(b));
    quote!((#a #op #b))
}

/// The one dimension of `shape` that is not known.
fn single_unknown<'a>(shape: &'a Shape, known: &[&str]) -> Option<&'a str> {
    let mut unknown: Vec<&str> = Vec::new();
    for extent in &shape.0 {
        extent.for_each_dim(&mut |dim| {
            if !known.contains(&dim) && !unknown.contains(&dim) {
                unknown.push(dim);
            }
        });
    }
    match unknown[..] {
        [dim] => Some(dim),
        _ => None,
    }
}

/// `factor * dim + plus - minus`.
struct Linear {
    factor: DimExpr,
    plus: DimExpr,
    minus: DimExpr,
}

/// `expr` as a linear function of `dim`, if it is one that grows with it.
fn linear_in(expr: &DimExpr, dim: &str) -> Option<Linear> {
    let zero = || DimExpr::Const(0);
    let free = |expr: &DimExpr| {
        let mut found = false;
        expr.for_each_dim(&mut |name| found |= name == dim);
        !found
    };
    match expr {
        DimExpr::Dim(name) if name == dim => Some(Linear {
            factor: DimExpr::Const(1),
            plus: zero(),
            minus: zero(),
        }),
        DimExpr::Const(_) | DimExpr::Dim(_) | DimExpr::Div(..) => None,
        DimExpr::Add(a, b) => {
            let (inner, other) = if free(b) { (a, b) } else { (b, a) };
            if !free(other) {
                return None;
            }
            let inner = linear_in(inner, dim)?;
            Some(Linear {
                plus: sum(inner.plus, (**other).clone()),
                ..inner
            })
        }
        DimExpr::Sub(a, b) => {
            if !free(b) {
                return None;
            }
            let inner = linear_in(a, dim)?;
            Some(Linear {
                minus: sum(inner.minus, (**b).clone()),
                ..inner
            })
        }
        DimExpr::Mul(a, b) => {
            let (inner, other) = if free(b) { (a, b) } else { (b, a) };
            if !free(other) {
                return None;
            }
            let inner = linear_in(inner, dim)?;
            Some(Linear {
                factor: times(inner.factor, other),
                plus: times(inner.plus, other),
                minus: times(inner.minus, other),
            })
        }
    }
}

fn sum(a: DimExpr, b: DimExpr) -> DimExpr {
    match (a, b) {
        (DimExpr::Const(0), other) | (other, DimExpr::Const(0)) => other,
        (a, b) => DimExpr::Add(Box::new(a), Box::new(b)),
    }
}

fn times(a: DimExpr, b: &DimExpr) -> DimExpr {
    match (a, b) {
        (DimExpr::Const(0), _) => DimExpr::Const(0),
        (DimExpr::Const(1), b) => b.clone(),
        (a, DimExpr::Const(1)) => a,
        (a, b) => DimExpr::Mul(Box::new(a), Box::new(b.clone())),
    }
}
