//! `onecall explain`: the page of a diagnostic code.

use crate::args::ExplainArgs;
use crate::exit::Exit;
use crate::print;

include!(concat!(env!("OUT_DIR"), "/pages.rs"));

pub(crate) fn run(args: &ExplainArgs) -> Exit {
    let digits = args.code.trim_start_matches(['W', 'w', 'F', 'f']);
    let is_it = |(name, _): &&(&str, &str)| name.strip_prefix("WF") == Some(digits);
    let Some((_, page)) = PAGES.iter().find(is_it) else {
        print::err(format!("error: no diagnostic has the code `{}`", args.code));
        print::err("  = help: a code is written as `onecall check` prints it, such as `WF101`");
        return Exit::NothingSelected;
    };
    print::out(page.trim_end());
    Exit::Ok
}
