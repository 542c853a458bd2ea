//! A model as the engine of a search.
//!
//! Owns which prompt comes next and when to stop. Every prompt stands for itself: it holds the best version, what was
//! tried in one line each, and the evidence against the last one, so that no conversation grows until it is cut.

use std::cell::RefCell;
use std::rc::Rc;

use pragma_spec::{Authorship, Fingerprint};

use super::answer;
use super::client::LlmError;
use super::dialect::{Answer, Conversation, Message, Role, Stop};
use super::prompt::{PROMPT_VERSION, PromptError, Template, fill};
use super::writer::Writer;
use crate::history::Timing;
use crate::report;
use crate::tune::{Engine, Feedback, Limit, Origin, Proposal, StaticFacts, Step};

/// What the model is told of a search, in words.
#[derive(Clone, Debug)]
pub struct Task {
    /// The function as it is written, with its attribute.
    pub function: String,
    /// What it calls, as it is written.
    pub helpers: String,
    /// The machine and its measured ceilings.
    pub machine: String,
    /// The signature of a kernel.
    pub signature: String,
    /// What the dimensions are.
    pub shapes: String,
    /// The accuracy policy.
    pub accuracy: String,
    /// The rules of the Conductor.
    pub rules: String,
    /// The target.
    pub target: String,
    /// The size.
    pub tune: String,
    /// The name of the entry function.
    pub entry: String,
    /// The best version of another engine, to start from.
    pub start: Option<Start>,
    /// The least time that the machine's ceilings allow, nanoseconds; none if it is not known.
    pub roof_ns: Option<f64>,
}

/// A version to start from.
#[derive(Clone, Debug)]
pub struct Start {
    /// Its text.
    pub source: String,
    /// Its time.
    pub timing: Timing,
    /// What limits it.
    pub limit: Option<Limit>,
}

/// One search of a model.
pub struct LlmCoder {
    engine: &'static str,
    writer: Rc<RefCell<dyn Writer>>,
    task: Task,
    system: String,
    best: Option<Version>,
    /// What is being judged.
    pending: Option<Pending>,
    tried: Vec<String>,
    /// Repairs of the same idea in a row.
    repairs: usize,
    /// Proposals since the best one got better.
    without_gain: usize,
}

struct Version {
    source: String,
    timing: Timing,
    facts: Option<StaticFacts>,
    limit: Option<Limit>,
}

struct Pending {
    source: String,
    rationale: String,
}

/// Repairs of one idea before it is dropped.
const REPAIRS: usize = 2;
/// Proposals without gain before the search ends.
const PATIENCE: usize = 5;
/// Answers without code in a row before the search ends.
const EMPTY: usize = 3;
/// As close to the roof as this is close enough.
const AT_THE_ROOF: f64 = 0.95;
/// Versions that a prompt mentions.
const REMEMBERED: usize = 12;
/// Most characters of evidence in a prompt.
const EVIDENCE: usize = 4000;

impl LlmCoder {
    /// A search that has not begun.
    ///
    /// # Errors
    /// If the prompt templates and their fillings do not match, which a test excludes.
    pub fn new(writer: Rc<RefCell<dyn Writer>>, task: Task) -> Result<Self, PromptError> {
        let system = fill(
            Template::System,
            &[
                ("function", &task.function),
                (
                    "helpers",
                    if task.helpers.is_empty() {
                        "// nothing"
                    } else {
                        &task.helpers
                    },
                ),
                ("machine", &task.machine),
                ("signature", &task.signature),
                ("shapes", &task.shapes),
                ("accuracy", &task.accuracy),
                ("rules", &task.rules),
            ],
        )?;
        let best = task.start.clone().map(|start| Version {
            source: start.source,
            timing: start.timing,
            facts: None,
            limit: start.limit,
        });
        let engine = writer.borrow().engine();
        Ok(LlmCoder {
            engine,
            writer,
            system,
            best,
            pending: None,
            tried: Vec::new(),
            repairs: 0,
            without_gain: 0,
            task,
        })
    }

    fn hear(&mut self, feedback: &Feedback) -> Option<(String, String, String)> {
        let pending = self.pending.take()?;
        let idea = short(&pending.rationale);
        match feedback {
            Feedback::Refused { reason, evidence } => {
                self.tried.push(format!("{idea}: refused, {reason}"));
                self.without_gain += 1;
                Some((pending.source, reason.clone(), evidence.clone()))
            }
            Feedback::Measured { timing, facts } => {
                self.repairs = 0;
                let better = self
                    .best
                    .as_ref()
                    .is_none_or(|best| timing.speedup > best.timing.speedup);
                self.tried.push(format!(
                    "{idea}: {}{}",
                    report::speedup(timing.speedup, timing.ci95),
                    if better { ", the best so far" } else { "" }
                ));
                if better {
                    self.without_gain = 0;
                    self.best = Some(Version {
                        source: pending.source,
                        timing: timing.clone(),
                        facts: facts.clone(),
                        limit: None,
                    });
                } else {
                    self.without_gain += 1;
                }
                None
            }
        }
    }

    fn prompt(&mut self, refused: Option<(String, String, String)>) -> Result<String, PromptError> {
        if let Some((source, reason, evidence)) = refused
            && self.repairs < REPAIRS
        {
            self.repairs += 1;
            return fill(
                Template::Repair,
                &[
                    ("source", &source),
                    ("reason", &reason),
                    ("evidence", &head(&evidence, EVIDENCE)),
                ],
            );
        }
        self.repairs = 0;
        let tried = self.tried();
        let Some(best) = &self.best else {
            return fill(
                Template::Write,
                &[
                    ("target", &self.task.target),
                    ("tune", &self.task.tune),
                    ("best", ""),
                    ("tried", &tried),
                ],
            );
        };
        let timing = format!(
            "{:.0} ns a call, {}",
            best.timing.candidate_ns,
            report::speedup(best.timing.speedup, best.timing.ci95)
        );
        let limit = self.limit_of(best);
        let facts = best.facts.as_ref().map_or("not read".to_owned(), |facts| {
            format!(
                "{} bit vectors, {:.0}% of the floating-point instructions scalar, {} spills, {:.2} fused multiply-adds per floating-point instruction (static)",
                facts.widest,
                facts.scalar_share * 100.0,
                facts.spills,
                facts.fma_density
            )
        });
        let strategy = if self.without_gain >= 2 {
            "The last ideas did not help: choose another structure, not another constant."
        } else {
            ""
        };
        fill(
            Template::Improve,
            &[
                ("target", &self.task.target),
                ("tune", &self.task.tune),
                ("best_timing", &timing),
                ("best_source", &best.source),
                ("bottleneck", &limit.bottleneck),
                ("evidence", &limit.evidence),
                ("facts", &facts),
                ("tried", &tried),
                ("strategy", strategy),
            ],
        )
    }

    fn limit_of(&self, best: &Version) -> Limit {
        if let Some(limit) = &best.limit {
            return limit.clone();
        }
        match self.roof_fraction(best.timing.candidate_ns) {
            Some(fraction) => Limit {
                bottleneck: "not known".to_owned(),
                evidence: format!(
                    "{:.0}% of the machine's ceiling for this function",
                    fraction * 100.0
                ),
            },
            None => Limit {
                bottleneck: "not known".to_owned(),
                evidence: "none".to_owned(),
            },
        }
    }

    fn tried(&self) -> String {
        if self.tried.is_empty() {
            return String::new();
        }
        let from = self.tried.len().saturating_sub(REMEMBERED);
        let mut text = "Tried so far:\n".to_owned();
        for line in &self.tried[from..] {
            text.push_str("- ");
            text.push_str(line);
            text.push('\n');
        }
        text
    }

    /// Asks until there is code, or a reason to stop.
    fn ask(&mut self, prompt: String) -> Step {
        let mut messages = vec![Message {
            role: Role::User,
            text: prompt,
        }];
        for _ in 0..EMPTY {
            let conversation = Conversation {
                system: self.system.clone(),
                messages: messages.clone(),
            };
            let mut writer = self.writer.borrow_mut();
            let answer = match writer.ask(&conversation) {
                Ok(answer) => answer,
                Err(LlmError::Budget(why)) => return Step::Stop(why.to_owned()),
                Err(error) => return Step::Stop(error.to_string()),
            };
            let model = writer.label();
            drop(writer);
            if answer.stop == Stop::Refused {
                return Step::Stop("the model declined to write a kernel".to_owned());
            }
            let missing = match answer::code(&answer.text, &self.task.entry) {
                Ok(code) => return self.propose(code, model, &conversation, &answer),
                Err(missing) => missing,
            };
            messages.truncate(1);
            if !answer.text.trim().is_empty() {
                messages.push(Message {
                    role: Role::Assistant,
                    text: answer.text.trim_end().to_owned(),
                });
                messages.push(Message {
                    role: Role::User,
                    text: format!(
                        "{missing}. Give the whole text of `{}` in one block marked `rust`.",
                        self.task.entry
                    ),
                });
            }
        }
        Step::Stop(format!("{EMPTY} answers in a row held no kernel"))
    }

    fn propose(
        &mut self,
        code: answer::Code,
        model: String,
        conversation: &Conversation,
        answer: &Answer,
    ) -> Step {
        let mut transcript = conversation.system.clone();
        for message in &conversation.messages {
            transcript.push_str(&message.text);
        }
        transcript.push_str(&answer.text);
        self.pending = Some(Pending {
            source: code.source.clone(),
            rationale: code.rationale.clone(),
        });
        Step::Try(Proposal {
            actions: Vec::new(),
            origin: Origin::Model(Authorship {
                model,
                prompt: PROMPT_VERSION.to_owned(),
                transcript: Fingerprint::of_text(&transcript),
            }),
            source: code.source,
            rationale: code.rationale,
            parent: None,
        })
    }
}

impl Engine for LlmCoder {
    fn name(&self) -> &str {
        self.engine
    }

    fn next(&mut self, feedback: Option<&Feedback>) -> Step {
        let refused = feedback.and_then(|feedback| self.hear(feedback));
        if let Some(fraction) = self
            .best
            .as_ref()
            .and_then(|best| self.roof_fraction(best.timing.candidate_ns))
            && fraction >= AT_THE_ROOF
        {
            return Step::Stop(format!(
                "at the roof: {:.0}% of what the machine allows",
                fraction * 100.0
            ));
        }
        if self.without_gain >= PATIENCE {
            return Step::Stop(format!("no gain in {PATIENCE} versions"));
        }
        match self.prompt(refused) {
            Ok(prompt) => self.ask(prompt),
            Err(error) => Step::Stop(error.to_string()),
        }
    }

    fn limit(&self) -> Option<Limit> {
        self.best.as_ref().map(|best| self.limit_of(best))
    }

    fn roof_fraction(&self, ns: f64) -> Option<f64> {
        let fraction = self.task.roof_ns? / ns;
        (fraction.is_finite() && fraction > 0.0).then_some(fraction)
    }
}

/// The first sentence, for lists.
fn short(text: &str) -> String {
    let end = text.find(". ").map_or(text.len(), |at| at + 1);
    let sentence = head(&text[..end], 160);
    if sentence.is_empty() {
        "no reason given".to_owned()
    } else {
        sentence
    }
}

/// At most `most` characters, cut at a line where there is one.
fn head(text: &str, most: usize) -> String {
    let Some((end, _)) = text.char_indices().nth(most) else {
        return text.to_owned();
    };
    let cut = &text[..end];
    format!("{}\n[..]", cut.rfind('\n').map_or(cut, |line| &cut[..line]))
}
