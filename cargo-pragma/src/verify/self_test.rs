//! Runs the mutants against the judge on a bench's own cases.
//!
//! Owns strengthening the inputs until every mutant is refused, and giving up with a reason. The mutants themselves are
//! in `mutants`.

use super::bench::{Bench, BenchError, Expected, Prepared};
use super::cases::{self, Case};
use super::judge::{Piece, Policy, judge};
use super::mutants::{Material, Mutant, SelfTest, mutate};
use super::spec::{Output, is_mutable};
use crate::inputs::fill;
use crate::worker::protocol::{ArgSpec, Poison};

/// How often inputs may be strengthened.
const ROUNDS: u64 = 3;

/// What became of one mutant of one output.
enum Fate {
    /// Refused by this case.
    Refused(String),
    /// Never different from the reference.
    Equivalent,
    /// Different and not refused anywhere.
    Admitted,
}

impl Bench {
    /// Tests the judge: every mutant of every output must be refused on some case. Where one is not, cases are added.
    /// Call it once, before the first candidate.
    ///
    /// # Errors
    /// [`BenchError::Unprovable`] with the reason, if no inputs tell a mutant from the reference.
    pub fn self_test(&mut self) -> Result<SelfTest, BenchError> {
        let mut result = SelfTest::default();
        for at in 0..self.outputs.len() {
            for mutant in Mutant::ALL {
                let mut fate = self.try_mutant(at, mutant);
                let mut round = 0;
                while matches!(fate, Fate::Admitted)
                    && round < ROUNDS
                    && !self.tolerates(at, mutant)
                {
                    for case in cases::strengthened(&self.spec, self.seed, round) {
                        let expected = self.expect(&case)?;
                        self.cases.push(Prepared { case, expected });
                    }
                    round += 1;
                    result.strengthened += 1;
                    fate = self.try_mutant(at, mutant);
                }
                let name = self.outputs[at].name.clone();
                match fate {
                    Fate::Refused(case) => result.refused.push((name, mutant, case)),
                    Fate::Admitted if self.tolerates(at, mutant) => {
                        result.tolerated.push((name, mutant))
                    }
                    Fate::Admitted => {
                        return Err(BenchError::Unprovable(format!(
                            "no test input tells `{name}` from a wrong result ({}); `inputs(..)` can say what its arguments look like",
                            mutant.name()
                        )));
                    }
                    Fate::Equivalent if mutant == Mutant::Zeros => {
                        return Err(BenchError::Unprovable(format!(
                            "`{name}` is zero on every test input"
                        )));
                    }
                    Fate::Equivalent => result.equivalent.push((name, mutant)),
                }
            }
        }
        Ok(result)
    }

    /// Whether the attribute itself asks for so little accuracy that this mutant is right.
    fn tolerates(&self, at: usize, mutant: Mutant) -> bool {
        let coarse = |rtol: f64, limit: f64| rtol >= limit;
        match (self.policy(self.outputs[at].elem, true), mutant) {
            (Policy::Tolerance { rtol, .. }, Mutant::HalfPrecision) => coarse(rtol, 1.0 / 512.0),
            (Policy::Tolerance { rtol, .. }, Mutant::OneWrong) => coarse(rtol, 1e-3),
            _ => false,
        }
    }

    fn try_mutant(&self, at: usize, mutant: Mutant) -> Fate {
        let output = &self.outputs[at];
        let mut other: Option<&[u8]> = None;
        let mut differed = false;
        for prepared in &self.cases {
            let Expected::Values { reference, oracle } = &prepared.expected else {
                continue;
            };
            let Some(right) = reference.get(at) else {
                continue;
            };
            let mutated = mutate(
                mutant,
                Material {
                    elem: output.elem,
                    reference: right,
                    before: &self.before(output, &prepared.case, right.len(), mutant),
                    inputs: &self.same_inputs(output, &prepared.case, right.len(), mutant),
                    other: other.unwrap_or(right),
                },
            );
            other.get_or_insert(right);
            for got in mutated {
                differed = true;
                let piece = Piece {
                    elem: output.elem,
                    reference: right,
                    oracle: oracle
                        .as_ref()
                        .and_then(|oracle| oracle.get(at))
                        .map(Vec::as_slice),
                    got: &got,
                };
                if judge(piece, self.policy(output.elem, oracle.is_some())).is_err() {
                    return Fate::Refused(prepared.case.name.clone());
                }
            }
        }
        if differed {
            Fate::Admitted
        } else {
            Fate::Equivalent
        }
    }

    /// What an output holds before the call.
    fn before(&self, output: &Output, case: &Case, bytes: usize, mutant: Mutant) -> Vec<u8> {
        if !matches!(mutant, Mutant::LastSkipped | Mutant::TailSkipped) {
            return Vec::new();
        }
        let mut before = vec![0; bytes];
        match output.param {
            Some(param) if self.write_only.get(param) != Some(&true) => {
                if let Some(arg) = self.spec.args(case, &self.write_only).get(param) {
                    content(arg, &mut before);
                }
            }
            Some(_) => Poison::A.fill(&mut before, output.elem),
            None if output.is_vec => Poison::A.fill(&mut before, output.elem),
            // A single value cannot be skipped.
            None => before.clear(),
        }
        before
    }

    /// The inputs that could be mistaken for an output.
    fn same_inputs(
        &self,
        output: &Output,
        case: &Case,
        bytes: usize,
        mutant: Mutant,
    ) -> Vec<Vec<u8>> {
        if mutant != Mutant::Identity {
            return Vec::new();
        }
        let args = self.spec.args(case, &self.write_only);
        args.iter()
            .zip(&self.spec.signature.params)
            .filter(|(arg, param)| {
                arg.elem == output.elem && arg.bytes() == bytes as u64 && !is_mutable(param.kind)
            })
            .map(|(arg, _)| {
                let mut input = vec![0; bytes];
                content(arg, &mut input);
                input
            })
            .collect()
    }
}

fn content(arg: &ArgSpec, bytes: &mut [u8]) {
    fill(bytes, arg.elem, &arg.values, arg.seed);
}
