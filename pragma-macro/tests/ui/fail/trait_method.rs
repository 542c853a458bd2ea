use pragma_runtime::pragma_kernel;

trait Dot {
    #[pragma_kernel]
    fn dot(x: &[f32]) -> f32;
}

struct S;

impl Dot for S {
    fn dot(x: &[f32]) -> f32 {
        x[0]
    }
}

fn main() {
    S::dot(&[1.0]);
}
