use pragma_runtime::pragma_kernel;

#[pragma_kernel(shape(weigth = [n]))]
fn f(weight: &[f32]) { let _ = weight; }

fn main() {
    // One mistake makes one message: the function is still there.
    let _ = (f, f::reference);
}
