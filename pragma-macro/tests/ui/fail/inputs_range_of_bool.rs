use pragma_runtime::pragma_kernel;

#[pragma_kernel(inputs(b = 0..1))]
fn f(x: &[f32], b: bool) { let _ = (x, b); }

fn main() {
    // One mistake makes one message: the function is still there.
    let _ = (f, f::reference);
}
