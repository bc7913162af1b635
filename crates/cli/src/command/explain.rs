//! `onecall explain`: the page of a diagnostic code.

use crate::args::ExplainArgs;
use crate::exit::Exit;
use crate::print;

include!(concat!(env!("OUT_DIR"), "/pages.rs"));

pub(crate) fn run(args: &ExplainArgs) -> Exit {
    let is_it = |(name, _): &&(&str, &str)| name.eq_ignore_ascii_case(&args.code);
    match PAGES.iter().find(is_it) {
        Some((_, page)) => {
            print::out(page.trim_end());
            Exit::Ok
        }
        None => {
            print::err(format!("error: no diagnostic has the code `{}`", args.code));
            Exit::NothingSelected
        }
    }
}
