//! The executables of the workspace: test binaries, programs and examples, built by one command.
//!
//! `cargo build --package X` unifies features over `X` alone, so every choice of packages builds its own copies of
//! shared dependencies. One build of the whole workspace serves all parts of the test run.

use crate::cargo::cargo;
use crate::part::say;
use anyhow::{Context, ensure};
use serde_json::Value;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// An executable that cargo built.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Executable {
    pub(crate) package: String,
    pub(crate) kind: Kind,
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    /// The directory of its package, where `cargo test` runs tests.
    directory: PathBuf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Unit tests, or an integration test.
    Test,
    Program,
    Example,
}

impl Executable {
    /// The command that runs it as `cargo test` does.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        command.current_dir(&self.directory);
        command
    }
}

/// All executables of the workspace. The first call builds them.
pub(crate) fn executables() -> anyhow::Result<&'static [Executable]> {
    static BUILT: OnceLock<Vec<Executable>> = OnceLock::new();
    if let Some(built) = BUILT.get() {
        return Ok(built);
    }
    let built = build()?;
    Ok(BUILT.get_or_init(|| built))
}

/// The path of one program or example.
pub(crate) fn path_of(package: &str, kind: Kind, name: &str) -> anyhow::Result<PathBuf> {
    let found = executables()?
        .iter()
        .find(|own| (&*own.package, own.kind, &*own.name) == (package, kind, name));
    let found = found.with_context(|| format!("`{package}` has no {kind:?} `{name}`"))?;
    Ok(found.path.clone())
}

fn build() -> anyhow::Result<Vec<Executable>> {
    let mut command = cargo(&[
        "test",
        "--quiet",
        "--workspace",
        "--no-run",
        "--message-format=json-render-diagnostics",
    ]);
    say("building all tests, programs and examples");
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start cargo")?;
    let stdout = child.stdout.take().context("cargo has no output")?;
    let mut built = Vec::new();
    for line in BufReader::new(stdout).lines() {
        let message: Value = serde_json::from_str(&line?).context("cannot read cargo's output")?;
        built.extend(executable(&message));
    }
    ensure!(child.wait()?.success(), "the workspace does not build");
    Ok(built)
}

/// The executable that a message of cargo names, if it names one.
fn executable(message: &Value) -> Option<Executable> {
    let text = |pointer: &str| message.pointer(pointer).and_then(Value::as_str);
    let path = text("/executable")?;
    let kind = match text("/target/kind/0")? {
        _ if message.pointer("/profile/test")?.as_bool()? => Kind::Test,
        "bin" => Kind::Program,
        "example" => Kind::Example,
        _ => return None,
    };
    let directory = Path::new(text("/manifest_path")?).parent()?.to_owned();
    Some(Executable {
        package: package(text("/package_id")?)?.to_owned(),
        kind,
        name: text("/target/name")?.to_owned(),
        path: path.into(),
        directory,
    })
}

/// The name in an identifier: `path+file:///crates/cli#onecall-cli@0.0.0`, or `path+file:///xtask#0.0.0`.
fn package(id: &str) -> Option<&str> {
    let (path, fragment) = id.split_once('#')?;
    match fragment.split_once('@') {
        Some((name, _)) => Some(name),
        None => path.rsplit('/').next(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn message(id: &str, kind: &str, is_test: bool) -> Value {
        json!({
            "reason": "compiler-artifact",
            "package_id": id,
            "manifest_path": "/w/crates/cli/Cargo.toml",
            "target": { "kind": [kind], "name": "onecall" },
            "profile": { "test": is_test },
            "executable": "/w/target/debug/onecall",
        })
    }

    #[test]
    fn kinds_and_packages_are_read_from_messages() {
        let id = "path+file:///w/crates/cli#onecall-cli@0.0.0";
        let read = |kind, is_test| executable(&message(id, kind, is_test)).unwrap();
        assert_eq!(read("bin", true).kind, Kind::Test);
        assert_eq!(read("lib", true).kind, Kind::Test);
        assert_eq!(read("bin", false).kind, Kind::Program);
        assert_eq!(read("example", false).kind, Kind::Example);
        assert_eq!(read("bin", false).package, "onecall-cli");
        assert_eq!(package("path+file:///w/xtask#0.0.0"), Some("xtask"));
    }

    #[test]
    fn messages_without_an_executable_are_passed_over() {
        assert_eq!(executable(&json!({ "reason": "build-finished" })), None);
        let mut library = message("path+file:///w/crates/mcp#onecall-mcp@0.0.0", "lib", false);
        library["executable"] = Value::Null;
        assert_eq!(executable(&library), None);
    }
}
