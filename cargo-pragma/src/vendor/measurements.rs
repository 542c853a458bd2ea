//! `measurements.toml`: times of a kernel on the machine that tuned it.
//!
//! The only vendored file that depends on a machine. No check looks at it, and losing it loses no kernel.

use std::path::Path;

use pragma_spec::KernelId;
use toml_edit::{DocumentMut, Item, Table};

use super::MEASUREMENTS;

/// One comparison of a kernel with its reference.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// The target's name.
    pub target: String,
    /// The entry in the target's file, or `reference`.
    pub entry: String,
    /// The problem size.
    pub tune: String,
    /// Threads allowed.
    pub threads: u32,
    /// Median time of a call of the reference.
    pub reference_ns: f64,
    /// Median time of a call of the kernel.
    pub best_ns: f64,
    /// Reference over kernel, paired.
    pub speedup: f64,
    /// The 95 % confidence interval of the speedup.
    pub ci95: (f64, f64),
    /// The speedup with one thread, where that was measured.
    pub speedup_one_thread: Option<f64>,
    /// Which part of the machine's own ceiling it reaches, where that is known.
    pub roof_fraction: Option<f64>,
    /// What limits it, where that is known.
    pub bottleneck: Option<String>,
}

/// The content of the file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measurements {
    /// CPU model and number of cores.
    pub machine: String,
    /// In the order of targets and sizes.
    pub measured: Vec<Measured>,
}

impl Measurements {
    /// The text of the file.
    pub fn to_toml(&self) -> String {
        let quote = |text: &str| toml_edit::Value::from(text).to_string();
        let mut out = format!(
            "# Times on the machine that tuned this kernel, in nanoseconds a call. No check looks at this file.\n\
             machine = {}\n",
            quote(&self.machine)
        );
        for measured in &self.measured {
            out.push_str(&format!(
                "\n[[measurement]]\ntarget = {}\nentry = {}\ntune = {}\nthreads = {}\nreference_ns = {}\nbest_ns = {}\n\
                 speedup = {}\nci95 = [{}, {}]\n",
                quote(&measured.target),
                quote(&measured.entry),
                quote(&measured.tune),
                measured.threads,
                number(measured.reference_ns),
                number(measured.best_ns),
                number(measured.speedup),
                number(measured.ci95.0),
                number(measured.ci95.1),
            ));
            if let Some(speedup) = measured.speedup_one_thread {
                out.push_str(&format!("speedup_one_thread = {}\n", number(speedup)));
            }
            if let Some(fraction) = measured.roof_fraction {
                out.push_str(&format!("roof_fraction = {}\n", number(fraction)));
            }
            if let Some(bottleneck) = &measured.bottleneck {
                out.push_str(&format!("bottleneck = {}\n", quote(bottleneck)));
            }
        }
        out
    }

    /// The measurements of a kernel in `dir`, a package's `pragma/`; empty where there are none that can be read.
    pub fn read(dir: &Path, kernel: &KernelId) -> Self {
        let file = dir.join(kernel.as_str()).join(MEASUREMENTS);
        std::fs::read_to_string(file)
            .ok()
            .and_then(|text| Self::parse(&text))
            .unwrap_or_default()
    }

    fn parse(text: &str) -> Option<Self> {
        let root = text.parse::<DocumentMut>().ok()?;
        let measured = match root.get("measurement").and_then(Item::as_array_of_tables) {
            Some(tables) => tables.iter().map(parse_one).collect::<Option<_>>()?,
            None => Vec::new(),
        };
        Some(Measurements {
            machine: root.get("machine")?.as_str()?.to_owned(),
            measured,
        })
    }

    /// The comparison that speaks for a kernel: the one of the greatest target, and of the last size for it.
    pub fn headline(&self) -> Option<&Measured> {
        self.measured
            .iter()
            .filter(|measured| measured.entry != "reference")
            .max_by(|a, b| a.target.cmp(&b.target))
    }
}

fn parse_one(table: &Table) -> Option<Measured> {
    let text = |key: &str| table.get(key).and_then(Item::as_str).map(str::to_owned);
    let number = |key: &str| table.get(key).and_then(as_number);
    let ci95 = table.get("ci95")?.as_array()?;
    let end = |i: usize| {
        ci95.get(i)
            .and_then(|value| value.as_float().or(value.as_integer().map(|n| n as f64)))
    };
    Some(Measured {
        target: text("target")?,
        entry: text("entry")?,
        tune: text("tune")?,
        threads: table.get("threads")?.as_integer()?.try_into().ok()?,
        reference_ns: number("reference_ns")?,
        best_ns: number("best_ns")?,
        speedup: number("speedup")?,
        ci95: (end(0)?, end(1)?),
        speedup_one_thread: number("speedup_one_thread"),
        roof_fraction: number("roof_fraction"),
        bottleneck: text("bottleneck"),
    })
}

fn as_number(item: &Item) -> Option<f64> {
    item.as_float().or(item.as_integer().map(|n| n as f64))
}

/// Four significant digits: more would be noise.
fn number(value: f64) -> String {
    let digits = if value == 0.0 || !value.is_finite() {
        0
    } else {
        3 - value.abs().log10().floor() as i32
    };
    let scale = 10f64.powi(digits);
    let rounded = if digits >= 0 {
        (value * scale).round() / scale
    } else {
        (value * scale).round() * 10f64.powi(-digits)
    };
    format!("{rounded:?}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trip() {
        let measured = Measured {
            target: "x86-64-v4".to_owned(),
            entry: "dot".to_owned(),
            tune: "n = 4096".to_owned(),
            threads: 2,
            reference_ns: 2500.0,
            best_ns: 103.4,
            speedup: 24.18,
            ci95: (24.0, 24.3),
            speedup_one_thread: Some(20.0),
            roof_fraction: Some(0.91),
            bottleneck: None,
        };
        let reference = Measured {
            entry: "reference".to_owned(),
            target: "x86-64-v5".to_owned(),
            ..measured.clone()
        };
        let all = Measurements {
            machine: "a \"CPU\"".to_owned(),
            measured: vec![measured.clone(), reference],
        };
        assert_eq!(Measurements::parse(&all.to_toml()), Some(all.clone()));
        assert_eq!(all.headline(), Some(&measured));
        assert_eq!(Measurements::parse("machine = 3"), None);
    }

    #[test]
    fn four_digits() {
        assert_eq!(number(123_456.0), "123500.0");
        assert_eq!(number(0.012_345_6), "0.01235");
        assert_eq!(number(1.0), "1.0");
        assert_eq!(number(0.0), "0.0");
    }
}
