//! The two-endpoint HTTP+SSE transport of 2024-11-05: a GET stream names the URL that takes POSTs.
//! Deprecated, but such servers are about. Lines go through a `link`, like those of a child.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Uri};
use onecall_mcp::limits::MESSAGE_BYTES_MAX;
use onecall_mcp::{SseDecoder, SseEvent};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream};
use tokio::sync::Semaphore;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::error::ConnectError;
use crate::http::{Endpoint, Streaming};
use crate::limits::OUTBOUND_MAX;
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
    let response = endpoint.get(HeaderMap::new()).await;
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
    let mut inbound = Inbound {
        body: response.into_body(),
        decoder: SseDecoder::new(MESSAGE_BYTES_MAX),
        ready: Vec::new(),
    };
    let target = loop {
        let Some(event) = inbound.next().await else {
            return Err(http(
                "the stream ended before it named its endpoint".to_owned(),
            ));
        };
        if event.event.as_deref() == Some("endpoint") {
            break target(endpoint.uri(), &event.data)?;
        }
    };
    let (near, far) = tokio::io::duplex(PIPE_BYTES);
    let (link, writing) = Link::new(near);
    let stop = CancellationToken::new();
    let wire = SseWire {
        link: link.clone(),
        _stop: stop.clone().drop_guard(),
    };
    tokio::spawn(writing);
    tokio::spawn(post_lines(far, endpoint.at(target), stop.clone()));
    tokio::spawn(read_events(inbound, link.clone(), stop));
    let agreement = crate::negotiate::open_as(&link, opening, onecall_mcp::Era::Legacy).await?;
    Ok((wire, agreement))
}

/// Where messages go. Another server than the one we were told to talk to is refused.
fn target(base: &Uri, data: &[u8]) -> Result<Uri, ConnectError> {
    let text = String::from_utf8_lossy(data);
    let fault = || ConnectError::Http(format!("the stream named the unusable endpoint `{text}`"));
    let given: Uri = text.trim().parse().map_err(|_| fault())?;
    if given.authority().is_some() {
        let same = given.authority() == base.authority() && given.scheme() == base.scheme();
        return if same { Ok(given) } else { Err(fault()) };
    }
    let path = given.path_and_query().cloned().ok_or_else(fault)?;
    let mut parts = base.clone().into_parts();
    parts.path_and_query = Some(path);
    Uri::from_parts(parts).map_err(|_| fault())
}

struct Inbound {
    body: Streaming,
    decoder: SseDecoder,
    ready: Vec<SseEvent>,
}

impl Inbound {
    async fn next(&mut self) -> Option<SseEvent> {
        loop {
            if !self.ready.is_empty() {
                return Some(self.ready.remove(0));
            }
            let data = self.body.next().await?.ok()?;
            self.ready = self.decoder.feed(&data).ok()?;
        }
    }
}

async fn read_events(mut inbound: Inbound, link: Link, stop: CancellationToken) {
    let (mut sink, source) = tokio::io::duplex(PIPE_BYTES);
    let feeding = async {
        while let Some(event) = inbound.next().await {
            // Compact JSON has no newlines; a pretty one must be brought onto one line.
            let line: Vec<u8> = event
                .data
                .iter()
                .map(|&b| if b == b'\n' { b' ' } else { b })
                .collect();
            if sink.write_all(&line).await.is_err() || sink.write_all(b"\n").await.is_err() {
                return;
            }
        }
        drop(sink);
    };
    let reason = tokio::select! {
        (reason, ()) = async { tokio::join!(link.read(source), feeding) } => reason,
        () = stop.cancelled() => "it was shut down".to_owned(),
    };
    link.close(&reason);
}

async fn post_lines(lines: DuplexStream, endpoint: Endpoint, stop: CancellationToken) {
    let mut lines = BufReader::new(lines).lines();
    let places = Arc::new(Semaphore::new(OUTBOUND_MAX));
    loop {
        let line = tokio::select! {
            line = lines.next_line() => line,
            () = stop.cancelled() => return,
        };
        let (Ok(Some(line)), Ok(place)) = (line, Arc::clone(&places).acquire_owned().await) else {
            return;
        };
        let endpoint = endpoint.clone();
        tokio::spawn(async move {
            let sent = endpoint
                .post(HeaderMap::new(), Bytes::from(line), Arc::default())
                .await;
            if let Err(error) = sent {
                tracing::debug!(?error, "a message did not reach its server");
            }
            drop(place);
        });
    }
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
        assert!(at("http://169.254.169.254/m").is_err());
        assert!(at("https://127.0.0.1:8080/m").is_err());
    }
}
