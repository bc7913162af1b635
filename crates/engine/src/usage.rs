//! What calls cost, as backends report it in the `_meta` of their results, and what a run has used up.
//! Money is counted in whole billionths of a dollar, so that sums are exact and fold the same everywhere.

use onecall_mcp::meta;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;

const BILLION: f64 = 1e9;

/// An amount of money.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Cost(u64);

impl Cost {
    /// Nothing below zero; what is too much for the counter is the most it holds.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a cast from a float saturates, which is what is wanted"
    )]
    pub fn from_usd(dollars: f64) -> Self {
        Self((dollars * BILLION).round() as u64)
    }

    #[expect(clippy::cast_precision_loss, reason = "shown, never summed")]
    pub fn as_usd(self) -> f64 {
        self.0 as f64 / BILLION
    }

    #[must_use]
    fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "${}", self.as_usd())
    }
}

/// What one call cost.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    pub cost: Cost,
    pub tokens: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

impl Usage {
    /// `_meta` `dev.onecall/usage {cost_usd, tokens, model}` of a tool result. What is no number counts nothing.
    pub fn of_result(result: &Value) -> Option<Self> {
        let reported = result.get("_meta")?.get(meta::USAGE)?.as_object()?;
        let cost = reported.get("cost_usd").and_then(Value::as_f64);
        let model = reported.get("model").and_then(Value::as_str);
        Some(Self {
            cost: Cost::from_usd(cost.unwrap_or(0.0)),
            tokens: reported.get("tokens").map_or(0, tokens),
            model: model.map(str::to_owned),
        })
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a cast from a float saturates, which is what is wanted"
)]
fn tokens(value: &Value) -> u64 {
    let whole = value.as_u64();
    whole.unwrap_or_else(|| value.as_f64().unwrap_or(0.0) as u64)
}

/// What a run has used up so far, besides calls and time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    pub cost: Cost,
    pub tokens: u64,
}

impl Spent {
    #[must_use]
    pub fn plus(self, usage: &Usage) -> Self {
        Self {
            cost: self.cost.plus(usage.cost),
            tokens: self.tokens.saturating_add(usage.tokens),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn usage(reported: &Value) -> Option<Usage> {
        Usage::of_result(&json!({ "_meta": { "dev.onecall/usage": reported } }))
    }

    #[test]
    fn sums_of_money_are_exact() {
        let usage = usage(&json!({ "cost_usd": 0.1 })).unwrap();
        let spent = (0..3).fold(Spent::default(), |spent, _| spent.plus(&usage));
        assert_eq!(spent.cost, Cost::from_usd(0.3));
        assert_eq!(spent.cost.to_string(), "$0.3");
    }

    #[test]
    fn what_is_no_number_counts_nothing() {
        let odd = usage(&json!({ "cost_usd": "much", "tokens": -4, "model": 7 })).unwrap();
        assert_eq!(odd, Usage::default());
        let huge = usage(&json!({ "cost_usd": 1e300, "tokens": 1e300 })).unwrap();
        assert_eq!(huge.tokens, u64::MAX);
        let spent = Spent::default().plus(&huge).plus(&huge);
        assert_eq!((spent.cost, spent.tokens), (huge.cost, u64::MAX));
        assert_eq!(usage(&json!("free")), None);
        assert_eq!(Usage::of_result(&json!({ "content": [] })), None);
    }
}
