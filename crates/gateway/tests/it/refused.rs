//! What is logged of callers that are refused: the reason, their address, and the limit they met.

use crate::client::Http;
use crate::world::{World, server};
use http::{Method, StatusCode};
use onecall_gateway::{Access, AccessOptions, BearerToken};
use serde_json::json;
use std::fmt::{Debug, Write as _};
use std::sync::{Arc, Mutex};
use tracing::field::Field;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// The lines about refused callers that this thread logs.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<String>>>);

impl Lines {
    fn last(&self) -> String {
        self.0.lock().unwrap().last().cloned().unwrap_or_default()
    }
}

impl Subscriber for Lines {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "onecall_gateway::refused"
    }
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, event: &Event<'_>) {
        if self.enabled(event.metadata()) {
            let mut line = String::new();
            event.record(&mut |field: &Field, value: &dyn Debug| {
                let _ = write!(line, "{}={value:?} ", field.name());
            });
            self.0.lock().unwrap().push(line);
        }
    }
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

fn assert_logged(lines: &Lines, parts: &[&str]) {
    let line = lines.last();
    for part in ["a caller was refused", "address=\"127.0.0.1:"] {
        assert!(line.contains(part), "{part}: {line}");
    }
    for part in parts {
        assert!(line.contains(part), "{part}: {line}");
    }
}

#[tokio::test]
async fn a_caller_who_meets_a_limit_is_logged_with_its_address_and_the_limit() {
    let lines = Lines::default();
    let _listening = tracing::subscriber::set_default(lines.clone());
    let world = World::start_with(|options| {
        options.requests_max = 1;
        options.body_bytes_max = 2_000;
    })
    .await;
    let mut client = Http::new(world.address);
    let mut other = Http::new(world.address);
    let endless = async move {
        other
            .modern("tools/call", json!({ "name": "endless" }))
            .await
    };
    let waiting = tokio::spawn(endless);
    let refused = loop {
        let call = client.modern("tools/call", json!({ "name": "nothing" }));
        let answer = call.await;
        if answer.status != StatusCode::OK {
            break answer;
        }
    };
    assert_eq!(refused.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_logged(&lines, &["limits.requests: 1"]);
    waiting.abort();

    let long = "x".repeat(3_000);
    let refused = client.modern("tools/call", json!({ "name": long })).await;
    assert_eq!(refused.status, StatusCode::PAYLOAD_TOO_LARGE);
    assert_logged(&lines, &["limits.body_bytes: 2000"]);

    let host = ("host", "evil.example");
    let refused = client.send(Method::GET, "/status", &[host], "").await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN);
    assert_logged(&lines, &["`Host` is not allowed", "evil.example"]);
    world.end().await;
}

#[tokio::test]
async fn a_caller_with_a_wrong_token_is_logged_with_its_address() {
    let lines = Lines::default();
    let _listening = tracing::subscriber::set_default(lines.clone());
    let access = Access::new(&AccessOptions {
        tokens: vec![BearerToken {
            principal: "ada".to_owned(),
            token: "ada-0123456789abcdef".to_owned(),
        }],
        oidc: None,
    });
    let world = World::guarded(server(), access.unwrap()).await;
    let mut client = Http::with_token(world.address, "eve-0123456789abcdef");
    let refused = client
        .modern("tools/call", json!({ "name": "nothing" }))
        .await;
    assert_eq!(refused.status, StatusCode::UNAUTHORIZED);
    assert_logged(&lines, &["the token is not known"]);
    world.end().await;
}
