//! Products by tensor cores.
//!
//! Owns fragments and their products. `f32` operands are split in two TF32 values each, whose three
//! larger products keep the accuracy of `f32`; the units' own sums, which round towards zero, are
//! added to a sum in `f32` after every step.

use crate::emit::EmitError;
use crate::emit::lines::Lines;

use super::plan::Requirement;
use super::tiles::{Frame, Tile};

/// Warps of a block along rows and along columns.
const WARPS: [u32; 2] = [2, 4];

/// Three TF32 products for each `f32` product.
pub(super) fn tf32(frame: &Frame<'_, '_>, out: &mut Lines) -> Result<Vec<Requirement>, EmitError> {
    let (m, n) = (frame.map.m / WARPS[0], frame.map.n / WARPS[1]);
    let (rows, columns) = (m / 16, n / 8);
    frame.spell.uses.borrow_mut().helpers.insert("mma_tf32");
    out.line(format!(
        "const u32 own_y = warp % {} * {m} + lane / 4;",
        WARPS[0]
    ));
    out.line(format!("const u32 own_x = warp / {} * {n};", WARPS[0]));
    out.line(format!("f32 sums[{rows}][{columns}][4] = {{}};"));
    frame.over_terms(out, &mut |out| {
        out.line(format!("f32 parts[{rows}][{columns}][4] = {{}};"));
        out.line("#pragma unroll");
        out.open(format!(
            "for (u32 step = 0; step < {}; step += 8) {{",
            frame.map.k
        ));
        let row = "own_y + 16 * i + part % 2 * 8";
        fragments(
            out,
            frame.a,
            "a",
            rows,
            4,
            row,
            "step + lane % 4 + part / 2 * 4",
        );
        let column = "own_x + 8 * i + lane / 4";
        fragments(
            out,
            frame.b,
            "b",
            columns,
            2,
            column,
            "step + lane % 4 + part * 4",
        );
        // One product of all fragments after the other: neighbours do not wait for each other.
        for (a, b) in [
            ("a_low", "b_high"),
            ("a_high", "b_low"),
            ("a_high", "b_high"),
        ] {
            out.line("#pragma unroll");
            out.open(format!("for (int i = 0; i < {rows}; i++) {{"));
            out.line("#pragma unroll");
            out.line(format!(
                "for (int j = 0; j < {columns}; j++) mma_tf32(parts[i][j], {a}[i], {b}[j]);"
            ));
            out.close("}");
        }
        out.close("}");
        out.line("#pragma unroll");
        out.open(format!("for (int i = 0; i < {rows}; i++) {{"));
        out.line("#pragma unroll");
        out.open(format!("for (int j = 0; j < {columns}; j++) {{"));
        out.line("#pragma unroll");
        out.line("for (int part = 0; part < 4; part++) sums[i][j][part] += parts[i][j][part];");
        out.close("}");
        out.close("}");
    });
    out.line("#pragma unroll");
    out.open(format!(
        "for (int own_row = 0; own_row < {}; own_row++) {{",
        2 * rows
    ));
    out.line("#pragma unroll");
    out.open(format!(
        "for (int own_column = 0; own_column < {columns}; own_column++) {{"
    ));
    let requires = frame.results(
        out,
        2,
        "own_y + own_row * 8",
        "own_x + own_column * 8 + threadIdx.x % 4 * 2",
        "sums[own_row / 2][own_column][own_row % 2 * 2 + lane]",
    )?;
    out.close("}");
    out.close("}");
    Ok(requires)
}

/// Reads and splits a warp's share of eight terms.
fn fragments(
    out: &mut Lines,
    tile: &Tile,
    name: &str,
    count: u32,
    parts: u32,
    row: &str,
    term: &str,
) {
    out.line(format!(
        "u32 {name}_high[{count}][{parts}], {name}_low[{count}][{parts}];"
    ));
    out.line("#pragma unroll");
    out.open(format!("for (int i = 0; i < {count}; i++) {{"));
    out.line("#pragma unroll");
    out.open(format!("for (int part = 0; part < {parts}; part++) {{"));
    out.line(format!(
        "split_tf32({}[{}], {name}_high[i][part], {name}_low[i][part]);",
        tile.name,
        tile.at(row, term)
    ));
    out.close("}");
    out.close("}");
}
