//! What a program offers to the rules: axes, buffers and pairs of loops.

use crate::action::{self, Action};
use crate::analyze::bounds::Scope;
use crate::analyze::depend;
use crate::analyze::reduce::{Combine, Reduction};
use crate::ir::{BufRole, Program, Stmt};

/// A loop that may run in vectors.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct VectorAxis {
    pub name: String,
    /// Whether it reduces.
    pub reduces: bool,
}

/// The possibilities of one program.
#[derive(Clone, Debug, Default)]
pub(super) struct Structure {
    pub vector: Vec<VectorAxis>,
    /// Loops that may be shared out to threads, outermost first.
    pub parallel: Vec<String>,
    /// Neighbouring loops that may become one.
    pub fusable: Vec<(String, String)>,
    /// Results that may be streamed, with the axis to stage them on where they are read back.
    pub streams: Vec<(String, Option<String>)>,
}

impl Structure {
    pub fn of(program: &Program, exact: bool) -> Self {
        let mut structure = Structure::default();
        structure.scan(program, &program.body, &Scope::default(), exact);
        structure.find_streams(program);
        structure
    }

    fn scan(&mut self, program: &Program, body: &[Stmt], scope: &Scope, exact: bool) {
        let mut scope = scope.clone();
        let mut previous: Option<String> = None;
        for stmt in body {
            let mut name = None;
            match stmt {
                Stmt::Let { var, value } => scope.define(program, *var, value),
                Stmt::For(inner) => {
                    let axis = program.var(inner.var).name.clone();
                    self.offer(program, &scope, inner, &axis, exact);
                    if let Some(first) = &previous {
                        let fuse = Action::Fuse {
                            first: first.clone(),
                            second: axis.clone(),
                        };
                        if action::apply(program, &fuse).is_ok() {
                            self.fusable.push((first.clone(), axis.clone()));
                        }
                    }
                    let within = scope.enter(program, inner);
                    self.scan(program, &inner.body, &within, exact);
                    name = Some(axis);
                }
                _ => {
                    for block in stmt.blocks() {
                        self.scan(program, block, &scope, exact);
                    }
                }
            }
            previous = name;
        }
    }

    fn offer(
        &mut self,
        program: &Program,
        scope: &Scope,
        inner: &crate::ir::Loop,
        axis: &str,
        exact: bool,
    ) {
        let vectorize = Action::Vectorize {
            axis: axis.to_owned(),
            unroll: 1,
        };
        if let Ok(reductions) = depend::vectorizable(program, scope, inner)
            && !(exact && reorders_floats(program, &reductions))
            && action::apply(program, &vectorize).is_ok()
        {
            self.vector.push(VectorAxis {
                name: axis.to_owned(),
                reduces: !reductions.is_empty(),
            });
        }
        let parallelize = Action::Parallelize {
            axis: axis.to_owned(),
            grain: 1,
            serial_below: 0,
        };
        if let Ok(reductions) = depend::parallelizable(program, scope, inner)
            && !(exact && reorders_floats(program, &reductions))
            && action::apply(program, &parallelize).is_ok()
        {
            self.parallel.push(axis.to_owned());
        }
    }

    fn find_streams(&mut self, program: &Program) {
        for buf in &program.bufs {
            if !matches!(buf.role, BufRole::Mutable | BufRole::Return) || buf.elem.bytes() < 4 {
                continue;
            }
            let stream = Action::Stream {
                buffer: buf.name.clone(),
            };
            if action::apply(program, &stream).is_ok() {
                self.streams.push((buf.name.clone(), None));
                continue;
            }
            let staged = self.parallel.iter().find(|axis| {
                let stage = Action::Stage {
                    buffer: buf.name.clone(),
                    axis: (*axis).clone(),
                };
                action::apply_all(program, &[stage, stream.clone()]).is_ok()
            });
            if let Some(axis) = staged {
                self.streams.push((buf.name.clone(), Some(axis.clone())));
            }
        }
    }
}

/// Whether regrouping these reductions may change bits.
fn reorders_floats(program: &Program, reductions: &[Reduction]) -> bool {
    reductions.iter().any(|reduction| match reduction {
        Reduction::Plain {
            acc,
            combine: Combine::Add | Combine::Mul,
        } => program.var(*acc).scalar.is_float(),
        _ => false,
    })
}
