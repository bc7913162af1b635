//! The ledger: one line for each executed call, written before the call is answered.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// Appends to a file that several processes may share: each line is one `write`.
#[derive(Debug)]
pub(crate) struct Ledger {
    file: Mutex<File>,
}

impl Ledger {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        Ok(Self {
            file: Mutex::new(file),
        })
    }

    pub(crate) fn record(
        &self,
        key: Option<&str>,
        tool: &str,
        arguments: &Value,
    ) -> io::Result<()> {
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let line = format!(
            "{} {} {tool} {}\n",
            since.as_millis(),
            key.unwrap_or("-"),
            hash(arguments)
        );
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.write_all(line.as_bytes())
    }
}

/// SHA-256 of the arguments as compact JSON with sorted keys, in hex.
fn hash(arguments: &Value) -> String {
    let mut sorted = arguments.clone();
    sorted.sort_all_objects();
    hex(&Sha256::digest(sorted.to_string()))
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
