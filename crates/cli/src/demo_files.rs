//! `--demo`: the example workflows of `examples/hello`, built in, over the built-in backend.

use crate::files::FileArgs;
use crate::wire::{self, Loaded};
use onecall_config::Input;
use std::path::PathBuf;

const HELLO: &str = include_str!("../../../examples/hello/hello.yaml");

/// The example and whatever else was named.
pub(crate) fn load(paths: &[PathBuf], files: &FileArgs) -> anyhow::Result<Loaded> {
    let mut collected = files.collect(paths)?;
    let source = collected.sources.add("examples/hello/hello.yaml", HELLO);
    collected.inputs.push(Input {
        source,
        named: true,
    });
    let mut loaded = wire::understand(collected, files.compat());
    files.pick(&mut loaded)?;
    Ok(loaded)
}
