//! `onecall explain`: the page of a diagnostic code.

use crate::args::ExplainArgs;
use crate::exit::Exit;
use crate::print;

include!(concat!(env!("OUT_DIR"), "/pages.rs"));

pub(crate) fn run(args: &ExplainArgs) -> Exit {
    let is_it = |(name, _): &&(&str, &str)| name.eq_ignore_ascii_case(&args.code);
    let Some((_, page)) = PAGES.iter().find(is_it) else {
        print::err(format!("error: no diagnostic has the code `{}`", args.code));
        return Exit::NothingSelected;
    };
    print::out(page.trim_end());
    Exit::Ok
}
