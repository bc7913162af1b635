//! Documents of other servers, such as the keys of an identity provider: one bounded request, no redirects.

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, header};
use serde_json::Value;

use super::body::read_limited;
use super::endpoint::{Endpoint, EndpointFault, is_safe};
use crate::error::RequestError;
use crate::limits::{DOCUMENT_BYTES_MAX, DOCUMENT_TIMEOUT};
use crate::options::HttpOptions;

/// Why a document could not be had.
#[derive(Debug, thiserror::Error)]
#[error("no document from `{url}`: {reason}")]
pub struct FetchError {
    url: String,
    reason: String,
}

/// Gets a document of JSON.
pub async fn fetch_json(url: &str) -> Result<Value, FetchError> {
    let fetched = tokio::time::timeout(DOCUMENT_TIMEOUT, fetch(url)).await;
    let fetched = fetched.unwrap_or_else(|_| Err("it did not answer in time".to_owned()));
    fetched.map_err(|reason| FetchError {
        url: url.to_owned(),
        reason,
    })
}

/// Whether nobody on the way can read or change what is sent: by https, or within this machine.
pub fn is_safe_url(url: &str) -> bool {
    url.parse().is_ok_and(|uri| is_safe(&uri))
}

async fn fetch(url: &str) -> Result<Value, String> {
    let endpoint = Endpoint::new(&HttpOptions {
        url: url.to_owned(),
        ..HttpOptions::default()
    });
    let endpoint = endpoint.map_err(|fault| match fault {
        EndpointFault::Url(reason)
        | EndpointFault::TokenUrl(reason)
        | EndpointFault::Header(reason) => reason,
    })?;
    let mut headers = HeaderMap::new();
    let json = HeaderValue::from_static("application/json");
    headers.insert(header::ACCEPT, json);
    let sent = endpoint
        .send_as_is(Method::GET, headers, Bytes::new())
        .await;
    let response = sent.map_err(RequestError::into_reason)?;
    let status = response.status();
    if !status.is_success() {
        return Err(format!("it answered with HTTP status {status}"));
    }
    let body = read_limited(response.into_body(), DOCUMENT_BYTES_MAX).await;
    let body = body.map_err(RequestError::into_reason)?;
    serde_json::from_slice(&body).map_err(|error| format!("it is no JSON: {error}"))
}
