//! Programs of this workspace: built, and where they are then.

use crate::built::{self, Kind};
use crate::part::{root, say};
use anyhow::{Context, ensure};
use std::path::PathBuf;
use std::process::Command;

/// How a program is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Profile {
    /// As tests are built, with the features of the whole workspace.
    Debug,
    Release,
    /// As it is handed out.
    Dist,
}

impl Profile {
    /// As `--profile` has it.
    fn name(self) -> &'static str {
        match self {
            Self::Debug => "dev",
            Self::Release => "release",
            Self::Dist => "dist",
        }
    }

    /// The name of its directory below the build directory.
    fn directory(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            other => other.name(),
        }
    }
}

/// `cargo` with these words, in the root of the workspace.
pub(crate) fn cargo(words: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(words).current_dir(root());
    command
}

/// The binary `onecall`.
pub(crate) fn program(profile: Profile) -> anyhow::Result<PathBuf> {
    if profile == Profile::Debug {
        return built::path_of("onecall-cli", Kind::Program, "onecall");
    }
    build(&["--package", "onecall-cli"], profile)?;
    Ok(directory(profile).join("onecall"))
}

/// The program of an example.
pub(crate) fn example(package: &str, name: &str, profile: Profile) -> anyhow::Result<PathBuf> {
    if profile == Profile::Debug {
        return built::path_of(package, Kind::Example, name);
    }
    build(&["--package", package, "--example", name], profile)?;
    Ok(directory(profile).join("examples").join(name))
}

fn build(words: &[&str], profile: Profile) -> anyhow::Result<()> {
    let mut command = cargo(&["build", "--quiet"]);
    command.args(words).args(["--profile", profile.name()]);
    let what = words.join(" ");
    say(&format!("building {what} ({})", profile.name()));
    let status = command.status();
    let status = status.with_context(|| format!("cannot build {what}"))?;
    ensure!(status.success(), "{what} does not build");
    Ok(())
}

fn directory(profile: Profile) -> PathBuf {
    target().join(profile.directory())
}

/// Where cargo puts what it builds.
pub(crate) fn target() -> PathBuf {
    let named = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    named.unwrap_or_else(|| root().join("target"))
}
