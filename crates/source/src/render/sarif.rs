//! SARIF 2.1.0, for code scanners.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::{Code, Diagnostic, Diagnostics, Label, Place, Severity, SourceMap, Span};

/// One run as a SARIF log. `version` is that of the program.
pub fn sarif(diagnostics: &Diagnostics, sources: &SourceMap, version: &str) -> Value {
    let codes: BTreeSet<Code> = diagnostics.iter().map(|item| item.code).collect();
    let codes: Vec<Code> = codes.into_iter().collect();
    let rules: Vec<Value> = codes.iter().copied().map(rule).collect();
    let results: Vec<Value> = diagnostics
        .iter()
        .map(|item| result(item, &codes, sources))
        .collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {"name": "onecall", "version": version, "rules": rules}},
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

fn rule(code: Code) -> Value {
    json!({
        "id": code.as_str(),
        "shortDescription": {"text": code.title()},
        "fullDescription": {"text": code.description()},
    })
}

fn result(diagnostic: &Diagnostic, codes: &[Code], sources: &SourceMap) -> Value {
    let mut text = diagnostic.message.clone();
    for line in diagnostic.help.iter().chain(&diagnostic.notes) {
        text.push('\n');
        text.push_str(line);
    }
    let of = |primary: bool| -> Vec<Value> {
        diagnostic
            .labels
            .iter()
            .filter(|label| label.primary == primary)
            .map(|label| location(label, sources))
            .collect()
    };
    let level = match diagnostic.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    };
    json!({
        "ruleId": diagnostic.code.as_str(),
        "ruleIndex": codes.binary_search(&diagnostic.code).ok(),
        "level": level,
        "message": {"text": text},
        "locations": of(true),
        "relatedLocations": of(false),
    })
}

fn location(label: &Label, sources: &SourceMap) -> Value {
    let mut location = match &label.place {
        Place::Path(path) => json!({
            "logicalLocations": [{"fullyQualifiedName": path.to_string()}],
        }),
        Place::Span(span) => {
            let start = sources.position(*span);
            let end = sources.position(Span {
                start: span.end,
                ..*span
            });
            json!({"physicalLocation": {
                "artifactLocation": {"uri": uri(sources.get(span.source).name())},
                "region": {
                    "startLine": start.line,
                    "startColumn": start.column,
                    "endLine": end.line,
                    "endColumn": end.column,
                },
            }})
        }
    };
    if !label.text.is_empty() {
        location["message"] = json!({"text": label.text});
    }
    location
}

/// A file's name as a URI reference: what is not plain is percent-encoded.
fn uri(name: &str) -> String {
    let mut uri = String::with_capacity(name.len());
    for byte in name.replace('\\', "/").bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            let hex = |half: u8| char::from_digit(u32::from(half), 16).unwrap_or('0');
            uri.extend(['%', hex(byte >> 4), hex(byte & 15)].map(|c| c.to_ascii_uppercase()));
        }
    }
    uri
}

#[cfg(test)]
mod tests;
