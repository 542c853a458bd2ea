//! `ndarray` arrays and views.

use ndarray::{Array1, Array2, Array3, ArrayView1, ArrayView2, ArrayViewMut2, Axis, Zip, s};

pub fn laplace(u: &Array2<f64>, next: &mut Array2<f64>) -> f64 {
    let (h, w) = u.dim();
    let mut diff = 0.0f64;
    for i in 1..h - 1 {
        for j in 1..w - 1 {
            let v = 0.25 * (u[[i - 1, j]] + u[[i + 1, j]] + u[(i, j - 1)] + u[[i, j + 1]]);
            diff = diff.max((v - u[[i, j]]).abs());
            next[[i, j]] = v;
        }
    }
    diff
}

pub fn row_norms(x: ArrayView2<f32>) -> Array1<f32> {
    let mut out = Array1::zeros(x.nrows());
    for (i, row) in x.rows().into_iter().enumerate() {
        let mut sum = 0.0;
        for &v in row.iter() {
            sum += v * v;
        }
        out[i] = sum.sqrt();
    }
    out
}

pub fn outer_rows(x: &Array2<f32>, out: &mut Array1<f32>) {
    for (row, o) in x.outer_iter().zip(out.iter_mut()) {
        *o = row.iter().fold(0.0, |a, b| a + b);
    }
}

pub fn column_sums(x: &Array2<f32>, out: &mut [f32]) {
    for (j, column) in x.axis_iter(Axis(1)).enumerate() {
        let mut sum = 0.0;
        for v in column.iter() {
            sum += v;
        }
        out[j] = sum;
    }
}

pub fn columns_max(x: &Array2<f32>) -> Vec<f32> {
    x.columns()
        .into_iter()
        .map(|c| c.iter().copied().fold(f32::NEG_INFINITY, f32::max))
        .collect()
}

pub fn scale_rows(x: &mut Array2<f32>, k: &Array1<f32>) {
    for (mut row, &k) in x.outer_iter_mut().zip(k.iter()) {
        row.mapv_inplace(|v| v * k);
    }
}

pub fn scale_rows_index(x: &mut Array2<f32>, k: &Array1<f32>) {
    for i in 0..x.nrows() {
        for j in 0..x.ncols() {
            x[[i, j]] *= k[i];
        }
    }
}

pub fn add_row(x: &mut Array2<f32>, b: ArrayView1<f32>) {
    for mut row in x.rows_mut() {
        row += &b;
    }
}

pub fn arithmetic(a: &Array2<f32>, b: &Array2<f32>, k: f32) -> Array2<f32> {
    (a + b) * k - a
}

pub fn by_mapv(x: &Array2<f32>) -> Array2<f32> {
    x.mapv(|v| if v > 0.0 { v } else { 0.1 * v })
}

pub fn zipped(a: &Array2<f32>, b: &Array2<f32>, out: &mut Array2<f32>) {
    Zip::from(out).and(a).and(b).for_each(|o, &a, &b| *o = a.mul_add(b, 1.0));
}

pub fn zipped_rows(x: ArrayView2<f32>, out: &mut Array1<f32>) {
    Zip::from(out).and(x.rows()).for_each(|o, row| {
        let mut best = f32::NEG_INFINITY;
        for &v in row.iter() {
            best = best.max(v);
        }
        *o = best;
    });
}

pub fn assigned(x: &Array2<f32>, out: &mut ArrayViewMut2<f32>, k: f32) {
    out.assign(x);
    *out *= k;
    out.scaled_add(0.5, x);
}

pub fn blocks(x: &Array3<f32>) -> Array2<f32> {
    let (b, t, d) = x.dim();
    let mut out = Array2::<f32>::zeros((b, d));
    for (i, tokens) in x.outer_iter().enumerate() {
        let mut acc = out.row_mut(i);
        for token in tokens.outer_iter() {
            acc.scaled_add(1.0, &token);
        }
        acc /= t as f32;
    }
    out
}

pub fn trimmed(x: &Array2<f32>) -> f32 {
    let inner = x.slice(s![1.., ..]);
    let mut sum = 0.0;
    for row in inner.rows() {
        for v in row {
            sum += v;
        }
    }
    sum
}

pub fn every_second(x: &Array1<f32>, out: &mut Array1<f32>) {
    let half = x.slice(s![..;2]);
    for (o, v) in out.iter_mut().zip(half.iter()) {
        *o = v + 1.0;
    }
}

pub fn transposed(x: &Array2<f32>) -> Array2<f32> {
    let (h, w) = (x.nrows(), x.ncols());
    let t = x.t();
    let mut out = Array2::zeros((w, h));
    for i in 0..w {
        for j in 0..h {
            out[[i, j]] = t[[i, j]];
        }
    }
    out
}

pub fn from_fn(n: usize, m: usize) -> Array2<u32> {
    Array2::from_shape_fn((n, m), |(i, j)| (i * 3 + j) as u32)
}

pub fn shapes(x: &Array3<f32>) -> usize {
    let shape = x.shape();
    shape[0] * 100 + x.len_of(Axis(1)) * 10 + shape[2] + x.len() + x.ndim()
}

pub fn as_slices(x: &Array1<f32>, out: &mut Array1<f32>) {
    let x = x.as_slice().unwrap();
    let out = out.as_slice_mut().unwrap();
    for i in 0..x.len() {
        out[i] = x[i] * 3.0;
    }
}

pub fn indexed(x: &mut Array2<i32>) {
    let n = x.ncols();
    for i in 0..x.nrows() {
        let mut row = x.row_mut(i);
        for j in 0..n {
            row[j] += (i * n + j) as i32;
        }
    }
}

pub struct Layer {
    pub weights: Array2<f32>,
    pub bias: Array1<f32>,
}

impl Layer {
    pub fn forward(&self, x: ArrayView1<f32>) -> Array1<f32> {
        let mut out = self.bias.clone();
        for (i, row) in self.weights.rows().into_iter().enumerate() {
            for (w, v) in row.iter().zip(x.iter()) {
                out[i] += w * v;
            }
        }
        out
    }
}
