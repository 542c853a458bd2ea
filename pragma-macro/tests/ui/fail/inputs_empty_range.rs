use pragma_runtime::pragma_kernel;

#[pragma_kernel(inputs(x = 1.0..1.0))]
fn f(x: &[f32]) { let _ = x; }

fn main() {
    // One mistake makes one message: the function is still there.
    let _ = (f, f::reference);
}
