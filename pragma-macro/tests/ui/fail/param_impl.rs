use pragma_runtime::pragma_kernel;

#[pragma_kernel]
fn f(x: &[f32], g: impl Fn(f32) -> f32) -> f32 { g(x[0]) }

fn main() {
    f(&[1.0], |x| x);
    f::reference(&[1.0], |x| x);
}
