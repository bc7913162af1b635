//! The one stored form of a plan: JSON, versioned (`ir: 1`), with a content hash.
//! Journal, export and hash all use it. A reader of an old form is added here, beside a golden file.

use crate::plan::Plan;
use crate::workflow::Workflow;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The version this build writes.
pub const IR_VERSION: u64 = 1;

#[derive(Serialize)]
struct EnvelopeOut<'a> {
    ir: u64,
    plan: &'a Plan,
}

#[derive(Deserialize)]
struct Version {
    ir: u64,
}

#[derive(Deserialize)]
struct EnvelopeIn {
    plan: Plan,
}

#[derive(Debug, thiserror::Error)]
pub enum ReadPlanError {
    #[error("the stored plan has form {found}, and this version reads up to {IR_VERSION}")]
    TooNew { found: u64 },
    #[error("the stored plan cannot be read")]
    Malformed(#[source] serde_json::Error),
}

/// The stored form of a plan and its hash.
pub fn write_plan(plan: &Plan) -> (String, String) {
    let text = serde_json::to_string(&EnvelopeOut {
        ir: IR_VERSION,
        plan,
    })
    .expect("a plan holds string keys only");
    let hash = hash_text(&text);
    (text, hash)
}

pub fn read_plan(text: &str) -> Result<Plan, ReadPlanError> {
    let version: Version = serde_json::from_str(text).map_err(ReadPlanError::Malformed)?;
    if version.ir > IR_VERSION {
        return Err(ReadPlanError::TooNew { found: version.ir });
    }
    let envelope: EnvelopeIn = serde_json::from_str(text).map_err(ReadPlanError::Malformed)?;
    Ok(envelope.plan)
}

/// The content hash of a workflow: the same for the same meaning, wherever it was written.
pub fn workflow_hash(workflow: &Workflow) -> String {
    hash_text(&serde_json::to_string(workflow).expect("a workflow holds string keys only"))
}

/// The first 128 bits of the SHA-256 of a text, in hex.
pub fn hash_text(text: &str) -> String {
    const DIGITS: [char; 16] = [
        '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f',
    ];
    let digest = Sha256::digest(text.as_bytes());
    let mut hex = String::with_capacity(32);
    for byte in digest.iter().take(16) {
        hex.push(DIGITS[usize::from(byte >> 4)]);
        hex.push(DIGITS[usize::from(byte & 15)]);
    }
    hex
}
