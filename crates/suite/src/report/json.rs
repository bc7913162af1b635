//! The report for programs: every row with its trace, the counts, and what was spent by node and model.

use crate::row::{Row, Summary};
use crate::spending::Spending;
use serde_json::{Value, json};

pub fn document(rows: &[Row]) -> Value {
    let mut document = json!({ "rows": rows, "summary": Summary::of(rows) });
    let spending = Spending::of(rows);
    if !spending.is_empty() {
        document["spending"] = json!(spending);
    }
    document
}
