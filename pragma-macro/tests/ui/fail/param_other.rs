use pragma_runtime::pragma_kernel;

#[pragma_kernel]
fn f(x: &str) -> f32 { x.len() as f32 }

fn main() {
    // One mistake makes one message: the function is still there.
    let _ = (f, f::reference);
}
