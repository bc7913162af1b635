//! Documents of other servers, such as the keys of an identity provider or the answers of a model provider: one bounded
//! request, no redirects.

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, header};
use serde_json::Value;
use std::time::Duration;

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
    let endpoint = endpoint(url, Vec::new())?;
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

/// The response of a server, with any status.
#[derive(Debug)]
pub struct Posted {
    pub status: u16,
    /// How long the server wants to be left alone.
    pub retry_after: Option<Duration>,
    pub body: Vec<u8>,
}

/// Sends a document of JSON with these headers.
pub async fn post_json(
    url: &str,
    headers: Vec<(String, String)>,
    body: &Value,
    timeout: Duration,
) -> Result<Posted, FetchError> {
    let posted = tokio::time::timeout(timeout, post(url, headers, body)).await;
    let posted = posted.unwrap_or_else(|_| Err(format!("it did not answer within {timeout:?}")));
    posted.map_err(|reason| FetchError {
        url: url.to_owned(),
        reason,
    })
}

async fn post(url: &str, headers: Vec<(String, String)>, body: &Value) -> Result<Posted, String> {
    let endpoint = endpoint(url, headers)?;
    let mut headers = HeaderMap::new();
    let json = HeaderValue::from_static("application/json");
    headers.insert(header::ACCEPT, json.clone());
    headers.insert(header::CONTENT_TYPE, json);
    let body = Bytes::from(body.to_string());
    let sent = endpoint.send_as_is(Method::POST, headers, body).await;
    let response = sent.map_err(RequestError::into_reason)?;
    let status = response.status().as_u16();
    let retry_after = response.headers().get(header::RETRY_AFTER);
    let retry_after = retry_after.and_then(|value| value.to_str().ok()?.trim().parse().ok());
    let body = read_limited(response.into_body(), DOCUMENT_BYTES_MAX).await;
    Ok(Posted {
        status,
        retry_after: retry_after.map(Duration::from_secs),
        body: body.map_err(RequestError::into_reason)?,
    })
}

fn endpoint(url: &str, headers: Vec<(String, String)>) -> Result<Endpoint, String> {
    let endpoint = Endpoint::new(&HttpOptions {
        url: url.to_owned(),
        headers,
        ..HttpOptions::default()
    });
    endpoint.map_err(|fault| match fault {
        EndpointFault::Url(reason)
        | EndpointFault::TokenUrl(reason)
        | EndpointFault::Header(reason) => reason,
    })
}
