use pragma_runtime::pragma_kernel;

#[pragma_kernel(inputs(i = 0.5..2.0))]
fn f(i: &[u32]) { let _ = i; }

fn main() {
    // One mistake makes one message: the function is still there.
    let _ = (f, f::reference);
}
