//! Our client against a bare loop on the same socket: calls a second and CPU of this process for
//! each call, with 1, 16 and 64 in flight. Run it in release; the servers are this program again,
//! in processes of their own.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a program for people"
)]

use std::net::{Ipv4Addr, SocketAddr};
use std::process::Stdio;
use std::time::{Duration, Instant};

use onecall_backends::{BackendName, BackendOptions, Backends, Call, ClientInfo};
use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;

const CALLS: usize = 20_000;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let options = onecall_demo::Options::default();
    match std::env::args().nth(1).as_deref() {
        Some("http") => return serve_http(options).await,
        Some("stdio") => return onecall_demo::serve_stdio(options).await.unwrap(),
        _ => {}
    }
    let this = std::env::current_exe().unwrap();
    let demo = this.to_str().unwrap().to_owned();
    let mut server = tokio::process::Command::new(&this)
        .arg("http")
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
    let url = lines.next_line().await.unwrap().unwrap();
    println!(
        "{:<12}{:>10}{:>12}{:>14}",
        "what", "in flight", "calls/s", "CPU us/call"
    );
    for in_flight in [1, 16, 64] {
        bare(&url, in_flight).await;
        client("http", BackendOptions::http("b", &url), in_flight).await;
        client(
            "stdio",
            BackendOptions::stdio("b", &demo, &["stdio"]),
            in_flight,
        )
        .await;
    }
}

/// The demo on a free port, whose URL is told.
async fn serve_http(options: onecall_demo::Options) {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let ready = |address: SocketAddr| println!("http://{address}/mcp");
    let never = CancellationToken::new();
    let served = onecall_demo::serve_http(options, address, never, ready).await;
    served.unwrap();
}

async fn client(what: &str, mut options: BackendOptions, in_flight: usize) {
    options.max_in_flight = in_flight;
    let info = ClientInfo {
        name: "bench".to_owned(),
        version: "1".to_owned(),
    };
    let backends = Backends::start(&info, vec![options]).unwrap();
    let name = BackendName::from("b");
    backends.settle(Duration::from_secs(30)).await;
    let began = (Instant::now(), cpu());
    let workers = (0..in_flight).map(|_| async {
        for _ in 0..CALLS / in_flight {
            let call = Call::new("echo", json!({ "text": "hello" })).with_key("k");
            backends.call(&name, call).await.unwrap();
        }
    });
    futures::future::join_all(workers).await;
    report(what, in_flight, began);
    backends.shutdown().await;
}

/// The least that any client must do: write a request, read the answer, parse it.
async fn bare(url: &str, in_flight: usize) {
    let host = url
        .trim_start_matches("http://")
        .trim_end_matches("/mcp")
        .to_owned();
    let mut streams = Vec::new();
    for _ in 0..in_flight {
        let stream = TcpStream::connect(&host).await.unwrap();
        stream.set_nodelay(true).unwrap();
        streams.push(stream);
    }
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "bench", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
        "dev.onecall/idempotency-key": "k"
    });
    let began = (Instant::now(), cpu());
    let workers = streams.into_iter().map(|mut stream| {
        let (host, meta) = (&host, &meta);
        async move {
            let mut buffer = Vec::new();
            for id in 0..CALLS / in_flight {
                let params = json!({ "name": "echo", "arguments": { "text": "hello" }, "_meta": meta });
                let body = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params });
                let body = body.to_string();
                let head = format!(
                    "POST /mcp HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\nmcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: echo\r\ncontent-length: {}\r\n\r\n",
                    body.len()
                );
                stream.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
                read_one(&mut stream, &mut buffer).await;
            }
        }
    });
    futures::future::join_all(workers).await;
    report("bare http", in_flight, began);
}

async fn read_one(stream: &mut TcpStream, buffer: &mut Vec<u8>) {
    buffer.clear();
    loop {
        stream.read_buf(buffer).await.unwrap();
        let Some(end) = buffer.windows(4).position(|window| window == b"\r\n\r\n") else {
            continue;
        };
        let head = String::from_utf8_lossy(&buffer[..end]).to_ascii_lowercase();
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "))
            .unwrap();
        if buffer.len() >= end + 4 + length.parse::<usize>().unwrap() {
            serde_json::from_slice::<serde_json::Value>(&buffer[end + 4..]).unwrap();
            return;
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a few thousand calls")]
fn report(what: &str, in_flight: usize, (began, cpu_before): (Instant, Duration)) {
    let calls = (CALLS / in_flight * in_flight) as f64;
    let rate = calls / began.elapsed().as_secs_f64();
    let each = cpu().saturating_sub(cpu_before).as_secs_f64() * 1e6 / calls;
    println!("{what:<12}{in_flight:>10}{rate:>12.0}{each:>14.1}");
}

/// User and system time of this process.
fn cpu() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/schedstat").unwrap();
    Duration::from_nanos(stat.split(' ').next().unwrap().parse().unwrap())
}
