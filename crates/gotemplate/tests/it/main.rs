//! Tests of the crate from outside.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod analysis;
mod corpus;
mod generate;
mod hostile;
mod modes;
mod oracle;
mod property;
mod values;

use std::path::PathBuf;

/// The recorded cases with Go's answers.
fn corpus_text() -> String {
    let path =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/cases/gotemplate/corpus.jsonl");
    std::fs::read_to_string(path).unwrap()
}

/// The bytes of an answer, or its phase and error.
fn outcome(answer: &serde_json::Value) -> Result<Vec<u8>, (String, String)> {
    if let Some(error) = answer["error"].as_str() {
        return Err((
            answer["phase"].as_str().unwrap().to_owned(),
            error.to_owned(),
        ));
    }
    match answer["result_b64"].as_str() {
        Some(text) => Ok(decode_base64(text)),
        None => Ok(answer["result"].as_str().unwrap().as_bytes().to_vec()),
    }
}

fn decode_base64(text: &str) -> Vec<u8> {
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits: Vec<u32> = text
        .bytes()
        .filter(|&byte| byte != b'=')
        .map(|byte| {
            u32::try_from(alphabet.iter().position(|&known| known == byte).unwrap()).unwrap()
        })
        .collect();
    let mut out = Vec::new();
    for chunk in digits.chunks(4) {
        let group =
            chunk.iter().fold(0, |group, digit| group << 6 | digit) << (6 * (4 - chunk.len()));
        let bytes = u32::to_be_bytes(group);
        out.extend_from_slice(&bytes[1..chunk.len()]);
    }
    out
}
