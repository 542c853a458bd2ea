//! The state of one pass over a function, and the statement builder.
//!
//! Owns scopes, variables, blocks and refusals. What each kind of syntax means stands in the
//! sibling modules, all of which are `impl Reader`.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use pragma_spec::Scalar;
use proc_macro2::Span;

use super::error::{Interrupt, Lift, SourceSpan, Unliftable};
use super::items::Items;
pub(super) use super::literals::Literal;
use super::poly::Poly;
use super::returning::ReturnedVec;
use super::shapes::ShapeTable;
use super::types::{Ty, TypeTable, Written};
use super::value::{Elem, Env, Num, Own, SlotId, Value, View};
use super::{KernelRequest, fold};
use crate::ir::{BinaryOp, BufId, BufRole, Const, Expr, Func, Program, Stmt, StoreHint, VarId};
use pragma_spec::Shape;

/// Variable ids from here on stand for literals whose type is still open.
pub(super) const LITERALS: u32 = 1 << 30;
/// Expressions nested deeper than this are refused rather than risking the stack.
const MAX_DEPTH: usize = 160;
/// Functions that grow beyond this many statements when helpers are inlined are refused.
const MAX_STATEMENTS: usize = 20_000;

/// Where `return` goes.
#[derive(Clone, Debug)]
pub(super) enum Exit {
    /// Out of the kernel.
    Kernel,
    /// Out of an inlined function that returns only at its end.
    Tail,
    /// Out of an inlined function that returns from its middle: to this storage, setting the
    /// flag.
    Early { storage: Value, flag: VarId },
    /// Nowhere: `return` in a closure.
    Closure,
}

/// A function being read.
#[derive(Clone, Debug)]
pub(super) struct Frame {
    pub(super) module: Vec<String>,
    pub(super) file: String,
    pub(super) function: String,
    pub(super) exit: Exit,
    pub(super) generics: BTreeMap<String, Written>,
    pub(super) consts: BTreeMap<String, i128>,
    /// Functions and constants declared inside the body.
    pub(super) local_items: Vec<Rc<syn::Item>>,
    /// `Self`, inside an impl.
    pub(super) self_type: Option<String>,
    /// Loops that were open when the function was entered.
    pub(super) loop_base: usize,
    /// Whether an error of it ends the kernel at once: it is called under `?` only.
    pub(super) fails_outright: bool,
}

/// A loop being read.
#[derive(Clone, Debug, Default)]
pub(super) struct LoopFrame {
    pub(super) label: Option<String>,
    /// How many IR loops it is made of; `break` leaves just one.
    pub(super) ir_loops: usize,
    /// What slots held when the round began: a jump must leave them so.
    pub(super) entry: Option<Vec<Value>>,
    /// Jumps in the body that aim at loops further out: label, whether it is `break`, and the
    /// flag that says it was taken.
    pub(super) outward: Vec<(String, bool, VarId)>,
}

/// One pass over the function.
#[derive(Clone)]
pub(super) struct Reader<'a> {
    pub(super) request: KernelRequest<'a>,
    pub(super) items: Items<'a>,
    pub(super) table: ShapeTable,
    pub(super) program: Program,
    pub(super) types: TypeTable,
    pub(super) var_ty: Vec<Ty>,
    pub(super) buf_ty: Vec<Ty>,
    pub(super) literals: Vec<(Literal, Ty, Span)>,
    pub(super) blocks: Vec<Vec<Stmt>>,
    pub(super) slots: Vec<Value>,
    pub(super) env: Env,
    pub(super) frames: Vec<Frame>,
    pub(super) loops: Vec<LoopFrame>,
    /// Least value and greatest value (inclusive) of loop counters.
    pub(super) bounds: BTreeMap<VarId, (Poly, Poly)>,
    /// Signed parameters that were taken not to be negative, as dimensions are not.
    pub(super) optimistic: BTreeSet<usize>,
    /// The same where sizes are assumed not to wrap: good for learning lengths, not for proofs.
    pub(super) likely_bounds: BTreeMap<VarId, (Poly, Poly)>,
    /// Dimensions that are part of a shape, hence at least 1.
    pub(super) positive_dims: BTreeSet<usize>,
    /// Polynomials that are known not to be negative here.
    pub(super) facts: Vec<Poly>,
    /// How many conditions enclose the present point.
    pub(super) conditional: usize,
    /// Accesses that say how long a slice must be: buffer parameter and least length.
    pub(super) reaches: Vec<(usize, Poly)>,
    /// The least index of each access, in the same way.
    pub(super) starts: Vec<(usize, Poly)>,
    /// Buffer parameters by buffer.
    pub(super) buf_params: BTreeMap<BufId, usize>,
    pub(super) tables: BTreeMap<String, View>,
    pub(super) dependencies: BTreeMap<String, proc_macro2::TokenStream>,
    pub(super) notes: Vec<String>,
    /// Variables that the reader made up, which may be folded into their use.
    pub(super) temporaries: Vec<VarId>,
    /// Counters whose type was open when they were declared.
    pub(super) open_casts: Vec<VarId>,
    /// Lengths of local buffers.
    pub(super) local_lens: BTreeMap<BufId, Expr>,
    /// Buffers of which every element is written, and none read before that.
    pub(super) complete: BTreeSet<BufId>,
    /// The returned `Vec`s, in order.
    pub(super) returned: Vec<ReturnedVec>,
    /// Buffers that are the result of one version of the body, and that of the first version.
    pub(super) same_result: Vec<(BufId, BufId)>,
    /// What lists that began empty turned out to be made of.
    pub(super) made_of: BTreeMap<BufId, Elem>,
    /// Leaves whose owners are exchanged at the end.
    pub(super) swaps: Vec<(String, String)>,
    /// Scalar parameters and what their leaves are called.
    pub(super) scalar_leaves: BTreeMap<VarId, String>,
    /// Parameters whose variants may be told apart before the body.
    pub(super) choices: Vec<super::params::Choice>,
    /// Whether nothing but exchanges of owners follows in the kernel.
    pub(super) last_statement: bool,
    /// Whether the call being read stands under a `?` that ends the kernel.
    pub(super) failing: bool,
    pub(super) depth: usize,
    pub(super) emitted: usize,
}

impl<'a> Reader<'a> {
    /// Begins a pass.
    pub(super) fn new(request: KernelRequest<'a>, table: ShapeTable) -> Self {
        let positive_dims = (0..table.dims.len())
            .filter(|dim| table.at_least_one(*dim))
            .collect();
        Reader {
            request,
            positive_dims,
            items: Items::new(request.krate),
            table,
            program: Program::default(),
            types: TypeTable::default(),
            var_ty: Vec::new(),
            buf_ty: Vec::new(),
            literals: Vec::new(),
            blocks: vec![Vec::new()],
            slots: Vec::new(),
            env: Env::default(),
            frames: Vec::new(),
            loops: Vec::new(),
            bounds: BTreeMap::new(),
            likely_bounds: BTreeMap::new(),
            optimistic: BTreeSet::new(),
            facts: Vec::new(),
            conditional: 0,
            reaches: Vec::new(),
            starts: Vec::new(),
            buf_params: BTreeMap::new(),
            tables: BTreeMap::new(),
            dependencies: BTreeMap::new(),
            notes: Vec::new(),
            temporaries: Vec::new(),
            open_casts: Vec::new(),
            local_lens: BTreeMap::new(),
            complete: BTreeSet::new(),
            returned: Vec::new(),
            same_result: Vec::new(),
            made_of: BTreeMap::new(),
            swaps: Vec::new(),
            scalar_leaves: BTreeMap::new(),
            choices: Vec::new(),
            last_statement: false,
            failing: false,
            depth: 0,
            emitted: 0,
        }
    }

    /// The function being read.
    pub(super) fn frame(&self) -> &Frame {
        &self.frames[self.frames.len() - 1]
    }

    /// A refusal at `span` of the function being read.
    pub(super) fn refuse(
        &self,
        span: Span,
        message: impl Into<String>,
        why: impl Into<String>,
        help: impl Into<String>,
    ) -> Interrupt {
        let file = self.frames.last().map_or("", |frame| frame.file.as_str());
        Interrupt::Refuse(Box::new(Unliftable {
            span: SourceSpan::new(file, span),
            message: message.into(),
            why: why.into(),
            help: help.into(),
        }))
    }

    /// A refusal of syntax that nothing here reads yet.
    pub(super) fn unknown(&self, span: Span, what: impl std::fmt::Display) -> Interrupt {
        self.refuse(
            span,
            format!("{what} is not understood here"),
            "the engine turns the function into plain loops, and knows no loops for this",
            "write it with loops, indexing and the common iterator methods",
        )
    }

    /// Refuses two types that should be one.
    pub(super) fn unify(&mut self, a: Ty, b: Ty, span: Span) -> Lift<()> {
        if self.types.unify(a, b) {
            return Ok(());
        }
        let name = |ty| match self.types.settled(ty) {
            Some(scalar) => scalar.name(),
            None => "?",
        };
        Err(self.refuse(
            span,
            format!("types differ here: `{}` and `{}`", name(a), name(b)),
            "the types as read from the source must agree with those that rustc finds",
            "annotate the variable or the literal with its type",
        ))
    }

    /// Counts nesting, so that no input exhausts the stack.
    pub(super) fn deeper<T>(
        &mut self,
        span: Span,
        read: impl FnOnce(&mut Self) -> Lift<T>,
    ) -> Lift<T> {
        if self.depth >= MAX_DEPTH || self.emitted >= MAX_STATEMENTS {
            return Err(self.refuse(
                span,
                "the function is too large once its helpers are inlined",
                "the engine reads a function as one loop nest",
                "annotate a smaller part of it",
            ));
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    // Statements.

    /// Appends a statement to the present block.
    pub(super) fn emit(&mut self, stmt: Stmt) {
        self.emitted += 1;
        if let Some(block) = self.blocks.last_mut() {
            block.push(stmt);
        }
    }

    /// Reads into a block of its own.
    pub(super) fn block<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Lift<T>,
    ) -> Lift<(Vec<Stmt>, T)> {
        self.blocks.push(Vec::new());
        let (env, facts) = (self.env.clone(), self.facts.len());
        let result = read(self);
        self.env = env;
        self.facts.truncate(facts);
        let block = self.blocks.pop().unwrap_or_default();
        result.map(|value| (block, value))
    }

    /// Declares a variable.
    pub(super) fn var(&mut self, name: &str, ty: Ty, mutable: bool) -> VarId {
        let scalar = match self.types.resolve(ty) {
            Ty::Known(scalar) => scalar,
            Ty::Open(_) => Scalar::Bool, // settled by `finish`
        };
        self.var_ty.push(ty);
        self.program
            .add_var(&super::pattern::plain_name(name), scalar, mutable)
    }

    /// Declares an immutable variable with this value.
    pub(super) fn let_named(&mut self, name: &str, num: Num) -> Num {
        let var = self.var(name, num.ty, false);
        // `let i = (x & 255) as usize`
        if self.types.resolve(num.ty) == Ty::Known(Scalar::Usize)
            && let Some(most) = self.most(&num.expr)
            && most < 1 << 48
        {
            let bounds = (Poly::constant(0), Poly::constant(most));
            self.bounds.insert(var, bounds);
        }
        self.emit(Stmt::Let {
            var,
            value: num.expr,
        });
        Num {
            expr: Expr::Var(var),
            ty: num.ty,
        }
    }

    /// Declares a variable of the reader's own.
    pub(super) fn let_temp(&mut self, name: &str, num: Num) -> Num {
        let num = self.let_named(name, num);
        if let Expr::Var(var) = num.expr {
            self.temporaries.push(var);
        }
        num
    }

    /// Declares a mutable variable with this value.
    pub(super) fn cell(&mut self, name: &str, num: Num) -> VarId {
        let var = self.var(name, num.ty, true);
        self.emit(Stmt::Let {
            var,
            value: num.expr,
        });
        var
    }

    /// Declares a local buffer.
    pub(super) fn local_buf(&mut self, name: &str, ty: Ty) -> BufId {
        let elem = match self.types.resolve(ty) {
            Ty::Known(scalar) => scalar,
            Ty::Open(_) => Scalar::Bool, // settled by `finish`
        };
        self.buf_ty.push(ty);
        self.program.add_buf(
            &super::pattern::plain_name(name),
            elem,
            BufRole::Local,
            Shape::default(),
        )
    }

    /// The type of the scalars in `buf`.
    pub(super) fn elem_ty(&self, buf: BufId) -> Ty {
        self.buf_ty
            .get(buf.0 as usize)
            .copied()
            .unwrap_or(Ty::Known(Scalar::Bool))
    }

    /// The type of a variable.
    pub(super) fn type_of_var(&self, var: VarId) -> Ty {
        self.var_ty
            .get(var.0 as usize)
            .copied()
            .unwrap_or(Ty::Known(Scalar::Bool))
    }

    /// Whether the value of `expr` can change under later statements.
    pub(super) fn is_stable(&self, expr: &Expr) -> bool {
        let mut stable = true;
        expr.walk(&mut |part| match part {
            Expr::Load { .. } => stable = false,
            Expr::Var(var) if var.0 < LITERALS => stable &= !self.program.var(*var).mutable,
            _ => {}
        });
        stable
    }

    /// `num`, held in a variable if later statements could change its value.
    pub(super) fn stable(&mut self, name: &str, num: Num) -> Num {
        if self.is_stable(&num.expr) {
            num
        } else {
            self.let_temp(name, num)
        }
    }

    /// `num`, held in a variable unless computing it again costs nothing.
    pub(super) fn shared(&mut self, name: &str, num: Num) -> Num {
        match num.expr {
            Expr::Const(_) | Expr::Dim(_) => num,
            Expr::Var(_) if self.is_stable(&num.expr) => num,
            _ => self.let_temp(name, num),
        }
    }

    /// As [`Reader::stable`], for a `usize`.
    pub(super) fn stable_index(&mut self, name: &str, expr: Expr) -> Expr {
        self.stable(name, usize_num(expr)).expr
    }

    /// Writes an element.
    pub(super) fn store(&mut self, buf: BufId, index: Expr, num: Num, span: Span) -> Lift<()> {
        self.unify(self.elem_ty(buf), num.ty, span)?;
        self.reach(buf, &index);
        self.emit(Stmt::Store {
            buf,
            index,
            value: num.expr,
            hint: StoreHint::Cached,
        });
        Ok(())
    }

    // Slots.

    /// A slot for `value`.
    pub(super) fn slot(&mut self, value: Value) -> SlotId {
        self.slots.push(value);
        SlotId(self.slots.len() - 1)
    }

    /// Brings `name` into scope.
    pub(super) fn bind(&mut self, name: &str, value: Value) -> SlotId {
        let slot = self.slot(value);
        self.env = self.env.bind(name, slot);
        slot
    }

    // Values.

    /// The scalar at `index` of `buf`.
    pub(super) fn load(&mut self, buf: BufId, index: Expr) -> Num {
        self.reach(buf, &index);
        Num {
            expr: Expr::load(buf, index),
            ty: self.elem_ty(buf),
        }
    }

    /// A view of all of `buf`.
    pub(super) fn whole(buf: BufId, len: Expr, own: Own) -> View {
        View {
            buf,
            offset: Expr::index(0),
            len,
            elem: Elem::Scalar,
            own,
        }
    }

    /// Emits a panic under `cond`; the rest of the block may rely on its opposite.
    pub(super) fn panic_if(&mut self, cond: Expr) {
        if cond == bool_const(false) {
            return;
        }
        let holds = fold::not(cond.clone());
        self.emit(Stmt::If {
            cond,
            then: vec![Stmt::Panic],
            otherwise: Vec::new(),
        });
        self.assume(&holds);
    }

    /// The present value of dimension `dim`.
    pub(super) fn dim(&self, dim: usize) -> Expr {
        match self
            .table
            .dims
            .get(dim)
            .and_then(|entry| entry.value.as_ref())
        {
            Some(value) => self.table.interner.expr(value),
            None => Expr::Dim(dim),
        }
    }
}

/// A `usize` scalar.
pub(super) fn usize_num(expr: Expr) -> Num {
    Num {
        expr,
        ty: Ty::Known(Scalar::Usize),
    }
}

/// A `bool` scalar.
pub(super) fn bool_num(expr: Expr) -> Num {
    Num {
        expr,
        ty: Ty::Known(Scalar::Bool),
    }
}

/// `true` or `false`.
pub(super) fn bool_const(value: bool) -> Expr {
    Expr::Const(Const::Bool(value))
}

/// Zero of a type.
pub(super) fn zero(scalar: Scalar) -> Num {
    let value = if scalar == Scalar::Bool {
        Const::Bool(false)
    } else if scalar.is_float() {
        Const::Float(scalar, 0.0)
    } else {
        Const::Int(scalar, 0)
    };
    Num {
        expr: Expr::Const(value),
        ty: Ty::Known(scalar),
    }
}

/// What kind of thing a value is, for messages.
pub(super) fn describe(value: &Value) -> &'static str {
    match value {
        Value::Unit => "`()`",
        Value::Never => "an expression that never ends",
        Value::Scalar(_) | Value::Cell(_) | Value::Memory(..) => "a number",
        Value::Variant(..) => "an enum",
        Value::Absent(_) => "something unknown",
        Value::Nd(_) => "an `ndarray` array",
        Value::Ref(..) => "a reference",
        Value::View(view) => match view.own {
            Own::Borrowed(_) => "a slice",
            Own::Array => "an array",
            Own::Vec => "a `Vec`",
        },
        Value::Tuple(_) => "a tuple",
        Value::Struct(..) => "a struct",
        Value::Iter(_) => "an iterator",
        Value::Callee(_) => "a function",
        Value::Option { .. } => "an `Option`",
        Value::Order(_) => "an `Ordering`",
        Value::Text => "a string",
    }
}

/// A unary function application.
pub(super) fn call1(func: Func, num: Num, ty: Ty) -> Num {
    Num {
        expr: Expr::Call(func, vec![num.expr]),
        ty,
    }
}

/// A binary operation whose result has the type of its left side.
pub(super) fn binary(op: BinaryOp, a: Num, b: Num) -> Num {
    Num {
        ty: a.ty,
        expr: fold::binary(op, a.expr, b.expr),
    }
}
