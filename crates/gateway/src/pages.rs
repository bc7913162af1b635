//! Pages that a handshake backend wants visited before it does what it is asked (-32042). A handshake client that opens
//! pages knows the error; a modern one is asked in its own way, and its request is then made once more.

use crate::answer::Answer;
use crate::ask;
use crate::call::Caller;
use crate::passing::{Came, Sent};
use crate::server::Shared;
use indexmap::IndexMap;
use onecall_engine::event::AnswerAction;
use onecall_engine::failure::Code;
use onecall_mcp::{Era, Exact, RpcError, code, method, wanted_pages};
use onecall_runtime::calls::PageSink;
use onecall_runtime::result;
use rmcp::model::ServerNotification;
use serde_json::json;

/// What an error of a backend is to the client of its request.
pub(crate) fn wanted(error: RpcError, caller: &Caller) -> Result<Came, RpcError> {
    if error.code != code::URL_ELICITATION {
        return Err(error);
    }
    if !caller.takes.pages {
        let text = format!(
            "the backend wants a page visited first, which the client cannot open: {}",
            error.message
        );
        let data = json!({ "requiredCapabilities": { "elicitation": { "url": {} } } });
        return Err(RpcError::new(code::MISSING_CAPABILITY, text).with_data(data));
    }
    if caller.era == Era::Legacy {
        return Err(error);
    }
    let requests = wanted_pages(&error);
    if requests.is_empty() {
        let text = format!(
            "the backend wants pages visited and does not say which: {}",
            error.message
        );
        return Err(RpcError::new(code::INTERNAL, text));
    }
    Ok(Came::Pages(requests))
}

/// What a request comes to whose pages were not accepted. A page without an answer is asked for again by the backend.
pub(crate) fn refused(
    responses: Option<IndexMap<String, Exact>>,
    sent: &Sent<'_>,
) -> Result<Option<Answer>, RpcError> {
    for (key, answer) in responses.into_iter().flatten() {
        let (code, text) = match ask::read_answer(key, 0, answer.value())?.action {
            AnswerAction::Accept => continue,
            AnswerAction::Decline => (
                Code::DeclinedQuestion,
                "the person declined to visit the page that the tool wants",
            ),
            AnswerAction::Cancel | AnswerAction::Timeout | AnswerAction::Invalid => (
                Code::CancelledQuestion,
                "the page that the tool wants was not visited",
            ),
        };
        return match sent {
            Sent::Call(_) => Ok(Some(Answer::Ours(result::refused(code, text, false)))),
            Sent::Offer { .. } => Err(RpcError::new(code::INTERNAL, text)),
        };
    }
    Ok(None)
}

/// Tells a handshake client that a page it was sent to is done with; the modern era has no such message.
pub(crate) fn told(shared: &Shared, caller: &Caller) -> Option<PageSink> {
    let opens_pages = caller.era == Era::Legacy && caller.takes.pages;
    let peer = caller.peer.clone().filter(|_| opens_pages)?;
    let unread = shared.unread.clone();
    Some(PageSink::new(move |params| {
        let message = unread.notification(method::ELICITATION_COMPLETE, params.text());
        let peer = peer.clone();
        tokio::spawn(async move {
            // A client that has gone is told nothing.
            let _ = peer
                .send_notification(ServerNotification::CustomNotification(message))
                .await;
        });
    }))
}
