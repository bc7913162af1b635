//! Servers of other people, obtained from their registries, called by our client.

use crate::cargo::{Profile, example};
use crate::part::{Outcome, root, scratch};
use crate::{node, python};
use anyhow::Context;
use std::ffi::OsString;
use std::process::Command;

/// About 30 s once everything is obtained.
pub(crate) fn run() -> anyhow::Result<Outcome> {
    let program = example("onecall-backends", "real", Profile::Debug)?;
    let work = scratch("real").context("cannot make the directory of the servers")?;
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
    crate::part::run_all("real", [command])
}
