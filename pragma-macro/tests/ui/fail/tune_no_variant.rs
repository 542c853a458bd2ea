use pragma_runtime::pragma_kernel;

#[pragma_kernel(tune(n = 4, k = Border::Clamp))]
fn f(x: &[f32], k: f32) -> f32 { x[0] * k }

fn main() {
    // One mistake makes one message: the function is still there.
    let _ = (f, f::reference);
}
