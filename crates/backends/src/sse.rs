//! The two-endpoint HTTP+SSE transport of 2024-11-05: a GET stream names the URL that takes POSTs.
//! Deprecated, but such servers are about. Lines go through a `link`, like those of a child.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use http::{StatusCode, Uri};
use onecall_mcp::{Skipped, method};
use serde::Deserialize;
use serde::de::IgnoredAny;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream};
use tokio::sync::Semaphore;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::error::{ConnectError, RequestError};
use crate::http::{Endpoint, EventBody, StreamFault, finish, refused};
use crate::limits::{OUTBOUND_MAX, SSE_OPENED_PATIENCE};
use crate::link::Link;
use crate::negotiate::{Agreement, Opening};

const PIPE_BYTES: usize = 64 * 1024;

#[derive(Debug)]
pub(crate) struct SseWire {
    pub(crate) link: Link,
    _stop: DropGuard,
}

/// Connects and does the handshake; there is no other opening here.
pub(crate) async fn open(
    endpoint: &Endpoint,
    opening: &Opening,
) -> Result<(SseWire, Agreement), ConnectError> {
    let http = |reason: String| ConnectError::Http(reason);
    let response = endpoint.get(endpoint.get_headers()).await;
    let response = response.map_err(|error| error.of_connect("GET"))?;
    if matches!(response.status().as_u16(), 401 | 403) {
        return Err(ConnectError::Denied(response.status().as_u16()));
    }
    if !response.status().is_success() {
        return Err(http(format!(
            "the stream gave HTTP status {}",
            response.status()
        )));
    }
    // It lasts as long as the connection.
    let mut inbound = Inbound(EventBody::new(response.into_body(), usize::MAX));
    let target = loop {
        let event = inbound.0.next().await;
        let Some(event) = event.map_err(|fault| http(fault.to_string()))? else {
            return Err(http(
                "the stream ended before it named its endpoint".to_owned(),
            ));
        };
        if event.event.as_deref() == Some("endpoint") {
            break target(endpoint.uri(), &event.data)?;
        }
        let passed_over = inbound.0.pass_over();
        passed_over.map_err(|fault| http(fault.to_string()))?;
    };
    let (near, far) = tokio::io::duplex(PIPE_BYTES);
    let (link, writing) = Link::new(near);
    let stop = CancellationToken::new();
    let wire = SseWire {
        link: link.clone(),
        _stop: stop.clone().drop_guard(),
    };
    tokio::spawn(writing);
    let target = endpoint.at(target);
    tokio::spawn(post_lines(far, target, link.clone(), stop.clone()));
    tokio::spawn(read_events(inbound, link.clone(), stop));
    let agreement = crate::negotiate::open_as(&link, opening, onecall_mcp::Era::Legacy).await?;
    Ok((wire, agreement))
}

/// Where messages go. Another server than the one we were told to talk to is refused.
fn target(base: &Uri, data: &[u8]) -> Result<Uri, ConnectError> {
    let text = String::from_utf8_lossy(data);
    let fault = || ConnectError::Http(format!("the stream named the unusable endpoint `{text}`"));
    let given = resolved(base, text.trim());
    let given: Uri = given.parse().map_err(|_| fault())?;
    if given.authority().is_some() {
        let same = given.authority() == base.authority() && given.scheme() == base.scheme();
        return if same { Ok(given) } else { Err(fault()) };
    }
    let path = given.path_and_query().cloned().ok_or_else(fault)?;
    let mut parts = base.clone().into_parts();
    parts.path_and_query = Some(path);
    Uri::from_parts(parts).map_err(|_| fault())
}

/// A reference as it is meant beside the URI of the stream: what has neither scheme nor leading slash begins where
/// that URI's last segment does, and a query alone replaces its query.
fn resolved(base: &Uri, reference: &str) -> String {
    let path = base.path();
    let scheme = reference.split_once("://").map(|(scheme, _)| scheme);
    let is_scheme = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric());
    if reference.starts_with("//") {
        // The scheme of the stream, and a server of its own.
        format!("{}:{reference}", base.scheme_str().unwrap_or("http"))
    } else if reference.starts_with('/') || scheme.is_some_and(is_scheme) {
        reference.to_owned()
    } else if reference.starts_with('?') {
        format!("{path}{reference}")
    } else {
        let folder = path.rfind('/').map_or("/", |at| &path[..=at]);
        format!("{folder}{reference}")
    }
}

struct Inbound(EventBody);

impl Inbound {
    /// Writes events as lines until the stream ends; what ended it, unless it ended in order.
    async fn feed(mut self, mut sink: DuplexStream, link: &Link) -> Option<StreamFault> {
        loop {
            match self.0.next().await {
                Ok(Some(event)) if !event.is_message() => {}
                Ok(Some(event)) => {
                    // Compact JSON has no newlines; a pretty one must be brought onto one line.
                    let one_line = event.data.iter();
                    let one_line = one_line.map(|&b| if b == b'\n' { b' ' } else { b });
                    let line: Vec<u8> = one_line.chain([b'\n']).collect();
                    sink.write_all(&line).await.ok()?;
                }
                Ok(None) => return None,
                Err(fault) => {
                    if let (StreamFault::TooMuch(what), Some(id)) = (&fault, self.too_long()) {
                        link.fail(id, RequestError::Limit(what.clone()));
                    }
                    return Some(fault);
                }
            }
        }
    }

    /// The request whose answer is too long, where its beginning tells.
    fn too_long(&self) -> Option<i64> {
        let begun = self.0.unfinished();
        let skipped = Skipped {
            head: begun[..begun.len().min(512)].to_vec(),
            tail: Vec::new(),
            bytes: begun.len(),
        };
        skipped.response_id()
    }
}

async fn read_events(inbound: Inbound, link: Link, stop: CancellationToken) {
    let (sink, source) = tokio::io::duplex(PIPE_BYTES);
    let reading = link.read(source, "its stream");
    tokio::pin!(reading);
    let reason = tokio::select! {
        ending = &mut reading => ending.reason().to_owned(),
        fault = inbound.feed(sink, &link) => {
            // What came before the end is read.
            let ended = reading.await;
            fault.map_or_else(|| ended.reason().to_owned(), |fault| fault.to_string())
        }
        () = stop.cancelled() => "it was shut down".to_owned(),
    };
    link.close(&reason);
}

async fn post_lines(lines: DuplexStream, endpoint: Endpoint, link: Link, stop: CancellationToken) {
    let mut lines = BufReader::new(lines).lines();
    let places = Arc::new(Semaphore::new(OUTBOUND_MAX));
    loop {
        let line = tokio::select! {
            line = lines.next_line() => line,
            () = stop.cancelled() => return,
        };
        let Ok(Some(line)) = line else { return };
        let place = tokio::select! {
            place = Arc::clone(&places).acquire_owned() => place,
            () = stop.cancelled() => return,
        };
        let is_before_all = is_opened(&line);
        let (endpoint, link, stop) = (endpoint.clone(), link.clone(), stop.clone());
        let posted = tokio::spawn(async move {
            // A server that leaves a message unanswered holds nothing beyond the connection.
            let posting = post(&endpoint, &link, line);
            let _ = stop.run_until_cancelled(posting).await;
            drop(place);
        });
        if is_before_all {
            let _ = tokio::time::timeout(SSE_OPENED_PATIENCE, posted).await;
        }
    }
}

/// Sends one message. A request that is refused here will get no answer on the stream.
async fn post(endpoint: &Endpoint, link: &Link, line: String) {
    let id = request_id(&line);
    let sent = match id {
        None => Arc::default(),
        Some(id) => match link.unsent(id) {
            Some(sent) => sent,
            None => return,
        },
    };
    let posted = endpoint.post(endpoint.post_headers(), Bytes::from(line), sent);
    let (error, is_gone) = match posted.await {
        Ok(response) if response.status().is_success() => return finish(response.into_body()),
        Ok(response) => {
            let is_gone = response.status() == StatusCode::NOT_FOUND;
            (refused(response).await, is_gone)
        }
        Err(error) => {
            let is_gone = matches!(error, RequestError::NotSent(_));
            (error, is_gone)
        }
    };
    tracing::debug!(?error, "a message did not reach its server");
    if let Some(id) = id {
        link.fail(id, error.clone());
    }
    if is_gone {
        // The server or our session is no more; whoever keeps this connection begins anew.
        link.close(&error.into_reason());
    }
}

/// Whether a message ends the handshake. Others go on connections of their own, where they could come before it.
fn is_opened(line: &str) -> bool {
    #[derive(Deserialize)]
    struct Envelope<'a> {
        #[serde(borrow)]
        method: Cow<'a, str>,
    }
    let envelope = serde_json::from_str::<Envelope<'_>>(line);
    envelope.is_ok_and(|own| own.method == method::INITIALIZED)
}

/// The id of a request of ours; answers and notifications have none.
fn request_id(line: &str) -> Option<i64> {
    #[derive(Deserialize)]
    struct Envelope {
        id: i64,
        #[serde(rename = "method")]
        _method: IgnoredAny,
    }
    let envelope: Envelope = serde_json::from_str(line).ok()?;
    Some(envelope.id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_endpoint_must_be_of_the_same_server() {
        let base: Uri = "http://127.0.0.1:8080/sse?x=1".parse().unwrap();
        let at = |data: &str| target(&base, data.as_bytes()).map(|uri| uri.to_string());
        assert_eq!(
            at("/messages?s=1").unwrap(),
            "http://127.0.0.1:8080/messages?s=1"
        );
        assert_eq!(
            at("http://127.0.0.1:8080/m").unwrap(),
            "http://127.0.0.1:8080/m"
        );
        assert_eq!(at("m?s=1").unwrap(), "http://127.0.0.1:8080/m?s=1");
        assert_eq!(at("?s=1").unwrap(), "http://127.0.0.1:8080/sse?s=1");
        let deep: Uri = "http://127.0.0.1/a/sse".parse().unwrap();
        let beside = target(&deep, b"messages?next=http://x/").unwrap();
        assert_eq!(
            beside.to_string(),
            "http://127.0.0.1/a/messages?next=http://x/"
        );
        assert!(at("//169.254.169.254/m").is_err());
        assert!(at("http://169.254.169.254/m").is_err());
        assert!(at("https://127.0.0.1:8080/m").is_err());
    }
}
