//! `onecall schema --keys`: every key that files may hold, and whether it acts, is refused or only warned about.

use crate::args::SchemaArgs;
use crate::exit::Exit;
use crate::print;
use onecall_config::key_table::KEYS;

pub(crate) fn run(args: &SchemaArgs) -> Exit {
    let wanted = |effect: &str| args.effect.as_deref().is_none_or(|own| own == effect);
    let mut is_any = false;
    for (part, key, effect) in KEYS.iter().filter(|(_, _, effect)| wanted(effect.as_str())) {
        is_any = true;
        print::out(format!("{:<8} {part:<28} {key}", effect.as_str()));
    }
    if is_any {
        return Exit::Ok;
    }
    print::err("error: no key has this effect; there are acts, refused, warned and free");
    Exit::NothingSelected
}
