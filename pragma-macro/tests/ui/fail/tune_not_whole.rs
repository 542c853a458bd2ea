use pragma_runtime::pragma_kernel;

#[pragma_kernel(tune(n = 1.5))]
fn f(x: &[f32], n: usize) { let _ = (x, n); }

fn main() {
    // One mistake makes one message: the function is still there.
    let _ = (f, f::reference);
}
