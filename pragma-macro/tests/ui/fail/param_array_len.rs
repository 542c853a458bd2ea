use pragma_runtime::pragma_kernel;

const N: usize = 4;

#[pragma_kernel]
fn f(x: &[f32; N]) -> f32 { x[0] }

fn main() {
    // One mistake makes one message: the function is still there.
    let _ = (f, f::reference);
}
