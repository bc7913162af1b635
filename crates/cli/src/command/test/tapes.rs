//! The files of tapes: which tape each server has, reading them before a suite runs, writing those that changed.

use super::TestArgs;
use crate::limits::TAPE_BYTES_MAX;
use crate::print;
use anyhow::{Context, bail};
use onecall_dialects::mcptest::{Cassette, Tests};
use onecall_suite::{Recording, Scrub, Tape, Tapes};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};

/// The tape of each server.
#[derive(Debug)]
pub(super) struct TapeFiles(BTreeMap<String, PathBuf>);

impl TapeFiles {
    /// Paths in a suite are relative to its file, those of flags to the working directory.
    pub(super) fn of(args: &TestArgs, suite: &Path, tests: &[Tests], servers: &[String]) -> Self {
        let directory = directory(args, suite);
        let stated: BTreeMap<&str, &Cassette> = tests
            .iter()
            .flat_map(|tests| &tests.cassettes)
            .map(|(server, cassette)| (server.as_str(), cassette))
            .collect();
        let names = servers.iter().map(String::as_str);
        let names: BTreeSet<&str> = names.chain(stated.keys().copied()).chain([""]).collect();
        let files = names.into_iter().map(|server| {
            let file = match stated.get(server) {
                Some(cassette) => suite.with_file_name("").join(&cassette.path),
                None => directory.join(file_name(server)),
            };
            (server.to_owned(), file)
        });
        Self(files.collect())
    }

    /// Reads the tapes that there are, if any call may use one.
    pub(super) fn read(
        &self,
        args: &TestArgs,
        tests: &[Tests],
        scrub: &Scrub,
    ) -> anyhow::Result<Tapes> {
        let recording = match (args.record, args.replay) {
            (true, _) => Recording::Record,
            (_, true) => Recording::Replay,
            _ => Recording::AsStated,
        };
        let taped = tests.iter().flat_map(|tests| tests.cassettes.keys());
        let taped: BTreeSet<String> = taped.cloned().collect();
        let is_frozen = tests.iter().any(|tests| !tests.freeze.is_empty());
        let is_needed = recording != Recording::AsStated || is_frozen || !taped.is_empty();
        let mut tapes = Tapes::new(recording, taped, scrub.clone());
        if is_needed {
            for (server, file) in &self.0 {
                let tape = read(file, scrub)
                    .with_context(|| format!("the tape `{}` cannot be used", file.display()))?;
                tapes.insert(server, file.display().to_string(), tape);
            }
        }
        Ok(tapes)
    }

    /// Writes what was recorded.
    pub(super) fn write(&self, tapes: &Tapes) -> anyhow::Result<()> {
        for (server, text) in tapes.changed() {
            let Some(file) = self.0.get(&server) else {
                continue;
            };
            replace(file, &text)
                .with_context(|| format!("cannot write the tape `{}`", file.display()))?;
            print::err(format!("recorded: `{}`", file.display()));
        }
        Ok(())
    }
}

/// The directory of what is recorded for a suite.
pub(super) fn directory(args: &TestArgs, suite: &Path) -> PathBuf {
    let stated = args.cassette.clone();
    stated.unwrap_or_else(|| suite.with_extension("cassettes"))
}

/// `None` if the file does not exist.
fn read(file: &Path, scrub: &Scrub) -> anyhow::Result<Option<Tape>> {
    let opened = match std::fs::File::open(file) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    let mut text = String::new();
    opened.take(TAPE_BYTES_MAX + 1).read_to_string(&mut text)?;
    if text.len() as u64 > TAPE_BYTES_MAX {
        bail!("it is larger than {} MiB", TAPE_BYTES_MAX >> 20);
    }
    Ok(Some(Tape::parse(&text, scrub)?))
}

/// Writes a file as a whole: another process sees the old text or the new one.
pub(super) fn replace(file: &Path, text: &str) -> anyhow::Result<()> {
    if let Some(directory) = file.parent() {
        std::fs::create_dir_all(directory)?;
    }
    let mut beside = file.as_os_str().to_owned();
    beside.push(format!(".{}", std::process::id()));
    let beside = PathBuf::from(beside);
    std::fs::write(&beside, text)?;
    std::fs::rename(&beside, file).inspect_err(|_| {
        let _ = std::fs::remove_file(&beside);
    })?;
    Ok(())
}

/// A server's name as the name of a file; `tools.json` for tools of no server.
fn file_name(server: &str) -> String {
    let is_plain = |own: char| own.is_ascii_alphanumeric() || matches!(own, '-' | '_');
    let plain: String = server
        .chars()
        .map(|own| if is_plain(own) { own } else { '_' })
        .collect();
    format!("{}.json", if plain.is_empty() { "tools" } else { &plain })
}

/// The values of the variables that the files read and whose names say that they are secret.
pub(super) fn secrets(variables: &BTreeSet<String>) -> Scrub {
    const WORDS: [&str; 7] = [
        "TOKEN",
        "KEY",
        "SECRET",
        "PASSWORD",
        "PASSWD",
        "AUTH",
        "CREDENTIAL",
    ];
    let names = variables.iter().filter_map(|name| {
        if let Some(secret) = name.strip_prefix("secret:") {
            return Some(secret);
        }
        let upper = name.to_uppercase();
        WORDS
            .iter()
            .any(|word| upper.contains(word))
            .then_some(name.as_str())
    });
    Scrub::new(names.filter_map(|name| std::env::var(name).ok()))
}
