//! Faults of the other side, over in-process pipes: each has its named outcome.

use tokio::io::{
    AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, ReadHalf, WriteHalf,
};

use onecall_mcp::{Exact, RpcError};

use super::*;
use crate::pages::PageSink;

struct Server {
    reader: tokio::io::Lines<BufReader<ReadHalf<DuplexStream>>>,
    writer: Option<WriteHalf<DuplexStream>>,
}

fn connect() -> (Link, Server) {
    let (near, far) = tokio::io::duplex(1 << 20);
    let (read, write) = tokio::io::split(near);
    let (link, writing) = Link::new(write);
    tokio::spawn(writing);
    let reading = link.clone();
    tokio::spawn(async move {
        let ending = reading.read(read, "stdout").await;
        reading.close(ending.reason());
    });
    let (read, write) = tokio::io::split(far);
    (
        link,
        Server {
            reader: BufReader::new(read).lines(),
            writer: Some(write),
        },
    )
}

impl Server {
    async fn next(&mut self) -> Value {
        serde_json::from_str(&self.next_line().await).unwrap()
    }

    async fn next_line(&mut self) -> String {
        self.reader.next_line().await.unwrap().expect("a message")
    }

    async fn send(&mut self, text: &str) {
        let writer = self.writer.as_mut().unwrap();
        writer
            .write_all(format!("{text}\n").as_bytes())
            .await
            .unwrap();
    }

    async fn answer(&mut self, request: &Value, result: &str) {
        let id = &request["id"];
        self.send(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#
        ))
        .await;
    }
}

fn exact(text: &str) -> Exact {
    Exact::from_raw(&RawValue::from_string(text.to_owned()).unwrap()).unwrap()
}

fn call(link: &Link, name: &'static str) -> tokio::task::JoinHandle<Outcome> {
    let link = link.clone();
    tokio::spawn(async move {
        link.request(name, Params::plain(&json!({})), RequestOptions::default())
            .await
    })
}

#[tokio::test]
async fn answers_find_their_requests_in_any_order() {
    let (link, mut server) = connect();
    let calls: Vec<_> = (0..50).map(|_| call(&link, "m")).collect();
    let mut requests = Vec::new();
    for _ in 0..50 {
        requests.push(server.next().await);
    }
    for request in requests.iter().rev() {
        server.answer(request, &request["id"].to_string()).await;
    }
    let ids = requests
        .iter()
        .map(|request| request["id"].as_i64().unwrap());
    let mut ids: Vec<i64> = ids.collect();
    assert!(
        ids.windows(2).any(|pair| pair[1] < pair[0]),
        "not in order: {ids:?}"
    );
    let mut answers = Vec::new();
    for call in calls {
        answers.push(call.await.unwrap().unwrap().get().parse::<i64>().unwrap());
    }
    answers.sort_unstable();
    ids.sort_unstable();
    assert_eq!(answers, ids);
}

#[tokio::test]
async fn garbage_wrong_ids_and_second_answers_are_passed_over() {
    let (link, mut server) = connect();
    let first = call(&link, "a");
    let request = server.next().await;
    server.send("Server listening on stdio!").await;
    server.send("{\"not\":\"a message\"}").await;
    server
        .send(r#"{"jsonrpc":"2.0","id":999,"result":1}"#)
        .await;
    server
        .send(r#"{"jsonrpc":"2.0","id":"1","result":1}"#)
        .await;
    server.answer(&request, "\"once\"").await;
    server.answer(&request, "\"twice\"").await;
    assert_eq!(first.await.unwrap().unwrap().get(), "\"once\"");
    let second = call(&link, "b");
    let request = server.next().await;
    server.answer(&request, "2").await;
    assert_eq!(second.await.unwrap().unwrap().get(), "2");
    assert!(link.ignored().told().unwrap().starts_with("2 lines"));
}

#[tokio::test]
async fn a_sent_call_is_lost_and_an_unsent_one_is_not_sent() {
    let (link, mut server) = connect();
    let sent = call(&link, "a");
    server.next().await;
    drop(server);
    assert!(matches!(sent.await.unwrap(), Err(RequestError::Lost(_))));
    let late = link
        .request("b", Params::plain(&json!({})), RequestOptions::default())
        .await;
    assert!(matches!(late, Err(RequestError::NotSent(reason)) if reason.contains("closed")));
}

#[tokio::test]
async fn a_dropped_call_is_cancelled_at_the_server() {
    let (link, mut server) = connect();
    let dropped = call(&link, "a");
    let request = server.next().await;
    dropped.abort();
    let cancelled = server.next().await;
    assert_eq!(cancelled["method"], method::CANCELLED);
    assert_eq!(cancelled["params"]["requestId"], request["id"]);
    // A late answer harms nobody.
    server.answer(&request, "1").await;
    let next = call(&link, "b");
    let request = server.next().await;
    server.answer(&request, "2").await;
    assert!(next.await.unwrap().is_ok());
}

#[tokio::test]
async fn an_answer_over_the_limit_fails_its_call_alone() {
    let (link, mut server) = connect();
    let (long, deep, fine) = (call(&link, "a"), call(&link, "b"), call(&link, "c"));
    let mut requests = [
        server.next().await,
        server.next().await,
        server.next().await,
    ];
    requests.sort_by_key(|request| request["method"].as_str().unwrap().to_owned());
    let filler = format!("\"{}\"", "x".repeat(MESSAGE_BYTES_MAX));
    server.answer(&requests[0], &filler).await;
    server
        .answer(
            &requests[1],
            &format!("{}{}", "[".repeat(500), "]".repeat(500)),
        )
        .await;
    server.answer(&requests[2], "3").await;
    assert!(
        matches!(long.await.unwrap(), Err(RequestError::Limit(what)) if what.contains("bytes"))
    );
    assert!(
        matches!(deep.await.unwrap(), Err(RequestError::TooDeep { result: Some(own), .. }) if own.get().len() == 1_000)
    );
    assert_eq!(fine.await.unwrap().unwrap().get(), "3");
}

#[tokio::test]
async fn requests_nobody_asked_for_are_refused_and_ping_is_answered() {
    let (link, mut server) = connect();
    server
        .send(r#"{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{}}"#)
        .await;
    assert_eq!(server.next().await["error"]["code"], -32601);
    server
        .send(r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#)
        .await;
    assert_eq!(server.next().await["result"], json!({}));
    drop(link);
}

#[tokio::test]
async fn progress_reaches_its_call_and_a_question_its_asker() {
    let (link, mut server) = connect();
    let (progress, mut told) = mpsc::channel(4);
    let (asker, mut questions) = mpsc::channel(4);
    let (done, mut pages) = mpsc::channel(4);
    let page_sink = PageSink::new(move |params| done.try_send(params).unwrap());
    let options = RequestOptions {
        progress: Some(progress),
        asker: Some(Asker::new(asker, Some(page_sink))),
        ..RequestOptions::default()
    };
    let calling = link.clone();
    let running = tokio::spawn(async move {
        calling
            .request("tools/call", Params::plain(&json!({})), options)
            .await
    });
    let request = server.next().await;
    let token = &request["params"]["_meta"]["progressToken"];
    server
        .send(&format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":1.10,"total":2}}}}"#
        ))
        .await;
    let told = told.recv().await.unwrap();
    assert_eq!(told.total(), Some(2.0));
    let written = format!(r#"{{"progressToken":{token},"progress":1.10,"total":2}}"#);
    assert_eq!(told.params().text(), written);
    let asks = r#"{"z":1e400,"message":"m","elicitationId":"e"}"#;
    server
        .send(&format!(
            r#"{{"jsonrpc":"2.0","id":7,"method":"elicitation/create","params":{asks}}}"#
        ))
        .await;
    let open = questions.recv().await.unwrap();
    assert_eq!(open.params.text(), asks);
    let answer = r#"{"z":1e400,"action":"accept"}"#;
    open.reply.send(Ok(exact(answer))).unwrap();
    let reply = server.next_line().await;
    assert_eq!(
        reply,
        format!(r#"{{"jsonrpc":"2.0","id":7,"result":{answer}}}"#)
    );
    server.send(&question("8")).await;
    let error = r#"{"z":1e400,"code":5000000000,"message":"no"}"#;
    let raw = RawValue::from_string(error.to_owned()).unwrap();
    let refused = Err(RpcError::from_raw(&raw));
    questions.recv().await.unwrap().reply.send(refused).unwrap();
    assert_eq!(
        server.next_line().await,
        format!(r#"{{"jsonrpc":"2.0","id":"8","error":{error}}}"#)
    );
    server.answer(&request, "1").await;
    assert!(running.await.unwrap().is_ok());
    // A page may be done with long after the call.
    for page in ["other", "e"] {
        server
            .send(&format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{{"elicitationId":"{page}","n":1.10}}}}"#
            ))
            .await;
    }
    let done = pages.recv().await.unwrap();
    assert_eq!(done.text(), r#"{"elicitationId":"e","n":1.10}"#);
}

#[tokio::test]
async fn nothing_is_sent_to_a_server_that_has_closed_its_output() {
    let (near, far) = tokio::io::duplex(1 << 20);
    let (read, write) = tokio::io::split(near);
    let (link, writing) = Link::new(write);
    tokio::spawn(writing);
    let before = call(&link, "before");
    let (far_read, mut far_write) = tokio::io::split(far);
    let mut heard = BufReader::new(far_read).lines();
    assert!(heard.next_line().await.unwrap().unwrap().contains("before"));
    far_write.shutdown().await.unwrap();
    // The link is not closed yet: somebody still looks for the exit status.
    let ending = link.read(read, "stdout").await;
    let after = call(&link, "after").await.unwrap();
    assert!(matches!(after, Err(RequestError::NotSent(_))), "{after:?}");
    link.close(ending.reason());
    let before = before.await.unwrap();
    assert!(matches!(before, Err(RequestError::Lost(_))), "{before:?}");
}

#[tokio::test]
async fn lines_stay_whole_in_a_stream_that_takes_little_at_a_time() {
    let (near, far) = tokio::io::duplex(7);
    let (read, write) = tokio::io::split(near);
    drop(read);
    let (link, writing) = Link::new(write);
    tokio::spawn(writing);
    let calls: Vec<_> = (0..50).map(|_| call(&link, "m")).collect();
    let mut lines = BufReader::new(far).lines();
    let mut heard = Vec::new();
    for _ in &calls {
        let line = lines.next_line().await.unwrap().unwrap();
        let message: Value = serde_json::from_str(&line).unwrap();
        heard.push(message["id"].as_i64().unwrap());
    }
    heard.sort_unstable();
    heard.dedup();
    assert_eq!(heard.len(), 50);
    link.close("it is over");
    for call in calls {
        assert!(matches!(call.await.unwrap(), Err(RequestError::Lost(_))));
    }
    assert_eq!(
        lines.next_line().await.unwrap(),
        None,
        "the stream is closed with the link"
    );
}

#[tokio::test]
async fn what_a_stream_never_took_was_not_sent() {
    let (near, _far) = tokio::io::duplex(16);
    let (_read, write) = tokio::io::split(near);
    let (link, writing) = Link::new(write);
    let begun = call(&link, "begun");
    let waiting = call(&link, "waiting");
    tokio::task::yield_now().await;
    let writing = tokio::spawn(writing);
    tokio::task::yield_now().await;
    link.close("it is over");
    let (begun, waiting) = (begun.await.unwrap(), waiting.await.unwrap());
    assert!(matches!(begun, Err(RequestError::Lost(_))), "{begun:?}");
    assert!(
        matches!(waiting, Err(RequestError::NotSent(_))),
        "{waiting:?}"
    );
    writing.await.unwrap();
}

#[tokio::test]
async fn answers_in_a_batch_are_taken() {
    let (link, mut server) = connect();
    let (first, second) = (call(&link, "a"), call(&link, "b"));
    let (one, two) = (server.next().await, server.next().await);
    let answer = |request: &Value, result: &str| {
        let id = &request["id"];
        format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
    };
    let note = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
    let (own, other) = (answer(&two, "2"), answer(&one, "1"));
    server.send(&format!("[{own},{note},7,{other}]")).await;
    let results = (first.await.unwrap(), second.await.unwrap());
    let text = |outcome: Outcome| outcome.unwrap().get().to_owned();
    let mut results = [text(results.0), text(results.1)];
    results.sort();
    assert_eq!(results, ["1", "2"]);
    assert_eq!(link.news().changes().borrow().tools, 1);
    assert!(
        link.ignored()
            .told()
            .is_some_and(|ignored| ignored.starts_with("1 "))
    );
}

#[tokio::test]
async fn a_request_never_overtakes_what_was_told_before_it() {
    for room in [1 << 20, 7] {
        let (near, far) = tokio::io::duplex(room);
        let (_read, write) = tokio::io::split(near);
        let (link, writing) = Link::new(write);
        tokio::spawn(writing);
        let telling = link.clone();
        let calling = tokio::spawn(async move {
            telling.notify(method::INITIALIZED, &json!({})).await;
            let options = RequestOptions::default();
            let params = json!({});
            let params = Params::plain(&params);
            telling.request("tools/list", params, options).await
        });
        let mut lines = BufReader::new(far).lines();
        let mut heard = Vec::new();
        for _ in 0..2 {
            let line = lines.next_line().await.unwrap().unwrap();
            let message: Value = serde_json::from_str(&line).unwrap();
            heard.push(message["method"].as_str().unwrap().to_owned());
        }
        assert_eq!(heard, [method::INITIALIZED, "tools/list"], "{room}");
        link.close("it is over");
        assert!(calling.await.unwrap().is_err());
    }
}

/// A call whose questions can be taken.
fn asking_call(
    link: &Link,
) -> (
    tokio::task::JoinHandle<Outcome>,
    mpsc::Receiver<Box<crate::call::Question>>,
) {
    let (sink, questions) = mpsc::channel(4);
    let options = RequestOptions {
        asker: Some(Asker::new(sink, None)),
        ..RequestOptions::default()
    };
    let link = link.clone();
    let call = tokio::spawn(async move {
        link.request("ask", Params::plain(&json!({})), options)
            .await
    });
    (call, questions)
}

async fn asked(
    questions: &mut mpsc::Receiver<Box<crate::call::Question>>,
) -> Box<crate::call::Question> {
    let patience = std::time::Duration::from_secs(5);
    let asked = tokio::time::timeout(patience, questions.recv()).await;
    asked.expect("a question in time").expect("a question")
}

fn question(id: &str) -> String {
    let params = json!({ "message": id });
    json!({ "jsonrpc": "2.0", "id": id, "method": method::ELICIT, "params": params }).to_string()
}

#[tokio::test]
async fn questions_of_calls_that_run_together_are_put_to_one_call_each() {
    let (link, mut server) = connect();
    let (first, mut of_first) = asking_call(&link);
    let one = server.next().await;
    let (second, mut of_second) = asking_call(&link);
    let two = server.next().await;
    // Both come at once, in the order of the calls.
    server
        .send(&format!("{}\n{}", question("1"), question("2")))
        .await;
    let open = (asked(&mut of_first).await, asked(&mut of_second).await);
    let words = [&open.0.params, &open.1.params].map(|params| &params.value()["message"]);
    assert_eq!(words, ["1", "2"]);
    for (question, id) in [(open.0, "1"), (open.1, "2")] {
        let declined = json!({ "action": "decline" });
        question.reply.send(Ok(declined.into())).unwrap();
        let reply = server.next().await;
        assert_eq!(
            (&reply["id"], &reply["result"]["action"]),
            (&json!(id), &json!("decline"))
        );
    }
    for (request, call) in [(one, first), (two, second)] {
        server.answer(&request, "1").await;
        call.await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn a_question_outlives_a_call_that_it_did_not_belong_to() {
    let (link, mut server) = connect();
    let (first, mut of_first) = asking_call(&link);
    let one = server.next().await;
    let (_second, mut of_second) = asking_call(&link);
    server.next().await;
    server.send(&question("of the second")).await;
    let open = asked(&mut of_first).await;
    server.answer(&one, "1").await;
    first.await.unwrap().unwrap();
    drop(open);
    let open = asked(&mut of_second).await;
    // Whoever is asked and drops the question refuses it.
    drop(open);
    let reply = server.next().await;
    assert_eq!(reply["error"]["code"], onecall_mcp::code::INTERNAL);
}

/// Bytes that are always there already: a beginning, then one line again and again.
struct Flood {
    begin: &'static [u8],
    line: &'static [u8],
    left: usize,
}

impl AsyncRead for Flood {
    fn poll_read(
        mut self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
        buffer: &mut tokio::io::ReadBuf<'_>,
    ) -> std::task::Poll<std::io::Result<()>> {
        buffer.put_slice(std::mem::take(&mut self.begin));
        while buffer.remaining() > self.line.len() && self.left > 0 {
            buffer.put_slice(self.line);
            self.left -= 1;
        }
        std::task::Poll::Ready(Ok(()))
    }
}

const MESSAGE: &[u8] = b"{\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n";

#[tokio::test]
async fn lines_without_end_leave_others_their_turn() {
    for line in [&b"y\n"[..], b"{}\n", b"\n", b"[1,2,3]\n", MESSAGE] {
        let (link, _writing) = Link::new(tokio::io::sink());
        let flood = Flood {
            begin: MESSAGE,
            line,
            left: 1_000_000,
        };
        let turns = async {
            for _ in 0..5 {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            biased;
            ending = link.read(flood, "stdout") => panic!("{line:?}: {ending:?}"),
            () = turns => {}
        }
    }
}

#[tokio::test]
async fn what_speaks_no_json_rpc_is_given_up_with_its_first_line() {
    let (one, two) = (&b"Listening\n"[..], &b"{\"level\":30}\n"[..]);
    for (begin, line, shown) in [
        (one, &b"y\n"[..], "`Listening`"),
        (two, two, "`{\"level\":30}`"),
        (b"", b"\n", "empty lines"),
    ] {
        let (link, _writing) = Link::new(tokio::io::sink());
        let left = usize::MAX;
        let ending = link.read(Flood { begin, line, left }, "stdout").await;
        let told = format!("it writes no JSON-RPC to stdout: {shown}");
        assert!(
            matches!(&ending, Ending::GivenUp(reason) if *reason == told),
            "{ending:?}"
        );
        let late = call(&link, "m").await.unwrap();
        assert!(matches!(late, Err(RequestError::NotSent(reason)) if reason == told));
    }
    // Behind a message anything may come, and before it some.
    let (link, _writing) = Link::new(tokio::io::sink());
    let flood = Flood {
        begin: b"",
        line: b"y\n",
        left: crate::limits::UNHEARD_LINES_MAX,
    };
    let ending = link.read(flood.chain(MESSAGE), "stdout").await;
    assert_eq!(ending.reason(), "it closed its output");
}
