//! What a refusal says: of its request, and beyond it, that the session is gone or that another server answers now.

use std::sync::Arc;

use http::{HeaderValue, Response, StatusCode, header};
use onecall_mcp::limits::MESSAGE_BYTES_MAX;
use onecall_mcp::{Era, Incoming, RpcError, code, method};
use serde_json::json;

use super::open::Discovered;
use super::pool::Streaming;
use super::{Ended, Shared, open, read_limited};
use crate::error::{ConnectError, OTHER_ERA, RequestError};
use crate::limits::HEALTH_PROBE_TIMEOUT;

/// What the refusal of a request says of the session that the request named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Said {
    /// The refusal is about the request.
    Nothing,
    /// It may be about the session: no error of a known kind.
    Perhaps,
    Gone,
}

impl Shared {
    /// What a request that was refused has come to. The server did not act on it.
    pub(super) async fn weighed(
        &self,
        status: StatusCode,
        refusal: RequestError,
        session: Option<Arc<str>>,
    ) -> Ended {
        if let Some(lost) = &session
            && self.has_lost(status, &refusal, lost).await
        {
            let lost = Arc::clone(lost);
            return Ended::SessionGone { lost, refusal };
        }
        if !self
            .is_other_era(status, &refusal, session.as_deref())
            .await
        {
            return Ended::Answered(Err(refusal));
        }
        // Whoever keeps this connection finds out what is spoken at the address now.
        self.close(OTHER_ERA);
        Ended::Answered(Err(RequestError::NotSent(OTHER_ERA.to_owned())))
    }

    /// Whether the server no longer knows a session. Servers say so with 404, as they should, or with 400; where it
    /// is not certain that they mean the session, they are asked in it.
    async fn has_lost(&self, status: StatusCode, refusal: &RequestError, session: &str) -> bool {
        match said(status, refusal) {
            Said::Gone => true,
            Said::Nothing => false,
            Said::Perhaps if self.session().as_deref() != Some(session) => true,
            Said::Perhaps => {
                let pinged = self.pinged(Some(session)).await;
                matches!(pinged, Some(Err(error)) if is_refused_at_all(&error))
            }
        }
    }

    /// What the server says to a ping in the way of this connection; `None` where it says nothing.
    async fn pinged(&self, session: Option<&str>) -> Option<Result<(), RequestError>> {
        let headers = self.in_session(self.prepared.clone(), session);
        let params = json!({});
        let asked = open::ask(&self.endpoint, headers, method::PING, &params);
        let answer = tokio::time::timeout(HEALTH_PROBE_TIMEOUT, asked).await;
        Some(answer.ok()?.map(drop))
    }

    /// Whether another server answers at the address. One that refuses the era itself says so. A modern server may
    /// miss parameters that a handshake has said, and a handshake server that is asked in the modern way refuses for
    /// many reasons: both are known by their answer to the probe.
    async fn is_other_era(
        &self,
        status: StatusCode,
        refusal: &RequestError,
        session: Option<&str>,
    ) -> bool {
        let code = refusal.rpc_code();
        match self.revision.era() {
            Era::Legacy if status != StatusCode::BAD_REQUEST => false,
            Era::Legacy => match code {
                Some(code::HEADER_MISMATCH | code::UNSUPPORTED_VERSION) => true,
                // A handshake server says so of wrong arguments, and goes on to take pings.
                Some(code::INVALID_PARAMS) => {
                    !matches!(self.pinged(session).await, None | Some(Ok(())))
                        && self.is_modern_now().await
                }
                Some(_) | None => false,
            },
            Era::Modern if code == Some(code::UNSUPPORTED_VERSION) => true,
            Era::Modern => {
                let may_be = matches!(status.as_u16(), 400 | 404 | 405)
                    && !matches!(refusal, RequestError::Rpc(error) if is_of_modern(error));
                may_be && self.is_legacy_now().await
            }
        }
    }

    async fn is_modern_now(&self) -> bool {
        let found = open::discover(&self.endpoint, &self.opening).await;
        matches!(found, Ok(Discovered::Modern(..)))
    }

    async fn is_legacy_now(&self) -> bool {
        match open::discover(&self.endpoint, &self.opening).await {
            Ok(found) => !matches!(found, Discovered::Modern(..)),
            Err(error) => matches!(error, ConnectError::NoCommonRevision),
        }
    }

    /// No new session could be opened, so the request stays unsent.
    pub(super) fn given_up(&self, error: RequestError) -> RequestError {
        let error = match error {
            RequestError::Denied(status) => RequestError::Denied(status),
            other => {
                let reason = other.into_reason();
                RequestError::NotSent(format!(
                    "its session is gone and it opens no other: {reason}"
                ))
            }
        };
        self.close(&error.clone().into_reason());
        error
    }
}

/// Whether a GET stream was refused because of its session.
pub(super) async fn is_of_session(response: Response<Streaming>) -> bool {
    let status = response.status();
    said(status, &refused(response).await) != Said::Nothing
}

fn said(status: StatusCode, refusal: &RequestError) -> Said {
    let names_session = |text: &str| text.to_ascii_lowercase().contains("session");
    match (status, refusal) {
        (StatusCode::NOT_FOUND, _) => Said::Gone,
        (StatusCode::BAD_REQUEST, RequestError::Rpc(error)) => {
            if names_session(&error.message) {
                Said::Gone
            } else if is_known(error.code) {
                Said::Nothing
            } else {
                Said::Perhaps
            }
        }
        (StatusCode::BAD_REQUEST, RequestError::NotSent(told)) if names_session(told) => Said::Gone,
        (StatusCode::BAD_REQUEST, RequestError::NotSent(_)) => Said::Perhaps,
        _ => Said::Nothing,
    }
}

/// Not even a ping is taken. A server that knows no pings has read the request at least.
fn is_refused_at_all(error: &RequestError) -> bool {
    match error {
        RequestError::NotSent(_) => true,
        RequestError::Rpc(error) => error.code != code::METHOD_NOT_FOUND,
        RequestError::Lost(_)
        | RequestError::Denied(_)
        | RequestError::Limit(_)
        | RequestError::TooDeep { .. }
        | RequestError::Malformed(_) => false,
    }
}

/// A code that has a meaning of its own, or one of an application.
fn is_known(code: i64) -> bool {
    let is_of_server = (-32_099..=-32_000).contains(&code);
    let is_of_protocol = matches!(
        code,
        code::RESOURCE_NOT_FOUND
            | code::HEADER_MISMATCH
            | code::MISSING_CAPABILITY
            | code::UNSUPPORTED_VERSION
            | code::URL_ELICITATION
    );
    !is_of_server || is_of_protocol
}

/// Only a modern server gives it, or it is about what was asked.
fn is_of_modern(error: &RpcError) -> bool {
    error.is_modern() || matches!(error.code, code::METHOD_NOT_FOUND | code::INVALID_PARAMS)
}

/// What a response that is no success says of its request.
pub(crate) async fn refused(response: Response<Streaming>) -> RequestError {
    let status = response.status();
    let location = response.headers().get(header::LOCATION).cloned();
    let bytes = match read_limited(response.into_body(), MESSAGE_BYTES_MAX).await {
        Ok(bytes) => bytes,
        Err(error) => return error,
    };
    match onecall_mcp::parse_of_server(&bytes) {
        Ok(Incoming::Response {
            outcome: Err(error),
            ..
        }) => RequestError::Rpc(error),
        _ => refusal(status, location.as_ref(), &bytes),
    }
}

/// What a status without a JSON-RPC error means for the request.
fn refusal(status: StatusCode, location: Option<&HeaderValue>, body: &[u8]) -> RequestError {
    let text = String::from_utf8_lossy(&body[..body.len().min(200)]);
    let text: String = text.chars().filter(|c| !c.is_control()).collect();
    let told = match text.trim() {
        "" => format!("HTTP status {status}"),
        text => format!("HTTP status {status}: {text}"),
    };
    match status.as_u16() {
        401 | 403 => RequestError::Denied(status.as_u16()),
        // It has acted and tells where the outcome is, or it gave up waiting and the request may be at work behind it.
        303 | 408 | 499 => RequestError::Lost(told),
        300..=399 => {
            let to = location
                .and_then(|to| to.to_str().ok())
                .unwrap_or("elsewhere");
            RequestError::NotSent(format!("it redirects to {to}, which is not followed"))
        }
        // The server says that it did not take the request.
        400..=499 => RequestError::NotSent(told),
        _ => RequestError::Lost(told),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_told_with_its_body_where_there_is_one() {
        for (body, told) in [
            ("", "HTTP status 404 Not Found"),
            ("\r\n", "HTTP status 404 Not Found"),
            ("no such\n", "HTTP status 404 Not Found: no such"),
        ] {
            let refused = refusal(StatusCode::NOT_FOUND, None, body.as_bytes());
            let RequestError::NotSent(text) = refused else {
                panic!("{refused:?}")
            };
            assert_eq!(text, told);
        }
    }

    #[test]
    fn a_400_is_about_the_session_unless_it_says_what_else_is_wrong() {
        let rpc = |code, message: &str| RequestError::Rpc(RpcError::new(code, message));
        let text = |body: &str| refusal(StatusCode::BAD_REQUEST, None, body.as_bytes());
        for (status, refusal, wanted) in [
            (
                400,
                rpc(-32_000, "No valid session ID provided"),
                Said::Gone,
            ),
            (400, rpc(-32_600, "Missing Session ID"), Said::Gone),
            (400, text("Invalid session id"), Said::Gone),
            (400, rpc(-32_000, "Server not initialized"), Said::Perhaps),
            (400, text(""), Said::Perhaps),
            (400, rpc(-32_602, "no such tool"), Said::Nothing),
            (400, rpc(-32_020, "no `Mcp-Method`"), Said::Nothing),
            (400, rpc(7, "no such book"), Said::Nothing),
            (404, text(""), Said::Gone),
            (429, rpc(-32_000, "too many in this session"), Said::Nothing),
        ] {
            let status = StatusCode::from_u16(status).unwrap();
            assert_eq!(said(status, &refusal), wanted, "{refusal:?}");
        }
    }
}
