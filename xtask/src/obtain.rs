//! Directories of packages obtained from a registry, in `~/.cache/onecall`, so that they survive the checkout.
//! A list of packages has a directory of its own, so two checkouts with different lists do not disturb each other.

use crate::part::say;
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The cached directory with these packages. `fill` makes it if it is not there yet.
pub(crate) fn directory(
    name: &str,
    packages: &[&str],
    fill: impl FnOnce(&Path) -> Result<(), String>,
) -> Result<PathBuf, String> {
    let cache = cache()?;
    let mut hasher = DefaultHasher::new();
    packages.hash(&mut hasher);
    let name = format!("{name}-{:016x}", hasher.finish());
    let directory = cache.join(&name);
    let cannot = |error| format!("cannot use `{}`: {error}", cache.display());
    std::fs::create_dir_all(&cache).map_err(cannot)?;
    // Another checkout may be filling the same directory. The lock ends with this function.
    let lock = File::create(cache.join(format!("{name}.lock"))).map_err(cannot)?;
    lock.lock().map_err(cannot)?;
    let stamp = directory.join("packages.txt");
    let wanted = packages.join("\n");
    if is_stamped(&stamp, &wanted) {
        return Ok(directory);
    }
    say(&format!(
        "obtaining {} into {}",
        packages.join(", "),
        directory.display()
    ));
    fill(&directory)?;
    std::fs::write(&stamp, wanted).map_err(|error| format!("cannot write the stamp: {error}"))?;
    Ok(directory)
}

/// `$XDG_CACHE_HOME/onecall`, by default `~/.cache/onecall`.
fn cache() -> Result<PathBuf, String> {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    let base = variable("XDG_CACHE_HOME").map(PathBuf::from);
    let home = || variable("HOME").map(|home| PathBuf::from(home).join(".cache"));
    let base = base.filter(|base| base.is_absolute()).or_else(home);
    let base = base.ok_or("neither HOME nor XDG_CACHE_HOME names a directory for downloads")?;
    Ok(base.join("onecall"))
}

/// Runs a command. If it fails, the last line of its error output is the reason.
pub(crate) fn quietly(command: &mut Command, name: &str) -> Result<(), String> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("{name}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    let last = text
        .lines()
        .rev()
        .find(|line| !line.trim().is_empty())
        .unwrap_or("no output");
    Err(format!("{name}: {last}"))
}

/// The text of a file of at most so many bytes.
pub(crate) fn read(path: &Path, bytes_max: u64) -> std::io::Result<String> {
    let mut text = String::new();
    File::open(path)?
        .take(bytes_max)
        .read_to_string(&mut text)?;
    Ok(text)
}

/// Whether the directory was made for exactly these packages.
fn is_stamped(stamp: &Path, wanted: &str) -> bool {
    read(stamp, wanted.len() as u64 + 1).is_ok_and(|present| present == wanted)
}
