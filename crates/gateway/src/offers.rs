//! Resources, prompts and completion: the merged lists page by page, and requests passed on to the backend that has
//! the thing.

use crate::answer::Answer;
use crate::call::{Caller, interrupted};
use crate::passing::{Came, Carried, Sent, exchange};
use crate::server::{Shared, is_passed_on};
use crate::{large, page, pages};
use onecall_mcp::{CallAnswer, Era, Exact, Fields, RpcError, code, field, meta, method};
use onecall_runtime::calls::Passing;
use onecall_runtime::offers::{CallerId, OfferError, Requester};
use onecall_runtime::runtime::Runtime;
use serde_json::{Value, json};

/// Answers one of the methods named in [`is_offer`].
pub(crate) async fn answer(
    shared: &Shared,
    name: &str,
    params: Exact,
    caller: &Caller,
) -> Result<Answer, RpcError> {
    let (runtime, era) = (&shared.runtime, caller.era);
    if !runtime.shows_backends() && !has_own(name) {
        return Err(RpcError::method_not_found(name));
    }
    let key = match name {
        method::RESOURCES_LIST => "resources",
        method::RESOURCE_TEMPLATES_LIST => "resourceTemplates",
        method::PROMPTS_LIST => "prompts",
        method::COMPLETE => {
            let from = requester(shared, caller);
            let completing = runtime.complete(cleaned(&params, None), &from);
            return awaited(caller, completing).await.map(Answer::Fields);
        }
        method::RESOURCES_READ => {
            return match large::read(shared, params.value(), caller).await? {
                Some(own) => Ok(Answer::Fields(own)),
                None => passed(shared, name, &params, caller).await,
            };
        }
        _ => return passed(shared, name, &params, caller).await,
    };
    let entries = listed(runtime, name).await;
    shared.sessions.gave(name, &entries);
    page::of(entries.into_iter(), key, params.value(), era).map(Answer::Fields)
}

/// All entries of the list that this method asks for.
pub(crate) async fn listed(runtime: &Runtime, name: &str) -> Vec<Exact> {
    match name {
        method::RESOURCES_LIST => runtime.resources().await,
        method::PROMPTS_LIST => runtime.prompts().await,
        _ => {
            let mut templates = runtime.resource_templates().await;
            templates.extend(large::templates().map(Exact::from));
            templates
        }
    }
}

pub(crate) fn is_offer(name: &str) -> bool {
    matches!(
        name,
        method::RESOURCES_LIST
            | method::RESOURCE_TEMPLATES_LIST
            | method::RESOURCES_READ
            | method::PROMPTS_LIST
            | method::PROMPTS_GET
            | method::COMPLETE
    )
}

/// Methods that have something to say where no backend is shown: runs are resources of our own.
fn has_own(name: &str) -> bool {
    matches!(
        name,
        method::RESOURCES_LIST | method::RESOURCE_TEMPLATES_LIST | method::RESOURCES_READ
    )
}

/// `resources/read` and `prompts/get`, whose backend may ask something back.
async fn passed(
    shared: &Shared,
    name: &str,
    params: &Exact,
    caller: &Caller,
) -> Result<Answer, RpcError> {
    let (carried, params) = Carried::of(params);
    let sent = Sent::Offer { name, params };
    let mut answer = exchange(shared, caller, sent, carried).await?;
    if let Answer::Fields(result) = &mut answer
        && name == method::RESOURCES_READ
    {
        page::hint(result, 0, caller.era);
    }
    Ok(answer)
}

/// Reads the resource or gets the prompt once.
pub(crate) async fn send(
    shared: &Shared,
    name: &str,
    params: &Exact,
    caller: &Caller,
    passing: Passing,
) -> Result<Came, RpcError> {
    let params = cleaned(params, Some(passing));
    let from = requester(shared, caller);
    let answered = if name == method::PROMPTS_GET {
        awaited(caller, shared.runtime.get_prompt(params, &from)).await
    } else {
        awaited(caller, shared.runtime.read_resource(params, &from)).await
    };
    let result = answered.map_err(|error| not_found(name, error, caller.era))?;
    if result.string("resultType").as_deref() == Some("input_required") {
        return asked(&result);
    }
    Ok(Came::Done(Answer::Fields(result)))
}

/// What a backend answers while its caller waits. A request that nobody waits for is dropped, which cancels it there.
async fn awaited(
    caller: &Caller,
    answering: impl Future<Output = Result<Fields, OfferError>>,
) -> Result<Fields, RpcError> {
    tokio::select! {
        answered = answering => answered.map_err(|error| refused(error, caller.era)),
        interrupt = caller.watch.interrupted() => Err(interrupted(interrupt)),
    }
}

/// The caller as its backends know it: on its own connection and with its own rights, as with a tool.
fn requester(shared: &Shared, caller: &Caller) -> Requester {
    Requester {
        id: caller.client.as_deref().map(|id| CallerId(id.into())),
        token: caller.token.clone(),
        pages: pages::told(shared, caller),
    }
}

fn asked(result: &Fields) -> Result<Came, RpcError> {
    let answer = CallAnswer::from_raw(result.to_raw())
        .map_err(|fault| RpcError::new(code::INTERNAL, fault.to_string()))?;
    match answer {
        CallAnswer::InputRequired(asked) => Ok(Came::Asks(asked)),
        CallAnswer::Complete(_) | CallAnswer::Task(_) => {
            Ok(Came::Done(Answer::Fields(result.clone())))
        }
    }
}

/// The parameters for the backend: without what belongs to this connection alone, with what is passed on, and else as
/// the client wrote them.
fn cleaned(params: &Exact, passing: Option<Passing>) -> Exact {
    let given = params.field("_meta");
    let given = given.filter(|meta| meta.value().is_object());
    let mut meta = given.map(|meta| meta.fields()).unwrap_or_default();
    meta.retain(is_passed_on);
    let mut params = params.without("_meta");
    if let Some(passing) = passing {
        if let Some(capabilities) = passing.capabilities {
            meta.set(meta::CLIENT_CAPABILITIES, &capabilities);
        }
        if let Some(responses) = passing.input_responses {
            let responses = responses.iter();
            let responses = responses.map(|(key, own)| (key.as_str(), own.clone()));
            params = params.with(field::INPUT_RESPONSES, &Exact::object(responses));
        }
        if let Some(state) = passing.request_state {
            params = params.with(field::REQUEST_STATE, &Value::from(state).into());
        }
    }
    match Exact::from_raw(&meta.to_raw()) {
        Ok(meta) if meta.value() != &json!({}) => params.with("_meta", &meta),
        Ok(_) | Err(_) => params,
    }
}

/// A modern backend says that it has no such resource with the code of wrong parameters and the URI beside it; the
/// handshake revisions have a code of its own for that.
fn not_found(name: &str, mut error: RpcError, era: Era) -> RpcError {
    let names_it = error
        .data
        .as_ref()
        .is_some_and(|data| data.value()["uri"].is_string());
    let is_missing = error.code == code::INVALID_PARAMS && names_it;
    if is_missing && era == Era::Legacy && name == method::RESOURCES_READ {
        error.code = code::RESOURCE_NOT_FOUND;
    }
    error
}

pub(crate) fn refused(error: OfferError, era: Era) -> RpcError {
    let text = error.to_string();
    match error {
        OfferError::UnknownResource { uri } => {
            let code = match era {
                Era::Modern => code::INVALID_PARAMS,
                Era::Legacy => code::RESOURCE_NOT_FOUND,
            };
            RpcError::new(code, text).with_data(json!({ "uri": uri }))
        }
        OfferError::UnknownPrompt { .. }
        | OfferError::Missing(_)
        | OfferError::NoUpdates { .. } => RpcError::invalid_params(text),
        // The modern era gave up the code of its own for this.
        OfferError::Rpc(mut error) => {
            if era == Era::Modern && error.code == code::RESOURCE_NOT_FOUND {
                error.code = code::INVALID_PARAMS;
            }
            *error
        }
        OfferError::Failed { .. } => RpcError::new(code::INTERNAL, text),
    }
}
