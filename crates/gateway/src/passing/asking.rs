//! What a backend asks of the client whose request it answers: whether the client takes it, and how a handshake client
//! is asked in its session.

use crate::call::{Caller, interrupted};
use crate::server::Shared;
use indexmap::IndexMap;
use onecall_mcp::{Exact, InputRequired, RpcError, code, method};
use onecall_runtime::calls::Question;
use rmcp::model::ServerRequest;
use serde_json::{Value, json};

/// What a client must have declared to be asked so.
enum Needed {
    Form,
    Page,
    Other(&'static str),
}

impl Needed {
    /// `None` where no client can be asked so.
    fn of(name: &str, params: &Value) -> Option<Self> {
        match (name, &params["mode"]) {
            (method::ELICIT, Value::Null) => Some(Self::Form),
            (method::ELICIT, mode) => match mode.as_str()? {
                "form" => Some(Self::Form),
                "url" => Some(Self::Page),
                _ => None,
            },
            (method::SAMPLE, _) => Some(Self::Other("sampling")),
            (method::ROOTS_LIST, _) => Some(Self::Other("roots")),
            _ => None,
        }
    }

    fn is_declared(&self, caller: &Caller) -> bool {
        match self {
            Self::Form => caller.takes.forms,
            Self::Page => caller.takes.pages,
            Self::Other(name) => caller.capabilities.get(name).is_some(),
        }
    }

    /// Adds it to an object of capabilities.
    fn write(&self, capabilities: &mut Value) {
        match self {
            Self::Form => capabilities["elicitation"]["form"] = json!({}),
            Self::Page => capabilities["elicitation"]["url"] = json!({}),
            Self::Other(name) => capabilities[name] = json!({}),
        }
    }
}

/// A backend may ask only for what the client declared.
pub(super) fn may_ask(asked: &InputRequired, caller: &Caller) -> Result<(), RpcError> {
    let mut missing = Value::Null;
    for request in asked.requests.values() {
        let request = request.value();
        let name = request["method"].as_str().unwrap_or_default();
        let Some(needed) = Needed::of(name, &request["params"]) else {
            let text = "the backend asks for something that no client can give";
            return Err(RpcError::new(code::INTERNAL, text));
        };
        if !needed.is_declared(caller) {
            needed.write(&mut missing);
        }
    }
    if missing.is_null() {
        return Ok(());
    }
    let text = "the backend asks for something that the client does not offer";
    let data = json!({ "requiredCapabilities": missing });
    Err(RpcError::new(code::MISSING_CAPABILITY, text).with_data(data))
}

/// Whether the client of a call has said that it takes such a question.
pub(super) fn takes(caller: &Caller, question: &Question) -> bool {
    let needed = Needed::of(&question.method, question.params.value());
    needed.is_some_and(|needed| needed.is_declared(caller))
}

/// The parameters as handshake clients take them: an object, and for a page a name, which modern backends no longer give.
fn fitted(name: &str, params: Option<Exact>) -> Exact {
    let params = params.filter(|params| params.value().is_object());
    let params = params.unwrap_or_else(|| json!({}).into());
    let value = params.value();
    let is_page = name == method::ELICIT && value["mode"] == "url";
    if !is_page || !value["elicitationId"].is_null() {
        return params;
    }
    let id = format!("{:032x}", rand::random::<u128>());
    params.with("elicitationId", &Value::from(id).into())
}

/// Why a question has no answer.
enum Unanswered {
    /// The client answered with this error.
    Refused(RpcError),
    /// It could not be asked, or is asked no more.
    Unasked(RpcError),
}

/// Puts a question of a legacy backend to the handshake client of its call; without an answer it is refused.
pub(super) async fn put_live(shared: &Shared, caller: &Caller, question: Question) {
    let params = fitted(&question.method, Some(question.params));
    let answered = match put_one(shared, caller, &question.method, &params).await {
        Ok(answer) => Ok(answer),
        Err(Unanswered::Refused(error)) => Err(error),
        Err(Unanswered::Unasked(_)) => return,
    };
    let _ = question.reply.send(answered);
}

/// Puts a backend's questions to a handshake client, one after the other. A modern backend takes no errors as answers.
pub(super) async fn put(
    shared: &Shared,
    caller: &Caller,
    requests: &IndexMap<String, Exact>,
) -> Result<IndexMap<String, Exact>, RpcError> {
    let mut answers = IndexMap::new();
    for (key, request) in requests {
        let name = request.value()["method"].as_str().unwrap_or_default();
        let params = fitted(name, request.field("params"));
        let answer = put_one(shared, caller, name, &params).await;
        let answer = answer.map_err(|unanswered| match unanswered {
            Unanswered::Refused(error) => failed(&error),
            Unanswered::Unasked(error) => error,
        })?;
        answers.insert(key.clone(), answer);
    }
    Ok(answers)
}

async fn put_one(
    shared: &Shared,
    caller: &Caller,
    name: &str,
    params: &Exact,
) -> Result<Exact, Unanswered> {
    let Some(peer) = &caller.peer else {
        let error = RpcError::new(code::INTERNAL, "the client cannot be asked");
        return Err(Unanswered::Unasked(error));
    };
    let request = shared.unread.request(name, params);
    let asking = peer.send_request(ServerRequest::CustomRequest(request));
    let answer = tokio::select! {
        answer = asking => answer,
        interrupt = caller.watch.interrupted() => {
            return Err(Unanswered::Unasked(interrupted(interrupt)));
        }
    };
    let answer = answer.map_err(|error| match shared.unread.refusal(&error) {
        Some(refusal) => Unanswered::Refused(refusal),
        None => Unanswered::Unasked(failed(&error)),
    })?;
    let answer = serde_json::to_value(answer);
    let answer = answer.map_err(|error| Unanswered::Unasked(failed(&error)))?;
    Ok(shared.unread.answered(answer))
}

fn failed(error: &dyn std::fmt::Display) -> RpcError {
    let text = format!("the client did not answer: {error}");
    RpcError::new(code::INTERNAL, text)
}
