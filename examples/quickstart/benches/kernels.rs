//! Reference against dispatched function, in cache and out of it.
//!
//! `PRAGMA_DISPATCH=x86-64-v3 cargo bench -p quickstart` shows the AVX2 kernels on a machine that has AVX-512.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use quickstart as q;

const SMALL: usize = 4096;
const LARGE: usize = 1 << 24;

fn data(n: usize) -> Vec<f32> {
    let mut rng = fastrand::Rng::with_seed(n as u64);
    (0..n).map(|_| rng.f32() * 4.0 - 2.0).collect()
}

/// Times two functions on the same data.
fn pair<T>(
    c: &mut Criterion,
    name: &str,
    size: usize,
    bytes: usize,
    mut data: T,
    reference: impl Fn(&mut T),
    kernel: impl Fn(&mut T),
) {
    let mut group = c.benchmark_group(name);
    group.throughput(Throughput::Bytes(bytes as u64));
    if size > SMALL * 16 {
        group.sample_size(10);
    }
    group.bench_function(BenchmarkId::new("reference", size), |b| {
        b.iter(|| reference(black_box(&mut data)))
    });
    group.bench_function(BenchmarkId::new("kernel", size), |b| {
        b.iter(|| kernel(black_box(&mut data)))
    });
    group.finish();
}

fn vectors(c: &mut Criterion) {
    for n in [SMALL, LARGE] {
        let (x, y) = (data(n), data(n + 1)[1..].to_vec());
        pair(
            c,
            "saxpy",
            n,
            12 * n,
            (x.clone(), y.clone()),
            // A tiny factor keeps `y` finite however often this runs.
            |(x, y)| q::saxpy::reference(1e-9, x, y),
            |(x, y)| q::saxpy(1e-9, x, y),
        );
        pair(
            c,
            "dot",
            n,
            8 * n,
            (x.clone(), y.clone()),
            |(x, y)| {
                black_box(q::dot::reference(x, y));
            },
            |(x, y)| {
                black_box(q::dot(x, y));
            },
        );
        pair(
            c,
            "cosine_similarity",
            n,
            8 * n,
            (x.clone(), y),
            |(x, y)| {
                black_box(q::cosine_similarity::reference(x, y));
            },
            |(x, y)| {
                black_box(q::cosine_similarity(x, y));
            },
        );
        pair(
            c,
            "gelu",
            n,
            8 * n,
            (x, vec![0.0; n]),
            |(x, out)| q::gelu::reference(x, out),
            |(x, out)| q::gelu(x, out),
        );
    }
}

fn matrices(c: &mut Criterion) {
    for (rows, d) in [(8, 1024), (4096, 4096)] {
        let n = rows * d;
        let (x, weight, bias) = (data(n), data(d), data(d + 1)[1..].to_vec());
        pair(
            c,
            "softmax_rows",
            n,
            8 * n,
            (x.clone(), vec![0.0; n]),
            |(x, out)| q::softmax_rows::reference(x, d, out),
            |(x, out)| q::softmax_rows(x, d, out),
        );
        pair(
            c,
            "rms_norm",
            n,
            8 * n,
            (x.clone(), weight.clone(), vec![0.0; n]),
            |(x, weight, out)| q::rms_norm::reference(x, weight, 1e-5, out),
            |(x, weight, out)| q::rms_norm(x, weight, 1e-5, out),
        );
        pair(
            c,
            "layer_norm",
            n,
            8 * n,
            (x.clone(), weight, bias, vec![0.0; n]),
            |(x, weight, bias, out)| q::layer_norm::reference(x, weight, bias, 1e-5, out),
            |(x, weight, bias, out)| q::layer_norm(x, weight, bias, 1e-5, out),
        );
        pair(
            c,
            "argmax_rows",
            n,
            4 * n,
            (x, vec![0; rows]),
            |(x, out)| q::argmax_rows::reference(x, d, out),
            |(x, out)| q::argmax_rows(x, d, out),
        );
    }
}

criterion_group!(benches, vectors, matrices);
criterion_main!(benches);
