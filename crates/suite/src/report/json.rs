//! The report for programs: every row with its trace, and the counts.

use crate::row::{Row, Summary};
use serde_json::{Value, json};

pub fn document(rows: &[Row]) -> Value {
    json!({ "rows": rows, "summary": Summary::of(rows) })
}
