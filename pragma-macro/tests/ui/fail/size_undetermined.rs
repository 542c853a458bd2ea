use pragma_runtime::pragma_kernel;

#[pragma_kernel(shape(x = [rows, d], y = [rows, d]))]
fn f(x: &[f32], y: &[f32]) { let _ = (x, y); }

fn main() {
    // One mistake makes one message: the function is still there.
    let _ = (f, f::reference);
}
