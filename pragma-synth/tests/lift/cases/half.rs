//! Half-precision elements, computed with in `f32`.

use half::{bf16, f16};

pub fn bias_relu(x: &mut [f16], bias: &[f16]) {
    x.chunks_exact_mut(bias.len()).for_each(|row| {
        for (v, b) in row.iter_mut().zip(bias) {
            *v = f16::from_f32((v.to_f32() + b.to_f32()).max(0.0));
        }
    });
}

pub fn widen(x: &[bf16], out: &mut [f32]) {
    for (o, v) in out.iter_mut().zip(x) {
        *o = v.to_f32();
    }
}

pub fn dot(a: &[f16], b: &[f16]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a.to_f32() * b.to_f32()).sum()
}
