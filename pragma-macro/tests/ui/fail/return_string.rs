use pragma_runtime::pragma_kernel;

#[pragma_kernel]
fn f(x: &[f32]) -> String { format!("{x:?}") }

fn main() {
    // One mistake makes one message: the function is still there.
    let _ = (f, f::reference);
}
