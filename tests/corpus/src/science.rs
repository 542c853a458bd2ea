//! Scientific computing kernels.

use ndarray::Array2;
use pragma_runtime::pragma_kernel;
use std::cmp::max;
use std::ops::{Add, Mul, Sub};

/// One Jacobi sweep of the Laplace equation; returns the largest change.
#[pragma_kernel(
    shape(u = [h, w], next = [h, w]),
    tune(h = 1024, w = 1024),
    inputs(u = -1.0..1.0),
)]
pub fn jacobi_sweep(u: &Array2<f64>, next: &mut Array2<f64>) -> f64 {
    let (h, w) = u.dim();
    let mut diff = 0.0f64;
    for i in 1..h - 1 {
        for j in 1..w - 1 {
            let v = 0.25 * (u[[i - 1, j]] + u[[i + 1, j]] + u[[i, j - 1]] + u[[i, j + 1]]);
            diff = diff.max((v - u[[i, j]]).abs());
            next[[i, j]] = v;
        }
    }
    diff
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Vec3 {
    pub x: f64,
    pub y: f64,
    pub z: f64,
}

impl Vec3 {
    pub const ZERO: Vec3 = Vec3 {
        x: 0.0,
        y: 0.0,
        z: 0.0,
    };

    pub fn dot(self, o: Vec3) -> f64 {
        self.x * o.x + self.y * o.y + self.z * o.z
    }
}

impl Add for Vec3 {
    type Output = Vec3;
    fn add(self, o: Vec3) -> Vec3 {
        Vec3 {
            x: self.x + o.x,
            y: self.y + o.y,
            z: self.z + o.z,
        }
    }
}

impl Sub for Vec3 {
    type Output = Vec3;
    fn sub(self, o: Vec3) -> Vec3 {
        Vec3 {
            x: self.x - o.x,
            y: self.y - o.y,
            z: self.z - o.z,
        }
    }
}

impl Mul<f64> for Vec3 {
    type Output = Vec3;
    fn mul(self, k: f64) -> Vec3 {
        Vec3 {
            x: self.x * k,
            y: self.y * k,
            z: self.z * k,
        }
    }
}

#[derive(Clone, Copy)]
pub struct Body {
    pub pos: Vec3,
    pub mass: f64,
}

/// Softened gravitational acceleration of every body (all pairs, G = 1).
#[pragma_kernel(
    shape(bodies = [n], return = [n]),
    tune(n = 2048, eps2 = 1e-3),
    inputs(bodies.pos = -1.0..1.0, bodies.mass = 0.0..1.0, eps2 = 1e-4..1.0),
)]
pub fn nbody_accelerations(bodies: &[Body], eps2: f64) -> Vec<Vec3> {
    let mut acc = Vec::with_capacity(bodies.len());
    for (i, bi) in bodies.iter().enumerate() {
        let mut a = Vec3::ZERO;
        for (j, bj) in bodies.iter().enumerate() {
            if i == j {
                continue;
            }
            let d = bj.pos - bi.pos;
            let r2 = d.dot(d) + eps2;
            a = a + d * (bj.mass / (r2 * r2.sqrt()));
        }
        acc.push(a);
    }
    acc
}

pub struct Viewport {
    pub x0: f64,
    pub y0: f64,
    pub dx: f64,
    pub dy: f64,
}

fn escape(cr: f64, ci: f64, limit: u16) -> u16 {
    let (mut zr, mut zi) = (0.0, 0.0);
    let mut n = 0u16;
    while n < limit && zr * zr + zi * zi <= 4.0 {
        let t = zr * zr - zi * zi + cr;
        zi = 2.0 * zr * zi + ci;
        zr = t;
        n += 1;
    }
    n
}

/// Mandelbrot escape counts on a grid, up to `max_iter`.
#[pragma_kernel(
    shape(out = [height, width]),
    tune(height = 256, width = 256, max_iter = 256, view.x0 = -2.0, view.y0 = -1.25, view.dx = 0.01, view.dy = 0.01),
    inputs(max_iter = 1..=256, view.x0 = -2.0..0.0, view.y0 = -1.25..0.0, view.dx = 0.001..0.02, view.dy = 0.001..0.02),
)]
pub fn mandelbrot(out: &mut [u16], width: usize, view: &Viewport, max_iter: u16) {
    let height = out.len() / width;
    for py in 0..height {
        let ci = view.y0 + py as f64 * view.dy;
        for px in 0..width {
            let cr = view.x0 + px as f64 * view.dx;
            out[py * width + px] = escape(cr, ci, max_iter);
        }
    }
}

pub struct Scoring {
    pub matched: i32,
    pub mismatched: i32,
    pub gap: i32,
}

/// Best Smith-Waterman local alignment score with a linear gap penalty.
#[pragma_kernel(
    shape(a = [m], b = [n]),
    tune(m = 2000, n = 2000, scoring.matched = 2, scoring.mismatched = -1, scoring.gap = -2),
    inputs(a = [65, 67, 71, 84], b = [65, 67, 71, 84]),
    inputs(scoring.matched = 1..=5, scoring.mismatched = -5..=0, scoring.gap = -5..=-1),
)]
pub fn smith_waterman_score(a: &[u8], b: &[u8], scoring: &Scoring) -> i32 {
    let n = b.len();
    let mut prev = vec![0i32; n + 1];
    let mut cur = vec![0i32; n + 1];
    let mut best = 0;
    for i in 1..=a.len() {
        for j in 1..=n {
            let s = if a[i - 1] == b[j - 1] {
                scoring.matched
            } else {
                scoring.mismatched
            };
            let diag = prev[j - 1] + s;
            let up = prev[j] + scoring.gap;
            let left = cur[j - 1] + scoring.gap;
            cur[j] = max(0, max(diag, max(up, left)));
            best = max(best, cur[j]);
        }
        std::mem::swap(&mut prev, &mut cur);
    }
    best
}

const CX: [i32; 9] = [0, 1, 0, -1, 0, 1, -1, -1, 1];

const CY: [i32; 9] = [0, 0, 1, 0, -1, 1, 1, -1, -1];

const OPPOSITE: [usize; 9] = [0, 3, 4, 1, 2, 7, 8, 5, 6];

const W: [f32; 9] = [
    4.0 / 9.0,
    1.0 / 9.0,
    1.0 / 9.0,
    1.0 / 9.0,
    1.0 / 9.0,
    1.0 / 36.0,
    1.0 / 36.0,
    1.0 / 36.0,
    1.0 / 36.0,
];

fn equilibrium(q: usize, rho: f32, ux: f32, uy: f32) -> f32 {
    let cu = 3.0 * (CX[q] as f32 * ux + CY[q] as f32 * uy);
    W[q] * rho * (1.0 + cu + 0.5 * cu * cu - 1.5 * (ux * ux + uy * uy))
}

/// D2Q9 lattice-Boltzmann grid, periodic, with bounce-back obstacles.
pub struct Lbm {
    pub width: usize,
    pub height: usize,
    pub omega: f32,
    pub f: Vec<[f32; 9]>,
    pub next: Vec<[f32; 9]>,
    pub solid: Vec<bool>,
}

impl Lbm {
    /// One BGK collide-and-stream step; `f` and `next` are swapped at the end.
    #[pragma_kernel(
        shape(self.f = [self.height, self.width], self.next = [self.height, self.width], self.solid = [self.height, self.width]),
        tune(self.height = 256, self.width = 256, self.omega = 1.2),
        inputs(self.f = 0.01..1.0, self.omega = 0.0..2.0),
        inputs(self.solid = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]),
    )]
    pub fn step(&mut self) {
        let (w, h) = (self.width as i32, self.height as i32);
        for y in 0..h {
            for x in 0..w {
                let here = (y * w + x) as usize;
                if self.solid[here] {
                    continue;
                }
                let cell = self.f[here];
                let mut rho = 0.0;
                let (mut ux, mut uy) = (0.0f32, 0.0f32);
                for q in 0..9 {
                    rho += cell[q];
                    ux += cell[q] * CX[q] as f32;
                    uy += cell[q] * CY[q] as f32;
                }
                ux /= rho;
                uy /= rho;
                for q in 0..9 {
                    let v = cell[q] + self.omega * (equilibrium(q, rho, ux, uy) - cell[q]);
                    let nx = (x + CX[q]).rem_euclid(w);
                    let ny = (y + CY[q]).rem_euclid(h);
                    let there = (ny * w + nx) as usize;
                    if self.solid[there] {
                        self.next[here][OPPOSITE[q]] = v;
                    } else {
                        self.next[there][q] = v;
                    }
                }
            }
        }
        std::mem::swap(&mut self.f, &mut self.next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::close;
    use ndarray::array;

    #[test]
    fn jacobi_sweep_small() {
        let u = array![[0.0, 4.0, 0.0], [8.0, 1.0, 0.0], [0.0, 0.0, 0.0]];
        let mut next = u.clone();
        assert_eq!(jacobi_sweep(&u, &mut next), 2.0);
        assert_eq!(next[[1, 1]], 3.0);
        assert_eq!(next[[0, 1]], 4.0);
    }

    #[test]
    fn nbody_accelerations_small() {
        let at = |x: f64, mass: f64| Body {
            pos: Vec3 { x, y: 0.0, z: 0.0 },
            mass,
        };
        let acc = nbody_accelerations(&[at(0.0, 1.0), at(2.0, 8.0)], 0.0);
        assert_eq!(
            acc[0],
            Vec3 {
                x: 2.0,
                y: 0.0,
                z: 0.0
            }
        );
        assert_eq!(
            acc[1],
            Vec3 {
                x: -0.25,
                y: 0.0,
                z: 0.0
            }
        );
    }

    #[test]
    fn mandelbrot_small() {
        // c = 0 never escapes; c = 2: |z| is 0, 2, 6.
        let mut out = [9; 2];
        mandelbrot(
            &mut out,
            2,
            &Viewport {
                x0: 0.0,
                y0: 0.0,
                dx: 2.0,
                dy: 1.0,
            },
            50,
        );
        assert_eq!(out, [50, 2]);
    }

    #[test]
    fn smith_waterman_small() {
        let s = Scoring {
            matched: 3,
            mismatched: -3,
            gap: -2,
        };
        assert_eq!(smith_waterman_score(b"TGTTACGG", b"GGTTGACTA", &s), 13);
        assert_eq!(smith_waterman_score(b"A", b"C", &s), 0);
    }

    #[test]
    fn lbm_step_small() {
        // A uniform fluid at rest is a fixed point, and omega = 0 only streams.
        let mut g = Lbm {
            width: 3,
            height: 3,
            omega: 1.0,
            f: vec![W; 9],
            next: vec![[0.0; 9]; 9],
            solid: vec![false; 9],
        };
        g.step();
        for cell in &g.f {
            close(cell, &W, 1e-6);
        }
        g.omega = 0.0;
        g.f = vec![[0.001; 9]; 9];
        g.f[0][1] = 5.0; // moving in +x from (0, 0) to (1, 0)
        g.solid[2] = true; // cell (2, 0)
        g.step();
        assert_eq!(g.f[1][1], 5.0);
        g.step(); // bounces back inside (1, 0)
        assert_eq!(g.f[1][3], 5.0);
    }
}
