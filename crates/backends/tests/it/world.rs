//! What the tests of this binary share: starting backends, and reading results.

use std::path::PathBuf;
use std::time::Duration;

use onecall_backends::{BackendName, BackendOptions, Backends, Call, CallError, ClientInfo};
use onecall_mcp::{CallAnswer, CallOutput};
use serde_json::Value;

/// Everything in a test happens within this time or the test fails.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) fn client_info() -> ClientInfo {
    ClientInfo {
        name: "test".to_owned(),
        version: "1".to_owned(),
    }
}

/// The program of `examples/child.rs`, built beside this test.
pub(crate) fn child() -> String {
    let test = std::env::current_exe().unwrap();
    let folder = test.parent().and_then(|deps| deps.parent()).unwrap();
    let path: PathBuf = folder.join("examples").join("child");
    assert!(
        path.exists(),
        "{} is missing; build the examples of this crate",
        path.display()
    );
    path.to_str().unwrap().to_owned()
}

pub(crate) fn stdio(name: &str, args: &[&str]) -> BackendOptions {
    let mut options = BackendOptions::stdio(name, &child(), args);
    options.call_timeout = Some(PATIENCE);
    options
}

pub(crate) fn start(options: Vec<BackendOptions>) -> Backends {
    Backends::start(&client_info(), options).unwrap()
}

pub(crate) async fn call(
    backends: &Backends,
    backend: &str,
    tool: &str,
    arguments: Value,
) -> Result<CallOutput, CallError> {
    let name = BackendName::from(backend);
    complete(backends.call(&name, Call::new(tool, arguments)).await)
}

pub(crate) fn complete(answer: Result<CallAnswer, CallError>) -> Result<CallOutput, CallError> {
    match answer? {
        CallAnswer::Complete(result) => Ok(result.parse().unwrap()),
        other => panic!("not complete: {other:?}"),
    }
}

/// The name of the way in which a call failed; a protocol error has its number too.
pub(crate) fn way(error: &CallError) -> String {
    match error {
        CallError::Rpc { error, .. } => format!("Rpc {}", error.code),
        other => {
            let shown = format!("{other:?}");
            let end = shown.find(|sign: char| !sign.is_alphanumeric());
            shown[..end.unwrap_or(shown.len())].to_owned()
        }
    }
}
