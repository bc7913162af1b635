//! Everything the expressions of a workflow read, with who reads it and where: the one list behind edges,
//! reference checks, the default rule and the output-field check.

use crate::expression::{Expression, Facet, Part, Reference, Target, ValueTemplate};
use crate::step::{Action, Step};
use crate::workflow::{Output, OutputProperty, OutputSource, Unset};

/// One read of something by someone.
#[derive(Clone, Debug)]
pub(crate) struct Read<'a> {
    pub(crate) reader: Reader<'a>,
    /// Which part of the reader holds the expression: ``argument `query` ``, `condition`.
    pub(crate) part: String,
    /// The names that `.forEach` has there; `None` outside of a loop body.
    pub(crate) item_name: Option<&'a str>,
    pub(crate) reference: Reference,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Reader<'a> {
    Step {
        index: usize,
        step: &'a Step,
    },
    Output {
        /// A default stands in when the value is missing, or the output does without it.
        has_default: bool,
    },
}

impl Read<'_> {
    /// How a message names the reader.
    pub(crate) fn reader_name(&self) -> String {
        match self.reader {
            Reader::Step { step, .. } => format!("step `{}`", step.name),
            Reader::Output { .. } => "the output".to_owned(),
        }
    }

    /// The part of a step that is read, where one is named that steps have.
    pub(crate) fn part_of_step(&self) -> Option<StepPart<'_>> {
        let Target::Step {
            name,
            part: Some(Part::Known(facet)),
            segments,
        } = &self.reference.target
        else {
            return None;
        };
        Some(StepPart {
            step: name,
            facet: *facet,
            segments,
        })
    }

    /// As `part_of_step`, where it is the output.
    pub(crate) fn output_of_step(&self) -> Option<StepPart<'_>> {
        self.part_of_step()
            .filter(|part| part.facet == Facet::Output)
    }

    /// Whether the step of this name is read, by its name or with all others.
    pub(crate) fn may_read(&self, step: &str) -> bool {
        match &self.reference.target {
            Target::Step { name, .. } => name == step,
            Target::AllSteps => true,
            Target::Input { .. }
            | Target::Item { .. }
            | Target::Named { .. }
            | Target::Unknown { .. }
            | Target::UnknownField { .. }
            | Target::Ambient => false,
        }
    }
}

/// What of a step is read: the part, and the names that lead on from it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StepPart<'a> {
    pub(crate) step: &'a str,
    pub(crate) facet: Facet,
    pub(crate) segments: &'a [String],
}

/// All reads, in the order they are written.
pub(crate) fn of<'a>(steps: &'a [Step], output: &'a Output) -> Vec<Read<'a>> {
    let mut found = Vec::new();
    for (index, step) in steps.iter().enumerate() {
        let reader = Reader::Step { index, step };
        let mut collector = Collector {
            reader,
            item_name: None,
            found: &mut found,
        };
        collector.step(step);
    }
    match output {
        Output::LastCompleted | Output::LastInOrder => {}
        Output::Properties(block) => {
            let left_out = block.unset == Unset::LeftOut;
            properties(&block.properties, "", left_out, &mut found);
        }
        Output::Value(template) => {
            // A value that is missing is null there.
            let reader = Reader::Output { has_default: true };
            let mut collector = Collector {
                reader,
                item_name: None,
                found: &mut found,
            };
            collector.values("value", template);
        }
    }
    found
}

fn properties<'a>(
    list: &'a [OutputProperty],
    prefix: &str,
    defaulted: bool,
    found: &mut Vec<Read<'a>>,
) {
    for property in list {
        let has_default = defaulted || property.default.is_some();
        let path = format!("{prefix}{}", property.name);
        match &property.source {
            OutputSource::Value(expression) => {
                let mut collector = Collector {
                    reader: Reader::Output { has_default },
                    item_name: None,
                    found,
                };
                collector.expression(&format!("property `{path}`"), expression);
            }
            OutputSource::Properties(below) => {
                properties(below, &format!("{path}."), has_default, found);
            }
        }
    }
}

struct Collector<'a, 'f> {
    reader: Reader<'a>,
    item_name: Option<&'a str>,
    found: &'f mut Vec<Read<'a>>,
}

impl<'a> Collector<'a, '_> {
    fn step(&mut self, step: &'a Step) {
        if let Some(condition) = &step.when {
            self.expression("condition", &condition.test);
        }
        match &step.action {
            Action::Call(call) => self.values("argument", &call.arguments),
            Action::Ask(ask) => self.expression("message", &ask.message),
            Action::Each(each) => {
                self.expression("collection", &each.items);
                self.item_name = Some(&each.item_name);
                self.step(&each.body);
                self.item_name = None;
            }
        }
    }

    fn values(&mut self, what: &str, template: &'a ValueTemplate) {
        for (path, expression) in template.expressions() {
            if path.is_empty() {
                self.expression(what, expression);
            } else {
                self.expression(&format!("{what} `{path}`"), expression);
            }
        }
    }

    fn expression(&mut self, part: &str, expression: &'a Expression) {
        for reference in expression.references() {
            self.found.push(Read {
                reader: self.reader,
                part: part.to_owned(),
                item_name: self.item_name,
                reference,
            });
        }
    }
}
