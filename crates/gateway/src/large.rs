//! Results too large to be handed over whole: the beginning of the output and a link to the run, which is a resource.
//! Also that resource as clients list and read it; what it holds is decided by `runtime`.

use crate::call::Caller;
use crate::heads::JSON;
use crate::limits::PREVIEW_BYTES_MAX;
use crate::page;
use crate::server::Shared;
use onecall_engine::identity::RunId;
use onecall_mcp::{Fields, RpcError, code, meta};
use onecall_runtime::documents::{run_uri, step_uri};
use onecall_runtime::result::document;
use onecall_runtime::runs::Standing;
use serde_json::{Value, json};

/// The result of a run that has ended, as its caller gets it. It is whole where it is small, where nothing else holds
/// it, and where the client's revision has no links.
pub(crate) async fn result(
    shared: &Shared,
    standing: &Standing,
    declares_output: bool,
    caller: &Caller,
) -> Option<Value> {
    let result = standing.result.as_deref()?;
    let document = document(result);
    if document.len() <= shared.shown_bytes_max || !caller.takes_links {
        return Some(result.clone());
    }
    match shared.runtime.is_stored(&standing.run).await {
        Ok(true) => {
            let large = Large {
                document: &document,
                beginning_bytes: PREVIEW_BYTES_MAX.min(shared.shown_bytes_max),
            };
            Some(large.shortened(result, &standing.run, declares_output))
        }
        Ok(false) => Some(result.clone()),
        Err(error) => {
            tracing::warn!(run = %standing.run, %error, "cannot link to the run");
            Some(result.clone())
        }
    }
}

/// What is too large, and how much of its beginning is shown.
struct Large<'a> {
    document: &'a str,
    beginning_bytes: usize,
}

impl Large<'_> {
    fn shortened(&self, result: &Value, run: &RunId, declares_output: bool) -> Value {
        let uri = run_uri(run.as_str());
        let link = json!({
            "type": "resource_link", "uri": uri, "name": run.as_str(), "title": "The whole result of the run",
            "mimeType": JSON, "size": self.document.len(),
        });
        let beside = result["content"].as_array().into_iter().flatten().skip(1);
        let mut meta = result["_meta"].clone();
        let Some(failure) = meta.get_mut(meta::ERROR) else {
            let mut content = vec![json!({ "type": "text", "text": self.preview(&uri) }), link];
            content.extend(beside.cloned());
            let mut short = json!({ "content": content, "_meta": meta });
            // Clients hold it against the schema.
            if declares_output {
                short["structuredContent"] = result["structuredContent"].clone();
            }
            return short;
        };
        if let Some(failure) = failure.as_object_mut() {
            failure.shift_remove("partial");
        }
        let mut short = json!({ "content": [result["content"][0], link], "isError": true });
        if result.get("structuredContent").is_some() {
            short["structuredContent"] = failure.clone();
        }
        short["_meta"] = meta;
        short
    }

    fn preview(&self, uri: &str) -> String {
        let document = self.document;
        let beginning = &document[..document.floor_char_boundary(self.beginning_bytes)];
        format!(
            "The output is {} bytes of JSON, too large to be shown whole; read the resource {uri} for all of it. \
         Its first {} bytes:\n{beginning}",
            document.len(),
            beginning.len(),
        )
    }
}

/// The templates of our own resources.
pub(crate) fn templates() -> [Value; 2] {
    [
        json!({
            "uriTemplate": run_uri("{run_id}"), "name": "run", "title": "Result of a workflow run",
            "description": "The whole output of a workflow run that has ended, or its failure.",
            "mimeType": JSON,
        }),
        json!({
            "uriTemplate": step_uri("{run_id}", "{step_id}"), "name": "run_step",
            "title": "Output of a step of a workflow run",
            "description": "The output of one step of a workflow run, or its failure.",
            "mimeType": JSON,
        }),
    ]
}

/// Answers `resources/read` for a run or a step of this caller; `None` leaves the URI to backends, so that a run of
/// somebody else is as unknown as one that never was.
pub(crate) async fn read(
    shared: &Shared,
    params: &Value,
    caller: &Caller,
) -> Result<Option<Fields>, RpcError> {
    let Some(uri) = params.get("uri").and_then(Value::as_str) else {
        return Ok(None);
    };
    let found = shared.runtime.document(uri, caller.principal.name()).await;
    let found = found.map_err(|error| RpcError::new(code::INTERNAL, error.to_string()))?;
    Ok(found.map(|text| {
        let contents = json!([{ "uri": uri, "mimeType": JSON, "text": text }]);
        let mut result = Fields::default();
        result.set("contents", &contents);
        page::hint(&mut result, 0, caller.era);
        result
    }))
}
