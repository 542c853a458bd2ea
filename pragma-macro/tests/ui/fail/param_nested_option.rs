use pragma_runtime::pragma_kernel;

#[pragma_kernel]
fn f(x: Option<Option<f32>>) -> f32 { x.flatten().unwrap_or(0.0) }

fn main() {
    // One mistake makes one message: the function is still there.
    let _ = (f, f::reference);
}
