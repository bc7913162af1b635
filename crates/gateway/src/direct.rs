//! Modern requests whose client hears nothing but the answer: they are answered in place, without the tasks and
//! channels in which `rmcp` serves a request. A request that is odd in any way is left to `rmcp`, which refuses it
//! in the words of the protocol.

use crate::answer::{Answer, ServerInfo};
use crate::auth::Principal;
use crate::call::{Asked, Caller, requested};
use crate::heads::Heads;
use crate::interrupt::{Closing, Watch};
use crate::known::Declared;
use crate::mirrors::{check_repeated, repeats};
use crate::passing::{self, Carried};
use crate::raw::Content;
use crate::server::{self, Shared, is_passed_on};
use crate::told::Told;
use http::request::Parts;
use http::{Extensions, HeaderMap, StatusCode};
use onecall_mcp::{Era, RequestId, Revision, RpcError, ToolCall, code, meta, method, mirrored};
use onecall_runtime::calls::CallerToken;
use onecall_runtime::publish::Target;
use serde_json::Value;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Room for what stands around a result, and an id of usual length.
const ENVELOPE_BYTES: usize = 64;

/// A request that can be answered in place.
pub(crate) struct Direct {
    id: RequestId,
    wants: Wants,
    caller: Caller,
    /// Cancelled when nobody waits for the answer any more.
    gone: CancellationToken,
}

/// What was read of such a request.
struct Taken<'a> {
    id: RequestId,
    wants: Wants,
    declared: &'a Declared,
    /// Trace context that came in headers.
    trace: Vec<(&'static str, String)>,
    /// Who was found out to call.
    extensions: Option<&'a Extensions>,
}

/// What came around the text of a call.
pub(crate) struct Around<'a> {
    pub(crate) heads: Heads<'a>,
    /// All headers, and what was found out about their sender, where the router has read them.
    pub(crate) parts: Option<&'a Parts>,
}

impl<'a> Around<'a> {
    /// `None` where the headers are not those of a usual call.
    pub(crate) fn of(parts: &'a Parts) -> Option<Self> {
        let heads = Heads::read(&parts.headers).filter(Heads::is_plain)?;
        Some(Self {
            heads,
            parts: Some(parts),
        })
    }

    fn headers(&self) -> Option<&'a HeaderMap> {
        self.parts.map(|parts| &parts.headers)
    }
}

enum Wants {
    /// A call that was read already.
    Call(Asked),
    Other(Box<Content>),
}

impl Direct {
    /// Takes the usual call of a modern client without reading more than the envelope. `None` for everything else,
    /// and for whatever is to be refused.
    pub(crate) fn usual(shared: &Shared, around: &Around<'_>, text: &[u8]) -> Option<Box<Self>> {
        let call = ToolCall::read(text)?;
        let declared = shared.known.read(call.client)?;
        if !around.heads.are_of(method::TOOLS_CALL, &call.name) {
            return None;
        }
        match around.headers() {
            Some(headers) => check_repeated(shared, headers, &call.name, call.arguments).ok()?,
            None if repeats(shared, &call.name) => return None,
            None => {}
        }
        let mut meta = call.meta;
        meta.retain(|key, _| is_passed_on(key));
        let asked = Asked {
            request: requested(&call.name, call.arguments, meta).ok()?,
            carried: Carried::NOTHING,
        };
        let usual = Taken {
            id: call.id,
            wants: Wants::Call(asked),
            declared: &declared,
            trace: around.heads.trace(),
            extensions: around.parts.map(|parts| &parts.extensions),
        };
        Some(Self::new(shared, usual))
    }

    /// Takes a request for itself if all that the protocol wants of it is there; else gives it back.
    pub(crate) fn take(
        shared: &Shared,
        parts: &Parts,
        id: RequestId,
        content: Box<Content>,
    ) -> Result<Box<Self>, (RequestId, Box<Content>)> {
        let heads = Heads::read(&parts.headers).filter(Heads::is_plain);
        let declared = heads.and_then(|heads| Some((declared(&content)?, heads)));
        match declared {
            Some((declared, heads)) => {
                let other = Taken {
                    id,
                    wants: Wants::Other(content),
                    declared: &declared,
                    trace: heads.trace(),
                    extensions: Some(&parts.extensions),
                };
                Ok(Self::new(shared, other))
            }
            None => Err((id, content)),
        }
    }

    fn new(shared: &Shared, taken: Taken<'_>) -> Box<Self> {
        let Taken {
            id,
            wants,
            declared,
            trace,
            extensions,
        } = taken;
        let gone = CancellationToken::new();
        let principal = extensions.map(Principal::of).unwrap_or_default();
        let token = extensions.and_then(|own| own.get::<CallerToken>().cloned());
        let caller = Caller {
            era: Era::Modern,
            client: principal.name().map(str::to_owned),
            client_name: declared.name.clone(),
            principal,
            token,
            trace,
            progress: None,
            peer: None,
            watch: Watch {
                notified: None,
                request: gone.clone(),
                closing: Closing::Cancels,
                stop: shared.stop.clone(),
                leaving: shared.leaving.clone(),
            },
            takes: declared.takes,
            capabilities: declared.capabilities.clone(),
            takes_tasks: declared.takes_tasks,
            takes_links: true,
            log_level: None,
        };
        Box::new(Self {
            id,
            wants,
            caller,
            gone,
        })
    }

    pub(crate) fn id(&self) -> &RequestId {
        &self.id
    }

    /// What goes on to a backend is waited for in place. The rest is large, and would be moved with every call.
    pub(crate) async fn answer(self: Box<Self>, shared: &Arc<Shared>) -> Told {
        let Self {
            id,
            wants,
            caller,
            gone,
        } = *self;
        let _gone = gone.drop_guard();
        let tool = wants.tool().map(str::to_owned);
        let answer = match wants {
            Wants::Call(asked) if is_passed_through(shared, &asked.request.tool) => {
                called(shared, asked, &caller).await
            }
            wants => Box::pin(answered(shared, wants, caller)).await,
        };
        match answer {
            Ok(answer) => success(&id, answer, &shared.server_info),
            Err(error) => {
                let is_unknown = tool.is_some_and(|tool| passing::is_unknown(shared, &tool));
                let status = if is_unknown {
                    StatusCode::BAD_REQUEST
                } else {
                    status_of(&error)
                };
                Told::refusal(status, Some(&id), &error)
            }
        }
    }
}

impl Wants {
    /// The tool that is called, if one is.
    fn tool(&self) -> Option<&str> {
        match self {
            Self::Call(asked) => Some(&asked.request.tool),
            Self::Other(content) if content.method == method::TOOLS_CALL => {
                mirrored(&content.method, &content.params)
            }
            Self::Other(_) => None,
        }
    }
}

async fn called(shared: &Shared, asked: Asked, caller: &Caller) -> Result<Answer, RpcError> {
    let _answering = shared.answering.token();
    server::called(shared, Ok(asked), caller).await
}

async fn answered(shared: &Arc<Shared>, wants: Wants, caller: Caller) -> Result<Answer, RpcError> {
    if let Wants::Other(content) = &wants
        && content.method == method::TOOLS_CALL
        && mirrored(&content.method, &content.params)
            .is_some_and(|tool| is_passed_through(shared, tool))
    {
        return answer_of(shared, wants, &caller).await;
    }
    // A run is started and, when its client goes, cancelled by somebody who outlives the connection.
    let shared = Arc::clone(shared);
    let answering = async move { answer_of(&shared, wants, &caller).await };
    let done = tokio::spawn(answering).await;
    done.unwrap_or_else(|_| Err(RpcError::new(code::INTERNAL, "a fault of ours")))
}

async fn answer_of(shared: &Shared, wants: Wants, caller: &Caller) -> Result<Answer, RpcError> {
    match wants {
        Wants::Call(asked) => called(shared, asked, caller).await,
        Wants::Other(content) => server::answered(shared, *content, caller).await,
    }
}

/// What the client declared, if the request is as it should be and wants nothing but its answer.
fn declared(content: &Content) -> Option<Declared> {
    let of = |key| meta::get(&content.params, key);
    let version = of(meta::PROTOCOL_VERSION).and_then(Value::as_str);
    if version != Some(Revision::MODERN.as_str()) {
        return None;
    }
    let hears_more = of(meta::PROGRESS_TOKEN).is_some() || of(meta::LOG_LEVEL).is_some();
    if hears_more || content.method == method::SET_LEVEL {
        return None;
    }
    Declared::read(of(meta::CLIENT_INFO), of(meta::CLIENT_CAPABILITIES)?)
}

/// A call that goes on to a backend ends with the connection that made it.
fn is_passed_through(shared: &Shared, tool: &str) -> bool {
    let published = shared.runtime.current();
    let tool = published.find(tool);
    tool.is_some_and(|tool| matches!(tool.target, Target::Backend { .. }))
}

fn success(id: &RequestId, answer: Answer, server: &ServerInfo) -> Told {
    match answer.fitted(Era::Modern, server) {
        Ok(result) => {
            let result = result.text();
            let mut text = String::with_capacity(result.len() + ENVELOPE_BYTES);
            text.push_str("{\"jsonrpc\":\"2.0\",\"id\":");
            text.push_str(&id.to_value().to_string());
            text.push_str(",\"result\":");
            text.push_str(&result);
            text.push('}');
            Told::success(text)
        }
        Err(error) => Told::refusal(StatusCode::OK, Some(id), &error),
    }
}

/// Statuses that the protocol gives to errors of its own; others are told in the body alone.
fn status_of(error: &RpcError) -> StatusCode {
    match error.code {
        code::METHOD_NOT_FOUND => StatusCode::NOT_FOUND,
        code::UNSUPPORTED_VERSION | code::MISSING_CAPABILITY | code::HEADER_MISMATCH => {
            StatusCode::BAD_REQUEST
        }
        _ => StatusCode::OK,
    }
}
