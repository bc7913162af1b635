//! `onecall schema`: JSON Schema for editors, or every key that files may hold and what it does.

use crate::args::{SchemaArgs, SchemaKind};
use crate::exit::{Exit, usage};
use crate::print;
use onecall_config::key_table::parts;
use onecall_config::schema;

pub(crate) fn run(args: &SchemaArgs) -> anyhow::Result<Exit> {
    if args.keys {
        return Ok(keys(args.effect.as_deref()));
    }
    let schema = match args.kind {
        Some(SchemaKind::Config) => schema::config(),
        Some(SchemaKind::Resources) => schema::resources(),
        None => return Err(usage("say which: `config`, `resources`, or `--keys`")),
    };
    print::out(serde_json::to_string_pretty(&schema)?);
    Ok(Exit::Ok)
}

fn keys(wanted: Option<&str>) -> Exit {
    let mut is_any = false;
    for part in parts() {
        for key in part.keys {
            let effect = key.effect.as_str();
            if wanted.is_none_or(|wanted| wanted == effect) {
                is_any = true;
                print::out(format!("{effect:<8} {:<30} {}", part.name, key.name));
            }
        }
    }
    if is_any {
        return Exit::Ok;
    }
    print::err("error: no key has this effect; there are acts, refused, warned, noted and free");
    Exit::NothingSelected
}
