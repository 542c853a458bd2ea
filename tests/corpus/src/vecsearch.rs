//! Vector search kernels.

use ndarray::{ArrayView1, ArrayView2};
use pragma_runtime::pragma_kernel;

/// Cosine similarity of two vectors, 0 if either is (almost) zero.
#[pragma_kernel(
    shape(a = [n], b = [n]),
    tune(n = 4194304),
    inputs(a = -1.0..1.0, b = -1.0..1.0),
)]
pub fn cosine_similarity(a: &[f32], b: &[f32]) -> f32 {
    let n = a.len().min(b.len());
    let (mut d0, mut d1, mut d2, mut d3) = (0.0f32, 0.0f32, 0.0f32, 0.0f32);
    let mut aa = 0.0f32;
    let mut bb = 0.0f32;
    let mut i = 0;
    while i + 4 <= n {
        d0 += a[i] * b[i];
        d1 += a[i + 1] * b[i + 1];
        d2 += a[i + 2] * b[i + 2];
        d3 += a[i + 3] * b[i + 3];
        for j in i..i + 4 {
            aa += a[j] * a[j];
            bb += b[j] * b[j];
        }
        i += 4;
    }
    while i < n {
        d0 += a[i] * b[i];
        aa += a[i] * a[i];
        bb += b[i] * b[i];
        i += 1;
    }
    let denom = aa.sqrt() * bb.sqrt();
    if denom < f32::EPSILON {
        return 0.0;
    }
    (d0 + d1 + d2 + d3) / denom
}

/// Number of bits in which two bitmaps differ.
#[pragma_kernel(
    shape(a = [n], b = [n]),
    tune(n = 4194304),
)]
pub fn hamming_distance(a: &[u64], b: &[u64]) -> u32 {
    assert_eq!(a.len(), b.len(), "bitmaps differ in length");
    let mut dist = 0;
    for i in 0..a.len() {
        dist += (a[i] ^ b[i]).count_ones();
    }
    dist
}

/// Row with the largest inner product, and that product; `None` for an empty database.
#[pragma_kernel(
    shape(db = [n, dim], query = [dim]),
    tune(n = 16384, dim = 256),
    inputs(db = -1.0..1.0, query = -1.0..1.0),
)]
pub fn best_match(db: &ArrayView2<f32>, query: &ArrayView1<f32>) -> Option<(usize, f32)> {
    if db.nrows() == 0 {
        return None;
    }
    let mut best = (0, f32::NEG_INFINITY);
    for (i, row) in db.rows().into_iter().enumerate() {
        let score: f32 = row.iter().zip(query.iter()).map(|(a, b)| a * b).sum();
        if score > best.1 {
            best = (i, score);
        }
    }
    Some(best)
}

pub const KSUB: usize = 256;

/// Product-quantised vectors: `M` subspaces with 256 centroids each.
pub struct PqIndex<const M: usize> {
    pub dsub: usize,
    pub centroids: Vec<f32>,
    pub codes: Vec<[u8; M]>,
}

impl<const M: usize> PqIndex<M> {
    /// Asymmetric distance of a query to all codes: builds the lookup table, then scans.
    #[pragma_kernel(
        shape(query = [M, self.dsub], self.centroids = [M, 256, self.dsub], self.codes = [n], out = [n]),
        tune(n = 524288, self.dsub = 8),
        inputs(query = -1.0..1.0, self.centroids = -1.0..1.0),
        instantiate(M = 16),
    )]
    pub fn adc_scan(&self, query: &[f32], out: &mut [f32]) {
        let mut lut = vec![[0.0f32; KSUB]; M];
        for m in 0..M {
            let q = &query[m * self.dsub..(m + 1) * self.dsub];
            for k in 0..KSUB {
                let start = (m * KSUB + k) * self.dsub;
                let c = &self.centroids[start..start + self.dsub];
                lut[m][k] = q.iter().zip(c).map(|(a, b)| (a - b) * (a - b)).sum();
            }
        }
        for (code, o) in self.codes.iter().zip(out.iter_mut()) {
            let mut d = 0.0;
            for m in 0..M {
                d += lut[m][code[m] as usize];
            }
            *o = d;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::close;
    use ndarray::array;

    #[test]
    fn cosine_similarity_small() {
        let v = [
            cosine_similarity(&[3.0, 0.0, 0.0, 0.0, 4.0], &[0.0, 0.0, 0.0, 0.0, 2.0]),
            cosine_similarity(&[0.0; 5], &[1.0; 5]),
        ];
        close(&v, &[0.8, 0.0], 1e-6);
    }

    #[test]
    fn hamming_distance_small() {
        assert_eq!(hamming_distance(&[0b1011, 0], &[0b0011, u64::MAX]), 65);
    }

    #[test]
    fn best_match_small() {
        let db = array![[1.0, 0.0], [0.5, 2.0], [0.0, 1.0]];
        let q = array![1.0, 1.0];
        assert_eq!(best_match(&db.view(), &q.view()), Some((1, 2.5)));
    }

    #[test]
    fn adc_scan_small() {
        // dsub = 1; centroid k of subspace m sits at k + m.
        let mut centroids = Vec::new();
        for m in 0..2 {
            for k in 0..KSUB {
                centroids.push((k + m) as f32);
            }
        }
        let idx = PqIndex::<2> {
            dsub: 1,
            centroids,
            codes: vec![[0, 0], [3, 4]],
        };
        let mut out = [0.0; 2];
        idx.adc_scan(&[1.0, 1.0], &mut out);
        assert_eq!(out, [1.0, 4.0 + 16.0]);
    }
}
