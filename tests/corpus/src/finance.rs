//! Finance kernels.

use pragma_runtime::pragma_kernel;

#[derive(Debug, PartialEq)]
pub enum IndicatorError {
    BadPeriod,
    NotEnoughData,
    LengthMismatch,
}

fn check_period(period: usize, len: usize) -> Result<usize, IndicatorError> {
    if period < 2 {
        return Err(IndicatorError::BadPeriod);
    }
    if len < period {
        return Err(IndicatorError::NotEnoughData);
    }
    Ok(period - 1)
}

/// Exponential moving average seeded with a simple average; the lookback is NaN.
#[pragma_kernel(
    shape(prices = [n], out = [n]),
    tune(n = 1048576, period = 14, k = None),
    inputs(prices = 50.0..150.0, period = 2..=64, k = 0.0..1.0, n >= period),
)]
pub fn ema_series(
    prices: &[f64],
    period: usize,
    k: Option<f64>,
    out: &mut [f64],
) -> Result<(), IndicatorError> {
    let lookback = check_period(period, prices.len())?;
    if out.len() != prices.len() {
        return Err(IndicatorError::LengthMismatch);
    }
    let k = match k {
        Some(k) => k,
        None => 2.0 / (period as f64 + 1.0),
    };
    let mut ema = prices[..period].iter().sum::<f64>() / period as f64;
    out[..lookback].fill(f64::NAN);
    out[lookback] = ema;
    for (o, &p) in out.iter_mut().zip(prices.iter()).skip(period) {
        ema = k.mul_add(p - ema, ema);
        *o = ema;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ema_series_small() {
        let mut out = [0.0; 4];
        ema_series(&[2.0, 4.0, 5.0, 1.0], 2, Some(0.5), &mut out).unwrap();
        assert!(out[0].is_nan());
        assert_eq!(out[1..], [3.0, 4.0, 2.5]);
        assert_eq!(
            ema_series(&[1.0, 2.0], 2, None, &mut out),
            Err(IndicatorError::LengthMismatch)
        );
    }
}
