use pragma_runtime::pragma_kernel;

#[pragma_kernel]
fn f((a, b): (f32, f32), c: f32, (): ()) -> f32 { a + b + c }

fn main() {
    // One mistake makes one message: the function is still there.
    let _ = (f, f::reference);
}
