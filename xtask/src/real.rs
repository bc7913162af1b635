//! Servers of other people, obtained from their registries and met by our client.

use crate::cargo::{Profile, example};
use crate::part::{Outcome, root};
use crate::{node, python};
use anyhow::Context;
use std::ffi::OsString;
use std::process::Command;

/// About 30 s once everything is obtained.
pub(crate) fn run() -> anyhow::Result<Outcome> {
    let program = example("onecall-backends", "real", Profile::Debug)?;
    let work = root().join(".cache/real");
    // What a server kept in an earlier run must not be met again.
    let _ = std::fs::remove_dir_all(&work);
    std::fs::create_dir_all(&work).context("cannot make the folder of the servers")?;
    let reason = |reason: String| OsString::from(format!("-{reason}"));
    let (node, modules) = match node::environment() {
        Ok(node) => (node.program.into(), node.modules),
        Err(why) => (reason(why), work.clone()),
    };
    let python = python::environment().map_or_else(reason, Into::into);
    let mut command = Command::new(program);
    command
        .args([node, modules.into(), python])
        .arg(root().join("tests/servers"))
        .arg(&work);
    crate::part::run("real", &mut command)
}
