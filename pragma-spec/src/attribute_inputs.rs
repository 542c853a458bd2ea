//! `inputs( .. )`: what test data looks like, and which sizes go together.
//!
//! Owns the grammar of these and the conditions on sizes. Drawing values is the tool's business.

use std::fmt;

use quote::ToTokens;
use syn::Token;
use syn::ext::IdentExt;
use syn::parse::ParseStream;

use crate::attribute_grammar::{dim_expr, number, parens, path_part};
use crate::signature::name_of;
use crate::{DimExpr, InputSpec, KernelAttribute, SpecError};

/// What the values of [`InputSpec::Offset`] are added to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OffsetBase {
    /// The values of another parameter, element by element; a single one for all.
    Input(String),
    /// In records: the numbers of the same element from this one on.
    Column(u64),
}

/// A relation between sizes that test data keeps: `n >= k`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// The left side.
    pub left: DimExpr,
    /// The comparison.
    pub relation: Relation,
    /// The right side.
    pub right: DimExpr,
}

/// A comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    AtMost,
    /// `>`
    Greater,
    /// `>=`
    AtLeast,
}

impl Condition {
    /// Whether it holds; `None` if a name is unknown or a side has no value.
    pub fn holds(&self, lookup: &dyn Fn(&str) -> Option<u64>) -> Option<bool> {
        let (a, b) = (self.left.eval(lookup)?, self.right.eval(lookup)?);
        Some(match self.relation {
            Relation::Equal => a == b,
            Relation::NotEqual => a != b,
            Relation::Less => a < b,
            Relation::AtMost => a <= b,
            Relation::Greater => a > b,
            Relation::AtLeast => a >= b,
        })
    }

    /// The names in it, with repeats.
    pub fn names(&self) -> Vec<&str> {
        let mut names = Vec::new();
        self.left.for_each_dim(&mut |name| names.push(name));
        self.right.for_each_dim(&mut |name| names.push(name));
        names
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let relation = match self.relation {
            Relation::Equal => "==",
            Relation::NotEqual => "!=",
            Relation::Less => "<",
            Relation::AtMost => "<=",
            Relation::Greater => ">",
            Relation::AtLeast => ">=",
        };
        write!(f, "{} {relation} {}", self.left, self.right)
    }
}

/// Reads what stands behind the key.
pub(crate) fn parse(input: ParseStream<'_>, out: &mut KernelAttribute) -> Result<(), SpecError> {
    let inner = parens(input, "inputs", "inputs(x = -4.0..4.0)")?;
    while !inner.is_empty() {
        match assigned_name(&inner) {
            Some(_) => pair(&inner, out)?,
            None => {
                let expr: syn::Expr = inner.parse()?;
                out.conditions.push(condition(&expr)?);
            }
        }
        if !inner.is_empty() {
            inner.parse::<Token![,]>()?;
        }
    }
    Ok(())
}

/// The path before a `=`; `None` where something else begins.
fn assigned_name(input: ParseStream<'_>) -> Option<String> {
    let fork = input.fork();
    let name = path(&fork).ok()?;
    (fork.peek(Token![=]) && !fork.peek(Token![==])).then_some(name)
}

fn path(input: ParseStream<'_>) -> syn::Result<String> {
    let mut name = name_of(&input.call(syn::Ident::parse_any)?);
    while input.peek(Token![.]) && !input.peek(Token![..]) {
        input.parse::<Token![.]>()?;
        name = format!("{name}.{}", path_part(input)?);
    }
    Ok(name)
}

fn pair(input: ParseStream<'_>, out: &mut KernelAttribute) -> Result<(), SpecError> {
    let span = input.span();
    let name = path(input)?;
    input.parse::<Token![=]>()?;
    let expr: syn::Expr = input.parse()?;
    let spec = input_spec(&expr)?;
    if out.inputs.iter().any(|(known, _)| *known == name) {
        return Err(SpecError::new(
            span,
            format!("`{name}` is given two kinds of input"),
        ));
    }
    out.places.0.push(("inputs", name.clone(), span));
    out.inputs.push((name, spec));
    Ok(())
}

fn condition(expr: &syn::Expr) -> Result<Condition, SpecError> {
    let unknown = || {
        SpecError::spanned(expr, "this says nothing about inputs").help(
            "write what values a parameter has (`x = -4.0..4.0`), or how sizes relate (`n >= k`)",
        )
    };
    let syn::Expr::Binary(binary) = expr else {
        return Err(unknown());
    };
    let relation = match binary.op {
        syn::BinOp::Eq(_) => Relation::Equal,
        syn::BinOp::Ne(_) => Relation::NotEqual,
        syn::BinOp::Lt(_) => Relation::Less,
        syn::BinOp::Le(_) => Relation::AtMost,
        syn::BinOp::Gt(_) => Relation::Greater,
        syn::BinOp::Ge(_) => Relation::AtLeast,
        _ => return Err(unknown()),
    };
    Ok(Condition {
        left: with_remainder(&binary.left)?,
        relation,
        right: with_remainder(&binary.right)?,
    })
}

/// A size that may be a remainder: `k % 2`.
fn with_remainder(expr: &syn::Expr) -> Result<DimExpr, SpecError> {
    match expr {
        syn::Expr::Paren(paren) => with_remainder(&paren.expr),
        syn::Expr::Group(group) => with_remainder(&group.expr),
        syn::Expr::Binary(binary) if matches!(binary.op, syn::BinOp::Rem(_)) => {
            let (a, b) = (dim_expr(&binary.left)?, dim_expr(&binary.right)?);
            let quotient = DimExpr::Div(Box::new(a.clone()), Box::new(b.clone()));
            let whole = DimExpr::Mul(Box::new(quotient), Box::new(b));
            Ok(DimExpr::Sub(Box::new(a), Box::new(whole)))
        }
        other => dim_expr(other),
    }
}

/// The ends of a range of numbers.
fn numbers(range: &syn::ExprRange) -> Result<Option<(f64, f64, bool)>, SpecError> {
    let (Some(lo), Some(hi)) = (&range.start, &range.end) else {
        return Err(SpecError::spanned(range, "an input range needs both ends"));
    };
    let inclusive = matches!(range.limits, syn::RangeLimits::Closed(_));
    let (Some(lo), Some(hi)) = (number(lo), number(hi)) else {
        return Ok(None);
    };
    if lo > hi || (lo == hi && !inclusive) {
        return Err(SpecError::spanned(range, "this range is empty"));
    }
    Ok(Some((lo, hi, inclusive)))
}

fn input_spec(expr: &syn::Expr) -> Result<InputSpec, SpecError> {
    let other = || Ok(InputSpec::Expr(expr.to_token_stream().to_string()));
    match expr {
        syn::Expr::Range(range) => {
            if let Some((lo, hi, inclusive)) = numbers(range)? {
                return Ok(InputSpec::Range { lo, hi, inclusive });
            }
            let (Some(lo), Some(hi)) = (&range.start, &range.end) else {
                return other();
            };
            let inclusive = matches!(range.limits, syn::RangeLimits::Closed(_));
            match (dim_expr(lo), dim_expr(hi)) {
                (Ok(lo), Ok(hi)) if inclusive => Ok(InputSpec::DimRange {
                    lo,
                    hi: DimExpr::Add(Box::new(hi), Box::new(DimExpr::Const(1))),
                }),
                (Ok(lo), Ok(hi)) => Ok(InputSpec::DimRange { lo, hi }),
                _ => other(),
            }
        }
        // `self.min + (0.5..1.0)`
        syn::Expr::Binary(binary) if matches!(binary.op, syn::BinOp::Add(_)) => {
            let (Ok(DimExpr::Dim(base)), syn::Expr::Paren(paren)) =
                (dim_expr(&binary.left), &*binary.right)
            else {
                return other();
            };
            let syn::Expr::Range(range) = &*paren.expr else {
                return other();
            };
            match numbers(range)? {
                Some((lo, hi, inclusive)) => Ok(InputSpec::Offset {
                    base: OffsetBase::Input(base),
                    lo,
                    hi,
                    inclusive,
                }),
                None => other(),
            }
        }
        // `sorted(0..n)`
        syn::Expr::Call(call) if is_word(&call.func, "sorted") && call.args.len() == 1 => {
            match input_spec(&call.args[0])? {
                InputSpec::Expr(_) => other(),
                inner => Ok(InputSpec::Sorted(Box::new(inner))),
            }
        }
        word if is_word(word, "permutation") => Ok(InputSpec::Permutation),
        syn::Expr::Array(array) => {
            match array.elems.iter().map(number).collect::<Option<Vec<_>>>() {
                Some(values) if values.is_empty() => Err(SpecError::spanned(
                    &expr,
                    "a set of inputs needs at least one value",
                )),
                Some(values) => Ok(InputSpec::Set(values)),
                None => other(),
            }
        }
        _ => other(),
    }
}

fn is_word(expr: &syn::Expr, word: &str) -> bool {
    matches!(expr, syn::Expr::Path(path) if path.path.is_ident(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<KernelAttribute, SpecError> {
        KernelAttribute::parse(text.parse().expect("tokens"))
    }

    #[test]
    fn relations_and_orders() {
        let attribute = parse(
            "inputs(hi = self.lo + (0.5..=1.0), idx = permutation, at = sorted(0..n), x = make(1), y = sorted(own()))",
        )
        .expect("an attribute");
        let spec = |name: &str| {
            let found = attribute.inputs.iter().find(|(known, _)| known == name);
            found.map(|(_, spec)| spec.clone())
        };
        assert_eq!(
            spec("hi"),
            Some(InputSpec::Offset {
                base: OffsetBase::Input("self.lo".to_owned()),
                lo: 0.5,
                hi: 1.0,
                inclusive: true
            })
        );
        assert_eq!(spec("idx"), Some(InputSpec::Permutation));
        assert_eq!(
            spec("at"),
            Some(InputSpec::Sorted(Box::new(InputSpec::DimRange {
                lo: DimExpr::Const(0),
                hi: DimExpr::dim("n")
            })))
        );
        assert_eq!(spec("x"), Some(InputSpec::Expr("make (1)".to_owned())));
        assert_eq!(
            spec("y"),
            Some(InputSpec::Expr("sorted (own ())".to_owned()))
        );
    }

    #[test]
    fn conditions_are_judged() {
        let attribute =
            parse("inputs(n >= k + 1, k % 2 == 1, self.w != p.0.1, x = 0.0..1.0)").expect("parses");
        let texts: Vec<String> = attribute
            .conditions
            .iter()
            .map(Condition::to_string)
            .collect();
        assert_eq!(
            texts,
            ["n >= k + 1", "k - k / 2 * 2 == 1", "self.w != p.0.1"]
        );
        let holds = |n: u64, k: u64| {
            let lookup = |name: &str| match name {
                "n" => Some(n),
                "k" => Some(k),
                _ => None,
            };
            [0, 1, 2].map(|i: usize| attribute.conditions[i].holds(&lookup))
        };
        assert_eq!(holds(4, 3), [Some(true), Some(true), None]);
        assert_eq!(holds(4, 4), [Some(false), Some(false), None]);
    }

    #[test]
    fn what_says_nothing_is_refused() {
        for (text, message) in [
            ("inputs(n)", "says nothing"),
            ("inputs(n + 1)", "says nothing"),
            ("inputs(x = y + (1.0..0.5))", "empty"),
            ("inputs(x = sorted(3..))", "both ends"),
            ("inputs(n > 0.5)", "not a size"),
        ] {
            let error = parse(text).expect_err(text);
            assert!(error.message.contains(message), "{text}: {}", error.message);
        }
    }
}
