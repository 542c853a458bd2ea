//! Reading, writing and comparing what the headers of the files say.

use std::fmt;
use std::path::{Path, PathBuf};

use pragma_spec::Scalar;
use pragma_synth::ir::interp::{Argument, Arguments, Buffer, Domain, Value};
use pragma_synth::ir::text::parse;
use pragma_synth::ir::{Param, Program};

#[derive(Clone)]
pub struct File {
    pub path: PathBuf,
    pub name: String,
    pub text: String,
    pub program: Program,
    pub cases: Vec<Case>,
    pub libm: bool,
    pub f64_differs: bool,
}

#[derive(Clone)]
pub struct Case {
    /// Line of `run:`, from 0.
    pub line: usize,
    pub inputs: Vec<(String, Vec<String>)>,
    pub expect: Expect,
}

#[derive(Clone)]
pub enum Expect {
    Gives(Values),
    Traps(String),
    /// Nothing yet: to be blessed.
    Unknown,
}

impl File {
    pub fn read(path: &Path) -> File {
        let text = std::fs::read_to_string(path).unwrap();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let program = parse(&text).unwrap_or_else(|error| panic!("{name}:{error}"));
        let mut cases: Vec<Case> = Vec::new();
        for (line, text) in text.lines().enumerate() {
            if let Some(inputs) = text.strip_prefix("// run:") {
                cases.push(Case {
                    line,
                    inputs: assignments(inputs),
                    expect: Expect::Unknown,
                });
            }
            let last = cases.last_mut();
            if let Some(results) = text.strip_prefix("// gives:") {
                last.unwrap().expect = Expect::Gives(Values(assignments(results)));
            } else if let Some(message) = text.strip_prefix("// traps:") {
                last.unwrap().expect = Expect::Traps(message.trim().to_owned());
            }
        }
        assert!(!cases.is_empty(), "{name} runs nothing");
        let has = |start: &str| text.lines().any(|line| line.starts_with(start));
        File {
            path: path.to_owned(),
            libm: has("// libm"),
            f64_differs: has("// f64 differs:"),
            name,
            program,
            cases,
            text,
        }
    }

    /// Writes the file anew where `found` has a line for a case.
    pub fn bless(&self, found: &[(usize, Option<String>)]) {
        let mut lines: Vec<String> = self.text.lines().map(str::to_owned).collect();
        for (line, result) in found.iter().rev() {
            let Some(result) = result else { continue };
            let next = lines.get(line + 1).map_or("", String::as_str);
            if next.starts_with("// gives:") || next.starts_with("// traps:") {
                lines[line + 1].clone_from(result);
            } else {
                lines.insert(line + 1, result.clone());
            }
        }
        let text = lines.join("\n") + "\n";
        if text != self.text {
            std::fs::write(&self.path, text).unwrap();
        }
    }
}

impl Case {
    /// Whether the program is to leave this one to the reference.
    pub fn declines(&self) -> bool {
        matches!(&self.expect, Expect::Gives(values)
            if values.0.first().is_some_and(|(name, _)| name == "declined"))
    }

    fn input(&self, name: &str) -> &[String] {
        let found = self.inputs.iter().find(|(input, _)| input == name);
        match found {
            Some((_, values)) => values,
            None => panic!("line {}: no value for `{name}`", self.line + 1),
        }
    }

    pub fn dims(&self, program: &Program) -> Vec<u64> {
        let dims = program.dims.iter();
        dims.map(|dim| self.input(dim)[0].parse().unwrap())
            .collect()
    }

    pub fn arguments<D: Domain>(&self, program: &Program) -> Arguments<D::Float> {
        let params = program.params.iter().map(|param| match param {
            Param::Scalar(var) => {
                let decl = program.var(*var);
                Argument::Scalar(value::<D>(decl.scalar, &self.input(&decl.name)[0]))
            }
            Param::Buffer(buf) => {
                let decl = program.buf(*buf);
                let values = self.input(&decl.name).iter();
                Argument::Buffer(Buffer {
                    elem: decl.elem,
                    values: values
                        .map(|text| Some(value::<D>(decl.elem, text)))
                        .collect(),
                })
            }
            Param::Dim(_) => Argument::Dim,
        });
        Arguments {
            dims: self.dims(program),
            params: params.collect(),
        }
    }
}

fn value<D: Domain>(scalar: Scalar, text: &str) -> Value<D::Float> {
    match scalar {
        Scalar::Bool => Value::Bool(text.parse().unwrap()),
        Scalar::F32 => {
            let value: f32 = text.parse().unwrap();
            Value::Float(D::constant(scalar, f64::from(value)))
        }
        _ if scalar.is_float() => Value::Float(D::constant(scalar, text.parse().unwrap())),
        _ => Value::Int(
            text.parse()
                .unwrap_or_else(|_| panic!("`{text}` is no {scalar}")),
        ),
    }
}

/// The values of `[%7; n]`: whole numbers from -3 to 3 in no apparent order.
fn mixed(modulus: &str, count: usize) -> Vec<String> {
    let modulus: i64 = modulus[1..].trim().parse().unwrap();
    (0..count as i64)
        .map(|i| ((i * i / 3 + 5 * i) % modulus - modulus / 2).to_string())
        .collect()
}

/// `a = 1, b = [1, 2], c = [0.0; 3]`: every value as the texts of its elements.
fn assignments(text: &str) -> Vec<(String, Vec<String>)> {
    let mut rest = text.trim();
    let mut found = Vec::new();
    while !rest.is_empty() {
        let (name, after) = rest
            .split_once('=')
            .unwrap_or_else(|| panic!("no `=` in `{rest}`"));
        let after = after.trim_start();
        let (values, after) = match after.strip_prefix('[') {
            Some(list) => {
                let (list, after) = list.split_once(']').unwrap();
                let values = match list.split_once(';') {
                    Some((value, count)) if value.trim().starts_with('%') => {
                        mixed(value.trim(), count.trim().parse().unwrap())
                    }
                    Some((value, count)) => {
                        vec![value.trim().to_owned(); count.trim().parse().unwrap()]
                    }
                    None => list
                        .split(',')
                        .map(|value| value.trim().to_owned())
                        .filter(|value| !value.is_empty())
                        .collect(),
                };
                (values, after)
            }
            None => {
                let (value, after) = after.split_at(after.find(',').unwrap_or(after.len()));
                (vec![value.trim().to_owned()], after)
            }
        };
        found.push((name.trim().to_owned(), values));
        rest = after.trim_start().trim_start_matches(',').trim_start();
    }
    found
}

/// Results as text, by name.
#[derive(Clone, Debug, PartialEq)]
pub struct Values(pub Vec<(String, Vec<String>)>);

impl Values {
    pub fn of(_: &Program, results: &super::Results<f64>) -> Values {
        let texts = results.iter().map(|(name, scalar, values)| {
            let values = values.iter().map(|value| match value {
                Value::Float(value) => float_text(*scalar, *value),
                Value::Int(value) => value.to_string(),
                Value::Bool(value) => value.to_string(),
            });
            (name.clone(), values.collect())
        });
        Values(texts.collect())
    }

    /// Results that a compiled program printed as words, with the names and types of `like`.
    pub fn from_words(like: &super::Results<f64>, words: &[Vec<u64>]) -> Values {
        let texts = like.iter().zip(words).map(|((name, scalar, _), words)| {
            let values = words.iter().map(|word| match scalar {
                Scalar::Bool => (*word != 0).to_string(),
                Scalar::F32 => float_text(*scalar, f64::from(f32::from_bits(*word as u32))),
                Scalar::F64 => float_text(*scalar, f64::from_bits(*word)),
                _ => pragma_synth::ir::interp::wrap(*scalar, i128::from(*word)).to_string(),
            });
            (name.clone(), values.collect())
        });
        Values(texts.collect())
    }
}

impl fmt::Display for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (name, values)) in self.0.iter().enumerate() {
            let comma = if i > 0 { ", " } else { "" };
            match &values[..] {
                [value] if name == "return" => write!(f, "{comma}{name} = {value}")?,
                values => write!(f, "{comma}{name} = [{}]", values.join(", "))?,
            }
        }
        Ok(())
    }
}

fn float_text(scalar: Scalar, value: f64) -> String {
    match scalar {
        Scalar::F32 => format!("{:?}", value as f32),
        _ => format!("{value:?}"),
    }
}

/// Whether the results are the same, floats within a few ulp if `libm`.
pub fn agree(wanted: &Values, found: &Values, libm: bool) -> bool {
    if wanted == found {
        return true;
    }
    let near = |a: &String, b: &String| match (a.parse::<f64>(), b.parse::<f64>()) {
        // Enough for `f32`; a wrong `f64` function is off by far more, too.
        (Ok(a), Ok(b)) => (a - b).abs() <= 4e-7 * a.abs().max(b.abs()),
        _ => false,
    };
    libm && wanted.0.len() == found.0.len()
        && wanted
            .0
            .iter()
            .zip(&found.0)
            .all(|((a, wanted), (b, found))| {
                a == b
                    && wanted.len() == found.len()
                    && wanted.iter().zip(found).all(|(a, b)| a == b || near(a, b))
            })
}
