use pragma_runtime::pragma_kernel;

#[pragma_kernel]
fn f(x: &[Vec<Vec<f32>>]) -> usize { x.len() }

fn main() {
    // One mistake makes one message: the function is still there.
    let _ = (f, f::reference);
}
