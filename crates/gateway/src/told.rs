//! An answer to one message over HTTP as it is told: a status and a JSON text, whoever writes it to the connection.

use crate::heads::JSON;
use crate::limits::RETRY_AFTER_SECONDS;
use axum::body::Body;
use axum::response::Response;
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, StatusCode};
use onecall_mcp::{RequestId, RpcError, response_error_text};

#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) status: StatusCode,
    pub(crate) text: String,
    /// The client may try again in a moment.
    pub(crate) is_for_now: bool,
}

impl Told {
    pub(crate) fn success(text: String) -> Self {
        Self {
            status: StatusCode::OK,
            text,
            is_for_now: false,
        }
    }

    pub(crate) fn refusal(status: StatusCode, id: Option<&RequestId>, error: &RpcError) -> Self {
        Self {
            status,
            text: response_error_text(id, error),
            is_for_now: false,
        }
    }

    /// There is no room for the request just now.
    pub(crate) fn busy(id: Option<&RequestId>, error: &RpcError) -> Self {
        Self {
            is_for_now: true,
            ..Self::refusal(StatusCode::SERVICE_UNAVAILABLE, id, error)
        }
    }
}

impl From<Told> for Response {
    fn from(told: Told) -> Self {
        let mut response = Self::new(Body::from(told.text));
        *response.status_mut() = told.status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
        if told.is_for_now {
            headers.insert(RETRY_AFTER, HeaderValue::from(RETRY_AFTER_SECONDS));
        }
        response
    }
}
