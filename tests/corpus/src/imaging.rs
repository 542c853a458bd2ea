//! Image processing kernels.

use pragma_runtime::pragma_kernel;

/// Converts interleaved RGB bytes to luma with 8-bit fixed-point weights.
#[pragma_kernel(
    shape(src = [n, 3], dst = [n]),
    tune(n = 4194304),
)]
pub fn rgb_to_luma(src: &[u8], dst: &mut [u8]) {
    const WR: u32 = 77;
    const WG: u32 = 150;
    const WB: u32 = 29;
    for (i, d) in dst.iter_mut().enumerate() {
        let p = i * 3;
        *d = ((WR * src[p] as u32 + WG * src[p + 1] as u32 + WB * src[p + 2] as u32 + 128) >> 8)
            as u8;
    }
}

pub struct Pixmap {
    pub width: usize,
    pub height: usize,
    pub data: Vec<u8>,
}

fn div255(v: u32) -> u32 {
    (v + 128 + ((v + 128) >> 8)) >> 8
}

/// Source-over compositing of premultiplied RGBA images.
#[pragma_kernel(
    shape(dst.data = [dst.height, dst.width, 4], src.data = [dst.height, dst.width, 4]),
    tune(dst.height = 1024, dst.width = 2048),
    inputs(src.height = dst.height, src.width = dst.width),
)]
pub fn alpha_over(dst: &mut Pixmap, src: &Pixmap) {
    assert_eq!((dst.width, dst.height), (src.width, src.height));
    for (d, s) in dst.data.chunks_exact_mut(4).zip(src.data.chunks_exact(4)) {
        let inv = 255 - s[3] as u32;
        for c in 0..4 {
            let v = s[c] as u32 + div255(d[c] as u32 * inv);
            d[c] = v.min(255) as u8;
        }
    }
}

#[derive(Clone, Copy)]
pub enum Border {
    Clamp,
    Zero,
}

fn border_index(i: isize, n: usize, border: Border) -> Option<usize> {
    match border {
        Border::Clamp => Some(i.clamp(0, n as isize - 1) as usize),
        Border::Zero if i < 0 || i >= n as isize => None,
        Border::Zero => Some(i as usize),
    }
}

/// One f32 image channel.
pub struct Plane {
    pub width: usize,
    pub height: usize,
    pub data: Vec<f32>,
}

/// Separable blur with an odd kernel: horizontal pass into a temporary, then vertical.
#[pragma_kernel(
    shape(src.data = [src.height, src.width], kernel = [k], return = [src.height, src.width]),
    tune(src.height = 512, src.width = 512, k = 9, border = Border::Clamp),
    inputs(src.data = 0.0..1.0, kernel = 0.0..0.2, k % 2 == 1),
)]
pub fn gaussian_blur(src: &Plane, kernel: &[f32], border: Border) -> Vec<f32> {
    assert!(kernel.len() % 2 == 1);
    let (width, height) = (src.width, src.height);
    let r = (kernel.len() / 2) as isize;
    if r == 0 {
        return src.data.iter().map(|v| v * kernel[0]).collect();
    }
    let mut tmp = vec![0.0f32; width * height];
    for y in 0..height {
        for x in 0..width {
            let mut sum = 0.0;
            for (i, &k) in kernel.iter().enumerate() {
                if let Some(xx) = border_index(x as isize + i as isize - r, width, border) {
                    sum += k * src.data[y * width + xx];
                }
            }
            tmp[y * width + x] = sum;
        }
    }
    let mut out = vec![0.0f32; width * height];
    for y in 0..height {
        for x in 0..width {
            let mut sum = 0.0;
            for (i, &k) in kernel.iter().enumerate() {
                if let Some(yy) = border_index(y as isize + i as isize - r, height, border) {
                    sum += k * tmp[yy * width + x];
                }
            }
            out[y * width + x] = sum;
        }
    }
    out
}

#[derive(Clone, Debug, PartialEq)]
pub struct GrayImage {
    pub width: usize,
    pub height: usize,
    pub data: Vec<u8>,
}

impl GrayImage {
    fn at(&self, x: usize, y: usize) -> i32 {
        self.data[y * self.width + x] as i32
    }

    /// Sobel gradient magnitude, saturated to 255; the border stays 0.
    #[pragma_kernel(
        shape(self.data = [self.height, self.width], return.data = [self.height, self.width]),
        tune(self.height = 1024, self.width = 1024),
    )]
    pub fn sobel(&self) -> GrayImage {
        let mut out = vec![0u8; self.width * self.height];
        for y in 1..self.height - 1 {
            for x in 1..self.width - 1 {
                let gx = -self.at(x - 1, y - 1) - 2 * self.at(x - 1, y) - self.at(x - 1, y + 1)
                    + self.at(x + 1, y - 1)
                    + 2 * self.at(x + 1, y)
                    + self.at(x + 1, y + 1);
                let gy = -self.at(x - 1, y - 1) - 2 * self.at(x, y - 1) - self.at(x + 1, y - 1)
                    + self.at(x - 1, y + 1)
                    + 2 * self.at(x, y + 1)
                    + self.at(x + 1, y + 1);
                let mag = ((gx * gx + gy * gy) as f32).sqrt().min(255.0);
                out[y * self.width + x] = mag as u8;
            }
        }
        GrayImage {
            width: self.width,
            height: self.height,
            data: out,
        }
    }
}

/// An f32 raster with `C` interleaved channels.
#[derive(Clone)]
pub struct Raster<const C: usize> {
    pub width: usize,
    pub height: usize,
    pub data: Vec<f32>,
}

fn lerp(a: f32, b: f32, t: f32) -> f32 {
    a + (b - a) * t
}

impl<const C: usize> Raster<C> {
    /// Bilinear resize with half-pixel centres.
    #[pragma_kernel(
        shape(self.data = [self.height, self.width, C], return.data = [new_h, new_w, C]),
        tune(self.height = 720, self.width = 1280, new_h = 540, new_w = 960),
        inputs(self.data = 0.0..1.0),
        instantiate(C = 3),
    )]
    pub fn resize_bilinear(&self, new_w: usize, new_h: usize) -> Raster<C> {
        if new_w == self.width && new_h == self.height {
            return self.clone();
        }
        let sx = self.width as f32 / new_w as f32;
        let sy = self.height as f32 / new_h as f32;
        let mut data = vec![0.0f32; new_w * new_h * C];
        for y in 0..new_h {
            let fy = ((y as f32 + 0.5) * sy - 0.5).clamp(0.0, self.height as f32 - 1.0);
            let y0 = fy as usize;
            let y1 = (y0 + 1).min(self.height - 1);
            let wy = fy - y0 as f32;
            for x in 0..new_w {
                let fx = ((x as f32 + 0.5) * sx - 0.5).clamp(0.0, self.width as f32 - 1.0);
                let x0 = fx as usize;
                let x1 = (x0 + 1).min(self.width - 1);
                let wx = fx - x0 as f32;
                for c in 0..C {
                    let tl = self.data[(y0 * self.width + x0) * C + c];
                    let tr = self.data[(y0 * self.width + x1) * C + c];
                    let bl = self.data[(y1 * self.width + x0) * C + c];
                    let br = self.data[(y1 * self.width + x1) * C + c];
                    data[(y * new_w + x) * C + c] = lerp(lerp(tl, tr, wx), lerp(bl, br, wx), wy);
                }
            }
        }
        Raster {
            width: new_w,
            height: new_h,
            data,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::close;

    #[test]
    fn rgb_to_luma_small() {
        let mut out = [0; 3];
        rgb_to_luma(&[255, 255, 255, 255, 0, 0, 0, 0, 10], &mut out);
        assert_eq!(out, [255, 77, 1]);
    }

    #[test]
    fn alpha_over_small() {
        let image = |data: &[u8]| Pixmap {
            width: 2,
            height: 1,
            data: data.to_vec(),
        };
        let mut d = image(&[100, 200, 0, 255, 10, 10, 10, 10]);
        alpha_over(&mut d, &image(&[50, 50, 50, 255, 0, 0, 0, 0]));
        assert_eq!(d.data, [50, 50, 50, 255, 10, 10, 10, 10]);
    }

    #[test]
    fn gaussian_blur_small() {
        let plane = |w: usize, data: &[f32]| Plane {
            width: w,
            height: data.len() / w,
            data: data.to_vec(),
        };
        let k = [0.25, 0.5, 0.25];
        let src = plane(3, &[0.0, 0.0, 0.0, 0.0, 16.0, 0.0, 0.0, 0.0, 0.0]);
        close(
            &gaussian_blur(&src, &k, Border::Zero),
            &[1.0, 2.0, 1.0, 2.0, 4.0, 2.0, 1.0, 2.0, 1.0],
            1e-6,
        );
        close(
            &gaussian_blur(&plane(2, &[5.0; 4]), &k, Border::Clamp),
            &[5.0; 4],
            1e-6,
        );
        close(
            &gaussian_blur(&plane(1, &[4.0]), &k, Border::Zero),
            &[1.0],
            1e-6,
        );
        close(
            &gaussian_blur(&plane(1, &[4.0]), &[0.5], Border::Zero),
            &[2.0],
            1e-6,
        );
    }

    #[test]
    fn sobel_small() {
        let img = GrayImage {
            width: 3,
            height: 3,
            data: vec![0, 0, 10, 0, 0, 10, 0, 0, 10],
        };
        assert_eq!(img.sobel().data, [0, 0, 0, 0, 40, 0, 0, 0, 0]);
    }

    #[test]
    fn resize_bilinear_small() {
        let img = Raster::<1> {
            width: 2,
            height: 1,
            data: vec![0.0, 4.0],
        };
        close(&img.resize_bilinear(4, 1).data, &[0.0, 1.0, 3.0, 4.0], 1e-6);
        close(&img.resize_bilinear(2, 1).data, &[0.0, 4.0], 0.0);
    }
}
