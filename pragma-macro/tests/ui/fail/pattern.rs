use pragma_runtime::pragma_kernel;

#[pragma_kernel]
fn f((x, y): (f32, f32)) -> f32 { x + y }

fn main() {
    // One mistake makes one message: the function is still there.
    let _ = (f, f::reference);
}
