use pragma_runtime::pragma_kernel;

#[pragma_kernel]
fn f(x: &[f32]) -> (f32, Option<f32>) { (x[0], x.get(1).copied()) }

fn main() {
    // One mistake makes one message: the function is still there.
    let _ = (f, f::reference);
}
