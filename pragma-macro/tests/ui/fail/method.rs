use pragma_runtime::pragma_kernel;

struct Layer {
    weight: Vec<f32>,
}

impl Layer {
    #[pragma_kernel]
    fn dot(&self, x: &[f32]) -> f32 {
        self.weight.iter().zip(x).map(|(w, x)| w * x).sum()
    }
}

fn main() {
    let layer = Layer { weight: vec![1.0] };
    layer.dot(&[1.0]);
}
