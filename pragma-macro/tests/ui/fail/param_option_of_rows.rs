use pragma_runtime::pragma_kernel;

#[pragma_kernel]
fn f(x: Option<&[Vec<f32>]>) -> usize { x.map_or(0, <[_]>::len) }

fn main() {
    // One mistake makes one message: the function is still there.
    let _ = (f, f::reference);
}
