//! Parameters of an outgoing request, written straight into its text: a call's arguments are
//! serialized once, and what every modern request carries is prepared once for a connection.

use onecall_mcp::field::{INPUT_RESPONSES, REQUEST_STATE};
use onecall_mcp::{Exact, Fields, Revision, TASKS_EXTENSION, meta, mirrored};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};

use crate::call::{Call, Takes};

/// What a modern request carries in `_meta`, for one connection.
#[derive(Debug)]
pub(crate) struct Stamp {
    revision: Revision,
    client_info: Box<RawValue>,
    /// By what the caller takes: nothing, forms, pages, both.
    capabilities: [Box<RawValue>; 4],
}

/// The parameters of one request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Params<'a> {
    body: Body<'a>,
    /// Of an opened connection: what the protocol wants in `_meta` is the stamp's to say, if there is one.
    is_opened: bool,
    stamp: Option<(&'a Stamp, Takes)>,
    /// Tasks are declared beside what the client declares whom the request is passed on for.
    declares_tasks: bool,
    progress_token: Option<i64>,
}

#[derive(Clone, Copy, Debug)]
enum Body<'a> {
    Call {
        call: &'a Call,
        arguments: &'a RawValue,
        is_task: bool,
    },
    Other(&'a Value),
    Passed(&'a Passed),
}

/// Parameters that came from somebody else, and go on as they were written.
#[derive(Debug)]
pub(crate) struct Passed {
    params: Exact,
    fields: Fields,
    meta: Fields,
}

impl Passed {
    pub(crate) fn new(params: Exact) -> Self {
        let mut fields = params.fields();
        let meta = fields.get("_meta");
        let meta = meta.and_then(|meta| Fields::read(meta.get(), "`_meta`").ok());
        fields.remove("_meta");
        Self {
            params,
            fields,
            meta: meta.unwrap_or_default(),
        }
    }
}

impl Stamp {
    pub(crate) fn new(revision: Revision, client_info: &Value) -> Self {
        let raw = |value: &Value| to_raw_value(value).expect("a JSON value is JSON");
        let capabilities = [(false, false), (true, false), (false, true), (true, true)];
        Self {
            revision,
            client_info: raw(client_info),
            capabilities: capabilities
                .map(|(forms, pages)| raw(&capabilities_of(Takes { forms, pages }, true))),
        }
    }

    fn capabilities(&self, takes: Takes) -> &RawValue {
        &self.capabilities[usize::from(takes.forms) + 2 * usize::from(takes.pages)]
    }
}

/// What we declare: who takes questions can be asked. Tasks are followed for every caller.
pub(crate) fn capabilities_of(takes: Takes, with_tasks: bool) -> Value {
    let mut capabilities = json!({});
    if takes.forms || takes.pages {
        let modes = [("form", takes.forms), ("url", takes.pages)];
        let modes = modes.into_iter().filter(|(_, is_taken)| *is_taken);
        let modes: Map<String, Value> = modes.map(|(mode, _)| (mode.into(), json!({}))).collect();
        capabilities["elicitation"] = Value::Object(modes);
    }
    if with_tasks {
        capabilities["extensions"] = json!({ TASKS_EXTENSION: {} });
    }
    capabilities
}

impl<'a> Params<'a> {
    /// Parameters that are complete as they stand.
    pub(crate) fn plain(params: &'a Value) -> Self {
        Self {
            body: Body::Other(params),
            is_opened: false,
            stamp: None,
            declares_tasks: false,
            progress_token: None,
        }
    }

    pub(crate) fn passed(passed: &'a Passed) -> Self {
        Self {
            body: Body::Passed(passed),
            declares_tasks: false,
            is_opened: false,
            stamp: None,
            progress_token: None,
        }
    }

    /// `is_task` asks a server of 2025-11-25 to make a task of the call.
    pub(crate) fn call(call: &'a Call, arguments: &'a RawValue, is_task: bool) -> Self {
        Self {
            body: Body::Call {
                call,
                arguments,
                is_task,
            },
            is_opened: false,
            stamp: None,
            declares_tasks: false,
            progress_token: None,
        }
    }

    /// For a tool that a modern server runs as a task only.
    pub(crate) fn declaring_tasks(self, declares_tasks: bool) -> Self {
        Self {
            declares_tasks,
            ..self
        }
    }

    /// For an opened connection; a handshake server is told nothing of the other era.
    pub(crate) fn stamped(self, stamp: Option<&'a Stamp>, takes: Takes) -> Self {
        Self {
            is_opened: true,
            stamp: stamp.map(|stamp| (stamp, takes)),
            ..self
        }
    }

    /// The request as text; `has_progress` asks for progress under the request's own id.
    pub(crate) fn text(self, id: i64, method: &str, has_progress: bool) -> String {
        let params = Self {
            progress_token: has_progress.then_some(id),
            ..self
        };
        onecall_mcp::request_text(id, method, &params)
    }

    /// What the header `Mcp-Name` repeats.
    pub(crate) fn mirrored(&self, method: &str) -> Option<&'a str> {
        match self.body {
            Body::Call { call, .. } => Some(&call.tool),
            Body::Other(params) => mirrored(method, params),
            Body::Passed(passed) => mirrored(method, passed.params.value()),
        }
    }

    fn meta(&self) -> Meta<'a> {
        let given = match self.body {
            Body::Call { call, .. } => Given::Values(Some(&call.meta)),
            Body::Other(params) => Given::Values(params.get("_meta").and_then(Value::as_object)),
            Body::Passed(passed) => Given::Texts(&passed.meta),
        };
        Meta {
            given,
            declares_tasks: self.declares_tasks,
            is_opened: self.is_opened,
            stamp: self.stamp,
            progress_token: self.progress_token,
        }
    }
}

impl Serialize for Params<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match self.body {
            Body::Call {
                call,
                arguments,
                is_task,
            } => {
                map.serialize_entry("name", &call.tool)?;
                map.serialize_entry("arguments", arguments)?;
                if let Some(answers) = &call.input_responses {
                    map.serialize_entry(INPUT_RESPONSES, answers)?;
                }
                if let Some(state) = &call.request_state {
                    map.serialize_entry(REQUEST_STATE, state)?;
                }
                if is_task {
                    map.serialize_entry("task", &json!({}))?;
                }
            }
            Body::Other(params) => {
                for (key, value) in params.as_object().into_iter().flatten() {
                    if key != "_meta" {
                        map.serialize_entry(key, value)?;
                    }
                }
            }
            Body::Passed(passed) => {
                for (key, value) in passed.fields.iter() {
                    map.serialize_entry(key, value)?;
                }
            }
        }
        let meta = self.meta();
        if !meta.is_empty() {
            map.serialize_entry("_meta", &meta)?;
        }
        map.end()
    }
}

/// `_meta`: what the caller gave, then what the protocol wants, which wins; but capabilities that are given are those
/// of the client whom the request is passed on for.
struct Meta<'a> {
    given: Given<'a>,
    declares_tasks: bool,
    is_opened: bool,
    stamp: Option<(&'a Stamp, Takes)>,
    progress_token: Option<i64>,
}

/// What the caller gave for `_meta`.
#[derive(Clone, Copy)]
enum Given<'a> {
    Values(Option<&'a Map<String, Value>>),
    Texts(&'a Fields),
}

impl<'a> Meta<'a> {
    fn is_empty(&self) -> bool {
        let is_theirs = |key: &str| !self.is_ours(key);
        self.stamp.is_none()
            && self.progress_token.is_none()
            && match self.given {
                Given::Values(given) => !given.into_iter().flatten().any(|(key, _)| is_theirs(key)),
                Given::Texts(given) => !given.iter().any(|(key, _)| is_theirs(key)),
            }
    }

    fn write_given<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        match self.given {
            Given::Values(given) => {
                for (key, value) in given.into_iter().flatten() {
                    if !self.is_ours(key) {
                        map.serialize_entry(key, value)?;
                    }
                }
            }
            Given::Texts(given) => {
                for (key, value) in given.iter() {
                    if !self.is_ours(key) {
                        map.serialize_entry(key, value)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Capabilities of the client whom the request is passed on for.
    fn write_capabilities<M: SerializeMap>(
        &self,
        map: &mut M,
        stamp: &'a Stamp,
        takes: Takes,
    ) -> Result<(), M::Error> {
        const KEY: &str = meta::CLIENT_CAPABILITIES;
        match self.given {
            Given::Values(Some(given)) if given.contains_key(KEY) => match &given[KEY] {
                Value::Object(declared) if self.declares_tasks => {
                    map.serialize_entry(KEY, &WithTasks(declared))
                }
                declared => map.serialize_entry(KEY, declared),
            },
            Given::Texts(given) if given.get(KEY).is_some() => {
                map.serialize_entry(KEY, &given.get(KEY))
            }
            Given::Values(_) | Given::Texts(_) => {
                map.serialize_entry(KEY, stamp.capabilities(takes))
            }
        }
    }

    fn is_ours(&self, key: &str) -> bool {
        (self.is_opened
            && matches!(
                key,
                meta::PROTOCOL_VERSION | meta::CLIENT_INFO | meta::CLIENT_CAPABILITIES
            ))
            || (self.progress_token.is_some() && key == meta::PROGRESS_TOKEN)
    }
}

impl Serialize for Meta<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        self.write_given(&mut map)?;
        if let Some((stamp, takes)) = self.stamp {
            map.serialize_entry(meta::PROTOCOL_VERSION, stamp.revision.as_str())?;
            map.serialize_entry(meta::CLIENT_INFO, &stamp.client_info)?;
            self.write_capabilities(&mut map, stamp, takes)?;
        }
        if let Some(token) = self.progress_token {
            map.serialize_entry(meta::PROGRESS_TOKEN, &token)?;
        }
        map.end()
    }
}

/// Capabilities of a client whose call is passed on, and tasks beside them: a task is followed here, and the client
/// gets its result.
struct WithTasks<'a>(&'a Map<String, Value>);

impl Serialize for WithTasks<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        const EXTENSIONS: &str = "extensions";
        let others = self.0.iter().filter(|(key, _)| *key != EXTENSIONS);
        let mut extensions = match self.0.get(EXTENSIONS) {
            Some(Value::Object(declared)) => declared.clone(),
            _ => Map::new(),
        };
        extensions
            .entry(TASKS_EXTENSION)
            .or_insert_with(|| json!({}));
        let mut map = serializer.serialize_map(None)?;
        for (key, value) in others {
            map.serialize_entry(key, value)?;
        }
        map.serialize_entry(EXTENSIONS, &extensions)?;
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Value {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn a_call_is_written_with_all_it_carries() {
        let mut call = Call::new("t", json!({})).with_key("k");
        call.meta
            .insert(meta::PROTOCOL_VERSION.to_owned(), json!("forged"));
        call.request_state = Some("s".to_owned());
        let arguments = to_raw_value(&json!({ "b": 1, "a": 2 })).unwrap();
        let stamp = Stamp::new(Revision::MODERN, &json!({ "name": "n" }));
        let takes = Takes {
            forms: false,
            pages: true,
        };
        let params = Params::call(&call, &arguments, false).stamped(Some(&stamp), takes);
        assert_eq!(params.mirrored("tools/call"), Some("t"));
        let text = params.text(7, "tools/call", true);
        assert!(text.contains(r#""arguments":{"b":1,"a":2}"#), "{text}");
        let message = read(&text);
        assert_eq!(message["params"]["requestState"], "s");
        let meta = &message["params"]["_meta"];
        assert_eq!(meta[meta::PROTOCOL_VERSION], "2026-07-28");
        assert_eq!(meta[meta::IDEMPOTENCY_KEY], "k");
        assert_eq!(meta[meta::PROGRESS_TOKEN], 7);
        let declared = &meta[meta::CLIENT_CAPABILITIES];
        assert_eq!(declared["elicitation"], json!({ "url": {} }));
        assert_eq!(declared["extensions"], json!({ TASKS_EXTENSION: {} }));
    }

    #[test]
    fn tasks_are_declared_beside_what_the_client_declares() {
        let arguments = to_raw_value(&json!({})).unwrap();
        let stamp = Stamp::new(Revision::MODERN, &json!({ "name": "n" }));
        let own = json!({ TASKS_EXTENSION: { "own": 1 }, "x/y": {} });
        for (given, extensions) in [
            (json!({ "roots": {} }), json!({ TASKS_EXTENSION: {} })),
            (
                json!({ "roots": {}, "extensions": { "x/y": {} } }),
                json!({ "x/y": {}, TASKS_EXTENSION: {} }),
            ),
            (json!({ "roots": {}, "extensions": own }), own.clone()),
        ] {
            let mut call = Call::new("t", json!({}));
            let capabilities = meta::CLIENT_CAPABILITIES.to_owned();
            call.meta.insert(capabilities, given);
            let params = Params::call(&call, &arguments, false).stamped(Some(&stamp), Takes::ALL);
            let declared = |params: Params<'_>| {
                let mut message = read(&params.text(1, "tools/call", false));
                message["params"]["_meta"][meta::CLIENT_CAPABILITIES].take()
            };
            let as_given = &call.meta[meta::CLIENT_CAPABILITIES];
            assert_eq!(declared(params), *as_given);
            let declared = declared(params.declaring_tasks(true));
            let wanted = json!({ "roots": {}, "extensions": extensions });
            assert_eq!(declared, wanted);
        }
    }

    #[test]
    fn a_handshake_server_is_told_nothing_of_the_other_era() {
        let mut call = Call::new("t", json!({}));
        let capabilities = meta::CLIENT_CAPABILITIES.to_owned();
        call.meta.insert(capabilities, json!({}));
        let arguments = to_raw_value(&json!({})).unwrap();
        let text = |call: &Call| {
            let params = Params::call(call, &arguments, false).stamped(None, Takes::ALL);
            params.text(1, "tools/call", false)
        };
        let bare = json!({ "name": "t", "arguments": {} });
        assert_eq!(read(&text(&call))["params"], bare);
        call.meta.insert("own".to_owned(), json!(1));
        let meta = &read(&text(&call))["params"]["_meta"];
        assert_eq!(*meta, json!({ "own": 1 }));
    }

    #[test]
    fn what_is_passed_on_is_written_as_it_came() {
        let text = r#"{"_meta":{"own":1.10,"io.modelcontextprotocol/clientInfo":{},"b":1e400},"z":123456789012345678901234567890,"uri":"u"}"#;
        let raw = RawValue::from_string(text.to_owned()).unwrap();
        let passed = Passed::new(Exact::from_raw(&raw).unwrap());
        let params = Params::passed(&passed).stamped(None, Takes::default());
        assert_eq!(params.mirrored("resources/read"), Some("u"));
        let text = params.text(1, "resources/read", false);
        let kept = r#""z":123456789012345678901234567890,"uri":"u","_meta":{"own":1.10,"b":1e400}"#;
        assert!(text.contains(kept), "{text}");
    }

    #[test]
    fn nothing_is_added_where_nothing_is_wanted() {
        let plain = json!({ "cursor": "c" });
        let text = Params::plain(&plain).text(1, "tools/list", false);
        assert_eq!(read(&text)["params"], plain);
    }
}
