use pragma_runtime::pragma_kernel;

#[pragma_kernel(shape(b.is_some = [n]))]
fn f(b: Option<&[f32]>) -> bool { b.is_some() }

fn main() {
    // One mistake makes one message: the function is still there.
    let _ = (f, f::reference);
}
