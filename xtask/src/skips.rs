//! What may be skipped in CI: the file `.ci/skips`, a line `NAME: REASON` for each. Elsewhere every skip is only counted.

use crate::obtain;
use crate::part::{Outcome, root, say};
use anyhow::{Context, bail};
use std::io::ErrorKind;

/// Limit: bytes of `.ci/skips`.
const BYTES_MAX: u64 = 64 * 1024;

/// With `CI=true`, fails the parts that skipped a test which `.ci/skips` does not list.
pub(crate) fn enforce(outcomes: &mut [Outcome]) -> anyhow::Result<()> {
    if std::env::var_os("CI").is_none_or(|value| value != "true") {
        return Ok(());
    }
    let text = match obtain::read(&root().join(".ci/skips"), BYTES_MAX) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error).context("cannot read `.ci/skips`"),
    };
    let listed = listed(&text)?;
    for outcome in outcomes {
        for name in unlisted(outcome, &listed) {
            say(&format!(
                "error: `{name}` was skipped in part `{}`, and `.ci/skips` does not list it",
                outcome.name
            ));
            outcome.failed += 1;
            outcome.is_ok = false;
        }
    }
    Ok(())
}

/// The names in the file. Blank lines and lines that begin with `#` do not count.
fn listed(text: &str) -> anyhow::Result<Vec<&str>> {
    let lines = text.lines().map(str::trim);
    let entries = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    let names = entries.map(|line| match line.split_once(": ") {
        Some((name, reason)) if !reason.trim().is_empty() => Ok(name),
        _ => bail!("`.ci/skips` has the line `{line}`, which is not `NAME: REASON`"),
    });
    names.collect()
}

fn unlisted(outcome: &Outcome, listed: &[&str]) -> Vec<String> {
    let names = outcome.skipped.iter().map(|skipped| {
        let name = skipped
            .split_once(" (")
            .map_or(&**skipped, |(name, _)| name);
        name.to_owned()
    });
    names.filter(|name| !listed.contains(&&**name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listed_names_may_be_skipped() {
        let outcome = Outcome {
            skipped: vec!["fastmcp (no pip)".to_owned(), "a browser (none)".to_owned()],
            ..Outcome::default()
        };
        let listed = listed("# what CI lacks\n\nfastmcp: no wheel for this machine\n").unwrap();
        assert_eq!(unlisted(&outcome, &listed), ["a browser"]);
    }

    #[test]
    fn an_entry_needs_a_reason() {
        assert!(listed("fastmcp").is_err());
        assert!(listed("fastmcp: ").is_err());
    }
}
