//! What is refused, where, and what the user is told to write.

pub fn recursion(x: &[u32], out: &mut [u32]) {
    for (o, &v) in out.iter_mut().zip(x) {
        *o = fib(v);
    }
}

fn fib(n: u32) -> u32 {
    if n < 2 { n } else { fib(n - 1) + fib(n - 2) }
}

pub fn foreign(x: &[f32], out: &mut [f32]) {
    for i in 0..x.len() {
        out[i] = libm::erff(x[i]);
    }
}

pub fn sorts(x: &mut [f32]) {
    x.sort_by(|a, b| a.total_cmp(b));
}

pub fn conditional_push(x: &[f32]) -> Vec<f32> {
    let mut out = Vec::new();
    for &v in x {
        if v > 0.0 {
            out.push(v);
        }
    }
    out
}

pub fn filtered(x: &[f32]) -> Vec<f32> {
    x.iter().copied().filter(|v| *v > 0.0).collect()
}

pub fn early_vec(x: &[f32], n: usize) -> Vec<f32> {
    if n == 0 {
        return vec![0.0; 3];
    }
    vec![1.0; x.len()]
}

pub fn own_macro(x: &mut [f32]) {
    for v in x.iter_mut() {
        *v = square!(*v);
    }
}

pub fn by_reference(x: &[f32]) -> f32 {
    let mut it = x.iter();
    let head: f32 = it.by_ref().take(2).sum();
    head - it.sum::<f32>()
}

pub fn mixed_types(x: &[f32]) -> f64 {
    let mut s = 0.0f64;
    for v in x {
        s += v;
    }
    s
}

pub fn unknown_constant(x: &mut [f32]) {
    for v in x.iter_mut() {
        *v *= LIMIT;
    }
}

pub fn question(x: &[f32], out: &mut [f32]) {
    for (o, v) in out.iter_mut().zip(x) {
        *o = checked(*v)?;
    }
}

pub fn string(x: &[f32]) -> usize {
    let s = x.len().to_string();
    s.len()
}

pub fn print(x: &[f32]) {
    println!("{}", x[0]);
}

/// attr: shape(return = [n, 2])
pub fn wrong_shape(x: &[f32]) -> Vec<f32> {
    vec![x[0]; x.len() * 3]
}

pub fn no_annotation(x: &[f32]) -> f32 {
    let best;
    best = x[0];
    best
}

pub fn maybe_empty(x: &[i32], n: usize) -> i32 {
    *x[..n].iter().max().unwrap()
}

pub fn moving_slice(x: &[f32], n: usize) -> f32 {
    let mut rest = x;
    let mut total = 0.0;
    for i in 0..n {
        total += rest[0];
        if total > 3.0 {
            rest = &rest[i..];
        }
    }
    total
}

pub fn late_failure(x: &mut [i32]) -> Result<(), usize> {
    for i in 0..x.len() {
        x[i] += 1;
        if x[i] > 3 {
            return Err(i);
        }
    }
    Ok(())
}

fn checked_length(x: &[i32]) -> Result<i32, i32> {
    if x.len() > 9 { Err(-1) } else { Ok(x.len() as i32) }
}

pub fn error_looked_at(x: &[i32]) -> i32 {
    match checked_length(x) {
        Ok(n) => n,
        Err(code) => code * 2,
    }
}

pub enum Curve {
    Linear,
    Power(f32),
}

pub fn variants_with_fields(x: &mut [f32], power: f32) {
    let curve = if power == 1.0 { Curve::Linear } else { Curve::Power(power) };
    for v in x.iter_mut() {
        *v = match curve {
            Curve::Linear => *v,
            Curve::Power(p) => v.powf(p),
        };
    }
}

macro_rules! doubled {
    ($x:expr) => {{
        let v = $x + 1.0;
        v + v
    }};
}

pub fn captured(x: &mut [f32]) {
    for v in x.iter_mut() {
        *v = doubled!(*v);
    }
}

pub fn length_from_data(x: &[f32], ratio: f32) -> Vec<f32> {
    let n = (x.len() as f32 * ratio) as usize;
    (0..n).map(|i| x[(i as f32 / ratio) as usize]).collect()
}

pub struct Named {
    pub name: String,
    pub values: Vec<f32>,
}

impl Named {
    pub fn unknown_field(&self) -> f32 {
        self.values.iter().map(|v| v * self.name.len() as f32).sum()
    }
}

pub fn two_lengths(x: &[f32], flag: bool) -> f32 {
    let part = if flag { &x[1..] } else { &x[..2] };
    part.iter().sum()
}
