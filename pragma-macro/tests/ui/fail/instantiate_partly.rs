use pragma_runtime::pragma_kernel;

#[pragma_kernel(instantiate(T = f32))]
fn f<T: Copy, const N: usize>(x: &[[T; N]]) -> T { x[0][0] }

fn g() { f::<f32, 1>(&[[1.0]]); f::reference::<f32, 1>(&[[1.0]]); }

fn main() {
    // One mistake makes one message: the function is still there.
    g();
}
