//! JSON for programs: one object a diagnostic. Its keys are public interface and only grow.

use serde_json::{Value, json};

use crate::{Diagnostic, Label, Place, SourceMap, Span};

/// `code`, `severity`, `message`, the place to go to, all `labels`, `help`, `notes`.
pub fn json(diagnostic: &Diagnostic, sources: &SourceMap) -> Value {
    let labels: Vec<Value> = diagnostic
        .labels
        .iter()
        .map(|label| label_object(label, sources))
        .collect();
    let mut object = json!({
        "code": diagnostic.code.as_str(),
        "severity": diagnostic.severity,
        "message": diagnostic.message,
    });
    if let Some(place) = diagnostic.place() {
        extend(&mut object, place_object(place, sources));
    }
    extend(
        &mut object,
        json!({"labels": labels, "help": diagnostic.help, "notes": diagnostic.notes}),
    );
    object
}

fn label_object(label: &Label, sources: &SourceMap) -> Value {
    let mut object = json!({"primary": label.primary, "text": label.text});
    extend(&mut object, place_object(&label.place, sources));
    object
}

fn place_object(place: &Place, sources: &SourceMap) -> Value {
    match place {
        Place::Path(path) => json!({"origin": &*path.origin, "path": path.path}),
        Place::Span(span) => {
            let file = sources.get(span.source);
            let start = sources.position(*span);
            let end = sources.position(Span {
                start: span.end,
                ..*span
            });
            json!({
                "file": file.name(),
                "line": start.line,
                "column": start.column,
                "end_line": end.line,
                "end_column": end.column,
            })
        }
    }
}

fn extend(object: &mut Value, more: Value) {
    if let (Value::Object(object), Value::Object(more)) = (object, more) {
        object.extend(more);
    }
}

#[cfg(test)]
mod tests;
