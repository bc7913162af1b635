//! Our client against bare loops on the same server: calls a second and CPU of this process for each call, with 1, 16
//! and 64 in flight. The servers are this program again, in processes of their own, at a core that is told them: left
//! to the scheduler one loop shares a core with its server and the next does not, which counts more than what either does.
//! What the two bare loops do and leave out is printed below the table.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a program for people"
)]

use std::future::poll_fn;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::pin;
use std::process::Stdio;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, header};
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use onecall_backends::{BackendName, BackendOptions, Backends, Call, ClientInfo};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;

/// The allocator of the program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Calls of one round, and rounds of each kind by turns. The machine is faster in one second than in the next, so a round
/// is held against those beside it, and the median of that counts.
const CALLS: usize = 2_048;
const ROUNDS: usize = 15;

const LEGEND: &str = "
to socket, to hyper: CPU of a call as a multiple of that bare loop's in the round beside it; the median of all rounds
bare socket: a prepared head and the body written into a TCP stream, the answer's `content-length` looked for, its body
             parsed; HTTP for this one server only. The goal of at most 1.25 over HTTP is judged by this one.
bare hyper:  the same work through the HTTP library that our client uses, one connection a worker, driven by the worker
             itself; the least that a client on that library costs
cores:       `1`: client and server share a core, which is never asleep, so that the figure is what the code costs;
             `2`: each has its own, and a call in flight alone finds it asleep and its caches cold
both:        no outcome told from another, no time-out, no limit, no second server
ours, stdio: judged by its CPU alone; the goal is at most 40 us a call";

const KINDS: [Kind; 4] = [
    Kind::BareSocket,
    Kind::BareHyper,
    Kind::OursHttp,
    Kind::OursStdio,
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    BareSocket,
    BareHyper,
    OursHttp,
    OursStdio,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::BareSocket => "bare socket",
            Self::BareHyper => "bare hyper",
            Self::OursHttp => "ours, http",
            Self::OursStdio => "ours, stdio",
        }
    }
}

/// Where the client and its server run.
#[derive(Clone, Copy)]
struct Place {
    client: usize,
    server: usize,
}

impl Place {
    /// One core for both, and two where there are two.
    fn all() -> Vec<Self> {
        let allowed = sched_getaffinity(None).unwrap();
        let mut cores = (0..CpuSet::MAX_CPU).filter(|core| allowed.is_set(*core));
        let client = cores.next().unwrap();
        let others = [Some(client), cores.next()].into_iter().flatten();
        others.map(|server| Self { client, server }).collect()
    }

    fn cores(self) -> usize {
        if self.client == self.server { 1 } else { 2 }
    }
}

/// Keeps this thread, and what it starts, on one core.
fn stay_on(core: usize) {
    let mut cores = CpuSet::new();
    cores.set(core);
    sched_setaffinity(None, &cores).unwrap();
}

/// What one round came to.
#[derive(Clone, Copy)]
struct Spent {
    calls_per_second: f64,
    cpu_us: f64,
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let options = onecall_demo::Options::default();
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    if let [_, core] = words[..] {
        stay_on(core.parse().unwrap());
    }
    match words[..] {
        ["http", _] => serve_http(options).await,
        ["stdio", _] => onecall_demo::serve_stdio(options).await.unwrap(),
        _ => compare(words.first().copied()).await,
    }
}

/// The table of all kinds, or of one.
async fn compare(only: Option<&str>) {
    let is_wanted = |kind: &Kind| only.is_none_or(|only| only == kind.name());
    let kinds: Vec<Kind> = KINDS.into_iter().filter(is_wanted).collect();
    println!(
        "{:<12}{:>6}{:>10}{:>12}{:>14}{:>11}{:>11}",
        "what", "cores", "in flight", "calls/s", "CPU us/call", "to socket", "to hyper"
    );
    for place in Place::all() {
        stay_on(place.client);
        let mut server = tokio::process::Command::new(std::env::current_exe().unwrap())
            .args(["http", &place.server.to_string()])
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
        let url = lines.next_line().await.unwrap().unwrap();
        for in_flight in [1, 16, 64] {
            let mut rounds = vec![Vec::with_capacity(ROUNDS); kinds.len()];
            for _ in 0..ROUNDS {
                for (kind, rounds) in kinds.iter().zip(&mut rounds) {
                    rounds.push(round(*kind, &url, place, in_flight).await);
                }
            }
            report(&kinds, &rounds, place, in_flight);
        }
        server.kill().await.unwrap();
    }
    println!("{LEGEND}");
}

/// The demo on a free port, whose URL is told.
async fn serve_http(options: onecall_demo::Options) {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let ready = |address: SocketAddr| println!("http://{address}/mcp");
    let never = CancellationToken::new();
    let served = onecall_demo::serve_http(options, address, never, ready).await;
    served.unwrap();
}

async fn round(kind: Kind, url: &str, place: Place, in_flight: usize) -> Spent {
    let host = url.trim_start_matches("http://").trim_end_matches("/mcp");
    match kind {
        Kind::BareSocket => bare_socket(host, in_flight).await,
        Kind::BareHyper => bare_hyper(host, in_flight).await,
        Kind::OursHttp => client(BackendOptions::http("b", url), in_flight).await,
        Kind::OursStdio => {
            let this = std::env::current_exe().unwrap();
            let core = place.server.to_string();
            let options = BackendOptions::stdio("b", this.to_str().unwrap(), &["stdio", &core]);
            client(options, in_flight).await
        }
    }
}

async fn client(mut options: BackendOptions, in_flight: usize) -> Spent {
    options.max_in_flight = in_flight;
    let info = ClientInfo {
        name: "bench".to_owned(),
        version: "1".to_owned(),
    };
    let backends = Backends::start(&info, vec![options]).unwrap();
    let name = BackendName::from("b");
    backends.settle(Duration::from_secs(30)).await;
    let workers = (0..in_flight).map(|_| async {
        for _ in 0..CALLS / in_flight {
            let call = Call::new("echo", json!({ "text": "hello" })).with_key("k");
            backends.call(&name, call).await.unwrap();
        }
    });
    let spent = measured(in_flight, workers).await;
    backends.shutdown().await;
    spent
}

async fn bare_socket(host: &str, in_flight: usize) -> Spent {
    let mut streams = Vec::new();
    for _ in 0..in_flight {
        streams.push(connect(host).await);
    }
    let meta = meta();
    let workers = streams.into_iter().map(|mut stream| {
        let meta = &meta;
        async move {
            let mut buffer = Vec::new();
            for id in 0..CALLS / in_flight {
                let body = body(id, meta);
                let head = format!(
                    "POST /mcp HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\nmcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: echo\r\ncontent-length: {}\r\n\r\n",
                    body.len()
                );
                stream.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
                read_one(&mut stream, &mut buffer).await;
            }
        }
    });
    measured(in_flight, workers).await
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
            serde_json::from_slice::<Value>(&buffer[end + 4..]).unwrap();
            return;
        }
    }
}

async fn bare_hyper(host: &str, in_flight: usize) -> Spent {
    let mut connections = Vec::new();
    for _ in 0..in_flight {
        let io = TokioIo::new(connect(host).await);
        connections.push(http1::handshake(io).await.unwrap());
    }
    let (headers, meta) = (headers(host), meta());
    let workers = connections.into_iter().map(|(mut sender, mut connection)| {
        let (headers, meta) = (&headers, &meta);
        async move {
            for id in 0..CALLS / in_flight {
                let mut request = Request::new(Full::new(Bytes::from(body(id, meta))));
                *request.method_mut() = Method::POST;
                *request.uri_mut() = "/mcp".parse().unwrap();
                *request.headers_mut() = headers.clone();
                let mut exchange = pin!(async {
                    let response = sender.send_request(request).await.unwrap();
                    response.into_body().collect().await.unwrap().to_bytes()
                });
                let answer = poll_fn(|context| {
                    let _ = pin!(&mut connection).poll(context);
                    exchange.as_mut().poll(context)
                });
                serde_json::from_slice::<Value>(&answer.await).unwrap();
            }
        }
    });
    measured(in_flight, workers).await
}

fn headers(host: &str) -> HeaderMap {
    let named = [
        (header::HOST, host),
        (header::CONTENT_TYPE, "application/json"),
        (header::ACCEPT, "application/json, text/event-stream"),
        (
            HeaderName::from_static("mcp-protocol-version"),
            "2026-07-28",
        ),
        (HeaderName::from_static("mcp-method"), "tools/call"),
        (HeaderName::from_static("mcp-name"), "echo"),
    ];
    let valued = named.map(|(name, value)| (name, HeaderValue::from_str(value).unwrap()));
    HeaderMap::from_iter(valued)
}

async fn connect(host: &str) -> TcpStream {
    let stream = TcpStream::connect(host).await.unwrap();
    stream.set_nodelay(true).unwrap();
    stream
}

fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "bench", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
        "dev.onecall/idempotency-key": "k"
    })
}

fn body(id: usize, meta: &Value) -> String {
    let params = json!({ "name": "echo", "arguments": { "text": "hello" }, "_meta": meta });
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }).to_string()
}

#[expect(clippy::cast_precision_loss, reason = "a few thousand calls")]
async fn measured<W: Future>(in_flight: usize, workers: impl Iterator<Item = W>) -> Spent {
    let (began, cpu_before) = (Instant::now(), cpu());
    futures::future::join_all(workers).await;
    let calls = (CALLS / in_flight * in_flight) as f64;
    Spent {
        calls_per_second: calls / began.elapsed().as_secs_f64(),
        cpu_us: cpu().saturating_sub(cpu_before).as_secs_f64() * 1e6 / calls,
    }
}

fn report(kinds: &[Kind], rounds: &[Vec<Spent>], place: Place, in_flight: usize) {
    for (kind, own) in kinds.iter().zip(rounds) {
        let ratio = |bare: Kind| {
            let at = kinds.iter().position(|kind| *kind == bare);
            at.map_or_else(String::new, |at| {
                let beside = own.iter().zip(&rounds[at]);
                let ratio = median(beside.map(|(own, bare)| own.cpu_us / bare.cpu_us));
                format!("{ratio:.2}")
            })
        };
        println!(
            "{:<12}{:>6}{in_flight:>10}{:>12.0}{:>14.1}{:>11}{:>11}",
            kind.name(),
            place.cores(),
            median(own.iter().map(|spent| spent.calls_per_second)),
            median(own.iter().map(|spent| spent.cpu_us)),
            ratio(Kind::BareSocket),
            ratio(Kind::BareHyper)
        );
    }
}

fn median(figures: impl Iterator<Item = f64>) -> f64 {
    let mut figures: Vec<f64> = figures.collect();
    figures.sort_unstable_by(f64::total_cmp);
    figures[figures.len() / 2]
}

/// User and system time of this process.
fn cpu() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/schedstat").unwrap();
    Duration::from_nanos(stat.split(' ').next().unwrap().parse().unwrap())
}
