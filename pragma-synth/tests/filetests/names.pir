// run: r#type = [1.0, 2.0], n = 2, stream = 3.0, Dual = 4.0
// gives: return = 17.0
// Names that mean something elsewhere.
kernel names(r#type: [f32; n], stream: f32, Dual: f32) -> f32 dims(n) {
  let mut dual: f32 = 0.0
  let fill: f32 = stream
  let args: usize = n
  alloc alloc: local [f32;] len args fill fill
  for len in 0..n {
    dual = dual + r#type[len] * alloc[len] + Dual
  }
  return (dual)
}
