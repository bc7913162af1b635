//! Text that a command line names: a file, or `-` for stdin. Bounded; what it means is for the command.

use anyhow::Context;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Reads at most `bytes_max` bytes.
pub(crate) fn read_text(path: &Path, bytes_max: u64) -> anyhow::Result<String> {
    let mut text = String::new();
    if path.as_os_str() == "-" {
        let input = std::io::stdin().lock();
        input
            .take(bytes_max)
            .read_to_string(&mut text)
            .context("cannot read stdin")?;
        return Ok(text);
    }
    let shown = path.display();
    let file = File::open(path).with_context(|| format!("cannot open `{shown}`"))?;
    file.take(bytes_max)
        .read_to_string(&mut text)
        .with_context(|| format!("cannot read `{shown}`"))?;
    Ok(text)
}
