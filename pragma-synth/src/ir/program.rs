//! Programs: declarations around a body of statements.

use pragma_spec::{DimExpr, Scalar, Shape};

use super::{BinaryOp, Expr, Func, Stmt};

/// A scalar variable; indexes [`Program::vars`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VarId(pub u32);

/// A buffer; indexes [`Program::bufs`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BufId(pub u32);

/// A scalar variable, scalar parameter or loop counter.
#[derive(Clone, Debug, PartialEq)]
pub struct VarDecl {
    /// A Rust identifier, unique among all variables, buffers and dimensions of the program.
    pub name: String,
    /// Its type.
    pub scalar: Scalar,
    /// Whether `Assign` may change it.
    pub mutable: bool,
}

/// Where a buffer comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BufRole {
    /// A shared slice or array parameter: read only.
    Input,
    /// A `&mut` slice or array parameter: its old content is meaningful, its new content is
    /// a result.
    Mutable,
    /// The `Vec` the function returns; uninitialised on entry, every element is written.
    Return,
    /// A temporary of the function.
    Local,
}

/// A flat, row-major, contiguous array. Distinct buffers never overlap.
#[derive(Clone, Debug, PartialEq)]
pub struct BufDecl {
    /// A Rust identifier, unique among all variables, buffers and dimensions of the program.
    pub name: String,
    /// Element type.
    pub elem: Scalar,
    /// Where it comes from.
    pub role: BufRole,
    /// Extents over `Program::dims`; for a `Local` what is known of them (may be empty).
    pub shape: Shape,
}

/// One parameter of the function, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Param {
    /// A scalar, passed by value.
    Scalar(VarId),
    /// A slice or array.
    Buffer(BufId),
    /// An integer parameter whose value is the dimension `Program::dims[i]`. A kernel takes it
    /// among the dimensions only.
    Dim(usize),
}

/// What the function returns.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Returns {
    /// `()`.
    #[default]
    Nothing,
    /// One scalar, or a tuple of several; `Stmt::Return` gives the values, and the body of
    /// such a program always ends in one.
    Scalars(Vec<Scalar>),
    /// A `Vec`, held in a buffer of role `Return`.
    Buffer(BufId),
    /// Several values of which at least one is a `Vec`, in the order of the source.
    /// `Stmt::Return` gives the scalars among them, as for `Scalars`.
    Mixed(Vec<Returned>),
}

/// One of several returned values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Returned {
    /// A scalar.
    Scalar(Scalar),
    /// A `Vec`, held in a buffer of role `Return`.
    Buffer(BufId),
}

impl Returns {
    /// The values one by one, in order.
    pub fn parts(&self) -> Vec<Returned> {
        match self {
            Returns::Nothing => Vec::new(),
            Returns::Scalars(scalars) => scalars.iter().map(|s| Returned::Scalar(*s)).collect(),
            Returns::Buffer(buf) => vec![Returned::Buffer(*buf)],
            Returns::Mixed(parts) => parts.clone(),
        }
    }

    /// The types of the returned scalars, which `Stmt::Return` gives.
    pub fn scalars(&self) -> Vec<Scalar> {
        let scalar = |part: Returned| match part {
            Returned::Scalar(scalar) => Some(scalar),
            Returned::Buffer(_) => None,
        };
        self.parts().into_iter().filter_map(scalar).collect()
    }

    /// The same with every buffer replaced.
    #[must_use]
    pub fn map_buffers(&self, mut to: impl FnMut(BufId) -> BufId) -> Returns {
        match self {
            Returns::Buffer(buf) => Returns::Buffer(to(*buf)),
            Returns::Mixed(parts) => Returns::Mixed(
                parts
                    .iter()
                    .map(|part| match part {
                        Returned::Buffer(buf) => Returned::Buffer(to(*buf)),
                        scalar => *scalar,
                    })
                    .collect(),
            ),
            other => other.clone(),
        }
    }

    /// The returned buffers, in order.
    pub fn buffers(&self) -> Vec<BufId> {
        let buffer = |part: Returned| match part {
            Returned::Buffer(buf) => Some(buf),
            Returned::Scalar(_) => None,
        };
        self.parts().into_iter().filter_map(buffer).collect()
    }
}

/// A function over scalars and flat buffers.
///
/// Shapes are a precondition: a program means something only for arguments whose lengths match
/// the declared shapes under some assignment of the dimensions. The dispatch shim checks that
/// and runs the reference otherwise.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Program {
    /// The function's name.
    pub name: String,
    /// Names of the symbolic sizes, in the order in which a kernel takes them: identifiers, or the
    /// way to an integer field of a parameter, such as `self.height`.
    pub dims: Vec<String>,
    /// Parameters in the order of the signature.
    pub params: Vec<Param>,
    /// All scalar variables.
    pub vars: Vec<VarDecl>,
    /// All buffers.
    pub bufs: Vec<BufDecl>,
    /// What it does.
    pub body: Vec<Stmt>,
    /// What it returns.
    pub returns: Returns,
}

impl Program {
    /// The declaration of `var`.
    ///
    /// # Panics
    /// If `var` belongs to another program.
    pub fn var(&self, var: VarId) -> &VarDecl {
        &self.vars[var.0 as usize]
    }

    /// The declaration of `buf`.
    ///
    /// # Panics
    /// If `buf` belongs to another program.
    pub fn buf(&self, buf: BufId) -> &BufDecl {
        &self.bufs[buf.0 as usize]
    }

    /// Declares a variable under `name`, or `name_1`, `name_2`, .. if that is taken.
    pub fn add_var(&mut self, name: &str, scalar: Scalar, mutable: bool) -> VarId {
        let name = self.fresh_name(name);
        self.vars.push(VarDecl {
            name,
            scalar,
            mutable,
        });
        VarId(self.vars.len() as u32 - 1)
    }

    /// Declares a buffer under `name`, or `name_1`, `name_2`, .. if that is taken.
    pub fn add_buf(&mut self, name: &str, elem: Scalar, role: BufRole, shape: Shape) -> BufId {
        let name = self.fresh_name(name);
        self.bufs.push(BufDecl {
            name,
            elem,
            role,
            shape,
        });
        BufId(self.bufs.len() as u32 - 1)
    }

    /// The index of the dimension called `name`, adding it if need be.
    pub fn add_dim(&mut self, name: &str) -> usize {
        match self.dims.iter().position(|dim| dim == name) {
            Some(index) => index,
            None => {
                self.dims.push(name.to_owned());
                self.dims.len() - 1
            }
        }
    }

    /// Calls `visit` on every statement, parents first, in program order.
    pub fn walk<'a>(&'a self, visit: &mut dyn FnMut(&'a Stmt)) {
        self.body.iter().for_each(|stmt| stmt.walk(visit));
    }

    /// Whether the program may decline: a kernel then returns an `Option` of its result.
    pub fn declines(&self) -> bool {
        let mut found = false;
        self.walk(&mut |stmt| found |= *stmt == Stmt::Decline);
        found
    }

    /// Whether integers may overflow that are data: numbers of other types than sizes, and what is loaded. The program
    /// wraps there, and the function it was read from may panic where overflow is checked.
    ///
    /// Says yes in case of doubt, also of what was written as `wrapping_add`.
    pub fn may_wrap(&self) -> bool {
        let mut found = false;
        let mut look = |expr: &Expr| {
            let grows = match expr {
                Expr::Binary(BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Shl, ..) => {
                    true
                }
                Expr::Call(func, _) => matches!(func, Func::Neg | Func::Abs),
                _ => false,
            };
            let scalar = expr.scalar(self);
            if !grows || !scalar.is_integer() {
                return;
            }
            let mut loaded = false;
            expr.walk(&mut |part| loaded |= matches!(part, Expr::Load { .. }));
            found |= loaded || !matches!(scalar, Scalar::Usize | Scalar::Isize);
        };
        self.walk(&mut |stmt| stmt.exprs().iter().for_each(|expr| expr.walk(&mut look)));
        found
    }

    /// The same program with an identifier for every dimension: `self_height`.
    #[must_use]
    pub fn with_plain_dims(&self) -> Program {
        let mut program = self.clone();
        for index in 0..program.dims.len() {
            let name = program.dims[index].clone();
            if !name.contains('.') {
                continue;
            }
            let plain = program.fresh_name(&name.replace('.', "_"));
            for buf in &mut program.bufs {
                for extent in &mut buf.shape.0 {
                    *extent = renamed(extent, &name, &plain);
                }
            }
            program.dims[index] = plain;
        }
        program
    }

    fn fresh_name(&self, wanted: &str) -> String {
        let taken = |name: &str| {
            self.vars.iter().any(|var| var.name == name)
                || self.bufs.iter().any(|buf| buf.name == name)
                || self.dims.iter().any(|dim| dim == name)
        };
        // A raw identifier of the user's.
        let plain = syn::parse_str::<syn::Ident>(wanted).is_ok();
        if plain && !taken(wanted) {
            return wanted.to_owned();
        }
        let mut n = 1u32;
        loop {
            let name = format!("{wanted}_{n}");
            if !taken(&name) {
                return name;
            }
            n += 1;
        }
    }
}

/// `expr` with another name for a dimension.
pub(crate) fn renamed(expr: &DimExpr, from: &str, to: &str) -> DimExpr {
    let both = |a: &DimExpr, b: &DimExpr| {
        (
            Box::new(renamed(a, from, to)),
            Box::new(renamed(b, from, to)),
        )
    };
    match expr {
        DimExpr::Dim(name) if name == from => DimExpr::Dim(to.to_owned()),
        DimExpr::Const(_) | DimExpr::Dim(_) => expr.clone(),
        DimExpr::Add(a, b) => {
            let (a, b) = both(a, b);
            DimExpr::Add(a, b)
        }
        DimExpr::Sub(a, b) => {
            let (a, b) = both(a, b);
            DimExpr::Sub(a, b)
        }
        DimExpr::Mul(a, b) => {
            let (a, b) = both(a, b);
            DimExpr::Mul(a, b)
        }
        DimExpr::Div(a, b) => {
            let (a, b) = both(a, b);
            DimExpr::Div(a, b)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declared_names_are_free_and_no_keywords() {
        let mut program = Program::default();
        let names: Vec<String> = ["x", "x", "type", "type"]
            .iter()
            .map(|name| {
                let var = program.add_var(name, Scalar::F32, false);
                program.var(var).name.clone()
            })
            .collect();
        assert_eq!(names, ["x", "x_1", "type_1", "type_2"]);
    }

    #[test]
    fn data_may_wrap_and_sizes_do_not() {
        let may_wrap = |body: &str| {
            let text = format!(
                "kernel k(x: [u8; n], i: [usize; n], f: [f32; n]) -> f32 dims(n) {{\n  \
                 let mut s: f32 = 0f32\n  let mut t: u8 = 0u8\n  for j in 0..n {{\n    {body}\n  }}\n  return (s)\n}}\n"
            );
            super::super::text::parse(&text)
                .expect("it parses")
                .may_wrap()
        };
        for (body, expected) in [
            ("s = s + f[j]", false),
            ("s = s + f[j * 1 + 0]", false),
            ("s = f[i[j]]", false),
            ("s = f[i[j] + 1]", true),
            ("t = t + x[j]", true),
            ("t = t ^ x[j]", false),
            ("s = (x[j] * 2u8) as f32", true),
        ] {
            assert_eq!(may_wrap(body), expected, "{body}");
        }
    }
}
