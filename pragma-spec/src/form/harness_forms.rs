//! What a harness build has to know of signatures beyond the function's own tokens.
//!
//! Owns the text of the file that the tool writes and the macro reads (named by the environment variable
//! `PRAGMA_HARNESS_FORMS`): the macro sees no definitions of types, so it cannot build arguments out of leaves alone.
//!
//! ```text
//! function pragma_reference_0123_apply_40_8
//! symbol pragma_reference_0123_apply_40_8
//! impl crate::ml::BatchNorm2d
//! param self: &struct crate::ml::BatchNorm2d { .. }
//! return unit
//! make self = Self::new(16)
//! ```

use super::{InvalidForm, SignatureForm};

/// The environment variable that names the file.
pub const HARNESS_FORMS: &str = "PRAGMA_HARNESS_FORMS";

/// All records of a crate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HarnessForms {
    /// One per kernel whose signature is more than leaves, or has arguments made by expressions.
    pub records: Vec<HarnessForm>,
}

/// One instance of one function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HarnessForm {
    /// [`crate::harness_symbol`] of the function, which finds its records.
    pub function: String,
    /// What the exported entry of this instance is called.
    pub symbol: String,
    /// The parameters and the result.
    pub form: SignatureForm,
    /// Source parameters that are made by an expression of the crate: name and expression. The leaves of such a
    /// parameter are not read.
    pub made: Vec<(String, String)>,
}

impl HarnessForms {
    /// The records of the function with this symbol.
    pub fn of(&self, function: &str) -> impl Iterator<Item = &HarnessForm> {
        self.records
            .iter()
            .filter(move |record| record.function == function)
    }

    /// The text of the file.
    pub fn to_text(&self) -> String {
        let mut out = String::new();
        for record in &self.records {
            let mut line = |text: String| {
                out.push_str(&text);
                out.push('\n');
            };
            line(format!("function {}", record.function));
            line(format!("symbol {}", record.symbol));
            record.form.to_lines().into_iter().for_each(&mut line);
            for (param, expr) in &record.made {
                // An expression's tokens have no line breaks of their own outside of literals.
                line(format!("make {param} = {}", expr.replace('\n', " ")));
            }
            line(String::new());
        }
        out
    }

    /// Reads what [`HarnessForms::to_text`] gives.
    ///
    /// # Errors
    /// If a line is none of those, or a record lacks its names.
    pub fn parse(text: &str) -> Result<HarnessForms, InvalidForm> {
        let mut records = Vec::new();
        for block in text.split("\n\n") {
            let lines: Vec<&str> = block.lines().filter(|line| !line.is_empty()).collect();
            if !lines.is_empty() {
                records.push(HarnessForm::parse(&lines)?);
            }
        }
        Ok(HarnessForms { records })
    }
}

impl HarnessForm {
    fn parse(lines: &[&str]) -> Result<HarnessForm, InvalidForm> {
        let mut record = HarnessForm::default();
        let mut form = Vec::new();
        for line in lines {
            let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
            match word {
                "function" => rest.clone_into(&mut record.function),
                "symbol" => rest.clone_into(&mut record.symbol),
                "make" => {
                    let (param, expr) = rest.split_once(" = ").ok_or_else(|| {
                        InvalidForm(
                            (*line).to_owned(),
                            "`PARAM = EXPRESSION` is expected".into(),
                        )
                    })?;
                    record.made.push((param.to_owned(), expr.to_owned()));
                }
                _ => form.push(*line),
            }
        }
        if record.function.is_empty() || record.symbol.is_empty() {
            let first = lines.first().copied().unwrap_or_default();
            return Err(InvalidForm(
                first.to_owned(),
                "a record names its function and its symbol".into(),
            ));
        }
        record.form = SignatureForm::parse_lines(&form)?;
        Ok(record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_records_are_the_same() {
        let lines = [
            "impl crate::a::B::<3>",
            "where C = 3",
            "param self: &struct crate::a::B::<3> { data: vec f32 }",
            "return result vec f32",
        ];
        let form = SignatureForm::parse_lines(&lines).expect("a form");
        let record = |symbol: &str| HarnessForm {
            function: "base".to_owned(),
            symbol: symbol.to_owned(),
            form: form.clone(),
            made: vec![("self".to_owned(), "Self :: new(1 , \"a = b\")".to_owned())],
        };
        let forms = HarnessForms {
            records: vec![record("base"), record("base_1")],
        };
        let text = forms.to_text();
        assert_eq!(HarnessForms::parse(&text), Ok(forms.clone()), "{text}");
        assert_eq!(forms.of("base").count(), 2);
        assert_eq!(forms.of("other").count(), 0);
    }

    #[test]
    fn damaged_text_is_an_error() {
        for bad in [
            "symbol x\nreturn unit",
            "function f\nsymbol s\nmake x",
            "function f\nsymbol s\nreturn what",
        ] {
            assert!(HarnessForms::parse(bad).is_err(), "{bad}");
        }
        assert_eq!(HarnessForms::parse("\n\n\n"), Ok(HarnessForms::default()));
    }
}
