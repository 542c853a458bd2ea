use pragma_runtime::pragma_kernel;

#[pragma_kernel(shape(x = [n], return.2 = [n]))]
fn f(x: &[f32]) -> (Vec<f32>, Vec<u32>) { (x.to_vec(), vec![0; x.len()]) }

fn main() {
    // One mistake makes one message: the function is still there.
    let _ = (f, f::reference);
}
