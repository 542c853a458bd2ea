use pragma_runtime::pragma_kernel;

#[pragma_kernel(instantiate(N = f32))]
fn f<const N: usize>(x: &[[f32; N]]) -> f32 { x[0][0] }

fn g() { f::<1>(&[[1.0]]); f::reference::<1>(&[[1.0]]); }

fn main() {
    // One mistake makes one message: the function is still there.
    g();
}
