//! Level-1 linear algebra.

use pragma_runtime::pragma_kernel;

/// `y += a * x`, element by element.
#[pragma_kernel(
    shape(x = [n], y = [n]),
    tune(n = 4096), tune(n = 16777216),
)]
pub fn saxpy(a: f32, x: &[f32], y: &mut [f32]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y += a * x;
    }
}

/// The inner product.
#[pragma_kernel(
    shape(x = [n], y = [n]),
    tune(n = 4096), tune(n = 16777216),
)]
pub fn dot(x: &[f32], y: &[f32]) -> f32 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}
