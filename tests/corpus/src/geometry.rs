//! Geometry kernels.

use pragma_runtime::pragma_kernel;

/// Applies a rotation matrix and a translation to 3-D points.
#[pragma_kernel(
    shape(src = [n], dst = [n]),
    tune(n = 2097152),
    inputs(src = -10.0..10.0, rot = -1.0..1.0, trans = -1.0..1.0),
)]
pub fn transform_points(
    src: &[[f32; 3]],
    rot: &[[f32; 3]; 3],
    trans: &[f32; 3],
    dst: &mut [[f32; 3]],
) -> Result<(), &'static str> {
    if src.len() != dst.len() {
        return Err("src and dst differ in length");
    }
    for (d, s) in dst.iter_mut().zip(src.iter()) {
        for r in 0..3 {
            d[r] = rot[r][0] * s[0] + rot[r][1] * s[1] + rot[r][2] * s[2] + trans[r];
        }
    }
    Ok(())
}

#[derive(Clone, Copy)]
pub struct Ray {
    pub origin: [f32; 3],
    pub dir: [f32; 3],
}

#[derive(Clone, Copy)]
pub struct Aabb {
    pub min: [f32; 3],
    pub max: [f32; 3],
}

impl Aabb {
    /// Entry distance of a ray by the slab method, if it is in `0..t_max`.
    fn hit(&self, ray: &Ray, t_max: f32) -> Option<f32> {
        let mut t0 = 0.0f32;
        let mut t1 = t_max;
        for axis in 0..3 {
            if ray.dir[axis] == 0.0 {
                if ray.origin[axis] < self.min[axis] || ray.origin[axis] > self.max[axis] {
                    return None;
                }
                continue;
            }
            let inv = 1.0 / ray.dir[axis];
            let mut near = (self.min[axis] - ray.origin[axis]) * inv;
            let mut far = (self.max[axis] - ray.origin[axis]) * inv;
            if inv < 0.0 {
                std::mem::swap(&mut near, &mut far);
            }
            t0 = t0.max(near);
            t1 = t1.min(far);
            if t0 >= t1 {
                return None;
            }
        }
        Some(t0)
    }
}

pub struct Scene {
    pub boxes: Vec<Aabb>,
}

impl Scene {
    /// Nearest box that each ray hits: its index (or -1) and distance.
    #[pragma_kernel(
        shape(rays = [n], self.boxes = [k], hit = [n], dist = [n]),
        tune(n = 16384, k = 64),
        inputs(rays.origin = -10.0..10.0, rays.dir = -1.0..1.0),
        inputs(self.boxes.min = -5.0..4.0, self.boxes.max = self.boxes.min + (0.5..1.0)),
    )]
    pub fn nearest_hits(&self, rays: &[Ray], hit: &mut [i32], dist: &mut [f32]) {
        for (i, ray) in rays.iter().enumerate() {
            let mut best = f32::INFINITY;
            hit[i] = -1;
            for (k, b) in self.boxes.iter().enumerate() {
                if let Some(t) = b.hit(ray, best) {
                    best = t;
                    hit[i] = k as i32;
                }
            }
            dist[i] = best;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transform_points_small() {
        let quarter_turn = [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]];
        let mut out = [[0.0; 3]];
        transform_points(
            &[[1.0, 2.0, 3.0]],
            &quarter_turn,
            &[10.0, 0.0, 0.0],
            &mut out,
        )
        .unwrap();
        assert_eq!(out, [[8.0, 1.0, 3.0]]);
        assert!(transform_points(&[], &quarter_turn, &[0.0; 3], &mut out).is_err());
    }

    #[test]
    fn nearest_hits_small() {
        let cube = |x: f32| Aabb {
            min: [x, -1.0, -1.0],
            max: [x + 1.0, 1.0, 1.0],
        };
        let scene = Scene {
            boxes: vec![cube(5.0), cube(2.0)],
        };
        let rays = [
            Ray {
                origin: [0.0; 3],
                dir: [1.0, 0.0, 0.0],
            },
            Ray {
                origin: [9.0, 0.0, 0.0],
                dir: [-1.0, 0.0, 0.0],
            },
            Ray {
                origin: [0.0, 3.0, 0.0],
                dir: [1.0, 0.0, 0.0],
            },
        ];
        let (mut hit, mut dist) = ([9; 3], [0.0; 3]);
        scene.nearest_hits(&rays, &mut hit, &mut dist);
        assert_eq!(hit, [1, 0, -1]);
        assert_eq!(dist, [2.0, 3.0, f32::INFINITY]);
    }
}
