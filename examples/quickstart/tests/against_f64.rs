//! Every function, as dispatched here, against a plain f64 computation.

use quickstart::{
    argmax_rows, cosine_similarity, dot, gelu, layer_norm, rms_norm, saxpy, softmax_rows,
};

/// Sizes on both sides of every vector width, and one beyond the small bucket.
const SIZES: [usize; 9] = [1, 7, 8, 15, 16, 33, 1000, 4096, 300_001];
/// Rows and their lengths.
const MATRICES: [(usize, usize); 6] = [(1, 1), (3, 7), (5, 16), (2, 33), (8, 1024), (600, 1000)];

fn random(n: usize, seed: u64) -> Vec<f32> {
    let mut rng = fastrand::Rng::with_seed(seed);
    (0..n).map(|_| rng.f32() * 8.0 - 4.0).collect()
}

fn wide(values: &[f32]) -> Vec<f64> {
    values.iter().map(|&v| f64::from(v)).collect()
}

#[track_caller]
fn near(got: f32, exact: f64, magnitude: f64) {
    let error = (f64::from(got) - exact).abs();
    assert!(
        error <= 1e-5 * magnitude.max(1e-30),
        "got {got}, exact {exact}, magnitude {magnitude}"
    );
}

#[test]
fn saxpy_adds() {
    for n in SIZES {
        let (x, y) = (random(n, 1), random(n, 2));
        let mut out = y.clone();
        saxpy(1.5, &x, &mut out);
        for i in 0..n {
            let (a, b) = (1.5 * f64::from(x[i]), f64::from(y[i]));
            near(out[i], a + b, a.abs() + b.abs());
        }
    }
}

#[test]
fn dot_and_cosine() {
    for n in SIZES {
        let (x, y) = (random(n, 3), random(n, 4));
        let sum =
            |a: &[f32], b: &[f32]| wide(a).iter().zip(wide(b)).map(|(a, b)| a * b).sum::<f64>();
        let terms = wide(&x)
            .iter()
            .zip(wide(&y))
            .map(|(a, b)| (a * b).abs())
            .sum::<f64>();
        near(dot(&x, &y), sum(&x, &y), 10.0 * terms);
        let norms = (sum(&x, &x) * sum(&y, &y)).sqrt();
        near(
            cosine_similarity(&x, &y),
            sum(&x, &y) / norms,
            10.0 * terms / norms,
        );
    }
}

#[test]
fn gelu_bends() {
    for n in SIZES {
        let x = random(n, 5);
        let mut out = vec![f32::NAN; n];
        gelu(&x, &mut out);
        for i in 0..n {
            let v = f64::from(x[i]);
            let inner = f64::from(0.797_884_6f32) * (v + f64::from(0.044_715f32) * v * v * v);
            near(out[i], 0.5 * v * (1.0 + inner.tanh()), v.abs());
        }
    }
}

#[test]
fn softmax_sums_to_one() {
    for (rows, d) in MATRICES {
        let x = random(rows * d, 6);
        let mut out = vec![f32::NAN; rows * d];
        softmax_rows(&x, d, &mut out);
        for (row, out) in x.chunks(d).zip(out.chunks(d)) {
            let row = wide(row);
            let max = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let sum: f64 = row.iter().map(|v| (v - max).exp()).sum();
            for (v, &got) in row.iter().zip(out) {
                let exact = (v - max).exp() / sum;
                near(got, exact, 3.0 * exact);
            }
        }
    }
}

#[test]
fn norms_scale() {
    for (rows, d) in MATRICES {
        let (x, weight, bias) = (random(rows * d, 7), random(d, 8), random(d, 9));
        let mut rms = vec![f32::NAN; rows * d];
        rms_norm(&x, &weight, 1e-5, &mut rms);
        let mut layer = vec![f32::NAN; rows * d];
        layer_norm(&x, &weight, &bias, 1e-2, &mut layer);
        for r in 0..rows {
            let row = wide(&x[r * d..][..d]);
            let n = d as f64;
            let square = row.iter().map(|v| v * v).sum::<f64>() / n;
            let mean = row.iter().sum::<f64>() / n;
            let var = row.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / n;
            for i in 0..d {
                let (w, b) = (f64::from(weight[i]), f64::from(bias[i]));
                let exact = row[i] / (square + f64::from(1e-5f32)).sqrt() * w;
                near(rms[r * d + i], exact, 10.0 * exact.abs());
                let scaled = (row[i] - mean) / (var + f64::from(1e-2f32)).sqrt() * w;
                near(
                    layer[r * d + i],
                    scaled + b,
                    10.0 * (scaled.abs() + b.abs() + row[i].abs()),
                );
            }
        }
    }
}

#[test]
fn argmax_takes_the_first() {
    for (rows, d) in MATRICES {
        let mut x = random(rows * d, 10);
        // Ties: round so that equal maxima are common.
        x.iter_mut().for_each(|v| *v = v.round());
        let mut out = vec![u32::MAX; rows];
        argmax_rows(&x, d, &mut out);
        for (row, &got) in x.chunks(d).zip(&out) {
            let max = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            let first = row.iter().position(|&v| v == max);
            assert_eq!(Some(got as usize), first);
        }
    }
    let mut out = [7];
    argmax_rows(&[f32::NAN, 1.0, f32::NAN, 3.0, 3.0], 5, &mut out);
    assert_eq!(out, [3]);
}

#[test]
fn odd_shapes_go_to_the_reference() {
    // Rows that do not divide the data, and no data at all: the function as written decides.
    let mut out = [1.0f32; 5];
    softmax_rows(&[0.0; 5], 2, &mut out);
    assert_eq!(out, [0.5, 0.5, 0.5, 0.5, 1.0]);
    assert_eq!(dot(&[], &[]), 0.0);
    assert_eq!(dot(&[1.0, 2.0, 3.0], &[2.0, 2.0]), 6.0);
    let reference = std::panic::catch_unwind(|| cosine_similarity(&[1.0, 2.0], &[1.0]));
    assert!(reference.is_err());
}
