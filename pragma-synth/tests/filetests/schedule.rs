//! Random schedules: actions with random arguments, in random order, kept where they are legal.

use pragma_synth::action::{Action, apply};
use pragma_synth::ir::{BufRole, Mark, Program, Stmt};

/// `program` after some of the actions that `bytes` stand for, and which those were.
pub fn schedule(program: &Program, bytes: &[u8]) -> (Program, Vec<Action>) {
    let mut bytes = bytes.iter().map(|byte| usize::from(*byte));
    let mut next = |n: usize| bytes.next().map(|byte| byte % n);
    let mut program = program.clone();
    let mut applied = Vec::new();
    while let Some(kind) = next(12) {
        let mut loops = Vec::new();
        program.walk(&mut |stmt| {
            if let Stmt::For(inner) = stmt {
                loops.push(program.var(inner.var).name.clone());
            }
        });
        let buffers: Vec<_> = program
            .bufs
            .iter()
            .filter(|buf| buf.role != BufRole::Input)
            .map(|buf| buf.name.clone())
            .collect();
        let (Some(pick), Some(other)) = (next(250), next(250)) else {
            break;
        };
        if loops.is_empty() {
            break;
        }
        let axis = loops[pick % loops.len()].clone();
        let buffer = buffers.get(other % buffers.len().max(1)).cloned();
        let action = match (kind, buffer) {
            (0 | 1, _) => Action::Vectorize {
                axis,
                unroll: [1, 2, 4][other % 3],
            },
            (2, _) => Action::Parallelize {
                axis,
                grain: [1, 7, 64][other % 3],
                serial_below: [0, 10][other % 2],
            },
            (3, _) => Action::Fuse {
                first: axis,
                second: loops[other % loops.len()].clone(),
            },
            (4, Some(buffer)) => Action::Stream { buffer },
            (5, Some(buffer)) => Action::Stage { buffer, axis },
            (8, _) => Action::Prefetch {
                buffer: program.bufs[other % program.bufs.len()].name.clone(),
                axis,
                ahead: [None, Some(1), Some(100)][pick % 3],
            },
            (6, _) => Action::Unroll {
                axis,
                factor: [2, 3, 8][other % 3],
            },
            (9, _) => Action::Interchange { axis },
            (10, _) => Action::Jam {
                axis,
                factor: [2, 3][other % 2],
            },
            (11, Some(buffer)) => Action::Privatize { buffer, axis },
            _ => Action::Split {
                axis,
                factor: [1, 4, 16][other % 3],
            },
        };
        if let Ok(changed) = apply(&program, &action) {
            program = changed;
            applied.push(action);
        }
    }
    (program, applied)
}

/// Removes all marks: those of a random program may ask for what is not legal.
pub fn unmark(stmt: &mut Stmt) {
    if let Stmt::For(inner) = stmt {
        inner.mark = Mark::Serial;
    }
    for block in stmt.blocks_mut() {
        block.iter_mut().for_each(unmark);
    }
}
