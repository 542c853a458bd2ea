//! Every kind of parameter, receiver and result that is accepted.
#![deny(warnings, missing_docs)]
#![allow(deprecated, reason = "trybuild's package has no index")]

use pragma_runtime::pragma_kernel;

/// How many.
pub const N: usize = 2;

/// A struct.
#[derive(Clone, Debug, PartialEq)]
pub struct Layer<T, const C: usize> {
    /// Weights.
    pub weight: Vec<T>,
    state: [T; C],
}

impl<T: Copy + Default + std::ops::AddAssign, const C: usize> Layer<T, C> {
    /// By shared reference.
    #[pragma_kernel(shape(self.weight = [n], x = [n]), instantiate(T = f32, C = 2))]
    pub fn shared(&self, x: &[T]) -> usize {
        self.weight.len() + x.len()
    }

    /// By exclusive reference, private.
    #[pragma_kernel(instantiate(T = f32, C = 2), instantiate(T = f64, C = 4))]
    fn exclusive(&mut self, (a, _): (usize, f32), x: &mut [T]) {
        for x in x {
            self.state[a % C] += *x;
        }
    }

    /// By value.
    #[pragma_kernel(instantiate(T = f32, C = 2))]
    #[must_use]
    pub fn taken(mut self) -> Self {
        self.weight.reverse();
        self
    }
}

trait Area {
    fn area(&self) -> f32;
}

struct Square(f32);

impl Area for Square {
    #[pragma_kernel]
    fn area(&self) -> f32 {
        self.0 * self.0
    }
}

/// Structs that only the tool can look into.
#[pragma_kernel(shape(layer.weight = [n]))]
pub fn of_struct(layer: &Layer<f32, 2>) -> Layer<f32, 2> {
    layer.clone()
}

/// Vectors, boxes, rows, options.
#[pragma_kernel(shape(a = [n], c = [rows, cols]), tune(n = 4, k = Some(1.5), b = None))]
pub fn owners(a: &Vec<f32>, b: Option<&[f32]>, c: &[Vec<f32>], k: Option<f32>, d: Box<[u8]>) -> Option<f32> {
    Some(a[0] + b?[0] + c[0][0] + k? + f32::from(d[0]))
}

/// Scalars by reference, patterns, constants.
#[pragma_kernel]
pub fn scalars(a: &f32, b: &mut f32, &c: &f32, (d, e): (f32, [f32; N]), _: bool) -> Result<[f32; N], String> {
    *b += a;
    Ok([*b + c + d, e[0]])
}

/// Nested arrays and several vectors.
#[pragma_kernel(shape(x = [n], return.0 = [n], return.1 = [n]))]
pub fn nested(x: &[[f32; 3]]) -> (Vec<[f32; 3]>, Vec<u32>) {
    (x.to_vec(), vec![0; x.len()])
}

/// Generic, at two instances.
#[pragma_kernel(instantiate(T = f32, N = 2), instantiate(T = f64, N = 4))]
pub fn generic<T: Copy, const N: usize>(x: &[[T; N]]) -> Vec<T> {
    x.iter().map(|x| x[0]).collect()
}

fn main() {
    let mut layer = Layer { weight: vec![1.0f32, 2.0], state: [0.0; 2] };
    assert_eq!(layer.shared(&[1.0]), layer.shared_reference(&[1.0]));
    layer.exclusive((1, 0.0), &mut [2.0]);
    assert_eq!(layer.state, [0.0, 2.0]);
    assert_eq!(layer.clone().taken(), layer.clone().taken_reference());
    assert_eq!(Square(2.0).area(), 4.0);
    assert_eq!(of_struct(&layer), of_struct::reference(&layer));
    assert_eq!(owners(&vec![1.0], None, &[vec![1.0]], None, Box::new([1])), None);
    let mut b = 1.0;
    assert_eq!(scalars(&1.0, &mut b, &1.0, (1.0, [5.0; N]), true), Ok([4.0, 5.0]));
    assert_eq!(scalars::reference(&1.0, &mut b, &1.0, (1.0, [5.0; N]), true), Ok([5.0, 5.0]));
    assert_eq!(nested(&[[1.0; 3]]), nested::reference(&[[1.0; 3]]));
    assert_eq!(generic(&[[1u8, 2, 3]]), generic::reference(&[[1u8, 2, 3]]));
}
