//! A client that is not ours to trust: plain HTTP requests, answers as JSON or as a stream of events.

use crate::world::PATIENCE;
use bytes::Bytes;
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use onecall_mcp::SseDecoder;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::net::SocketAddr;

pub(crate) const MODERN: &str = "2026-07-28";

/// What no JSON value of ours can hold, with keys out of order.
pub(crate) const ODD: &str =
    r#"{"z":123456789012345678901234567890,"f":1.10,"e":1e400,"a":-0,"E":1E+2,"s":"\u0041\/"}"#;

/// A message as it is sent: [`ODD`] stands where the value says `@odd`.
pub(crate) fn spelled(message: &Value) -> String {
    message.to_string().replace("\"@odd\"", ODD)
}

pub(crate) struct Http {
    client: Client<HttpConnector, Full<Bytes>>,
    address: SocketAddr,
    session: Option<String>,
    token: Option<String>,
    next_id: i64,
}

/// An answer whose body may still be on its way.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    body: Incoming,
    decoder: SseDecoder,
    events: VecDeque<String>,
}

impl Http {
    pub(crate) fn new(address: SocketAddr) -> Self {
        Self {
            client: Client::builder(TokioExecutor::new()).build_http(),
            address,
            session: None,
            token: None,
            next_id: 0,
        }
    }

    /// A client that shows this token with every request.
    pub(crate) fn with_token(address: SocketAddr, token: &str) -> Self {
        Self {
            token: Some(token.to_owned()),
            ..Self::new(address)
        }
    }

    pub(crate) fn id(&mut self) -> i64 {
        self.next_id += 1;
        self.next_id
    }

    /// Sends any request at all.
    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Answer {
        let mut request = Request::builder()
            .method(method)
            .uri(format!("http://{}{path}", self.address));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if let Some(token) = &self.token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let request = request.body(Full::new(body.into())).unwrap();
        let sent = tokio::time::timeout(PATIENCE, self.client.request(request)).await;
        let (parts, body) = sent.expect("an answer in time").unwrap().into_parts();
        Answer {
            status: parts.status,
            headers: parts.headers,
            body,
            decoder: SseDecoder::new(1 << 20),
            events: VecDeque::new(),
        }
    }

    pub(crate) async fn post(&self, headers: &[(&str, &str)], body: &Value) -> Answer {
        let mut all = vec![
            ("content-type", "application/json"),
            ("accept", "application/json, text/event-stream"),
        ];
        all.extend_from_slice(headers);
        self.send(Method::POST, "/mcp", &all, spelled(body)).await
    }

    /// A request of the modern era, with everything it must carry.
    pub(crate) async fn modern(&mut self, method: &str, mut params: Value) -> Answer {
        let id = self.id();
        let meta = params["_meta"].take();
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        for (key, value) in meta.as_object().into_iter().flatten() {
            params["_meta"][key] = value.clone();
        }
        let named = ["name", "uri", "taskId"]
            .iter()
            .find_map(|key| params[*key].as_str());
        let name = named.map(str::to_owned);
        let mut headers = vec![("mcp-protocol-version", MODERN), ("mcp-method", method)];
        headers.extend(name.as_deref().map(|name| ("mcp-name", name)));
        let body = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.post(&headers, &body).await
    }

    /// The result of a modern request.
    pub(crate) async fn modern_result(&mut self, method: &str, params: Value) -> Value {
        let mut answer = self.modern(method, params).await;
        assert_eq!(answer.status, StatusCode::OK);
        let response = answer.response().await;
        assert!(response["error"].is_null(), "{response}");
        response["result"].clone()
    }

    /// Opens a session of the handshake era.
    pub(crate) async fn initialize(&mut self, version: &str, capabilities: Value) -> Value {
        let params = json!({ "protocolVersion": version, "capabilities": capabilities,
            "clientInfo": { "name": "test", "version": "1" } });
        let mut answer = self.legacy("initialize", params).await;
        assert_eq!(answer.status, StatusCode::OK);
        let session = answer.headers["mcp-session-id"].to_str().unwrap();
        self.session = Some(session.to_owned());
        let response = answer.response().await;
        self.notify("notifications/initialized", json!({})).await;
        response["result"].clone()
    }

    pub(crate) fn session_headers(&self) -> Vec<(&str, &str)> {
        let session = self.session.as_deref();
        session
            .map(|session| ("mcp-session-id", session))
            .into_iter()
            .collect()
    }

    pub(crate) async fn legacy(&mut self, method: &str, params: Value) -> Answer {
        let id = self.id();
        let body = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.post(&self.session_headers(), &body).await
    }

    pub(crate) async fn legacy_result(&mut self, method: &str, params: Value) -> Value {
        let mut answer = self.legacy(method, params).await;
        assert_eq!(answer.status, StatusCode::OK);
        let response = answer.response().await;
        assert!(response["error"].is_null(), "{response}");
        response["result"].clone()
    }

    /// Sends a message that is not answered.
    pub(crate) async fn notify(&self, method: &str, params: Value) {
        let body = json!({ "jsonrpc": "2.0", "method": method, "params": params });
        let answer = self.post(&self.session_headers(), &body).await;
        assert_eq!(answer.status, StatusCode::ACCEPTED);
    }

    /// Answers a request of the server.
    pub(crate) async fn respond(&self, id: &Value, result: &Value) {
        let body = json!({ "jsonrpc": "2.0", "id": id, "result": result });
        let answer = self.post(&self.session_headers(), &body).await;
        assert_eq!(answer.status, StatusCode::ACCEPTED);
    }

    /// The stream of a session that is tied to no request.
    pub(crate) async fn get(&self) -> Answer {
        let mut headers = vec![("accept", "text/event-stream")];
        headers.extend(self.session_headers());
        self.send(Method::GET, "/mcp", &headers, "").await
    }

    /// A stream that was lost, behind the last event that was seen of it.
    pub(crate) async fn get_from(&self, seen: &str) -> Answer {
        let mut headers = vec![("accept", "text/event-stream"), ("last-event-id", seen)];
        headers.extend(self.session_headers());
        self.send(Method::GET, "/mcp", &headers, "").await
    }

    pub(crate) fn last_id(&self) -> i64 {
        self.next_id
    }
}

impl Answer {
    pub(crate) fn is_stream(&self) -> bool {
        self.headers["content-type"] == "text/event-stream"
    }

    /// The whole body as text.
    pub(crate) async fn text(self) -> String {
        let body = tokio::time::timeout(PATIENCE, self.body.collect()).await;
        let body = body.expect("the body in time").unwrap().to_bytes();
        String::from_utf8(body.to_vec()).unwrap()
    }

    /// The first event of a stream, as it came.
    pub(crate) async fn first_event(&mut self) -> String {
        let frame = tokio::time::timeout(PATIENCE, self.body.frame()).await;
        let frame = frame.expect("an event in time").unwrap().unwrap();
        String::from_utf8(frame.into_data().unwrap().to_vec()).unwrap()
    }

    /// The next message of a stream; `None` at its end.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        let text = self.next_text().await?;
        Some(serde_json::from_str(&text).unwrap())
    }

    /// The same, as it came.
    pub(crate) async fn next_text(&mut self) -> Option<String> {
        loop {
            if let Some(event) = self.events.pop_front() {
                return Some(event);
            }
            let frame = tokio::time::timeout(PATIENCE, self.body.frame()).await;
            let frame = frame.expect("an event in time")?.unwrap();
            let Ok(data) = frame.into_data() else {
                continue;
            };
            for event in self.decoder.feed(&data).unwrap() {
                if !event.data.is_empty() {
                    let text = String::from_utf8(event.data);
                    self.events.push_back(text.unwrap());
                }
            }
        }
    }

    /// The response among the messages of the answer.
    pub(crate) async fn response(&mut self) -> Value {
        if !self.is_stream() {
            let body = &mut self.body;
            let bytes = tokio::time::timeout(PATIENCE, body.collect()).await;
            let bytes = bytes.expect("the body in time").unwrap().to_bytes();
            return serde_json::from_slice(&bytes).unwrap();
        }
        loop {
            let message = self.next().await.expect("a response before the end");
            if message.get("method").is_none() {
                return message;
            }
        }
    }
}
