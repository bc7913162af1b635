//! `--demo`: the example workflows of `examples/hello`, built in, over the built-in backend.

use crate::wire::{self, Loaded};
use onecall_config::Input;
use onecall_runtime::sources::{self, ReadSourcesError};
use std::path::PathBuf;

const HELLO: &str = include_str!("../../../examples/hello/hello.yaml");

/// The example and whatever else was named.
pub(crate) fn load(paths: &[PathBuf]) -> Result<Loaded, ReadSourcesError> {
    let mut collected = sources::collect(paths)?;
    let source = collected.sources.add("examples/hello/hello.yaml", HELLO);
    collected.inputs.push(Input {
        source,
        named: true,
    });
    Ok(wire::understand(collected))
}
