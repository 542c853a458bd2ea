//! Finds the nearest of many random points to a query: a program without a library, whose hot function is private.

use pragma_runtime::pragma_kernel;

/// Coordinates of a point.
const DIM: usize = 64;

/// The squared distance of every point to the query; points are rows as long as the query.
#[pragma_kernel(
    shape(points = [count, d], query = [d], out = [count]),
    tune(count = 100000, d = 64),
)]
fn squared_distances(points: &[f32], query: &[f32], out: &mut [f32]) {
    for (point, o) in points.chunks_exact(query.len()).zip(out) {
        let mut sum = 0.0;
        for (p, q) in point.iter().zip(query) {
            let d = p - q;
            sum += d * d;
        }
        *o = sum;
    }
}

fn main() {
    let mut rng = fastrand::Rng::with_seed(7);
    let mut random = |n: usize| -> Vec<f32> { (0..n).map(|_| rng.f32()).collect() };
    let count = 100_000;
    let (points, query) = (random(count * DIM), random(DIM));
    let mut out = vec![0.0; count];
    let start = std::time::Instant::now();
    squared_distances(&points, &query, &mut out);
    let elapsed = start.elapsed();
    let nearest = out.iter().enumerate().min_by(|a, b| a.1.total_cmp(b.1));
    if let Some((index, distance)) = nearest {
        println!("nearest point: {index}, squared distance {distance:.4}, found in {elapsed:?}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_those_of_f64() {
        let mut rng = fastrand::Rng::with_seed(1);
        for (count, d) in [(1, 1), (3, 7), (17, 64), (5, 130)] {
            let points: Vec<f32> = (0..count * d).map(|_| rng.f32()).collect();
            let query: Vec<f32> = (0..d).map(|_| rng.f32()).collect();
            let mut out = vec![f32::NAN; count];
            squared_distances(&points, &query, &mut out);
            for (point, &got) in points.chunks(d).zip(&out) {
                let exact: f64 = point
                    .iter()
                    .zip(&query)
                    .map(|(p, q)| (f64::from(*p) - f64::from(*q)).powi(2))
                    .sum();
                assert!(
                    (f64::from(got) - exact).abs() <= 1e-5 * exact.max(1e-6),
                    "{got} {exact}"
                );
            }
        }
    }
}
