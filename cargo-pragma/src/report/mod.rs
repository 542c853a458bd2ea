//! How numbers and tables look to people.
//!
//! Owns units, rounding and column widths; JSON objects are plain serde types beside the commands that print them.

mod table;

pub use table::Table;

/// A time for people: `103 ns`, `1.24 ms`.
pub fn time(ns: f64) -> String {
    let (value, unit) = match ns {
        ns if !ns.is_finite() => return "-".to_owned(),
        ns if ns < 1e3 => (ns, "ns"),
        ns if ns < 1e6 => (ns / 1e3, "us"),
        ns if ns < 1e9 => (ns / 1e6, "ms"),
        ns => (ns / 1e9, "s"),
    };
    format!("{} {unit}", digits(value))
}

/// A ratio for people: `12.3x`.
pub fn ratio(value: f64) -> String {
    if value.is_finite() {
        format!("{}x", digits(value))
    } else {
        "-".to_owned()
    }
}

/// A speedup with its confidence interval: `12.3x [12.1, 12.5]`.
pub fn speedup(value: f64, (low, high): (f64, f64)) -> String {
    format!("{} [{}, {}]", ratio(value), digits(low), digits(high))
}

/// A part of one, in percent.
pub fn percent(value: f64) -> String {
    format!("{:.0}%", value * 100.0)
}

/// Three significant digits without an exponent.
fn digits(value: f64) -> String {
    match value.abs() {
        v if v >= 99.95 => format!("{value:.0}"),
        v if v >= 9.995 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_for_people() {
        assert_eq!(time(0.5), "0.50 ns");
        assert_eq!(time(103.44), "103 ns");
        assert_eq!(time(12_345.0), "12.3 us");
        assert_eq!(time(2.5e9), "2.50 s");
        assert_eq!(time(f64::NAN), "-");
        assert_eq!(speedup(12.345, (12.0, 12.96)), "12.3x [12.0, 13.0]");
        assert_eq!(percent(0.876), "88%");
    }
}
