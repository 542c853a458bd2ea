//! Methods, structs, lists of structs, tuples, enums and optional parameters.

pub struct Gain {
    pub factor: f32,
    pub offset: f32,
    pub data: Vec<f32>,
}

impl Gain {
    const LIMIT: f32 = 3.0;

    fn one(&self, v: f32) -> f32 {
        (v * self.factor + self.offset).min(Self::LIMIT)
    }

    pub fn apply(&self, out: &mut [f32]) {
        for (o, v) in out.iter_mut().zip(&self.data) {
            *o = self.one(*v);
        }
    }

    pub fn scale_in_place(&mut self) {
        for v in self.data.iter_mut() {
            *v *= self.factor;
        }
    }

    pub fn scale_by_index(&mut self, k: f32) {
        for i in 0..self.data.len() {
            self.data[i] = self.data[i] * k + self.offset;
        }
    }

    pub fn total(&self) -> f32 {
        self.data.iter().map(|v| self.one(*v)).sum()
    }

    pub fn scaled(&self) -> Gain {
        let data = self.data.iter().map(|v| v * 2.0).collect();
        Gain {
            data,
            factor: self.factor,
            offset: -self.offset,
        }
    }
}

/// A filter with state in scalars and arrays.
pub struct Filter {
    pub a: f64,
    pub last: f64,
    pub taps: [f64; 3],
    pub history: [f64; 2],
    pub count: u32,
}

impl Filter {
    pub fn run(&mut self, x: &[f64], out: &mut [f64]) {
        for (o, &v) in out.iter_mut().zip(x) {
            self.last = self.a * v + (1.0 - self.a) * self.last;
            *o = self.last;
            self.count += 1;
        }
    }

    pub fn fir(&mut self, x: &mut [f64]) {
        for v in x.iter_mut() {
            let y = self.taps[0] * *v + self.taps[1] * self.history[0] + self.taps[2] * self.history[1];
            self.history[1] = self.history[0];
            self.history[0] = *v;
            *v = y;
        }
    }

    fn step(&mut self, v: f64) -> f64 {
        self.last += (v - self.last) * self.a;
        self.last
    }

    pub fn through_a_helper(&mut self, x: &mut [f64]) {
        for v in x {
            *v = self.step(*v);
        }
    }
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub struct P2 {
    pub x: f32,
    pub y: f32,
}

impl P2 {
    pub const ORIGIN: P2 = P2 { x: 0.0, y: 0.0 };

    fn dot(self, o: P2) -> f32 {
        self.x * o.x + self.y * o.y
    }

    fn scaled(&self, k: f32) -> Self {
        Self {
            x: self.x * k,
            y: self.y * k,
        }
    }
}

impl std::ops::Add for P2 {
    type Output = P2;
    fn add(self, o: P2) -> P2 {
        P2 {
            x: self.x + o.x,
            y: self.y + o.y,
        }
    }
}

impl std::ops::Mul<f32> for P2 {
    type Output = P2;
    fn mul(self, k: f32) -> P2 {
        P2 {
            x: self.x * k,
            y: self.y * k,
        }
    }
}

impl std::ops::Mul<P2> for f32 {
    type Output = P2;
    fn mul(self, p: P2) -> P2 {
        p * self
    }
}

impl std::ops::AddAssign for P2 {
    fn add_assign(&mut self, o: P2) {
        self.x += o.x;
        self.y += o.y;
    }
}

#[derive(Clone, Copy)]
pub struct Particle {
    pub at: P2,
    pub v: [f32; 2],
    pub mass: f32,
}

pub fn centre(points: &[P2]) -> (f32, f32) {
    let mut sum = P2::ORIGIN;
    for p in points {
        sum += *p;
    }
    (sum.x, sum.y)
}

pub fn lengths(points: &[P2], out: &mut [f32]) {
    for (o, p) in out.iter_mut().zip(points) {
        *o = p.dot(*p).sqrt();
    }
}

pub fn move_points(points: &mut [P2], by: &P2, k: f32) {
    for p in points.iter_mut() {
        p.x += by.x * k;
        p.y += by.y * k;
    }
}

pub fn replace_points(points: &mut [P2], k: f32) {
    for i in 0..points.len() {
        points[i] = points[i] * k + P2 { x: 1.0, y: -1.0 };
    }
}

pub fn doubled_points(points: &[P2]) -> Vec<P2> {
    points.iter().map(|p| p.scaled(2.0)).collect()
}

pub fn pushed_points(x: &[f32], y: &[f32]) -> Vec<P2> {
    let mut out = Vec::with_capacity(x.len());
    for (&x, &y) in x.iter().zip(y) {
        out.push(P2 { x, y } + 2.0 * P2 { x: y, y: x });
    }
    out
}

pub fn integrate(particles: &mut [Particle], dt: f32) {
    for p in particles {
        p.at.x += p.v[0] * dt;
        p.at.y += p.v[1] * dt;
        p.v[1] -= p.mass * dt;
    }
}

pub fn momentum(particles: &[Particle]) -> f32 {
    let mut total = 0.0;
    for i in 0..particles.len() {
        let p = &particles[i];
        total += p.mass * (p.v[0] * p.v[0] + p.v[1] * p.v[1]).sqrt();
    }
    total
}

#[derive(Clone, Copy)]
pub struct Block {
    pub scale: f32,
    pub q: [i8; 4],
}

pub fn dequantised(blocks: &[Block], out: &mut [f32]) {
    for (block, row) in blocks.iter().zip(out.chunks_exact_mut(4)) {
        for (o, &q) in row.iter_mut().zip(&block.q) {
            *o = block.scale * q as f32;
        }
    }
}

pub fn block_sums(blocks: &[Block]) -> f32 {
    blocks
        .iter()
        .map(|b| b.scale * b.q.iter().map(|&q| q as i32).sum::<i32>() as f32)
        .sum()
}

#[derive(Clone, Copy)]
pub enum Mode {
    Add,
    Mul,
    Skip,
}

/// attr: inputs(mode = 0..3)
pub fn with_mode(x: &[f32], k: f32, mode: Mode, out: &mut [f32]) {
    for (o, &v) in out.iter_mut().zip(x) {
        *o = match mode {
            Mode::Add => v + k,
            Mode::Mul => v * k,
            Mode::Skip => v,
        };
    }
}

fn combine(a: f32, b: f32, mode: Mode) -> Option<f32> {
    match mode {
        Mode::Add => Some(a + b),
        Mode::Mul if b == 0.0 => None,
        Mode::Mul => Some(a * b),
        Mode::Skip => None,
    }
}

/// attr: inputs(mode = 0..3)
pub fn mode_in_loops(x: &[f32], cols: usize, mode: Mode) -> Vec<f32> {
    let rows = x.len() / cols;
    let mut out = vec![0.0; rows];
    for r in 0..rows {
        let mut sum = 0.0;
        for c in 0..cols {
            if let Some(v) = combine(x[r * cols + c], c as f32, mode) {
                sum += v;
            }
        }
        out[r] = sum;
    }
    out
}

pub fn local_mode(x: &[i32]) -> i32 {
    let mut mode = Mode::Add;
    let mut sum = 0;
    for &v in x {
        sum = match mode {
            Mode::Add => sum + v,
            Mode::Mul => sum - v,
            Mode::Skip => sum,
        };
        mode = match mode {
            Mode::Add => Mode::Mul,
            Mode::Mul => Mode::Skip,
            Mode::Skip => Mode::Add,
        };
    }
    sum + mode as i32
}

pub fn optional_bias(x: &[f32], bias: Option<&[f32]>, cols: usize, out: &mut [f32]) {
    for r in 0..x.len() / cols {
        for c in 0..cols {
            let b = bias.map_or(0.0, |b| b[c]);
            out[r * cols + c] = x[r * cols + c] + b;
        }
    }
}

pub fn optional_bias_let(x: &mut [f32], bias: Option<&[f32]>) {
    if let Some(bias) = bias {
        for (v, b) in x.iter_mut().zip(bias) {
            *v += b;
        }
    }
    for v in x.iter_mut() {
        *v = v.max(0.0);
    }
}

pub fn optional_scalar(x: &[f64], k: Option<f64>) -> f64 {
    let k = k.unwrap_or(0.5);
    x.iter().map(|v| v * k).sum()
}

pub fn optional_match(x: &[f64], lo: Option<f64>, hi: Option<f64>, out: &mut [f64]) {
    for (o, &v) in out.iter_mut().zip(x) {
        let mut v = v;
        if let Some(lo) = lo {
            if v < lo {
                v = lo;
            }
        }
        match hi {
            Some(hi) if v > hi => v = hi,
            _ => {}
        }
        *o = v;
    }
}

pub fn tuple_sizes(x: &[f32], (h, w): (usize, usize), out: &mut [f32]) {
    for y in 0..h {
        for x0 in 0..w {
            out[x0 * h + y] = x[y * w + x0];
        }
    }
}

pub fn nested_rows(points: &[[f32; 3]], m: &[[f32; 3]; 2], out: &mut [[f32; 2]]) {
    for (o, p) in out.iter_mut().zip(points) {
        for (r, row) in m.iter().enumerate() {
            o[r] = row[0] * p[0] + row[1] * p[1] + row[2] * p[2];
        }
    }
}

pub fn nested_vec(points: &[[f32; 2]], k: f32) -> Vec<[f32; 2]> {
    let mut out = Vec::with_capacity(points.len());
    for &[x, y] in points {
        out.push([x * k, y - k]);
    }
    out
}

pub fn array_result(x: &[f32]) -> [f32; 4] {
    let mut sums = [0.0; 4];
    for (i, v) in x.iter().enumerate() {
        sums[i % 4] += v;
    }
    sums
}

pub fn two_results(x: &[f32], cols: usize) -> (Vec<f32>, Vec<u32>) {
    let mut best = Vec::with_capacity(x.len() / cols);
    let mut place = Vec::with_capacity(x.len() / cols);
    for row in x.chunks_exact(cols) {
        let mut at = 0;
        for (i, v) in row.iter().enumerate() {
            if *v > row[at] {
                at = i;
            }
        }
        best.push(row[at]);
        place.push(at as u32);
    }
    (best, place)
}

pub fn running_total(x: &[f32], total: &mut f32) {
    for v in x {
        *total += v;
    }
}

pub struct Grid {
    pub width: usize,
    pub height: usize,
    pub cells: Vec<u8>,
    pub next: Vec<u8>,
}

impl Grid {
    fn at(&self, x: usize, y: usize) -> u8 {
        self.cells[y * self.width + x]
    }

    fn neighbours(&self, x: usize, y: usize) -> u8 {
        let mut n = 0;
        for dy in [self.height - 1, 0, 1] {
            for dx in [self.width - 1, 0, 1] {
                if dx != 0 || dy != 0 {
                    n += self.at((x + dx) % self.width, (y + dy) % self.height);
                }
            }
        }
        n
    }

    /// attr: shape(self.cells = [self.height, self.width], self.next = [self.height, self.width]), inputs(self.cells = 0..2)
    pub fn life(&mut self) {
        for y in 0..self.height {
            for x in 0..self.width {
                let n = self.neighbours(x, y);
                self.next[y * self.width + x] = (n == 3 || (n == 2 && self.at(x, y) == 1)) as u8;
            }
        }
        std::mem::swap(&mut self.cells, &mut self.next);
    }

    /// attr: shape(self.cells = [self.height, self.width])
    pub fn flipped(&self) -> Vec<u8> {
        let mut out = vec![0; self.cells.len()];
        for y in 0..self.height {
            for x in 0..self.width {
                out[y * self.width + (self.width - 1 - x)] = self.at(x, y);
            }
        }
        out
    }
}

pub struct Rows {
    pub weights: Vec<Vec<f32>>,
    pub bias: Vec<f32>,
}

impl Rows {
    pub fn forward(&self, x: &[f32]) -> Vec<f32> {
        self.weights
            .iter()
            .zip(&self.bias)
            .map(|(row, b)| row.iter().zip(x).map(|(w, v)| w * v).sum::<f32>() + b)
            .collect()
    }

    pub fn forward_index(&self, x: &[f32], out: &mut [f32]) {
        for i in 0..self.weights.len() {
            let mut sum = self.bias[i];
            for j in 0..x.len() {
                sum += self.weights[i][j] * x[j];
            }
            out[i] = sum;
        }
    }
}

pub fn local_rows(x: &[f32], n: usize) -> f32 {
    let mut table = vec![vec![0.0f32; n]; n];
    for i in 0..n {
        for j in 0..n {
            table[i][j] = x[i] * x[j];
        }
    }
    let mut trace = 0.0;
    for i in 0..n {
        trace += table[i][i];
    }
    trace
}

pub struct Mesh<const N: usize> {
    pub weights: [f32; N],
    pub index: Vec<[u32; N]>,
}

impl<const N: usize> Mesh<N> {
    /// attr: instantiate(N = 3), inputs(self.index = 0..n), shape(values = [n])
    pub fn gather(&self, values: &[f32], out: &mut [f32]) {
        for (o, index) in out.iter_mut().zip(&self.index) {
            let mut sum = 0.0;
            for k in 0..N {
                sum += self.weights[k] * values[index[k] as usize];
            }
            *o = sum;
        }
    }
}

impl Gain {
    pub fn cloned_field(&self, k: f32) -> Vec<f32> {
        let mut data = self.data.clone();
        for v in data.iter_mut() {
            *v += k;
        }
        data
    }

    pub fn max_minus_min(&self) -> Option<f32> {
        let first = *self.data.first()?;
        let (mut lo, mut hi) = (first, first);
        for &v in &self.data[1..] {
            lo = lo.min(v);
            hi = hi.max(v);
        }
        Some(hi - lo)
    }
}
