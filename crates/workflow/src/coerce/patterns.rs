//! The keyword `pattern`. Most patterns run in linear time. One with look-around or back-references runs in an engine
//! that backtracks, so every test of a string against it is charged to a budget, which one coercion or validation of
//! one value shares.

use super::limits::{
    PATTERN_BUDGET, PATTERN_BYTES_MAX, PATTERN_LENGTH_UNIT, PATTERN_NAME_STEPS, PATTERN_STEPS,
};
use jsonschema::{Draft, Keyword, PatternOptions, ValidationError, Validator};
use serde_json::{Map, Value, json};
use std::cell::Cell;
use std::sync::OnceLock;

/// What is left of the budget of the work that is being done on this thread.
#[derive(Clone, Copy)]
struct Budget {
    left: u64,
    is_spent: bool,
}

thread_local! {
    static BUDGET: Cell<Option<Budget>> = const { Cell::new(None) };
}

/// Takes the budget away again, also when the work panics.
struct Ending;

impl Drop for Ending {
    fn drop(&mut self) {
        BUDGET.set(None);
    }
}

/// The budget was not enough, so whether a value matches is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spent;

/// Does the work with a budget of its own, or with that of the work it is a part of.
pub(super) fn within<T>(work: impl FnOnce() -> T) -> Result<T, Spent> {
    let ending = BUDGET.get().is_none().then(|| {
        BUDGET.set(Some(Budget {
            left: PATTERN_BUDGET,
            is_spent: false,
        }));
        Ending
    });
    let done = work();
    let is_spent = BUDGET.get().is_some_and(|budget| budget.is_spent);
    drop(ending);
    if is_spent { Err(Spent) } else { Ok(done) }
}

/// Takes this much from the budget. If there is less, nothing more can be tested.
pub(super) fn charge(cost: u64) -> bool {
    let mut budget = BUDGET.get().unwrap_or(Budget {
        left: PATTERN_BUDGET,
        is_spent: false,
    });
    match budget.left.checked_sub(cost) {
        Some(left) if !budget.is_spent => budget.left = left,
        _ => budget.is_spent = true,
    }
    if BUDGET.get().is_some() {
        BUDGET.set(Some(budget));
    }
    !budget.is_spent
}

/// One step of the engine may look at the rest of the text.
pub(super) fn cost(steps: usize, text: &str) -> u64 {
    (steps as u64).saturating_mul(1 + (text.len() / PATTERN_LENGTH_UNIT) as u64)
}

fn linear() -> PatternOptions<jsonschema::Regex> {
    PatternOptions::regex().size_limit(PATTERN_BYTES_MAX)
}

pub(super) fn backtracking(steps: usize) -> PatternOptions<jsonschema::FancyRegex> {
    PatternOptions::fancy_regex()
        .backtrack_limit(steps)
        .size_limit(PATTERN_BYTES_MAX)
}

/// Whether testing a pattern must be charged.
pub(super) fn backtracks(pattern: &str) -> bool {
    let options = jsonschema::options().with_pattern_options(linear());
    options.build(&json!({ "pattern": pattern })).is_err()
}

/// A `pattern` that backtracks.
struct Backtracking {
    schema: Value,
    draft: Draft,
    /// One validator for each limit on steps, built when it is first needed: most tests need few steps.
    validators: [OnceLock<Option<Validator>>; PATTERN_STEPS.len()],
}

/// A `pattern` that runs in linear time.
struct Linear(Validator);

/// Makes the keyword for one schema.
pub(super) fn keyword<'a>(
    draft: Draft,
    pattern: &'a Value,
) -> Result<Box<dyn for<'i> Keyword<'i>>, ValidationError<'a>> {
    let schema = json!({ "pattern": pattern });
    let options = jsonschema::options().with_draft(draft);
    if let Ok(validator) = options
        .clone()
        .with_pattern_options(linear())
        .build(&schema)
    {
        return Ok(Box::new(Linear(validator)));
    }
    let options = options.with_pattern_options(backtracking(PATTERN_STEPS[0]));
    options.build(&schema)?;
    Ok(Box::new(Backtracking {
        schema,
        draft,
        validators: [const { OnceLock::new() }; PATTERN_STEPS.len()],
    }))
}

impl<'i> Keyword<'i> for Linear {
    fn validate(&self, instance: &'i Value) -> Result<(), ValidationError<'i>> {
        self.0.validate(instance)
    }

    fn is_valid(&self, instance: &'i Value) -> bool {
        self.0.is_valid(instance)
    }
}

impl Backtracking {
    fn validator(&self, index: usize) -> Option<&Validator> {
        let built = self.validators[index].get_or_init(|| {
            let options = backtracking(PATTERN_STEPS[index]);
            let options = jsonschema::options()
                .with_draft(self.draft)
                .with_pattern_options(options);
            options.build(&self.schema).ok()
        });
        built.as_ref()
    }

    fn test<'i>(&self, instance: &'i Value) -> Result<(), ValidationError<'i>> {
        let Value::String(text) = instance else {
            return Ok(());
        };
        for (index, steps) in PATTERN_STEPS.into_iter().enumerate() {
            if !charge(cost(steps, text)) {
                break;
            }
            let Some(validator) = self.validator(index) else {
                break;
            };
            let tested = validator.validate(instance);
            let is_undecided = |error: &ValidationError<'_>| {
                matches!(
                    error.kind(),
                    jsonschema::error::ValidationErrorKind::BacktrackLimitExceeded { .. }
                )
            };
            if !tested.as_ref().err().is_some_and(is_undecided) {
                return tested;
            }
        }
        charge(u64::MAX);
        Err(ValidationError::custom(
            "takes too many steps to be checked",
        ))
    }
}

impl<'i> Keyword<'i> for Backtracking {
    fn validate(&self, instance: &'i Value) -> Result<(), ValidationError<'i>> {
        self.test(instance)
    }

    fn is_valid(&self, instance: &'i Value) -> bool {
        self.test(instance).is_ok()
    }
}

/// Charges the tests of all names in a value against this many patterns of `patternProperties`.
pub(super) fn charge_names(patterns: usize, value: &Value) -> bool {
    patterns == 0 || charge(cost_of_names(value).saturating_mul(patterns as u64))
}

fn cost_of_names(value: &Value) -> u64 {
    let sum = |costs: &mut dyn Iterator<Item = u64>| costs.fold(0, u64::saturating_add);
    match value {
        Value::Object(object) => sum(&mut object.iter().map(|(name, below)| {
            cost(PATTERN_NAME_STEPS, name).saturating_add(cost_of_names(below))
        })),
        Value::Array(items) => sum(&mut items.iter().map(cost_of_names)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

/// Whether any pattern of a schema backtracks. Looks at everything that may be a pattern.
pub(super) fn any_backtracks(schema: &Value) -> bool {
    let mut parts = vec![schema];
    while let Some(part) = parts.pop() {
        match part {
            Value::Object(object) => {
                let own = object.get("pattern").and_then(Value::as_str);
                let names = object.get("patternProperties").and_then(Value::as_object);
                let names = names.into_iter().flat_map(Map::keys).map(String::as_str);
                if own.into_iter().chain(names).any(backtracks) {
                    return true;
                }
                parts.extend(object.values());
            }
            Value::Array(items) => parts.extend(items),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    false
}
