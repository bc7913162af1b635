//! The recorded judgements of a suite, and the keys of the model providers.

use super::TestArgs;
use super::tapes::replace;
use crate::limits::TAPE_BYTES_MAX;
use crate::print;
use anyhow::Context;
use onecall_suite::{Composition, Judgements};
use std::collections::BTreeMap;
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};

/// The file next to the tapes of a suite.
pub(super) fn file(args: &TestArgs, suite: &Path) -> PathBuf {
    super::tapes::directory(args, suite).join("judgements.json")
}

pub(super) fn read(
    args: &TestArgs,
    file: &Path,
    compositions: &[Composition],
) -> anyhow::Result<Judgements> {
    let variables = compositions.iter().flat_map(Composition::key_variables);
    let keys: BTreeMap<String, String> = variables
        .filter_map(|name| {
            let key = std::env::var(&name).ok().filter(|key| !key.is_empty())?;
            Some((name, key))
        })
        .collect();
    let mut text = String::new();
    match std::fs::File::open(file) {
        Err(error) if error.kind() == ErrorKind::NotFound => text.push_str("{}"),
        opened => {
            let opened = opened.with_context(|| cannot_read(file))?;
            opened.take(TAPE_BYTES_MAX).read_to_string(&mut text)?;
        }
    }
    let judgements = Judgements::parse(&text).with_context(|| cannot_read(file))?;
    Ok(judgements
        .with_keys(keys)
        .recording(args.record)
        .replaying(args.replay))
}

pub(super) fn write(file: &Path, judgements: &Judgements) -> anyhow::Result<()> {
    if let Some(text) = judgements.changed() {
        replace(file, &text).with_context(|| format!("cannot write `{}`", file.display()))?;
        print::err(format!("recorded: `{}`", file.display()));
    }
    Ok(())
}

fn cannot_read(file: &Path) -> String {
    format!(
        "the recorded judgements `{}` cannot be used",
        file.display()
    )
}
