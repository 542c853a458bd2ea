//! What a program offers to the rules: axes, buffers and pairs of loops.

use crate::action::{self, Action};
use crate::analyze::bounds::{self, Range, Scope};
use crate::analyze::depend;
use crate::analyze::poly::{self, Atom};
use crate::analyze::reduce::{Combine, Reduction};
use crate::ir::{BufRole, Program, Stmt};

use super::choice::{self, Chooser};

/// How many bytes ahead a single pass may read: enough that memory answers in time, and within what
/// the caches hold besides.
const AHEAD: [u64; 2] = [8192, 4096];

/// A loop that may run in vectors.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct VectorAxis {
    pub name: String,
    /// Whether it reduces.
    pub reduces: bool,
    /// Vectors per step to begin with.
    pub unroll: u32,
    /// The loops inside it, which cannot run in vectors then.
    pub inside: Vec<String>,
}

/// The possibilities of one program.
#[derive(Clone, Debug, Default)]
pub(super) struct Structure {
    /// Those that the estimate prefers; no two of one nest.
    pub vector: Vec<VectorAxis>,
    /// All that are legal.
    pub axes: Vec<VectorAxis>,
    /// Whether the estimate expects little of them: lanes gather, scatter, or are few.
    pub doubtful: bool,
    /// The innermost ones, where those are others than the preferred.
    pub innermost: Option<Vec<String>>,
    /// Loops that may be shared out to threads, outermost first.
    pub parallel: Vec<String>,
    /// Loops around those in vectors, of which iterations may run side by side.
    pub jams: Vec<String>,
    /// Neighbouring loops that may become one.
    pub fusable: Vec<(String, String)>,
    /// Results that may be streamed, with the axis to stage them on where they are read back.
    pub streams: Vec<(String, Option<String>)>,
    /// Ways to read ahead, each a list of a buffer, a loop, and how many of its iterations ahead or
    /// (without a number) the next row while a later pass works on this one.
    pub prefetches: Vec<Vec<(String, String, Option<u64>)>>,
}

impl Structure {
    pub fn of(program: &Program, exact: bool, dims: &[u64], lanes: u32) -> Self {
        let mut structure = Structure::default();
        let size = (exact, lanes);
        structure.scan(program, &program.body, &Scope::of(program), size);
        let mut chooser = Chooser::new(program, dims, lanes, &structure.axes);
        let (best, innermost) = (chooser.best(), chooser.innermost());
        let serial = Chooser::new(program, dims, lanes, &[]).best().cost;
        structure.doubtful = best.cost > 4.0 * serial / f64::from(lanes);
        let among = |axis: &&VectorAxis| best.axes.contains(&axis.name);
        structure.vector = structure.axes.iter().filter(among).cloned().collect();
        if innermost.axes != best.axes && !innermost.axes.is_empty() {
            structure.innermost = Some(innermost.axes);
        }
        structure.find_jams(program);
        structure.find_streams(program);
        structure.find_prefetches(program);
        structure
    }

    fn scan(&mut self, program: &Program, body: &[Stmt], scope: &Scope, size: (bool, u32)) {
        let mut scope = scope.clone();
        let mut previous: Option<String> = None;
        for stmt in body {
            let mut name = None;
            match stmt {
                Stmt::For(inner) => {
                    let axis = program.var(inner.var).name.clone();
                    self.offer(program, &scope, inner, &axis, size);
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
                    self.scan(program, &inner.body, &within, size);
                    name = Some(axis);
                }
                Stmt::If {
                    cond,
                    then,
                    otherwise,
                } => {
                    for (block, holds) in [(then, true), (otherwise, false)] {
                        let within = scope.given(program, cond, holds);
                        self.scan(program, block, &within, size);
                    }
                }
                _ => {
                    for block in stmt.blocks() {
                        self.scan(program, block, &scope, size);
                    }
                }
            }
            scope.pass(program, stmt);
            previous = name;
        }
    }

    fn offer(
        &mut self,
        program: &Program,
        scope: &Scope,
        inner: &crate::ir::Loop,
        axis: &str,
        size: (bool, u32),
    ) {
        let (exact, lanes) = size;
        let vectorize = Action::Vectorize {
            axis: axis.to_owned(),
            unroll: 1,
        };
        if let Ok(reductions) = depend::vectorizable(program, scope, inner)
            && !(exact && reorders_floats(program, &reductions))
            && action::apply(program, &vectorize).is_ok()
        {
            let reduces = !reductions.is_empty();
            self.axes.push(VectorAxis {
                name: axis.to_owned(),
                reduces,
                unroll: match (choice::has_loops(&inner.body), reduces) {
                    (true, _) => choice::side_by_side(program, inner, lanes),
                    (false, true) => 4,
                    (false, false) => 1,
                },
                inside: choice::inside(program, inner),
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

    /// Where there are several passes over a row, the later ones have time to ask for the next.
    /// Where there is one pass, it asks for what comes some kilobytes later.
    fn find_prefetches(&mut self, program: &Program) {
        let legal = |buffer: &str, axis: &str, ahead| {
            let prefetch = Action::Prefetch {
                buffer: buffer.to_owned(),
                axis: axis.to_owned(),
                ahead,
            };
            action::apply(program, &prefetch).is_ok()
        };
        let axes: Vec<&str> = self.vector.iter().map(|axis| axis.name.as_str()).collect();
        let mut single = Vec::new();
        for buf in &program.bufs {
            let name = buf.name.as_str();
            let rows = axes.iter().filter(|axis| legal(name, axis, None));
            let later: Vec<&&str> = rows.skip(1).collect();
            // The last pass has most time left, since it also writes.
            for axis in later.iter().rev() {
                self.prefetches
                    .push(vec![(name.to_owned(), (**axis).to_owned(), None)]);
            }
            // What is read again and again is in the caches: each loop around must move on.
            if later.is_empty()
                && let Some(axis) = axes.iter().find(|axis| legal(name, axis, Some(1)))
                && reads_once(program, buf.name.as_str())
            {
                single.push((name.to_owned(), (*axis).to_owned(), buf.elem.bytes()));
            }
        }
        for bytes in AHEAD {
            let all = single.iter().map(|(buffer, axis, size)| {
                let ahead = bytes / (*size as u64).max(1);
                (buffer.clone(), axis.clone(), Some(ahead))
            });
            if !single.is_empty() {
                self.prefetches.push(all.collect());
            }
        }
    }

    /// The nearest loops around the preferred vector loops that may be jammed.
    fn find_jams(&mut self, program: &Program) {
        program.walk(&mut |stmt| {
            let Stmt::For(outer) = stmt else { return };
            let axis = program.var(outer.var).name.clone();
            let inside = choice::inside(program, outer);
            let works = |axis: &&VectorAxis| axis.reduces || !axis.inside.is_empty();
            let mut vectors = self.vector.iter().filter(works);
            if !vectors.any(|vector| inside.contains(&vector.name)) {
                return;
            }
            let jam = Action::Jam {
                axis: axis.clone(),
                factor: 4,
            };
            if action::apply(program, &jam).is_ok() {
                self.jams.retain(|outer| {
                    let around = outer_of(program, outer);
                    !around.contains(&axis)
                });
                self.jams.push(axis);
            }
        });
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

/// The loops inside the loop called `name`.
fn outer_of(program: &Program, name: &str) -> Vec<String> {
    let mut inside = Vec::new();
    program.walk(&mut |stmt| {
        if let Stmt::For(outer) = stmt
            && program.var(outer.var).name == name
        {
            inside = choice::inside(program, outer);
        }
    });
    inside
}

/// The actions that every version begins with: temporaries that keep a loop from being shared
/// out become private, and loops change places where the estimate finds that better.
pub(super) fn prefix(program: &Program, exact: bool, dims: &[u64], lanes: u32) -> Vec<Action> {
    let mut actions = Vec::new();
    let mut program = program.clone();
    let mut names = Vec::new();
    program.walk(&mut |stmt| {
        if let Stmt::For(inner) = stmt {
            names.push(program.var(inner.var).name.clone());
        }
    });
    for axis in &names {
        for buf in program.bufs.clone() {
            let privatize = Action::Privatize {
                buffer: buf.name.clone(),
                axis: axis.clone(),
            };
            if let Ok(changed) = action::apply(&program, &privatize) {
                program = changed;
                actions.push(privatize);
            }
        }
    }
    let cost = |program: &Program| {
        let structure = Structure::of(program, exact, dims, lanes);
        Chooser::new(program, dims, lanes, &structure.axes)
            .best()
            .cost
    };
    let mut best = None;
    for axis in names {
        let interchange = Action::Interchange { axis };
        let Ok(changed) = action::apply(&program, &interchange) else {
            continue;
        };
        let before = *best.get_or_insert_with(|| cost(&program));
        let after = cost(&changed);
        if after < 0.9 * before {
            program = changed;
            actions.push(interchange);
            best = Some(after);
        }
    }
    actions
}

/// Whether no loop around a load of the buffer leaves its index as it is.
fn reads_once(program: &Program, name: &str) -> bool {
    let mut once = true;
    bounds::for_each_access(
        program,
        &program.body,
        &Scope::of(program),
        &mut |at, buf, index, is_store| {
            if is_store || program.buf(buf).name != name {
                return;
            }
            once &= poly::read(program, &at.definitions, index).is_some_and(|index| {
                let moves = |range: &Range| index.mentions(&Atom::Var(range.var));
                at.ranges.iter().filter(|range| range.counter).all(moves)
            });
        },
    );
    once
}

/// Whether regrouping these reductions may change bits.
pub(super) fn reorders_floats(program: &Program, reductions: &[Reduction]) -> bool {
    reductions.iter().any(|reduction| match reduction {
        Reduction::Plain {
            acc,
            combine: Combine::Add | Combine::Mul,
        } => program.var(*acc).scalar.is_float(),
        _ => false,
    })
}
