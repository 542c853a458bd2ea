//! Writing a program as text.

use std::fmt::{self, Write};

use pragma_spec::{Scalar, Shape};

use crate::ir::{
    BufId, BufRole, Const, Expr, Func, Loop, Mark, Param, Program, Returned, Returns, Stmt,
    StoreHint, VarId,
};

/// Binding strengths; `BinaryOp::precedence` fills 1 to 6.
const COMPARE: u8 = 0;
const CAST: u8 = 7;
const UNARY: u8 = 8;
const ATOM: u8 = 9;

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut printer = Printer {
            program: self,
            out: String::new(),
            indent: 0,
        };
        printer.program();
        f.write_str(&printer.out)
    }
}

/// One expression as text, with the names of `program`.
pub fn expr_text(program: &Program, expr: &Expr) -> String {
    let mut printer = Printer {
        program,
        out: String::new(),
        indent: 0,
    };
    printer.expr(expr, COMPARE);
    printer.out
}

/// One statement as text, with everything inside it, unindented and without a final newline.
pub fn stmt_text(program: &Program, stmt: &Stmt) -> String {
    let mut printer = Printer {
        program,
        out: String::new(),
        indent: 0,
    };
    printer.stmt(stmt);
    printer.out.trim_end().to_owned()
}

/// Variables and buffers in the order in which the text introduces them.
pub(super) fn introduced(program: &Program) -> (Vec<VarId>, Vec<BufId>) {
    let mut vars = Vec::new();
    let mut bufs = Vec::new();
    for param in &program.params {
        match param {
            Param::Scalar(var) => vars.push(*var),
            Param::Buffer(buf) => bufs.push(*buf),
            Param::Dim(_) => {}
        }
    }
    bufs.extend(program.returns.buffers());
    program.walk(&mut |stmt| match stmt {
        Stmt::Let { var, .. } => vars.push(*var),
        Stmt::For(inner) => vars.push(inner.var),
        Stmt::Alloc { buf, .. } if program.buf(*buf).role == BufRole::Local => bufs.push(*buf),
        _ => {}
    });
    (vars, bufs)
}

struct Printer<'a> {
    program: &'a Program,
    out: String,
    indent: usize,
}

impl Printer<'_> {
    fn put(&mut self, text: impl fmt::Display) {
        // Writing to a `String` cannot fail.
        let _ = write!(self.out, "{text}");
    }

    fn start_line(&mut self) {
        for _ in 0..self.indent {
            self.out.push_str("  ");
        }
    }

    fn program(&mut self) {
        let program = self.program;
        self.put(format_args!("kernel {}(", program.name));
        for (i, param) in program.params.iter().enumerate() {
            if i > 0 {
                self.put(", ");
            }
            match param {
                Param::Scalar(var) => self.var_decl(*var),
                Param::Buffer(buf) => self.buf_decl(*buf),
                Param::Dim(dim) => self.put(format_args!("{}: dim", program.dims[*dim])),
            }
        }
        self.put(")");
        match &program.returns {
            Returns::Nothing => {}
            Returns::Scalars(scalars) if scalars.len() == 1 => {
                self.put(format_args!(" -> {}", scalars[0]));
            }
            Returns::Scalars(scalars) => {
                let names: Vec<_> = scalars.iter().map(|scalar| scalar.name()).collect();
                self.put(format_args!(" -> ({})", names.join(", ")));
            }
            Returns::Buffer(buf) => {
                self.put(" -> ");
                self.buf_decl(*buf);
            }
            Returns::Mixed(parts) => {
                self.put(" -> (");
                for (i, part) in parts.iter().enumerate() {
                    if i > 0 {
                        self.put(", ");
                    }
                    match part {
                        Returned::Scalar(scalar) => self.put(scalar),
                        Returned::Buffer(buf) => self.buf_decl(*buf),
                    }
                }
                self.put(")");
            }
        }
        self.put(format_args!(" dims({})", program.dims.join(", ")));
        self.tables();
        self.put(" {\n");
        self.block(&program.body);
        self.put("}\n");
    }

    /// Ids are numbered by first appearance, unless a table says otherwise.
    fn tables(&mut self) {
        let program = self.program;
        let (vars, bufs) = introduced(program);
        if !vars
            .iter()
            .copied()
            .eq((0..program.vars.len() as u32).map(VarId))
        {
            self.put("\n  vars(");
            for i in 0..program.vars.len() {
                if i > 0 {
                    self.put(", ");
                }
                self.var_decl(VarId(i as u32));
            }
            self.put(")");
        }
        if !bufs
            .iter()
            .copied()
            .eq((0..program.bufs.len() as u32).map(BufId))
        {
            self.put("\n  bufs(");
            for i in 0..program.bufs.len() {
                if i > 0 {
                    self.put(", ");
                }
                self.buf_decl(BufId(i as u32));
            }
            self.put(")");
        }
    }

    fn var_decl(&mut self, var: VarId) {
        let decl = self.program.var(var);
        let keyword = if decl.mutable { "mut " } else { "" };
        self.put(format_args!("{keyword}{}: {}", decl.name, decl.scalar));
    }

    fn buf_decl(&mut self, buf: BufId) {
        let decl = self.program.buf(buf);
        let role = match decl.role {
            BufRole::Input => "",
            BufRole::Mutable => "mut ",
            BufRole::Return => "ret ",
            BufRole::Local => "local ",
        };
        self.put(format_args!("{}: {role}", decl.name));
        self.array_type(decl.elem, &decl.shape);
    }

    fn array_type(&mut self, elem: Scalar, shape: &Shape) {
        self.put(format_args!("[{elem};"));
        for (i, extent) in shape.0.iter().enumerate() {
            let comma = if i > 0 { "," } else { "" };
            self.put(format_args!("{comma} {extent}"));
        }
        self.put("]");
    }

    fn block(&mut self, body: &[Stmt]) {
        self.indent += 1;
        for stmt in body {
            self.start_line();
            self.stmt(stmt);
        }
        self.indent -= 1;
    }

    fn braced(&mut self, body: &[Stmt]) {
        self.put(" {\n");
        self.block(body);
        self.start_line();
        self.put("}");
    }

    /// The statement and a newline; the line is already indented.
    fn stmt(&mut self, stmt: &Stmt) {
        let program = self.program;
        match stmt {
            Stmt::Let { var, value } => {
                self.put("let ");
                self.var_decl(*var);
                self.put(" = ");
                self.expr(value, COMPARE);
            }
            Stmt::Assign { var, value } => {
                self.put(format_args!("{} = ", program.var(*var).name));
                self.expr(value, COMPARE);
            }
            Stmt::Store {
                buf,
                index,
                value,
                hint,
            } => {
                if *hint == StoreHint::Stream {
                    self.put("stream ");
                }
                self.put(format_args!("{}[", program.buf(*buf).name));
                self.expr(index, COMPARE);
                self.put("] = ");
                self.expr(value, COMPARE);
            }
            Stmt::Prefetch { buf, index } => {
                self.put(format_args!("prefetch {}[", program.buf(*buf).name));
                self.expr(index, COMPARE);
                self.put("]");
            }
            Stmt::Alloc { buf, len, fill } => {
                self.put("alloc ");
                match program.buf(*buf).role {
                    BufRole::Local => self.buf_decl(*buf),
                    _ => self.put(&program.buf(*buf).name),
                }
                self.put(" len ");
                self.expr(len, COMPARE);
                self.put(" fill ");
                self.expr(fill, COMPARE);
            }
            Stmt::For(inner) => self.for_loop(inner),
            Stmt::While { cond, body } => {
                self.put("while ");
                self.expr(cond, COMPARE);
                self.braced(body);
            }
            Stmt::If {
                cond,
                then,
                otherwise,
            } => {
                self.put("if ");
                self.expr(cond, COMPARE);
                self.braced(then);
                if !otherwise.is_empty() {
                    self.put(" else");
                    self.braced(otherwise);
                }
            }
            Stmt::Break => self.put("break"),
            Stmt::Continue => self.put("continue"),
            Stmt::Return(values) => {
                self.put("return ");
                self.list(values);
            }
            Stmt::Panic => self.put("panic!"),
            Stmt::Decline => self.put("decline"),
        }
        self.put("\n");
    }

    fn for_loop(&mut self, inner: &Loop) {
        self.put(format_args!("for {} in ", self.program.var(inner.var).name));
        self.expr(&inner.lo, 1);
        self.put("..");
        self.expr(&inner.hi, 1);
        if inner.step != 1 {
            self.put(format_args!(" step {}", inner.step));
        }
        match inner.mark {
            Mark::Serial => {}
            Mark::Vector { unroll } => self.put(format_args!(" vector(unroll = {unroll})")),
            Mark::Parallel {
                grain,
                serial_below,
            } => self.put(format_args!(
                " parallel(grain = {grain}, serial_below = {serial_below})"
            )),
            Mark::ParallelVector {
                grain,
                serial_below,
                unroll,
            } => self.put(format_args!(
                " parallel(grain = {grain}, serial_below = {serial_below}) vector(unroll = {unroll})"
            )),
            Mark::Unroll { factor } => self.put(format_args!(" unroll(factor = {factor})")),
        }
        self.braced(&inner.body);
    }

    fn list(&mut self, exprs: &[Expr]) {
        self.put("(");
        for (i, expr) in exprs.iter().enumerate() {
            if i > 0 {
                self.put(", ");
            }
            self.expr(expr, COMPARE);
        }
        self.put(")");
    }

    /// Writes `expr`, in parentheses if it binds less tightly than `min`.
    fn expr(&mut self, expr: &Expr, min: u8) {
        if strength(expr) < min {
            self.put("(");
            self.expr(expr, COMPARE);
            self.put(")");
            return;
        }
        let program = self.program;
        match expr {
            Expr::Const(value) => self.put(const_text(*value)),
            Expr::Var(var) => self.put(&program.var(*var).name),
            Expr::Dim(dim) => self.put(&program.dims[*dim]),
            Expr::Load { buf, index } => {
                self.put(format_args!("{}[", program.buf(*buf).name));
                self.expr(index, COMPARE);
                self.put("]");
            }
            Expr::Binary(op, a, b) => {
                self.expr(a, op.precedence());
                self.put(format_args!(" {} ", op.symbol()));
                self.expr(b, op.precedence() + 1);
            }
            Expr::Compare(op, a, b) => {
                self.expr(a, COMPARE + 1);
                self.put(format_args!(" {} ", op.symbol()));
                self.expr(b, COMPARE + 1);
            }
            Expr::Select {
                cond,
                then,
                otherwise,
            } => {
                self.put("select(");
                self.expr(cond, COMPARE);
                self.put(", ");
                self.expr(then, COMPARE);
                self.put(", ");
                self.expr(otherwise, COMPARE);
                self.put(")");
            }
            Expr::Cast(scalar, value) => {
                self.expr(value, CAST);
                self.put(format_args!(" as {scalar}"));
            }
            Expr::Call(func @ (Func::Neg | Func::Not), args) if args.len() == 1 => {
                self.put(if *func == Func::Neg { "-" } else { "!" });
                // `-1` is a literal, so the negation of a literal needs parentheses.
                let min = match &args[0] {
                    Expr::Const(_) => ATOM + 1,
                    _ => UNARY,
                };
                self.expr(&args[0], min);
            }
            Expr::Call(func, args) => {
                self.put(func.name());
                self.list(args);
            }
        }
    }
}

fn strength(expr: &Expr) -> u8 {
    match expr {
        Expr::Compare(..) => COMPARE,
        Expr::Binary(op, ..) => op.precedence(),
        Expr::Cast(..) => CAST,
        Expr::Call(Func::Neg | Func::Not, args) if args.len() == 1 => UNARY,
        Expr::Const(_)
        | Expr::Var(_)
        | Expr::Dim(_)
        | Expr::Load { .. }
        | Expr::Select { .. }
        | Expr::Call(..) => ATOM,
    }
}

/// A literal as text. `usize` and `f32` are the types of bare literals; others have a suffix.
pub fn const_text(value: Const) -> String {
    match value {
        Const::Bool(value) => value.to_string(),
        Const::Int(Scalar::Usize, value) => value.to_string(),
        Const::Int(scalar, value) => format!("{value}{scalar}"),
        Const::Float(scalar, value) if value.is_nan() => format!("{scalar}::NAN"),
        Const::Float(scalar, f64::INFINITY) => format!("{scalar}::INFINITY"),
        Const::Float(scalar, f64::NEG_INFINITY) => format!("{scalar}::NEG_INFINITY"),
        // The shortest text that reads back as this `f32`.
        Const::Float(Scalar::F32, value) => format!("{:?}", value as f32),
        Const::Float(scalar, value) => format!("{value:?}{scalar}"),
    }
}
