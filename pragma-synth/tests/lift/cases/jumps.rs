//! Leaving loops: labels, early returns of helpers, cursors.
#![allow(clippy::all, dead_code)]

pub fn labelled_continue(x: &[f32], rows: usize, cols: usize) -> usize {
    let mut count = 0;
    'rows: for i in 0..rows {
        for j in 0..cols {
            if x[i * cols + j] < 0.0 {
                continue 'rows;
            }
        }
        count += 1;
    }
    count
}

pub fn labelled_break(x: &[i32], rows: usize, cols: usize) -> i32 {
    let mut sum = 0;
    'all: for i in 0..rows {
        for j in 0..cols {
            let v = x[i * cols + j];
            if v == 3 {
                break 'all;
            }
            if v < -3 {
                continue 'all;
            }
            sum += v;
        }
        sum += 1;
    }
    sum
}

pub fn three_levels(x: &[i32], n: usize) -> i32 {
    let mut last = -1;
    'out: for a in 0..n {
        for b in 0..n {
            for c in 0..n {
                if x[a] + x[b] + x[c] == 0 {
                    last = (a * 100 + b * 10 + c) as i32;
                    if b > a {
                        break 'out;
                    }
                    break;
                }
            }
        }
    }
    last
}

fn find_pair(x: &[i32]) -> (usize, usize) {
    for i in 0..x.len() {
        for j in 0..x.len() {
            if i != j && x[i] + x[j] == 2 {
                return (i, j);
            }
        }
    }
    (99, 99)
}

pub fn helper_returns_from_two_loops(x: &[i32]) -> usize {
    let (i, j) = find_pair(x);
    i * 100 + j
}

fn early(x: &[i32]) -> i32 {
    let mut total = 0;
    for v in x {
        if *v == 5 {
            return -1;
        }
        for k in 0..3 {
            if *v == k {
                return total;
            }
            total += k;
        }
    }
    if total > 10 {
        return 10;
    }
    total
}

pub fn helper_with_many_exits(x: &[i32], d: usize, out: &mut [i32]) {
    for (row, o) in x.chunks_exact(d).zip(out) {
        *o = early(row);
    }
}

fn guarded(v: f32, lo: f32) -> f32 {
    let mut w = v;
    if w < lo {
        if w < -3.0 {
            return -3.0;
        }
        w = lo;
    }
    if w > 2.0 {
        return 2.0 + lo;
    }
    w * 0.5
}

pub fn helper_with_nested_guards(x: &[f32], lo: f32, out: &mut [f32]) {
    for (o, &v) in out.iter_mut().zip(x) {
        *o = guarded(v, lo);
    }
}

pub fn while_with_break(x: &[i32]) -> usize {
    let mut i = 0;
    while i < x.len() {
        if x[i] == 4 {
            break;
        }
        i += 1;
    }
    i
}

pub fn while_with_continue(x: &[i32]) -> i32 {
    let mut i = 0;
    let mut sum = 0;
    while i < x.len() {
        i += 1;
        if x[i - 1] < 0 {
            continue;
        }
        sum += x[i - 1];
    }
    sum
}

pub fn loop_cursor(x: &[i32]) -> i32 {
    let mut at = 0usize;
    let mut steps = 0;
    loop {
        if at >= x.len() || steps > 20 {
            break;
        }
        at += 1 + (x[at] & 3) as usize;
        steps += 1;
    }
    steps
}

pub fn two_cursors(a: &[i32], b: &[i32]) -> i32 {
    let (mut i, mut j) = (0, 0);
    let mut same = 0;
    while i < a.len() && j < b.len() {
        if a[i] == b[j] {
            same += 1;
            i += 1;
            j += 1;
        } else if a[i] < b[j] {
            i += 1;
        } else {
            j += 1;
        }
    }
    same
}

pub fn match_in_loop(ops: &[u8], x: &[i32]) -> i32 {
    let mut acc = 1;
    for (op, v) in ops.iter().zip(x) {
        match op % 4 {
            0 => acc += v,
            1 => acc -= v,
            2 if *v > 0 => continue,
            2 => acc ^= v,
            _ => break,
        }
    }
    acc
}

pub fn if_else_chain(x: &[f32], out: &mut [u8]) {
    for (o, &v) in out.iter_mut().zip(x) {
        *o = if v < -2.0 {
            0
        } else if v < 0.0 {
            1
        } else if v < 2.0 {
            2
        } else {
            3
        };
    }
}

pub fn block_value(x: &[f32], out: &mut [f32]) {
    for i in 0..x.len() {
        let y = {
            let a = x[i] * 2.0;
            let b = a + 1.0;
            a * b
        };
        out[i] = if y > 3.0 { let z = y.sqrt(); z + 1.0 } else { y };
    }
}

pub fn cursor(x: &[f32], rows: usize, cols: usize, out: &mut [f32]) {
    let mut k = 0;
    for r in 0..rows {
        for c in 0..cols {
            out[k] = x[c * rows + r];
            k += 1;
        }
    }
}

pub fn stepping_cursor(x: &[u8], out: &mut [u32]) -> usize {
    let mut at = 0;
    for o in out.iter_mut() {
        *o = x[at] as u32 + x[at + 1] as u32 * 256;
        at += 2;
    }
    at
}

pub fn two_steps(x: &[i32], n: usize) -> i32 {
    let mut at = 1;
    let mut sum = 0;
    for _ in 0..n {
        sum += x[at];
        at += 1;
        sum -= x[at];
        at += 2;
    }
    sum + at as i32
}

pub fn cursor_on_one_path(x: &[i32], out: &mut [i32]) -> usize {
    let mut k = 0;
    for &v in x {
        if v > 0 {
            out[k] = v;
            k += 1;
        }
    }
    k
}

pub fn cursor_that_breaks(x: &[i32]) -> usize {
    let mut k = 0;
    for &v in x {
        if v == 2 {
            break;
        }
        k += 1;
    }
    k
}
