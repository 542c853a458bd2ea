//! Audio and DSP kernels.

use crate::Real;
use pragma_runtime::pragma_kernel;

/// FIR filter over the fully overlapped samples ("valid" convolution).
#[pragma_kernel(
    shape(x = [n], taps = [k], out = [n - k + 1]),
    tune(n = 262144, k = 64),
    inputs(x = -1.0..1.0, taps = -1.0..1.0),
    instantiate(T = f32),
)]
pub fn fir_filter<T: Real>(x: &[T], taps: &[T], out: &mut [T]) {
    for (w, o) in x.windows(taps.len()).zip(out.iter_mut()) {
        let mut acc = T::zero();
        for (&s, &t) in w.iter().zip(taps.iter().rev()) {
            acc += s * t;
        }
        *o = acc;
    }
}

pub struct MelBank {
    pub filters: Vec<Vec<f32>>,
}

impl MelBank {
    /// Log-mel energies of each power-spectrum frame.
    #[pragma_kernel(
        shape(power = [frames, bins], self.filters = [mels, bins], return = [frames, mels]),
        tune(frames = 1000, bins = 201, mels = 80),
        inputs(power = 0.0..10.0, self.filters = 0.0..1.0),
    )]
    pub fn log_mel(&self, power: &[f32], bins: usize) -> Vec<f32> {
        power
            .chunks_exact(bins)
            .flat_map(|frame| {
                self.filters.iter().map(move |filter| {
                    let energy: f32 = frame.iter().zip(filter.iter()).map(|(p, f)| p * f).sum();
                    energy.max(1e-10).log10()
                })
            })
            .collect()
    }
}

/// Second-order filter section, transposed direct form II.
pub struct Biquad<T> {
    pub b: [T; 3],
    pub a: [T; 2],
    pub z: [T; 2],
}

impl<T: Real> Biquad<T> {
    /// Filters a buffer in place and keeps the state for the next one.
    #[pragma_kernel(
        shape(buf = [n]),
        tune(n = 1048576),
        inputs(buf = -1.0..1.0, self.b = -0.5..0.5, self.a = -0.4..0.4, self.z = -1.0..1.0),
        instantiate(T = f32),
    )]
    pub fn process(&mut self, buf: &mut [T]) {
        for s in buf.iter_mut() {
            let x = *s;
            let y = self.b[0] * x + self.z[0];
            self.z[0] = self.b[1] * x - self.a[0] * y + self.z[1];
            self.z[1] = self.b[2] * x - self.a[1] * y;
            *s = y;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::close;

    #[test]
    fn fir_filter_small() {
        let mut out = [0.0f64; 3];
        fir_filter(&[1.0, 2.0, 4.0, 8.0], &[10.0, 1.0], &mut out);
        assert_eq!(out, [21.0, 42.0, 84.0]);
    }

    #[test]
    fn log_mel_small() {
        let bank = MelBank {
            filters: vec![vec![1.0, 0.0], vec![0.5, 0.5], vec![0.0, 0.0]],
        };
        close(&bank.log_mel(&[10.0, 190.0], 2), &[1.0, 2.0, -10.0], 1e-5);
    }

    #[test]
    fn biquad_small() {
        // y[n] = x[n] + x[n-1] + y[n-1] / 2
        let mut f = Biquad {
            b: [1.0, 1.0, 0.0],
            a: [-0.5, 0.0],
            z: [0.0, 0.0],
        };
        let mut buf = [1.0, 0.0, 0.0];
        f.process(&mut buf);
        assert_eq!(buf, [1.0, 1.5, 0.75]);
        let mut more = [0.0];
        f.process(&mut more);
        assert_eq!(more, [0.375]);
    }
}
