//! Functions that may fail: a kernel makes the `Ok` or `Some` case and leaves the rest to the
//! reference.

#[derive(Debug, PartialEq)]
pub enum Trouble {
    Empty,
    Lengths { left: usize, right: usize },
    Bad(usize),
}

fn check(n: usize, window: usize) -> Result<usize, Trouble> {
    if window < 2 {
        return Err(Trouble::Bad(window));
    }
    if n < window {
        return Err(Trouble::Empty);
    }
    Ok(window - 1)
}

pub fn add_checked(a: &[f32], b: &[f32], out: &mut [f32]) -> Result<(), Trouble> {
    if a.len() != b.len() {
        return Err(Trouble::Lengths {
            left: a.len(),
            right: b.len(),
        });
    }
    for i in 0..a.len() {
        out[i] = a[i] + b[i];
    }
    Ok(())
}

pub fn moving_sum(x: &[f64], window: usize, out: &mut [f64]) -> Result<usize, Trouble> {
    let lookback = check(x.len(), window)?;
    if out.len() != x.len() {
        return Err(Trouble::Empty);
    }
    out[..lookback].fill(f64::NAN);
    let mut sum = x[..window].iter().sum::<f64>();
    out[lookback] = sum;
    for i in window..x.len() {
        sum += x[i] - x[i - window];
        out[i] = sum;
    }
    Ok(lookback)
}

pub fn mean_option(x: &[f64]) -> Option<f64> {
    if x.is_empty() {
        return None;
    }
    let total: f64 = x.iter().sum();
    if total < 0.0 {
        None
    } else {
        Some(total / x.len() as f64)
    }
}

pub fn first_negative(x: &[i32]) -> Option<usize> {
    x.iter().position(|&v| v < 0)
}

pub fn first_negative_loop(x: &[i32]) -> Option<usize> {
    for (i, &v) in x.iter().enumerate() {
        if v < 0 {
            return Some(i);
        }
    }
    None
}

fn reciprocal(v: f32) -> Option<f32> {
    if v == 0.0 { None } else { Some(1.0 / v) }
}

pub fn harmonic(x: &[f32]) -> Option<f32> {
    let mut sum = 0.0;
    for &v in x {
        sum += reciprocal(v)?;
    }
    Some(x.len() as f32 / sum)
}

pub fn reciprocals_or(x: &[f32], other: f32, out: &mut [f32]) {
    for (o, &v) in out.iter_mut().zip(x) {
        *o = reciprocal(v).unwrap_or(other);
    }
}

pub fn reciprocals_matched(x: &[f32], out: &mut [f32]) {
    for (o, &v) in out.iter_mut().zip(x) {
        *o = match reciprocal(v) {
            Some(r) if r > 0.5 => r,
            Some(r) => r * 2.0,
            None => -1.0,
        };
    }
}

/// The failure is found in the middle, after writes: it is looked for first.
/// attr: inputs(idx = 0..3)
pub fn scatter_rows(
    table: &mut [i32],
    idx: &[usize],
    rows: &[i32],
    dim: usize,
) -> Result<(), usize> {
    for (i, &dst) in idx.iter().enumerate() {
        if (dst + 1) * dim > table.len() {
            return Err(i);
        }
        for j in 0..dim {
            table[dst * dim + j] += rows[i * dim + j];
        }
    }
    Ok(())
}

pub fn histogram_checked(x: &[u8], bins: &mut [u32]) -> Result<u32, u8> {
    let mut seen = 0;
    for &v in x {
        let bin = v as usize;
        if bin >= bins.len() {
            return Err(v);
        }
        bins[bin] += 1;
        seen += 1;
    }
    Ok(seen)
}

pub fn parse_digits(text: &[u8], out: &mut [u32]) -> Result<(), Trouble> {
    for (i, (o, &c)) in out.iter_mut().zip(text).enumerate() {
        *o = match c {
            1..=9 => (c * 2) as u32,
            0 => 7,
            _ => return Err(Trouble::Bad(i)),
        };
    }
    Ok(())
}

pub fn option_chain(x: &[f32], at: usize) -> Option<f32> {
    let first = x.first()?;
    let other = x.get(at).copied()?;
    Some(first * other).filter(|v| *v > 0.0)
}

pub fn result_ok_or(x: &[f32], scale: f32) -> Result<f32, &'static str> {
    let best = x.iter().copied().reduce(f32::max).ok_or("nothing")?;
    let scaled = reciprocal(scale).map(|r| best * r).ok_or_else(|| "scale")?;
    Ok(scaled)
}

pub fn collected(x: &[f32], least: usize) -> Result<Vec<f32>, String> {
    if x.len() < least {
        return Err(format!("only {} of {least}", x.len()));
    }
    Ok(x.iter().map(|v| v * 2.0).collect())
}

pub fn early_vec(x: &[f32], scale: f32) -> Vec<f32> {
    if scale == 1.0 {
        return x.to_vec();
    }
    let mut out = vec![0.0; x.len()];
    for (o, v) in out.iter_mut().zip(x) {
        *o = v * scale;
    }
    out
}

pub fn let_else_guard(x: &[i32], at: usize) -> Option<i32> {
    let Some(v) = x.get(at) else {
        return None;
    };
    let Ok(n) = positive(*v) else { return None };
    Some(n * 2)
}

fn positive(v: i32) -> Result<i32, ()> {
    match v {
        v if v > 0 => Ok(v),
        _ => Err(()),
    }
}

pub fn if_let_ok(x: &[i32], out: &mut [i32]) {
    for i in 0..x.len() {
        if let Ok(v) = positive(x[i]) {
            out[i] = v;
        } else {
            out[i] = -7;
        }
    }
}
