//! The parameters of a workflow: what a client sent is coerced, completed with defaults, and validated.
//! What the schema means is in `coerce`; what to do with a refusal is for the caller.

#[cfg(test)]
mod tests;

use crate::coerce::{self, Coercer, SchemaFault};
use serde_json::Value;

/// The parameters a workflow takes.
#[derive(Clone, Debug)]
pub struct Parameters {
    coercer: Coercer,
}

impl Parameters {
    pub fn new(schema: Value) -> Self {
        Self {
            coercer: Coercer::new(schema),
        }
    }

    /// The schema as it is published.
    pub fn schema(&self) -> &Value {
        self.coercer.schema()
    }

    pub fn coercer(&self) -> &Coercer {
        &self.coercer
    }

    /// Whether accepting may take long for the size of the input, because a pattern backtracks.
    pub fn backtracks(&self) -> bool {
        self.coercer.backtracks()
    }

    /// The parameters of a run, or every reason why they are refused.
    pub fn accept(&self, input: Value) -> Result<Value, Vec<SchemaFault>> {
        if !input.is_object() {
            return Err(vec![SchemaFault::wrong_type("an object", &input)]);
        }
        let accepted = coerce::on_one_budget(|| self.fitted(input));
        accepted.unwrap_or_else(|over_limit| Err(vec![over_limit]))
    }

    fn fitted(&self, input: Value) -> Result<Value, Vec<SchemaFault>> {
        let mut value = self.coercer.coerce(input);
        self.coercer.fill(&mut value);
        // A default is written by hand as well, and what it completes may fit now.
        let value = self.coercer.coerce(value);
        let faults = self.coercer.validate(&value);
        if faults.is_empty() {
            Ok(value)
        } else {
            Err(faults)
        }
    }

    /// Paths to values that must not be shown. `*` stands for any item or any other property.
    pub fn sensitive(&self) -> Vec<Vec<String>> {
        self.coercer.sensitive()
    }

    /// Replaces values that must not be shown.
    pub fn mask(&self, value: &mut Value) {
        self.coercer.mask(value);
    }
}
