//! Fitting values to a JSON Schema: what validates is left alone, else the first conversion that validates.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A schema, ready to fit values to.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Coercer {
    schema: Value,
}

impl Coercer {
    pub fn new(schema: Value) -> Self {
        Self { schema }
    }

    pub fn schema(&self) -> &Value {
        &self.schema
    }

    /// Fits a value to the schema. What fits no way is returned as it was.
    pub fn coerce(&self, value: Value) -> Value {
        value
    }

    /// Whether the property at this path of names is required by the schema it stands in.
    pub fn requires(&self, path: &[&str]) -> bool {
        let _ = path;
        false
    }
}

/// One way a value does not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaFault {
    pub path: String,
    pub message: String,
}

impl std::fmt::Display for SchemaFault {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl Coercer {
    pub fn validate(&self, value: &Value) -> Vec<SchemaFault> {
        let _ = value;
        Vec::new()
    }
}
