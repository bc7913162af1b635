//! Which era a server speaks, and the opening that goes with it. The finding is kept by whoever
//! reconnects.

use onecall_mcp::{Era, Probe, Revision, RpcError, ShapeError, judge_probe, meta, method};
use serde_json::{Value, json};

use crate::error::{ConnectError, RequestError};
use crate::limits::PROBE_PATIENCE;
use crate::link::{Link, RequestOptions};
use crate::options::ClientInfo;
use crate::params::Params;

/// What both sides know after the opening.
#[derive(Clone, Debug)]
pub(crate) struct Agreement {
    /// By whose rules both sides go.
    pub(crate) revision: Revision,
    /// The revision as the server named it.
    pub(crate) named: &'static str,
    pub(crate) server_info: Value,
    pub(crate) capabilities: Value,
    pub(crate) instructions: Option<String>,
}

/// How we open.
#[derive(Clone, Debug)]
pub(crate) struct Opening {
    pub(crate) client: ClientInfo,
    /// What a handshake declares for the whole connection.
    pub(crate) capabilities: Value,
    /// All calls on the connection come from one caller, so any question can go to it.
    pub(crate) serves_one: bool,
}

/// What the probe of a process found.
pub(crate) enum Found {
    Agreed(Agreement),
    /// The process is spoilt by the probe; a fresh one must be opened with a handshake.
    Legacy,
}

impl Opening {
    pub(crate) fn client_info(&self) -> Value {
        json!({ "name": self.client.name, "version": self.client.version })
    }

    pub(crate) fn discover_params(&self) -> Value {
        let mut params = json!({});
        meta::stamp(
            &mut params,
            Revision::MODERN,
            &self.client_info(),
            &json!({}),
        );
        params
    }

    pub(crate) fn initialize_params(&self) -> Value {
        json!({
            "protocolVersion": Revision::LEGACY.as_str(),
            "capabilities": self.capabilities,
            "clientInfo": self.client_info()
        })
    }
}

/// Opens a byte-stream connection in a known era.
pub(crate) async fn open_as(
    link: &Link,
    opening: &Opening,
    era: Era,
) -> Result<Agreement, ConnectError> {
    match era {
        Era::Legacy => initialize(link, opening).await,
        Era::Modern => match discover(link, opening).await {
            // No other process is tried, so this is all there is to tell.
            Err(error @ (RequestError::Lost(_) | RequestError::Malformed(_))) => {
                Err(error.of_connect(method::DISCOVER))
            }
            answer => match judge(answer)? {
                Judged::Modern(agreement) => Ok(agreement),
                Judged::Legacy => Err(ConnectError::NoCommonRevision),
            },
        },
    }
}

/// Probes with `server/discover`. A server that takes its time is sent `initialize` as well:
/// whichever it answers first with a result decides, and a server that is bound to the era of its
/// first message answers the probe.
pub(crate) async fn probe(link: &Link, opening: &Opening) -> Result<Found, ConnectError> {
    let probing = discover(link, opening);
    tokio::pin!(probing);
    let answered = tokio::time::timeout(PROBE_PATIENCE, &mut probing).await;
    if let Ok(answer) = answered {
        return match judge(answer)? {
            Judged::Modern(agreement) => Ok(Found::Agreed(agreement)),
            Judged::Legacy => Ok(handshake_or_fresh(initialize(link, opening).await)),
        };
    }
    let handshake = initialize(link, opening);
    tokio::pin!(handshake);
    tokio::select! {
        // Of two answers that are there already the first one counts.
        biased;
        answer = &mut probing => match judge(answer)? {
            Judged::Modern(agreement) => Ok(Found::Agreed(agreement)),
            Judged::Legacy => Ok(handshake_or_fresh(handshake.await)),
        },
        agreed = &mut handshake => match agreed {
            Ok(agreement) => Ok(Found::Agreed(agreement)),
            Err(_) => match judge(probing.await)? {
                Judged::Modern(agreement) => Ok(Found::Agreed(agreement)),
                Judged::Legacy => Ok(Found::Legacy),
            },
        },
    }
}

fn handshake_or_fresh(agreed: Result<Agreement, ConnectError>) -> Found {
    agreed.map_or(Found::Legacy, Found::Agreed)
}

enum Judged {
    Modern(Agreement),
    Legacy,
}

fn judge(answer: Result<Value, RequestError>) -> Result<Judged, ConnectError> {
    let (probe, result) = match answer {
        Ok(result) => (judge_probe(Ok(&result)), result),
        Err(RequestError::Rpc(error)) => (judge_probe(Err(&error)), Value::Null),
        // It did not survive the probe, or answered nonsense; a fresh process may do better.
        Err(RequestError::Lost(_) | RequestError::Malformed(_)) => (Probe::Legacy, Value::Null),
        Err(other) => return Err(other.of_connect(method::DISCOVER)),
    };
    match probe {
        Probe::Modern(revision) => Ok(Judged::Modern(modern(revision, &result))),
        Probe::Legacy => Ok(Judged::Legacy),
        Probe::NoCommon => Err(ConnectError::NoCommonRevision),
    }
}

pub(crate) fn modern(revision: Revision, result: &Value) -> Agreement {
    let text = |key: &str| result.get(key).and_then(Value::as_str).map(str::to_owned);
    Agreement {
        revision,
        named: revision.as_str(),
        server_info: meta::get(result, meta::SERVER_INFO)
            .cloned()
            .unwrap_or_default(),
        capabilities: result.get("capabilities").cloned().unwrap_or_default(),
        instructions: text("instructions"),
    }
}

/// The first revision, and the one by whose rules it is spoken.
const FIRST: &str = "2024-11-05";
const AFTER_FIRST: &str = "2025-03-26";

/// Reads the answer to `initialize`.
pub(crate) fn legacy(result: &Value) -> Result<Agreement, ConnectError> {
    let answered = result.get("protocolVersion").and_then(Value::as_str);
    let Some(answered) = answered else {
        let what = "`protocolVersion`".to_owned();
        let fault = ShapeError::Wrong {
            what,
            wanted: "a string",
        };
        return Err(ConnectError::Malformed {
            method: method::INITIALIZE,
            fault,
        });
    };
    // The first revision differs in its HTTP transport only.
    let is_first = answered == FIRST;
    let known = if is_first { AFTER_FIRST } else { answered };
    match Revision::from_name(known).filter(|revision| revision.era() == Era::Legacy) {
        None => Err(ConnectError::NoCommonRevision),
        Some(revision) => Ok(Agreement {
            revision,
            named: if is_first { FIRST } else { revision.as_str() },
            server_info: result.get("serverInfo").cloned().unwrap_or_default(),
            capabilities: result.get("capabilities").cloned().unwrap_or_default(),
            instructions: result
                .get("instructions")
                .and_then(Value::as_str)
                .map(str::to_owned),
        }),
    }
}

async fn discover(link: &Link, opening: &Opening) -> Result<Value, RequestError> {
    ask(link, method::DISCOVER, opening.discover_params()).await
}

async fn initialize(link: &Link, opening: &Opening) -> Result<Agreement, ConnectError> {
    let answer = ask(link, method::INITIALIZE, opening.initialize_params()).await;
    let agreement = legacy(&answer.map_err(|error| error.of_connect(method::INITIALIZE))?)?;
    link.notify(method::INITIALIZED, &json!({})).await;
    Ok(agreement)
}

async fn ask(link: &Link, name: &str, params: Value) -> Result<Value, RequestError> {
    let raw = link
        .request(name, Params::plain(&params), RequestOptions::default())
        .await?;
    parse_result(&raw)
}

pub(crate) fn parse_result(raw: &serde_json::value::RawValue) -> Result<Value, RequestError> {
    onecall_mcp::read_leniently(raw.get())
        .map_err(|error| RequestError::Malformed(ShapeError::NotJson(error.to_string())))
}

/// An error that only a server without this method gives.
pub(crate) fn is_unknown_method(error: &RpcError) -> bool {
    error.code == onecall_mcp::code::METHOD_NOT_FOUND
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

    use super::*;

    /// Takes its time, then answers the probe and the handshake in one go.
    async fn slow_server(stream: tokio::io::DuplexStream) {
        let (reader, mut writer) = tokio::io::split(stream);
        let mut lines = BufReader::new(reader).lines();
        let mut answers = String::new();
        for result in [
            json!({ "supportedVersions": ["2026-07-28"], "capabilities": {} }),
            json!({ "protocolVersion": "2025-11-25", "capabilities": {} }),
        ] {
            let line = lines.next_line().await.unwrap().unwrap();
            let message: Value = serde_json::from_str(&line).unwrap();
            let answer = json!({ "jsonrpc": "2.0", "id": message["id"], "result": result });
            answers.push_str(&onecall_mcp::message_text(&answer));
        }
        writer.write_all(answers.as_bytes()).await.unwrap();
        while lines.next_line().await.is_ok_and(|line| line.is_some()) {}
    }

    #[test]
    fn the_revision_is_told_as_the_server_named_it() {
        for (named, spoken) in [
            ("2024-11-05", "2025-03-26"),
            ("2025-03-26", "2025-03-26"),
            ("2025-11-25", "2025-11-25"),
        ] {
            let agreed = legacy(&json!({ "protocolVersion": named })).unwrap();
            assert_eq!((agreed.named, agreed.revision.as_str()), (named, spoken));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_server_of_both_eras_is_always_found_to_be_modern() {
        let opening = Opening {
            client: ClientInfo {
                name: "test".to_owned(),
                version: "1".to_owned(),
            },
            capabilities: json!({}),
            serves_one: false,
        };
        for _ in 0..20 {
            let (near, far) = tokio::io::duplex(64 * 1024);
            let (reader, writer) = tokio::io::split(near);
            let (link, writing) = Link::new(writer);
            let tasks = [
                tokio::spawn(writing),
                tokio::spawn(slow_server(far)),
                tokio::spawn({
                    let link = link.clone();
                    async move { drop(link.read(reader, "stdout").await) }
                }),
            ];
            let Ok(Found::Agreed(agreement)) = probe(&link, &opening).await else {
                panic!("not agreed")
            };
            assert_eq!(agreement.revision, Revision::MODERN);
            tasks.iter().for_each(tokio::task::JoinHandle::abort);
        }
    }
}
