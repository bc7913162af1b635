//! A modern stdio server with the tools, prompts and resources that the protocol's conformance suite looks for.

use onecall_mcp::{
    Incoming, RequestId, RpcError, code, message_text, meta, method, notification, parse, response,
    response_error,
};
use serde_json::{Map, Value, json};
use std::io::{BufRead as _, StdoutLock, Write as _};
use std::time::Duration;

const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const SILENCE: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";

/// Serves until the input ends.
pub(crate) fn serve() -> Result<(), Box<dyn std::error::Error>> {
    let mut fixture = Fixture {
        output: std::io::stdout().lock(),
        listener: None,
        has_extra_tool: false,
        has_extra_prompt: false,
    };
    for line in std::io::stdin().lock().lines() {
        if let Ok(Incoming::Request { id, method, params }) = parse(line?.as_bytes()) {
            fixture.take(&id, &method, &params)?;
        }
    }
    Ok(())
}

struct Fixture {
    output: StdoutLock<'static>,
    /// The request on which changes are told.
    listener: Option<Value>,
    has_extra_tool: bool,
    has_extra_prompt: bool,
}

impl Fixture {
    fn take(&mut self, id: &RequestId, name: &str, params: &Value) -> std::io::Result<()> {
        if name == method::LISTEN {
            self.listener = Some(id.to_value());
            let accepted = json!({ "notifications": params["notifications"] });
            return self.tell(method::LISTEN_ACKNOWLEDGED, accepted);
        }
        let answer = match name {
            method::DISCOVER => Ok(discovered()),
            method::TOOLS_LIST => {
                Ok(json!({ "tools": self.tools(), "ttlMs": 0, "cacheScope": "private" }))
            }
            method::TOOLS_CALL => self.call(params)?,
            method::PROMPTS_LIST => Ok(json!({ "prompts": self.prompts() })),
            method::PROMPTS_GET => prompt(params),
            method::RESOURCES_LIST => Ok(json!({ "resources": resources() })),
            method::RESOURCE_TEMPLATES_LIST => Ok(json!({ "resourceTemplates": [{
                "uriTemplate": "test://template/{id}/data", "name": "template", "mimeType": "application/json" }] })),
            method::RESOURCES_READ => resource(params),
            method::COMPLETE => Ok(json!({ "completion": {
                "values": ["paris", "park", "party"], "total": 3, "hasMore": false } })),
            other => Err(RpcError::method_not_found(other)),
        };
        let message = match answer {
            Ok(mut result) => {
                if result.get("resultType").is_none() {
                    result["resultType"] = json!("complete");
                }
                response(id, &result)
            }
            Err(error) => response_error(Some(id), &error),
        };
        self.write(&message)
    }

    fn write(&mut self, message: &Value) -> std::io::Result<()> {
        self.output.write_all(message_text(message).as_bytes())?;
        self.output.flush()
    }

    /// Tells the listener, if there is one.
    fn tell(&mut self, name: &str, mut params: Value) -> std::io::Result<()> {
        let Some(id) = &self.listener else {
            return Ok(());
        };
        params["_meta"] = json!({ meta::SUBSCRIPTION_ID: id });
        self.write(&notification(name, &params))
    }

    fn tools(&self) -> Vec<Value> {
        let free = json!({ "type": "object" });
        let tool = |name: &str| json!({ "name": name, "description": "Conformance.", "inputSchema": free });
        let mut tools: Vec<Value> = TOOLS.into_iter().map(tool).collect();
        tools.push(schema_tool());
        tools.push(
            json!({ "name": "test_header", "description": "Conformance.", "inputSchema": {
            "type": "object", "required": ["region"], "properties": {
                "region": { "type": "string", "x-mcp-header": "Region" } } } }),
        );
        if self.has_extra_tool {
            tools.push(tool("test_extra"));
        }
        tools
    }

    fn prompts(&self) -> Vec<Value> {
        let argument = |name: &str| json!({ "name": name, "required": true });
        let mut prompts = vec![
            json!({ "name": "test_simple_prompt", "description": "Conformance." }),
            json!({ "name": "test_prompt_with_arguments", "description": "Conformance.",
                "arguments": [argument("arg1"), argument("arg2")] }),
            json!({ "name": "test_prompt_with_embedded_resource", "description": "Conformance.",
                "arguments": [argument("resourceUri")] }),
            json!({ "name": "test_prompt_with_image", "description": "Conformance." }),
            json!({ "name": "test_input_required_result_prompt", "description": "Conformance." }),
        ];
        if self.has_extra_prompt {
            prompts.push(json!({ "name": "test_extra_prompt", "description": "Conformance." }));
        }
        prompts
    }

    fn call(&mut self, params: &Value) -> std::io::Result<Result<Value, RpcError>> {
        let tool = params["name"].as_str().unwrap_or_default();
        match tool {
            "test_tool_with_progress" => {
                let token = params["_meta"]["progressToken"].clone();
                for progress in [0, 50, 100] {
                    if !token.is_null() {
                        let params =
                            json!({ "progressToken": token, "progress": progress, "total": 100 });
                        self.write(&notification(method::PROGRESS, &params))?;
                    }
                    std::thread::sleep(Duration::from_millis(50));
                }
            }
            "test_trigger_tool_change" => {
                self.has_extra_tool = !self.has_extra_tool;
                self.tell(method::TOOLS_CHANGED, json!({}))?;
            }
            "test_trigger_prompt_change" => {
                self.has_extra_prompt = !self.has_extra_prompt;
                self.tell(method::PROMPTS_CHANGED, json!({}))?;
            }
            "sleep" => {
                let seconds = params["arguments"]["seconds"].as_f64().unwrap_or(0.0);
                // The suite cancels a sleep of a minute; this program does one thing at a time.
                let seconds = seconds.clamp(0.0, 3.0);
                std::thread::sleep(Duration::from_secs_f64(seconds));
            }
            "fail_after" => std::thread::sleep(Duration::from_secs(1)),
            _ => {}
        }
        Ok(asks(tool, params).unwrap_or_else(|| Ok(result(tool, params))))
    }
}

const TOOLS: [&str; 19] = [
    "test_simple_text",
    "test_image_content",
    "test_audio_content",
    "test_embedded_resource",
    "test_multiple_content_types",
    "test_error_handling",
    "test_tool_with_progress",
    "test_sampling",
    "test_missing_capability",
    "test_trigger_tool_change",
    "test_trigger_prompt_change",
    "test_input_required_result_sampling",
    "test_input_required_result_list_roots",
    "test_input_required_result_multiple_inputs",
    "test_input_required_result_capabilities",
    "sleep",
    "fail_after",
    "greet",
    "test_reconnection",
];

fn discovered() -> Value {
    json!({
        "supportedVersions": ["2026-07-28"],
        "capabilities": { "tools": { "listChanged": true }, "prompts": { "listChanged": true },
            "resources": { "subscribe": true, "listChanged": true }, "completions": {} },
        "ttlMs": 0, "cacheScope": "private",
        "_meta": { meta::SERVER_INFO: { "name": "fixture", "version": "1" } },
    })
}

/// A tool that keeps its schema as it is.
fn schema_tool() -> Value {
    json!({
        "name": "json_schema_2020_12_tool", "description": "Keeps its schema.",
        "inputSchema": {
            "$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
            "$defs": { "address": { "$anchor": "addressDef", "type": "object", "properties": {
                "street": { "type": "string" }, "city": { "type": "string" } } } },
            "properties": { "name": { "type": "string" }, "address": { "$ref": "#/$defs/address" },
                "contactMethod": { "type": "string", "enum": ["phone", "email"] },
                "phone": { "type": "string" }, "email": { "type": "string" } },
            "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
            "if": { "properties": { "contactMethod": { "const": "phone" } }, "required": ["contactMethod"] },
            "then": { "required": ["phone"] }, "else": { "required": ["email"] },
            "additionalProperties": false
        }
    })
}

fn result(tool: &str, params: &Value) -> Value {
    let name = params["arguments"]["name"].as_str();
    let words = match name.filter(|_| tool == "greet") {
        Some(name) => format!("Hello, {name}!"),
        None => "This is a simple text response for testing.".to_owned(),
    };
    let text = json!({ "type": "text", "text": words });
    let image = json!({ "type": "image", "data": PIXEL, "mimeType": "image/png" });
    let resource = |uri: &str| {
        json!({ "type": "resource", "resource": {
            "uri": uri, "mimeType": "text/plain", "text": "An embedded resource." } })
    };
    let content = match tool {
        "test_image_content" => json!([image]),
        "test_audio_content" => {
            json!([{ "type": "audio", "data": SILENCE, "mimeType": "audio/wav" }])
        }
        "test_embedded_resource" => json!([resource("test://embedded-resource")]),
        "test_multiple_content_types" => {
            json!([text, image, resource("test://mixed-content-resource")])
        }
        _ => json!([text]),
    };
    let is_error = matches!(tool, "test_error_handling" | "fail_after");
    json!({ "content": content, "isError": is_error })
}

/// What a tool asks before it goes on; `None` where it asks nothing.
fn asks(tool: &str, params: &Value) -> Option<Result<Value, RpcError>> {
    let prompt = |text: &str| {
        json!({ "method": method::SAMPLE, "params": { "maxTokens": 100, "messages": [
            { "role": "user", "content": { "type": "text", "text": text } }] } })
    };
    let name = json!({ "method": method::ELICIT, "params": { "mode": "form", "message": "What is your name?",
        "requestedSchema": { "type": "object", "required": ["name"],
            "properties": { "name": { "type": "string" } } } } });
    let roots = json!({ "method": method::ROOTS_LIST, "params": {} });
    let capabilities = &params["_meta"][meta::CLIENT_CAPABILITIES];
    let requests = match tool {
        "test_sampling" => {
            let text = params["arguments"]["prompt"].as_str().unwrap_or_default();
            json!({ "answer": prompt(text) })
        }
        "test_missing_capability" if capabilities.get("sampling").is_none() => {
            let data = json!({ "requiredCapabilities": { "sampling": {} } });
            let error = RpcError::new(code::MISSING_CAPABILITY, "sampling is needed");
            return Some(Err(error.with_data(data)));
        }
        "test_input_required_result_sampling" => {
            json!({ "capital_question": prompt("What is the capital of France?") })
        }
        "test_input_required_result_list_roots" => json!({ "client_roots": roots }),
        "test_input_required_result_multiple_inputs" => {
            json!({ "user_name": name, "greeting": prompt("Generate a greeting"), "client_roots": roots })
        }
        "test_input_required_result_capabilities" => {
            let mut asked = Map::new();
            if capabilities.get("elicitation").is_some() {
                asked.insert("user_name".to_owned(), name);
            }
            if capabilities.get("sampling").is_some() {
                asked.insert("greeting".to_owned(), prompt("Generate a greeting"));
            }
            Value::Object(asked)
        }
        _ => return None,
    };
    Some(Ok(round(&requests, params)))
}

/// Asks until every question has its answer, which the result then tells.
fn round(requests: &Value, params: &Value) -> Value {
    let empty = Map::new();
    let requests = requests.as_object().unwrap_or(&empty);
    let answers = &params["inputResponses"];
    if requests.keys().any(|key| answers.get(key).is_none()) {
        return json!({ "resultType": "input_required", "inputRequests": requests, "requestState": "fixture" });
    }
    json!({ "content": [{ "type": "text", "text": format!("answers: {answers}") }] })
}

fn prompt(params: &Value) -> Result<Value, RpcError> {
    let argument = |name: &str| {
        params["arguments"][name]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    let message = |content: Value| json!({ "role": "user", "content": content });
    let text = |text: String| message(json!({ "type": "text", "text": text }));
    let messages = match params["name"].as_str().unwrap_or_default() {
        "test_simple_prompt" | "test_extra_prompt" => {
            vec![text("This is a simple prompt for testing.".to_owned())]
        }
        "test_prompt_with_arguments" => vec![text(format!(
            "Prompt with arguments: arg1='{}', arg2='{}'",
            argument("arg1"),
            argument("arg2")
        ))],
        "test_prompt_with_embedded_resource" => vec![
            message(
                json!({ "type": "resource", "resource": { "uri": argument("resourceUri"),
                "mimeType": "text/plain", "text": "Embedded resource content for testing." } }),
            ),
            text("Please process the embedded resource above.".to_owned()),
        ],
        "test_prompt_with_image" => vec![
            message(json!({ "type": "image", "data": PIXEL, "mimeType": "image/png" })),
            text("Please analyze the image above.".to_owned()),
        ],
        "test_input_required_result_prompt" => {
            let asked = json!({ "user_context": { "method": method::ELICIT, "params": { "mode": "form",
                "message": "What context should the prompt use?", "requestedSchema": { "type": "object",
                    "required": ["context"], "properties": { "context": { "type": "string" } } } } } });
            let round = round(&asked, params);
            if round["resultType"] == "input_required" {
                return Ok(round);
            }
            vec![text(format!("context: {}", params["inputResponses"]))]
        }
        other => {
            return Err(RpcError::invalid_params(format!(
                "no prompt is named `{other}`"
            )));
        }
    };
    Ok(json!({ "messages": messages }))
}

fn resources() -> Value {
    json!([
        { "uri": "test://static-text", "name": "text", "mimeType": "text/plain" },
        { "uri": "test://static-binary", "name": "binary", "mimeType": "image/png" },
        { "uri": "test://watched-resource", "name": "watched", "mimeType": "text/plain" },
    ])
}

fn resource(params: &Value) -> Result<Value, RpcError> {
    let uri = params["uri"].as_str().unwrap_or_default();
    let id = uri
        .strip_prefix("test://template/")
        .and_then(|rest| rest.strip_suffix("/data"));
    let content = match (uri, id) {
        ("test://static-binary", _) => {
            json!({ "uri": uri, "mimeType": "image/png", "blob": PIXEL })
        }
        ("test://static-text" | "test://watched-resource", _) => {
            json!({ "uri": uri, "mimeType": "text/plain", "text": "This is the content of the static text resource." })
        }
        (_, Some(id)) => {
            let data =
                json!({ "id": id, "templateTest": true, "data": format!("Data for ID: {id}") });
            json!({ "uri": uri, "mimeType": "application/json", "text": data.to_string() })
        }
        (_, None) => {
            let error = RpcError::invalid_params("there is no such resource");
            return Err(error.with_data(json!({ "uri": uri })));
        }
    };
    Ok(json!({ "contents": [content] }))
}
