use pragma_runtime::pragma_kernel;

#[pragma_kernel(shape(eps = [n]))]
fn f(x: &[f32], eps: f32) { let _ = (x, eps); }

fn main() {
    // One mistake makes one message: the function is still there.
    let _ = (f, f::reference);
}
