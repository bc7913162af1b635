//! A default that an author gives a parameter must fit what the parameter says of itself; otherwise every call
//! that leaves the parameter out would be refused.

use super::Builder;
use crate::coerce::Coercer;
use crate::limits::SCHEMA_DEPTH_MAX;
use onecall_source::{Diagnostic, Diagnostics, Place, codes};
use serde_json::{Map, Value};

pub(super) fn check(builder: &Builder, diagnostics: &mut Diagnostics) {
    let mut walk = Walk {
        root: &builder.inputs,
        unfit: Vec::new(),
    };
    walk.schema(&builder.inputs, "", "", 0);
    let rules = &builder.rules;
    for unfit in walk.unfit {
        let place = rules.default_places.get(&unfit.pointer);
        let place = place.or(rules.inputs_place.as_ref());
        diagnostics.push(does_not_fit(&unfit, place.unwrap_or(&builder.place)));
    }
}

struct Unfit {
    /// Where the default stands in the schema.
    pointer: String,
    parameter: String,
    fault: String,
}

struct Walk<'a> {
    root: &'a Value,
    unfit: Vec<Unfit>,
}

impl Walk<'_> {
    fn schema(&mut self, schema: &Value, pointer: &str, parameter: &str, depth: usize) {
        let Some(object) = schema.as_object().filter(|_| depth < SCHEMA_DEPTH_MAX) else {
            return;
        };
        if let Some(default) = object.get("default")
            && let Some(fault) = self.fault(object, default)
        {
            self.unfit.push(Unfit {
                pointer: format!("{pointer}/default"),
                parameter: parameter.to_owned(),
                fault,
            });
        }
        for key in ["properties", "$defs", "definitions"] {
            let Some(Value::Object(below)) = object.get(key) else {
                continue;
            };
            for (name, schema) in below {
                let shown = match parameter {
                    "" => name.clone(),
                    outer => format!("{outer}.{name}"),
                };
                let escaped = name.replace('~', "~0").replace('/', "~1");
                let pointer = format!("{pointer}/{key}/{escaped}");
                self.schema(schema, &pointer, &shown, depth + 1);
            }
        }
        for key in ["items", "additionalProperties"] {
            if let Some(schema) = object.get(key) {
                let shown = format!("{parameter}[]");
                self.schema(schema, &format!("{pointer}/{key}"), &shown, depth + 1);
            }
        }
        for key in ["allOf", "prefixItems"] {
            let all = object.get(key).and_then(Value::as_array);
            for (index, schema) in all.into_iter().flatten().enumerate() {
                let pointer = format!("{pointer}/{key}/{index}");
                self.schema(schema, &pointer, parameter, depth + 1);
            }
        }
    }

    /// Why a default does not fit the schema beside it. What refers to another place than the definitions of the
    /// root is left to the run.
    fn fault(&self, own: &Map<String, Value>, default: &Value) -> Option<String> {
        let mut schema = own.clone();
        for key in ["$schema", "$defs", "definitions"] {
            if let Some(shared) = self.root.get(key) {
                schema.insert(key.to_owned(), shared.clone());
            }
        }
        let coercer = Coercer::new(Value::Object(schema));
        if !coercer.faults().is_empty() {
            return None;
        }
        let mut value = coercer.coerce(default.clone());
        coercer.fill(&mut value);
        let faults = coercer.validate(&coercer.coerce(value));
        faults.first().map(ToString::to_string)
    }
}

fn does_not_fit(unfit: &Unfit, place: &Place) -> Diagnostic {
    let message = if unfit.parameter.is_empty() {
        format!(
            "the default of the parameters does not fit: {}",
            unfit.fault
        )
    } else {
        format!(
            "the default of parameter `{}` does not fit: {}",
            unfit.parameter, unfit.fault
        )
    };
    Diagnostic::error(codes::INPUT_DEFAULT, message)
        .label(place, "a call without it would be refused")
        .help("change the default, or what the parameter takes")
}
