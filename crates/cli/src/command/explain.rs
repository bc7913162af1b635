//! `onecall explain`: the page of a diagnostic code, or the line of the code that a failed run carries.

use crate::args::ExplainArgs;
use crate::exit::Exit;
use crate::print;

include!(concat!(env!("OUT_DIR"), "/pages.rs"));

/// Every code of a failure, in a table.
const FAILURES: &str = include_str!("../../../../docs/failures.md");

pub(crate) fn run(args: &ExplainArgs) -> Exit {
    let failures = failures(&args.code);
    if !failures.is_empty() {
        for line in failures {
            print::out(line);
        }
        return Exit::Ok;
    }
    let digits = args.code.trim_start_matches(['W', 'w', 'F', 'f']);
    let is_it = |(name, _): &&(&str, &str)| name.strip_prefix("WF") == Some(digits);
    let Some((_, page)) = PAGES.iter().find(is_it) else {
        print::err(format!("error: nothing has the code `{}`", args.code));
        print::err(
            "  = help: a code is written as `onecall check` prints it, such as `WF101`, or as a failed run \
             carries it, such as `tool.error`",
        );
        return Exit::NothingSelected;
    };
    print::out(page.trim_end());
    Exit::Ok
}

/// What the table says of a code, or of all codes of a category.
fn failures(word: &str) -> Vec<String> {
    let rows = FAILURES.lines().filter_map(|line| {
        let mut cells = line.strip_prefix("| `")?.split(" | ");
        let code = cells.next()?.trim_end_matches('`');
        let meaning = cells.next()?;
        let again = cells.next()?.trim_end_matches([' ', '|']);
        let category = code.split('.').next()?;
        (word == code || word == category)
            .then(|| format!("{code}: {meaning} Worth trying again: {again}."))
    });
    rows.collect()
}

#[cfg(test)]
mod tests {
    use super::failures;
    use onecall_engine::failure::Code;

    #[test]
    fn every_code_of_a_failure_has_its_line() {
        for code in Code::ALL {
            let lines = failures(code.as_str());
            assert_eq!(lines.len(), 1, "{code}: {lines:?}");
        }
        let line = "pending.input: The run waits for a person. Worth trying again: yes.";
        assert_eq!(failures("pending.input"), [line]);
        assert_eq!(failures("pending").len(), 2);
        assert!(failures("WF101").is_empty() && failures("").is_empty());
    }
}
