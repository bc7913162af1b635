//! `onecall schema`: JSON Schema for editors, or every key that files may hold and what it does.

use crate::args::{SchemaArgs, SchemaKind};
use crate::exit::{Exit, usage};
use crate::print;
use onecall_config::key_table::parts;
use onecall_config::schema;
use serde_json::json;

pub(crate) fn run(args: &SchemaArgs) -> anyhow::Result<Exit> {
    if args.keys {
        return keys(args);
    }
    let schema = match args.kind {
        Some(SchemaKind::Config) => schema::config(),
        Some(SchemaKind::Resources) => schema::resources(),
        Some(SchemaKind::Workflow) => onecall_dialects::native::schema(),
        None => {
            return Err(usage(
                "say which: `config`, `resources`, `workflow`, or `--keys`",
            ));
        }
    };
    print::data(serde_json::to_string_pretty(&schema)?);
    Ok(Exit::Ok)
}

fn keys(args: &SchemaArgs) -> anyhow::Result<Exit> {
    let wanted = |effect: &str| args.effect.as_deref().is_none_or(|own| own == effect);
    let all = parts().flat_map(|part| part.keys.iter().map(move |key| (part.name, key)));
    let rows: Vec<(&str, &str, &str)> = all
        .map(|(part, key)| (key.effect.as_str(), part, key.name))
        .filter(|(effect, _, _)| wanted(effect))
        .collect();
    if rows.is_empty() {
        print::err(
            "error: no key has this effect; there are acts, refused, warned, noted and free",
        );
        return Ok(Exit::NothingSelected);
    }
    if args.markdown {
        print::out(markdown(&rows));
        return Ok(Exit::Ok);
    }
    if args.json {
        let rows = rows
            .iter()
            .map(|(effect, part, key)| json!({ "part": part, "key": key, "effect": effect }));
        print::data(serde_json::to_string_pretty(&rows.collect::<Vec<_>>())?);
        return Ok(Exit::Ok);
    }
    for (effect, part, key) in rows {
        print::out(format!("{effect:<8} {part:<30} {key}"));
    }
    Ok(Exit::Ok)
}

/// A row a part and effect, in the order of the list.
fn markdown(rows: &[(&str, &str, &str)]) -> String {
    let mut lines = vec![
        "| part | effect | keys |".to_owned(),
        "|---|---|---|".to_owned(),
    ];
    for group in rows.chunk_by(|one, next| one.1 == next.1) {
        let mut effects: Vec<&str> = group.iter().map(|(effect, _, _)| *effect).collect();
        effects.sort_unstable();
        effects.dedup();
        for effect in effects {
            let keys = group.iter().filter(|(own, _, _)| *own == effect);
            let keys: Vec<String> = keys.map(|(_, _, key)| format!("`{key}`")).collect();
            lines.push(format!(
                "| {} | {effect} | {} |",
                group[0].1,
                keys.join(" ")
            ));
        }
    }
    lines.join("\n")
}
