use pragma_runtime::pragma_kernel;

#[pragma_kernel(inputs(i = -1..2))]
fn f(i: &[u32]) { let _ = i; }

fn main() {
    // One mistake makes one message: the function is still there.
    let _ = (f, f::reference);
}
