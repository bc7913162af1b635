//! What expressions read must exist: steps and their parts, parameters, loop items, roots.

use super::Builder;
use crate::expression::{Facet, Part, RunField, Target};
use crate::reads::Read;
use crate::step::UNREADABLE_ITEM;
use onecall_source::{Diagnostic, Diagnostics, Place, codes, suggest};
use serde_json::Value;

pub(super) fn check(builder: &Builder, reads: &[Read<'_>], diagnostics: &mut Diagnostics) {
    for read in reads {
        match &read.reference.target {
            Target::Step { name, part, .. } => {
                if !builder.steps.iter().any(|step| step.name == name.as_str()) {
                    diagnostics.push(unknown_step(builder, read, name));
                } else if let Some(Part::Unknown { name: part, known }) = part {
                    let unknown = UnknownPart {
                        step: name,
                        part,
                        known,
                    };
                    diagnostics.push(unknown_part(builder, read, unknown));
                }
            }
            Target::Input { segments } => {
                let declared = Declared {
                    inputs: &builder.inputs,
                    place: builder.rules.inputs_place.as_ref(),
                    key: builder.rules.words.parameters,
                };
                diagnostics.extend(undeclared_parameter(declared, read, segments));
            }
            Target::Item { name } => match read.item_name {
                Some(item) if name == item || name == "index" || item == UNREADABLE_ITEM => {}
                Some(item) => diagnostics.push(unknown_item(read, name, item)),
                None => diagnostics.push(outside_loop(read)),
            },
            Target::Named { name } if read.item_name == Some(name.as_str()) => {}
            Target::AllSteps => diagnostics.push(reads_all_steps(read)),
            Target::Unknown { name } | Target::Named { name } => {
                diagnostics.push(unknown_root(builder, read, name));
            }
            Target::UnknownField { root, name } => {
                diagnostics.push(unknown_field(builder, read, root, name));
            }
            Target::Ambient => {}
        }
    }
}

fn unknown_step(builder: &Builder, read: &Read<'_>, name: &str) -> Diagnostic {
    let message = format!(
        "{} reads step `{name}` in its {}, but no step is named so",
        read.reader_name(),
        read.part
    );
    let diagnostic = Diagnostic::error(codes::UNKNOWN_STEP, message)
        .label(&read.reference.name_place, "no step of this name");
    let names = builder.steps.iter().map(|step| step.name.as_str());
    match suggest(name, names) {
        Some(near) => diagnostic.help(format!("a step named `{near}` exists")),
        None => diagnostic.help("read a step of this workflow"),
    }
}

#[derive(Clone, Copy)]
struct UnknownPart<'a> {
    step: &'a str,
    part: &'a str,
    known: &'static [Facet],
}

fn unknown_part(builder: &Builder, read: &Read<'_>, unknown: UnknownPart<'_>) -> Diagnostic {
    let UnknownPart { step, part, known } = unknown;
    let message = format!(
        "{} reads `{part}` of step `{step}`, but a step has no such part",
        read.reader_name()
    );
    let diagnostic = Diagnostic::error(codes::UNKNOWN_STEP_PART, message)
        .label(&read.reference.place, format!("no part named `{part}`"));
    match suggest(part, known.iter().map(|facet| facet.as_str())) {
        Some(near) => diagnostic.help(format!("a part named `{near}` exists")),
        None => diagnostic.help(format!(
            "for a field of its output write `.steps.{step}{}.{part}`",
            builder.rules.words.output
        )),
    }
}

/// The first name of the path that the schema leaves no room for.
fn unknown_parameter(schema: &Value, segments: &[String]) -> Option<Unknown> {
    let name = segments.first()?;
    let object = schema.as_object()?;
    // A schema that says more than a list of properties may let anything in.
    let open = [
        "$ref",
        "allOf",
        "anyOf",
        "oneOf",
        "patternProperties",
        "if",
        "$dynamicRef",
    ];
    if open.iter().any(|key| object.contains_key(*key)) {
        return None;
    }
    match object.get("additionalProperties") {
        None | Some(Value::Bool(false)) => {}
        Some(_) => return None,
    }
    let known: Vec<String> = match object.get("properties") {
        Some(Value::Object(properties)) => properties.keys().cloned().collect(),
        _ => Vec::new(),
    };
    if known.contains(name) {
        return None;
    }
    Some(Unknown {
        name: name.clone(),
        known,
    })
}

struct Unknown {
    name: String,
    known: Vec<String>,
}

/// What a workflow takes, and how its dialect says so.
#[derive(Clone, Copy)]
pub(crate) struct Declared<'a> {
    pub(crate) inputs: &'a Value,
    /// Where, and under which key.
    pub(crate) place: Option<&'a Place>,
    pub(crate) key: &'a str,
}

/// What is wrong with a read of a parameter that the inputs leave no room for.
pub(crate) fn undeclared_parameter(
    declared: Declared<'_>,
    read: &Read<'_>,
    segments: &[String],
) -> Option<Diagnostic> {
    let unknown = unknown_parameter(declared.inputs, segments)?;
    let message = format!(
        "{} reads parameter `{}` in its {}, but no parameter is named so",
        read.reader_name(),
        unknown.name,
        read.part
    );
    let mut diagnostic = Diagnostic::error(codes::UNKNOWN_PARAMETER, message)
        .label(&read.reference.name_place, "no parameter of this name");
    if let Some(place) = declared.place {
        diagnostic = diagnostic.secondary(place, "parameters are declared here");
    }
    Some(
        match suggest(&unknown.name, unknown.known.iter().map(String::as_str)) {
            Some(near) => diagnostic.help(format!("a parameter named `{near}` exists")),
            None => diagnostic.help(format!(
                "declare `{}` under `{}`",
                unknown.name, declared.key
            )),
        },
    )
}

fn unknown_item(read: &Read<'_>, name: &str, item: &str) -> Diagnostic {
    let message = format!(
        "{} reads `{name}` of the loop in its {}, but the item is named `{item}`",
        read.reader_name(),
        read.part
    );
    Diagnostic::error(codes::UNKNOWN_ITEM, message)
        .label(&read.reference.name_place, "not a name of this loop")
        .help(format!(
            "write `{item}` for the item or `index` for its number"
        ))
}

fn outside_loop(read: &Read<'_>) -> Diagnostic {
    let message = format!(
        "{} reads the item of a loop in its {}, which is not inside of one",
        read.reader_name(),
        read.part
    );
    Diagnostic::error(codes::UNKNOWN_ITEM, message)
        .label(&read.reference.place, "there is no item here")
        .help("only the inner step of a loop can read its item")
}

fn reads_all_steps(read: &Read<'_>) -> Diagnostic {
    let message = format!(
        "{} reads all steps in its {}, which makes it wait for none of them",
        read.reader_name(),
        read.part
    );
    Diagnostic::warning(codes::ALL_STEPS_READ, message)
        .label(&read.reference.place, "any step may be read here")
        .help("read one step by its name, or declare what the step depends on")
}

fn unknown_field(builder: &Builder, read: &Read<'_>, root: &str, name: &str) -> Diagnostic {
    let message = format!(
        "{} reads `{name}` of `.{root}` in its {}, which it does not have",
        read.reader_name(),
        read.part
    );
    let diagnostic = Diagnostic::error(codes::UNKNOWN_ROOT, message)
        .label(&read.reference.name_place, "no field of this name");
    if root == "vars" {
        let parameters = builder.rules.roots.parameters;
        return diagnostic.help(format!(
            "`.vars` is always empty; for a parameter write `.{parameters}.{name}`"
        ));
    }
    let known: Vec<&str> = RunField::ALL.iter().map(|field| field.as_str()).collect();
    match suggest(name, known.iter().copied()) {
        Some(near) => diagnostic.help(format!("a field named `{near}` exists")),
        None => diagnostic.help(format!("the fields are `{}`", known.join("`, `"))),
    }
}

fn unknown_root(builder: &Builder, read: &Read<'_>, name: &str) -> Diagnostic {
    let roots = builder.rules.roots;
    let message = format!(
        "{} reads `.{name}` in its {}, but there is no such value",
        read.reader_name(),
        read.part
    );
    let diagnostic = Diagnostic::error(codes::UNKNOWN_ROOT, message)
        .label(&read.reference.name_place, "unknown value");
    // Where items are roots of their own, the item of this loop is one of them.
    let item = read.item_name.filter(|_| roots.all.contains(&"index"));
    let all: Vec<&str> = roots.all.iter().copied().chain(item).collect();
    if let Some(near) = suggest(name, all.iter().copied()) {
        return diagnostic.help(format!("did you mean `.{near}`?"));
    }
    let (last, rest) = all.split_last().unwrap_or((&"", &[]));
    diagnostic.help(format!(
        "for a parameter write `.{}.{name}`; the values are `.{}` and `.{last}`",
        roots.parameters,
        rest.join("`, `.")
    ))
}
