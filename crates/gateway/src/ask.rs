//! Asking a person through the client that called: elicitation in a session, `input_required` in the modern era.
//! Where neither can be used, the call answers with a handle that says how else to answer.

use crate::auth::Principal;
use crate::call::Caller;
use crate::follow::Terms;
use crate::limits::CLIENT_NAME_CHARS_MAX;
use crate::seal::{self, Purpose, RequestState, Sealer};
use crate::server::Shared;
use crate::unread::Unread;
use onecall_engine::event::AnswerAction;
use onecall_engine::identity::RunId;
use onecall_mcp::{Era, RpcError, check_form, field, method};
use onecall_runtime::questions::{AnswerError, Given};
use onecall_runtime::runs::Asked;
use rmcp::model::{
    CancelledNotification, CancelledNotificationParam, ClientCapabilities, CustomRequest,
    RequestId, ServerNotification, ServerRequest,
};
use rmcp::service::{
    OriginatingRequestId, PeerRequestOptions, RequestHandle, RoleServer, ServiceError,
};
use serde_json::{Map, Value, json};

/// Whether the client can show a form.
pub(crate) fn shows_forms(capabilities: Option<&ClientCapabilities>) -> bool {
    let elicitation = capabilities.and_then(|capabilities| capabilities.elicitation.as_ref());
    // An empty object means forms only.
    elicitation.is_some_and(|modes| modes.form.is_some() || modes.url.is_none())
}

/// Whether the client can send its person to a page.
pub(crate) fn shows_pages(capabilities: Option<&ClientCapabilities>) -> bool {
    let elicitation = capabilities.and_then(|capabilities| capabilities.elicitation.as_ref());
    elicitation.is_some_and(|modes| modes.url.is_some())
}

/// What a modern client calls itself.
pub(crate) fn client_name(info: Option<&Value>) -> Option<String> {
    let text = |key: &str| info?.get(key)?.as_str();
    shown_name([text("title"), text("name")], text("version"))
}

/// The first name that is one, with its version, short enough to be shown.
pub(crate) fn shown_name(names: [Option<&str>; 2], version: Option<&str>) -> Option<String> {
    let is_text = |text: &&str| !text.is_empty();
    let name = names.into_iter().flatten().find(is_text)?;
    let name = match version.filter(is_text) {
        Some(version) => format!("{name} {version}"),
        None => name.to_owned(),
    };
    Some(name.chars().take(CLIENT_NAME_CHARS_MAX).collect())
}

/// Whether the client can put this question to its person.
pub(crate) fn can_be_put(question: &Asked, caller: &Caller) -> bool {
    if question.url.is_some() {
        return caller.takes.pages;
    }
    caller.takes.forms && fits_form(question)
}

/// Whether the protocol's forms can hold this question.
fn fits_form(question: &Asked) -> bool {
    question
        .schema
        .as_ref()
        .is_none_or(|schema| check_form(schema).is_empty())
}

/// The parameters of `elicitation/create`.
fn parameters(question: &Asked, era: Era) -> Value {
    if let Some(url) = &question.url {
        let mut page = json!({ "mode": "url", "message": question.put(), "url": url });
        if era == Era::Legacy {
            // 2025-11-25 wants one; nobody is told of the page's completion.
            let id = format!("{}-{}", question.step, question.round);
            page["elicitationId"] = Value::from(id);
        }
        return page;
    }
    let schema = match &question.schema {
        Some(schema) => Value::clone(schema),
        None => json!({ "type": "object", "properties": {} }),
    };
    let mut form = json!({ "message": question.put(), "requestedSchema": schema });
    if era == Era::Modern {
        form["mode"] = Value::from("form");
    }
    form
}

/// A question that a session was asked, on the stream of the call itself.
pub(crate) struct Elicited {
    asked: RequestHandle<RoleServer>,
    /// The call that it belongs to.
    origin: Option<RequestId>,
    step: String,
    round: u32,
    unread: Unread,
}

/// Asks in a session. `None`: the client cannot be reached.
pub(crate) async fn elicit(shared: &Shared, caller: &Caller, question: &Asked) -> Option<Elicited> {
    let request = CustomRequest::new(method::ELICIT, Some(parameters(question, Era::Legacy)));
    let request = ServerRequest::CustomRequest(request);
    let options = PeerRequestOptions::no_options();
    let asked = caller
        .peer
        .as_ref()?
        .send_cancellable_request(request, options)
        .await;
    Some(Elicited {
        asked: asked.inspect_err(unasked).ok()?,
        origin: caller.watch.request_id().cloned(),
        step: question.step.clone(),
        round: question.round,
        unread: shared.unread.clone(),
    })
}

fn unasked(error: &impl std::fmt::Display) {
    tracing::warn!(%error, "the client could not ask");
}

/// What a session made of a question.
pub(crate) enum Reply {
    Given(Given),
    /// It answered what no run can take, and why.
    Unfit(String),
    /// It did not answer.
    Silence,
}

impl Elicited {
    pub(crate) async fn answer(&mut self) -> Reply {
        let answer = (&mut self.asked.rx).await;
        let answer = answer.unwrap_or(Err(ServiceError::TransportClosed));
        let refused = |error: &ServiceError| match self.unread.refusal(error) {
            Some(refusal) => unasked(&refusal),
            None => unasked(error),
        };
        let answer = answer.inspect_err(refused).ok();
        let Some(answer) = answer.and_then(|answer| serde_json::to_value(answer).ok()) else {
            return Reply::Silence;
        };
        let answer = self.unread.answered(answer);
        if !answer.is_sound() {
            let reason = "it holds a number out of range, or half a character";
            return Reply::Unfit(reason.to_owned());
        }
        match read_answer(self.step.clone(), self.round, answer.value()) {
            Ok(given) => Reply::Given(given),
            Err(error) => Reply::Unfit(error.message),
        }
    }

    /// Tells the client that its person need not answer any more.
    pub(crate) async fn withdraw(self, reason: &str) {
        let asked = CancelledNotificationParam::new(Some(self.asked.id), Some(reason.to_owned()));
        let mut notification = CancelledNotification::new(asked);
        if let Some(origin) = self.origin {
            let origin = OriginatingRequestId(origin);
            notification.extensions.insert(origin);
        }
        let notification = ServerNotification::CancelledNotification(notification);
        // A client that has gone asks nobody.
        let _ = self.asked.peer.send_notification(notification).await;
    }
}

/// A question as modern clients take it.
pub(crate) fn request(question: &Asked) -> Value {
    let params = parameters(question, Era::Modern);
    json!({ "method": method::ELICIT, "params": params })
}

/// The `input_required` answer to a modern call.
pub(crate) fn input_required(
    shared: &Shared,
    run: &RunId,
    questions: &[&Asked],
    terms: &Terms,
    principal: &Principal,
) -> Value {
    let mut requests = Map::new();
    for question in questions {
        requests.insert(question.step.clone(), request(question));
    }
    let asked = questions
        .iter()
        .map(|question| (question.step.clone(), question.round))
        .collect();
    let otherwise = shared.runtime.question_timeout();
    let expires = questions.iter();
    let expires = expires
        .map(|question| seal::expiry_of(question, otherwise))
        .max();
    let state = RequestState {
        run: run.as_str().to_owned(),
        asked,
        principal: principal.name().map(str::to_owned),
        expires: expires.unwrap_or_else(seal::expiry),
        digest: terms.digest.clone(),
    };
    json!({
        "resultType": "input_required",
        field::INPUT_REQUESTS: requests,
        field::REQUEST_STATE: shared.sealer.seal(Purpose::RequestState, &state),
    })
}

/// Opens the state that a client carried back with its answers.
pub(crate) fn open_state(
    sealer: &Sealer,
    state: &Value,
    digest: &str,
    principal: &Principal,
) -> Result<RequestState, RpcError> {
    let refused = |reason: &str| Err(RpcError::invalid_params(format!("`requestState` {reason}")));
    let text = state.as_str().unwrap_or_default();
    let Some(opened) = sealer.unseal::<RequestState>(Purpose::RequestState, text) else {
        return refused("is not one this server gave");
    };
    if opened.expires < seal::now() {
        return refused("has expired");
    }
    if opened.principal.as_deref() != principal.name() {
        return refused("belongs to another caller");
    }
    if opened.digest != digest {
        return refused("belongs to another call");
    }
    Ok(opened)
}

/// The answers among the responses of a client. Missing ones are asked again; unknown keys are ignored.
pub(crate) fn answers(
    state: &RequestState,
    responses: Option<&Value>,
) -> Result<Vec<Given>, RpcError> {
    let empty = Map::new();
    let responses = match responses {
        None => &empty,
        Some(Value::Object(responses)) => responses,
        Some(_) => {
            return Err(RpcError::invalid_params(
                "`inputResponses` must be an object",
            ));
        }
    };
    let mut given = Vec::new();
    for (step, round) in &state.asked {
        if let Some(answer) = responses.get(step) {
            given.push(read_answer(step.clone(), *round, answer)?);
        }
    }
    Ok(given)
}

pub(crate) fn read_answer(step: String, round: u32, answer: &Value) -> Result<Given, RpcError> {
    let action = match answer.get("action").and_then(Value::as_str) {
        Some("accept") => AnswerAction::Accept,
        Some("decline") => AnswerAction::Decline,
        Some("cancel") => AnswerAction::Cancel,
        Some(_) | None => {
            let text = format!("the answer to `{step}` has no `action` accept, decline or cancel");
            return Err(RpcError::invalid_params(text));
        }
    };
    let content = match answer.get("content") {
        None | Some(Value::Null) => None,
        Some(content @ Value::Object(_)) => Some(content.clone()),
        Some(_) => {
            let text = format!("the `content` of the answer to `{step}` must be an object");
            return Err(RpcError::invalid_params(text));
        }
    };
    let content = content.filter(|_| action == AnswerAction::Accept);
    Ok(Given {
        step,
        round: Some(round),
        action,
        content,
    })
}

/// An answer that could not be taken, as an error of the protocol.
pub(crate) fn refused(error: &AnswerError) -> RpcError {
    match error {
        AnswerError::NotAsked { .. } | AnswerError::Otherwise { .. } => {
            RpcError::invalid_params(error.to_string())
        }
        AnswerError::Look(_) | AnswerError::Slow => {
            RpcError::new(onecall_mcp::code::INTERNAL, error.to_string())
        }
    }
}
