//! Fitting values to a JSON Schema: what validates is left alone, else the first conversion that validates.
//! Also what else is asked of a schema: what it requires, why a value does not fit, what must not be shown.
//! What a client's parameters go through is in `parameters`.

mod analysis;
mod convert;
mod defaults;
mod fit;
mod graph;
mod patterns;
mod require;
mod schema_fault;
mod sensitive;
#[cfg(test)]
mod tests;
mod validators;

pub(crate) use convert::number_text;
pub use graph::is_sensitive;
pub use schema_fault::{Reason, SchemaFault};
pub use sensitive::{MASK, is_marked, mask};

use crate::limits::schema as limits;
use analysis::Analysis;
use fit::Walk;
use graph::{Graph, NodeId};
use jsonschema::Draft;
use patterns::Spent;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use std::fmt;
use std::sync::{Arc, OnceLock};
use validators::Validators;

/// A schema, ready to fit values to. Cheap to make and to clone; it is compiled when it is first used.
#[derive(Clone)]
pub struct Coercer {
    shared: Arc<Shared>,
}

struct Shared {
    schema: Value,
    state: OnceLock<State>,
    backtracks: OnceLock<bool>,
}

/// What became of a schema.
struct State {
    /// `None` accepts everything, or nothing if there are faults.
    compiled: Option<Compiled>,
    /// What the schema says of its parts, where that could be read without being able to check values.
    graph: Option<Graph>,
    faults: Vec<String>,
}

/// A schema that values can be checked against.
struct Compiled {
    graph: Graph,
    analysis: Analysis,
    validators: Validators,
}

impl Coercer {
    pub fn new(schema: Value) -> Self {
        Self {
            shared: Arc::new(Shared {
                schema,
                state: OnceLock::new(),
                backtracks: OnceLock::new(),
            }),
        }
    }

    pub fn schema(&self) -> &Value {
        &self.shared.schema
    }

    /// Why the schema cannot be used. Such a schema accepts nothing and changes nothing.
    pub fn faults(&self) -> &[String] {
        &self.state().faults
    }

    /// Fits a value to the schema. What fits no way is returned as it was.
    ///
    /// A whole float counts as fitting `integer` only in its integer form.
    pub fn coerce(&self, value: Value) -> Value {
        let mut value = value;
        // What cannot be checked stays as far as it was fitted; `validate` refuses it.
        let _ = patterns::within(|| self.fit(&mut value));
        value
    }

    /// Like `coerce`, but fails if checking the value takes too many steps.
    pub fn try_coerce(&self, mut value: Value) -> Result<Value, SchemaFault> {
        let fitted = patterns::within(|| self.fit(&mut value));
        fitted.map_err(|Spent| SchemaFault::over_limit())?;
        Ok(value)
    }

    fn fit(&self, value: &mut Value) {
        let Some(compiled) = self.compiled() else {
            return;
        };
        match compiled.accepts(value) {
            None => {}
            Some(true) if !convert::has_whole(value) => {}
            Some(_) => {
                let walk = Walk::new(compiled, value);
                *value = walk.fit(&[NodeId::ROOT], std::mem::take(value), 0);
            }
        }
    }

    /// Why a value does not match the schema, at most ten reasons; none when it does. Nothing matches a schema that
    /// cannot be used.
    pub fn validate(&self, value: &Value) -> Vec<SchemaFault> {
        if let Some(problem) = self.faults().first() {
            return vec![SchemaFault::unusable(problem)];
        }
        let Some(compiled) = self.compiled() else {
            return Vec::new();
        };
        let explained = patterns::within(|| schema_fault::explain(compiled, value));
        explained.unwrap_or_else(|Spent| vec![SchemaFault::over_limit()])
    }

    /// Whether checking a value may take long for its size, because a pattern backtracks.
    pub fn backtracks(&self) -> bool {
        let shared = &self.shared;
        *shared.backtracks.get_or_init(|| backtracks(&shared.schema))
    }

    /// Whether the property at this path of names is required by the schema it stands in.
    /// Lists are looked through: a name after a list is a property of its items.
    pub fn requires(&self, path: &[&str]) -> bool {
        self.graph()
            .is_some_and(|graph| require::requires(graph, path))
    }

    /// Paths to values that must not be shown. `*` stands for any item or any other property.
    pub fn sensitive(&self) -> Vec<Vec<String>> {
        self.graph().map_or_else(Vec::new, sensitive::paths)
    }

    /// Replaces values that must not be shown.
    pub fn mask(&self, value: &mut Value) {
        match self.graph() {
            Some(graph) => sensitive::mask_with(graph, value),
            // Too large to look at: what may be shown is not known.
            None => *value = Value::from(MASK),
        }
    }

    fn compiled(&self) -> Option<&Compiled> {
        self.state().compiled.as_ref()
    }

    fn graph(&self) -> Option<&Graph> {
        let state = self.state();
        let compiled = state.compiled.as_ref().map(|compiled| &compiled.graph);
        compiled.or(state.graph.as_ref())
    }

    fn state(&self) -> &State {
        self.shared
            .state
            .get_or_init(|| State::of(&self.shared.schema))
    }

    /// Fills defaults into the objects that are there.
    pub(crate) fn fill(&self, value: &mut Value) {
        if let Some(compiled) = self.compiled() {
            defaults::fill(compiled, value);
        }
    }
}

impl State {
    fn of(schema: &Value) -> Self {
        let mut faults = Vec::new();
        let (schema, draft) = dialect(schema);
        let Some(graph) = Graph::build(&schema, draft, &mut faults) else {
            return Self::unchecked(None, faults);
        };
        if accepts_everything(&schema) {
            return Self::unchecked(Some(graph), faults);
        }
        // Nothing is given to the validator that was not first found to be bounded.
        let analysis = Analysis::of(&graph, &mut faults);
        let (Some(analysis), true) = (analysis, faults.is_empty()) else {
            return Self::unchecked(Some(graph), faults);
        };
        match Validators::build(&schema, draft) {
            Ok(validators) => Self {
                compiled: Some(Compiled {
                    graph,
                    analysis,
                    validators,
                }),
                graph: None,
                faults,
            },
            Err(fault) => Self::unchecked(Some(graph), vec![fault]),
        }
    }

    fn unchecked(graph: Option<Graph>, faults: Vec<String>) -> Self {
        Self {
            compiled: None,
            graph,
            faults,
        }
    }
}

/// Whether a pattern of a schema has look-around or back-references, so that checking a value may take long.
pub fn backtracks(schema: &Value) -> bool {
    patterns::any_backtracks(schema)
}

/// Does work on one value, whose coercions and validations share one budget.
pub(crate) fn on_one_budget<T>(work: impl FnOnce() -> T) -> Result<T, SchemaFault> {
    patterns::within(work).map_err(|Spent| SchemaFault::over_limit())
}

/// Such a schema is made where there is none, often, and needs no validator.
fn accepts_everything(schema: &Value) -> bool {
    match schema {
        Value::Bool(accepts) => *accepts,
        Value::Object(object) => object.is_empty(),
        Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) => false,
    }
}

/// The draft a schema is written in; one that names none we know is read as the current one.
fn dialect(schema: &Value) -> (std::borrow::Cow<'_, Value>, Draft) {
    use std::borrow::Cow;
    match Draft::default().detect(schema) {
        Draft::Unknown => {
            let mut schema = schema.clone();
            if let Value::Object(object) = &mut schema {
                object.shift_remove("$schema");
            }
            (Cow::Owned(schema), Draft::default())
        }
        known => (Cow::Borrowed(schema), known),
    }
}

impl fmt::Debug for Coercer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_tuple("Coercer")
            .field(&self.shared.schema)
            .finish()
    }
}

impl Serialize for Coercer {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.shared.schema.serialize(to)
    }
}

impl<'de> Deserialize<'de> for Coercer {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Value::deserialize(from).map(Self::new)
    }
}
