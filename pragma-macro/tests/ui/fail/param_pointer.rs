use pragma_runtime::pragma_kernel;

#[pragma_kernel]
fn f(x: *const f32) -> bool { x.is_null() }

fn main() {
    // One mistake makes one message: the function is still there.
    let _ = (f, f::reference);
}
