//! Trace context of a caller, carried on to backends: every call of ours is a span of its own in the caller's trace.
//! Nothing is recorded or exported here.

use crate::limits::TRACE_STATE_BYTES_MAX;
use onecall_mcp::meta;
use serde_json::{Map, Value};

/// The trace that a call belongs to; empty where the caller sent none.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trace {
    /// Version, trace id and flags of a well-formed `traceparent`.
    parent: Option<(String, String)>,
    beside: Vec<(&'static str, String)>,
}

impl Trace {
    /// Takes the context out of a request's metadata.
    pub(crate) fn take(meta: &mut Map<String, Value>) -> Self {
        let parent = meta.shift_remove(meta::TRACE_PARENT);
        let mut beside = Vec::new();
        for key in [meta::TRACE_STATE, meta::BAGGAGE] {
            if let Some(Value::String(text)) = meta.shift_remove(key)
                && text.len() <= TRACE_STATE_BYTES_MAX
            {
                beside.push((key, text));
            }
        }
        let parent = parent.as_ref().and_then(Value::as_str).and_then(read);
        if parent.is_none() {
            beside.retain(|(key, _)| *key == meta::BAGGAGE);
        }
        Self { parent, beside }
    }

    /// Writes a fresh span of the trace into the metadata of a call.
    pub(crate) fn write(&self, meta: &mut Map<String, Value>) {
        if let Some((trace, flags)) = &self.parent {
            let span: u64 = rand::random::<u64>().max(1);
            let text = format!("00-{trace}-{span:016x}-{flags}");
            meta.insert(meta::TRACE_PARENT.to_owned(), Value::from(text));
        }
        for (key, text) in &self.beside {
            meta.insert((*key).to_owned(), Value::from(text.as_str()));
        }
    }
}

/// Trace id and flags of `00-<32 hex>-<16 hex>-<2 hex>`; later versions may append fields.
fn read(text: &str) -> Option<(String, String)> {
    let mut parts = text.split('-');
    let (version, trace, span, flags) =
        (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let is_hex = |text: &str, length: usize| {
        let is_low = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        text.len() == length && text.bytes().all(is_low)
    };
    let is_zero = |text: &str| text.bytes().all(|byte| byte == b'0');
    let fits = is_hex(version, 2)
        && version != "ff"
        && (version != "00" || parts.next().is_none())
        && is_hex(trace, 32)
        && !is_zero(trace)
        && is_hex(span, 16)
        && !is_zero(span)
        && is_hex(flags, 2);
    fits.then(|| (trace.to_owned(), flags.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    fn carried(given: &Value) -> Map<String, Value> {
        let mut meta = given.as_object().unwrap().clone();
        let trace = Trace::take(&mut meta);
        let mut out = Map::new();
        trace.write(&mut out);
        out
    }

    #[test]
    fn a_call_is_a_new_span_of_the_same_trace() {
        let out = carried(&json!({ "traceparent": PARENT, "tracestate": "a=b", "baggage": "k=v" }));
        let parent = out["traceparent"].as_str().unwrap();
        assert!(
            parent.starts_with("00-0af7651916cd43dd8448eb211c80319c-"),
            "{parent}"
        );
        assert!(parent.ends_with("-01") && parent.len() == PARENT.len() && parent != PARENT);
        assert_eq!(
            (&out["tracestate"], &out["baggage"]),
            (&json!("a=b"), &json!("k=v"))
        );
    }

    #[test]
    fn what_is_malformed_is_not_passed_on() {
        let zero = "00-00000000000000000000000000000000-b7ad6b7169203331-01";
        for bad in [
            "",
            "x",
            zero,
            &PARENT.to_uppercase(),
            &format!("{PARENT}-00"),
        ] {
            let out =
                carried(&json!({ "traceparent": bad, "tracestate": "a=b", "baggage": "k=v" }));
            assert_eq!(Value::Object(out), json!({ "baggage": "k=v" }), "{bad}");
        }
        assert!(carried(&json!({ "traceparent": 7 })).is_empty());
    }
}
