//! Baselines: what each row used when they were taken. A row that uses much more fails; one that uses less does not.

use crate::row::{Row, Verdict};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How much more a row may use.
const TOLERANCE: f64 = 0.2;

/// Time varies more than anything else: this much is always allowed on top.
const TIME_SLACK_MS: f64 = 200.0;

/// What rows used, by suite and label.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Baseline {
    pub rows: BTreeMap<String, Used>,
}

/// What one row used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Used {
    pub cost_usd: f64,
    pub tokens: u64,
    pub calls: u64,
    pub duration_ms: u64,
}

impl Used {
    /// `None`: the row did not run.
    fn of(row: &Row) -> Option<Self> {
        let trace = row.trace.as_ref()?;
        Some(Self {
            cost_usd: trace.cost_total,
            tokens: trace.tokens_total,
            calls: trace.calls,
            duration_ms: u64::try_from(row.duration.as_millis()).unwrap_or(u64::MAX),
        })
    }

    #[expect(clippy::cast_precision_loss, reason = "compared with a tolerance")]
    fn amounts(&self) -> [(&'static str, f64, f64); 4] {
        [
            ("cost_usd", self.cost_usd, 0.0),
            ("tokens", self.tokens as f64, 0.0),
            ("calls", self.calls as f64, 0.0),
            ("duration_ms", self.duration_ms as f64, TIME_SLACK_MS),
        ]
    }
}

impl Baseline {
    /// Takes over what these rows used; other rows stay.
    pub fn update(&mut self, rows: &[Row]) {
        for row in rows {
            if let Some(used) = Used::of(row) {
                self.rows.insert(key(row), used);
            }
        }
    }

    /// Fails a row that uses more than it may.
    pub(crate) fn apply(&self, row: &mut Row) {
        let (Some(before), Some(now)) = (self.rows.get(&key(row)), Used::of(row)) else {
            return;
        };
        let amounts = before.amounts().into_iter().zip(now.amounts());
        let over = amounts.filter(|((_, before, slack), (_, now, _))| {
            // Sums of money are not exact.
            *now > before * (1.0 + TOLERANCE) + slack + 1e-9
        });
        let over: Vec<String> = over
            .map(|((name, before, _), (_, now, _))| format!("{name} {now}, was {before}"))
            .collect();
        if over.is_empty() {
            return;
        }
        row.reason = Some(format!("above the baseline: {}", over.join("; ")));
        if matches!(row.verdict, Verdict::Pass | Verdict::Skipped) {
            row.verdict = Verdict::Fail;
        }
    }
}

/// The same wherever the command is run from.
fn key(row: &Row) -> String {
    let file = row.suite.rsplit(['/', '\\']).next().unwrap_or(&row.suite);
    format!("{file}: {}", row.label())
}
