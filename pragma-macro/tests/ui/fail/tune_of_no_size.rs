use pragma_runtime::pragma_kernel;

#[pragma_kernel(shape(x = [n]), tune(n = 0))]
fn f(x: &[f32]) { let _ = x; }

fn main() {
    // One mistake makes one message: the function is still there.
    let _ = (f, f::reference);
}
