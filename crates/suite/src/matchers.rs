//! Matchers: what an assertion demands of the value that its target names.
//!
//! A matcher is read once, when the suite is loaded: patterns, schemas and programs are compiled there, so mistakes in
//! them are diagnostics. A value that a matcher cannot judge (text for `gt`, say) is a [`Mismatch::Error`].

mod compare;
mod formats;
mod read;
mod text;

pub(crate) use compare::is_equal;

use cel::Program;
use onecall_workflow::coerce::Coercer;
use regex::Regex;
use serde_json::Value;
use std::cmp::Ordering;
use std::fmt;

/// One matcher, compiled.
#[derive(Debug)]
pub(crate) struct Matcher {
    /// Its name in the suite.
    pub(crate) name: &'static str,
    /// Its argument in the suite.
    pub(crate) expected: Value,
    test: Test,
}

#[derive(Debug)]
enum Test {
    Exact,
    Contains,
    Subset,
    ContainsAll,
    ContainsAny,
    ContainsIgnoringCase,
    StartsWith,
    Order(Operator),
    Regex(Regex),
    Schema(Coercer),
    IsJson(Option<Coercer>),
    IsXml { root: Option<String> },
    IsSql,
    IsToolCall(Option<Coercer>),
    Levenshtein { value: String, max: usize },
    Cel(Box<Cel>),
    Not(Box<Matcher>),
    OneOf(Vec<Matcher>),
    AnyOf(Vec<Matcher>),
    AllOf(Vec<Matcher>),
}

/// The comparisons of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// A compiled CEL program, which has no useful `Debug`.
struct Cel(Program);

impl fmt::Debug for Cel {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Cel")
    }
}

/// Why a value does not match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Mismatch {
    /// The value is another one; a note says more, if there is more to say.
    Differs(Option<String>),
    /// The matcher cannot judge the value. `not` does not turn this into a match.
    Error(String),
}

pub(crate) type Matched = Result<(), Mismatch>;

impl Matcher {
    pub(crate) fn matches(&self, value: &Value) -> Matched {
        let expected = &self.expected;
        match &self.test {
            Test::Exact => holds(compare::is_equal(value, expected)),
            Test::Contains => holds(compare::contains(value, expected)),
            Test::Subset => holds(compare::is_subset(expected, value)),
            Test::ContainsAll => compare::contains_all(value, expected),
            Test::ContainsAny => compare::contains_any(value, expected),
            Test::ContainsIgnoringCase => text::contains_ignoring_case(value, expected),
            Test::StartsWith => text::starts_with(value, expected),
            Test::Order(operator) => compare::order(value, expected, |order| operator.holds(order)),
            Test::Regex(pattern) => text::matches(value, pattern),
            Test::Schema(schema) => formats::fits(schema, value),
            Test::IsJson(schema) => formats::is_json(value, schema.as_ref()),
            Test::IsXml { root } => formats::is_xml(value, root.as_deref()),
            Test::IsSql => formats::is_sql(value),
            Test::IsToolCall(schema) => formats::is_tool_call(value, schema.as_ref()),
            Test::Levenshtein { value: own, max } => text::is_near(value, own, *max),
            Test::Cel(program) => formats::holds_in_cel(&program.0, value),
            Test::Not(inner) => match inner.matches(value) {
                Ok(()) => Err(Mismatch::Differs(None)),
                Err(Mismatch::Differs(_)) => Ok(()),
                Err(error @ Mismatch::Error(_)) => Err(error),
            },
            Test::OneOf(inner) => one_of(inner, value),
            Test::AnyOf(inner) => any_of(inner, value),
            Test::AllOf(inner) => inner.iter().try_for_each(|inner| inner.matches(value)),
        }
    }

    /// Whether an empty list is something to examine.
    pub(crate) fn judges_empty_lists(&self) -> bool {
        matches!(self.test, Test::Exact)
    }
}

impl Operator {
    fn holds(self, order: Ordering) -> bool {
        match self {
            Self::Less => order.is_lt(),
            Self::LessOrEqual => order.is_le(),
            Self::Greater => order.is_gt(),
            Self::GreaterOrEqual => order.is_ge(),
        }
    }
}

fn holds(is_match: bool) -> Matched {
    if is_match {
        Ok(())
    } else {
        Err(Mismatch::Differs(None))
    }
}

fn error<T>(text: impl Into<String>) -> Result<T, Mismatch> {
    Err(Mismatch::Error(text.into()))
}

/// The matchers that hold. An error in one of them is an error of the whole.
fn count(matchers: &[Matcher], value: &Value) -> Result<usize, Mismatch> {
    let mut count = 0;
    for matcher in matchers {
        match matcher.matches(value) {
            Ok(()) => count += 1,
            Err(Mismatch::Differs(_)) => {}
            Err(error @ Mismatch::Error(_)) => return Err(error),
        }
    }
    Ok(count)
}

fn one_of(matchers: &[Matcher], value: &Value) -> Matched {
    match count(matchers, value)? {
        1 => Ok(()),
        count => {
            let all = matchers.len();
            let note = format!("{count} of {all} matchers hold, not exactly one");
            Err(Mismatch::Differs(Some(note)))
        }
    }
}

fn any_of(matchers: &[Matcher], value: &Value) -> Matched {
    match count(matchers, value)? {
        0 => Err(Mismatch::Differs(Some("no matcher holds".to_owned()))),
        _ => Ok(()),
    }
}

/// The JSON type of a value, for messages.
pub(crate) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests;
