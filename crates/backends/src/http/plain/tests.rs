//! Whatever a server answers, it comes to the same whether `hyper` reads it from the start or only where it is odd.
//! A request that is too large to be written at once goes to `hyper` as a whole, which is what small ones are held
//! against.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use http::HeaderMap;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use super::super::body::read_limited;
use super::super::endpoint::Endpoint;
use super::{Head, head};
use crate::error::RequestError;
use crate::limits::{HTTP_HEAD_BYTES_MAX, INTERIM_RESPONSES_MAX, PLAIN_REQUEST_BYTES_MAX};
use crate::options::HttpOptions;

/// What is done after the answer was written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Then {
    Stays,
    Closes,
}

fn answers() -> Vec<(&'static str, Vec<u8>, Then)> {
    let many = "x-many: 1\r\n".repeat(40);
    let huge = format!("x-huge: {}\r\n", "a".repeat(HTTP_HEAD_BYTES_MAX));
    let rows: Vec<(&str, String, Then)> = vec![
        ("usual", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}".into(), Then::Stays),
        ("empty", "HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n".into(), Then::Stays),
        ("refused", "HTTP/1.1 404 Not Found\r\ncontent-length: 2\r\n\r\nno".into(), Then::Stays),
        ("broken", "HTTP/1.1 500 Oh\r\ncontent-length: 2\r\n\r\nno".into(), Then::Stays),
        ("kept by name", "HTTP/1.1 200 OK\r\nconnection: Keep-Alive\r\ncontent-length: 2\r\n\r\n{}".into(), Then::Stays),
        ("in chunks", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n".into(), Then::Stays),
        ("with trailers", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nx: y\r\n\r\n".into(), Then::Stays),
        ("cut chunk", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n9\r\n{}".into(), Then::Closes),
        ("interim", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}".into(), Then::Stays),
        ("many interim", format!("{}HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{{}}", INTERIM.repeat(INTERIM_RESPONSES_MAX)), Then::Stays),
        ("too many interim", format!("{}HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{{}}", INTERIM.repeat(INTERIM_RESPONSES_MAX + 1)), Then::Stays),
        ("both lengths", "HTTP/1.1 200 OK\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n".into(), Then::Stays),
        ("same length twice", "HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 2\r\n\r\n{}".into(), Then::Stays),
        ("two lengths", "HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n{}!".into(), Then::Closes),
        ("signed length", "HTTP/1.1 200 OK\r\ncontent-length: +2\r\n\r\n{}".into(), Then::Closes),
        ("listed length", "HTTP/1.1 200 OK\r\ncontent-length: 2, 2\r\n\r\n{}".into(), Then::Stays),
        ("negative length", "HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n{}".into(), Then::Closes),
        ("old version", "HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\n{}".into(), Then::Closes),
        ("until the end", "HTTP/1.1 200 OK\r\n\r\n{}".into(), Then::Closes),
        ("says close", "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{}".into(), Then::Closes),
        ("nothing", "HTTP/1.1 204 No Content\r\n\r\n".into(), Then::Stays),
        ("not changed", "HTTP/1.1 304 Not Modified\r\ncontent-length: 2\r\n\r\n".into(), Then::Stays),
        ("garbage", "\u{1}\u{2}\u{3}\r\n\r\n".into(), Then::Closes),
        ("another protocol", "SSH-2.0-server\r\n".into(), Then::Closes),
        ("no answer", String::new(), Then::Closes),
        ("cut head", "HTTP/1.1 200 OK\r\nconte".into(), Then::Closes),
        ("cut body", "HTTP/1.1 200 OK\r\ncontent-length: 20\r\n\r\n{}".into(), Then::Closes),
        ("folded header", "HTTP/1.1 200 OK\r\nx: a\r\n b\r\ncontent-length: 2\r\n\r\n{}".into(), Then::Closes),
        ("many headers", format!("HTTP/1.1 200 OK\r\n{many}content-length: 2\r\n\r\n{{}}"), Then::Stays),
        ("huge head", format!("HTTP/1.1 200 OK\r\n{huge}content-length: 2\r\n\r\n{{}}"), Then::Closes),
        ("large body", format!("HTTP/1.1 200 OK\r\ncontent-length: 300000\r\n\r\n{}", "b".repeat(300_000)), Then::Stays),
    ];
    rows.into_iter()
        .map(|(name, text, then)| (name, text.into_bytes(), then))
        .collect()
}

const INTERIM: &str = "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n";

/// A server that sends nothing else is given up, not read for as long as it goes on.
#[tokio::test]
async fn a_flood_of_interim_responses_ends() {
    for body_bytes in [2, PLAIN_REQUEST_BYTES_MAX + 1] {
        let flood = INTERIM.repeat(50 * INTERIM_RESPONSES_MAX);
        let flood = two_requests(flood.as_bytes(), Then::Stays, body_bytes).await;
        assert_eq!(flood, (vec!["lost".to_owned(), "lost".to_owned()], 2));
    }
}

#[tokio::test]
async fn small_and_large_requests_are_answered_alike() {
    for (name, answer, then) in answers() {
        let small = two_requests(&answer, then, 2).await;
        let is_answered = small.0.iter().all(|own| own.starts_with("200"));
        match name {
            "many interim" => assert!(is_answered, "{small:?}"),
            "too many interim" => assert!(!is_answered, "{small:?}"),
            _ => {}
        }
        let large = two_requests(&answer, then, PLAIN_REQUEST_BYTES_MAX + 1).await;
        assert_eq!(small, large, "{name}");
    }
}

#[tokio::test]
async fn a_usual_connection_is_kept_and_an_unasked_answer_ends_it() {
    let usual = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";
    let (outcomes, connections) = two_requests(usual, Then::Stays, 2).await;
    assert_eq!(
        (outcomes.as_slice(), connections),
        (&["200: {}".to_owned(), "200: {}".to_owned()][..], 1)
    );
    let more = [
        &usual[..],
        b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nNOT",
    ]
    .concat();
    let (outcomes, connections) = two_requests(&more, Then::Stays, 2).await;
    assert_eq!(
        (outcomes.as_slice(), connections),
        (&["200: {}".to_owned(), "200: {}".to_owned()][..], 2)
    );
}

#[test]
fn a_head_is_read_when_it_is_whole() {
    let text = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";
    let head_bytes = text.len() - 2;
    for cut in 0..head_bytes {
        assert!(matches!(head(&text[..cut]), Head::Partial), "{cut}");
    }
    for cut in head_bytes..=text.len() {
        assert!(
            matches!(head(&text[..cut]), Head::Usual(_, framing) if framing.head_bytes == head_bytes && framing.body_bytes == 2)
        );
    }
}

/// What two requests come to, one after the other, and on how many connections.
async fn two_requests(answer: &[u8], then: Then, body_bytes: usize) -> (Vec<String>, usize) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let opened = Arc::new(AtomicUsize::new(0));
    let (answer, count) = (answer.to_vec(), Arc::clone(&opened));
    let server = tokio::spawn(async move {
        let mut connections = JoinSet::new();
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            count.fetch_add(1, Ordering::SeqCst);
            connections.spawn(serve(stream, answer.clone(), then));
        }
    });
    let options = HttpOptions {
        url,
        ..HttpOptions::default()
    };
    let endpoint = Endpoint::new(&options).unwrap();
    let mut outcomes = Vec::new();
    for _ in 0..2 {
        outcomes.push(one_request(&endpoint, body_bytes).await);
    }
    server.abort();
    (outcomes, opened.load(Ordering::SeqCst))
}

async fn one_request(endpoint: &Endpoint, body_bytes: usize) -> String {
    let body = Bytes::from(vec![b'x'; body_bytes]);
    let headers: HeaderMap = endpoint.post_headers();
    let read = async {
        let response = endpoint.post(headers, body, Arc::default()).await?;
        let status = response.status();
        let body = read_limited(response.into_body(), 1 << 20).await?;
        Ok((status, body))
    };
    match read.await {
        Ok((status, body)) => format!("{}: {}", status.as_u16(), String::from_utf8_lossy(&body)),
        Err(RequestError::NotSent(_)) => "not sent".to_owned(),
        Err(RequestError::Lost(_)) => "lost".to_owned(),
        Err(RequestError::Limit(_)) => "limit".to_owned(),
        Err(other) => format!("{other:?}"),
    }
}

/// Answers each request, in as many pieces as the system makes of it.
async fn serve(mut stream: TcpStream, answer: Vec<u8>, then: Then) {
    stream.set_nodelay(true).unwrap();
    while read_request(&mut stream).await.is_some() {
        let (first, second) = answer.split_at(answer.len().min(20));
        for piece in [first, second] {
            if stream.write_all(piece).await.is_err() {
                return;
            }
            tokio::task::yield_now().await;
        }
        if then == Then::Closes {
            return;
        }
    }
}

async fn read_request(stream: &mut TcpStream) -> Option<()> {
    let mut seen = Vec::new();
    loop {
        if stream.read_buf(&mut seen).await.ok()? == 0 {
            return None;
        }
        let text = String::from_utf8_lossy(&seen);
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            continue;
        };
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "));
        if body.len() >= length.map_or(0, |length| length.parse::<usize>().unwrap()) {
            return Some(());
        }
    }
}
