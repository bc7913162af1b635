//! A server that is stopped for longer than its lease while callers wait, next to one that takes over its runs.
//! All runs wait longer for their next attempt than a run stays in memory. Both servers must answer, and every caller
//! must get the result of its run.

use super::process::{Ground, Server};
use super::{Fault, Report};
use crate::kill::client::Client;
use rustix::process::Signal;
use serde_json::json;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread::sleep;
use std::time::Duration;

/// Callers of each server.
const CALLERS: usize = 4;

/// How long calls may take to reach their first failure.
const BEGIN: Duration = Duration::from_secs(2);

/// Longer than the lease, and longer than a run that only waits stays in memory: 10 s each.
const STOPPED: Duration = Duration::from_secs(13);

/// How long a healthy server may take to say so.
const HEALTH: Duration = Duration::from_secs(5);

pub(super) fn stop(ground: &Ground, client: &mut Client, report: &mut Report) -> Result<(), Fault> {
    let servers = [ground.serve("async")?, ground.serve("async")?];
    let [waiting, stopped] = &servers;
    let before = client.told().len();
    for (server, name) in [(waiting, "waiting"), (stopped, "stopped")] {
        for number in 0..CALLERS {
            let arguments = json!({ "id": format!("{name}{number}"), "ms": 0 });
            client.call(&server.url, "later", &arguments, Duration::ZERO);
        }
    }
    sleep(BEGIN);
    stopped.signal(Signal::STOP)?;
    sleep(STOPPED);
    healthy(waiting, "the server whose runs were parked", report);
    stopped.signal(Signal::CONT)?;
    healthy(stopped, "the server that was stopped", report);
    client.hang_up();
    for server in &servers {
        healthy(server, "a server whose callers have their results", report);
    }
    let told = client.told().len() - before;
    report.waited = (2 * CALLERS) as u64;
    if told < 2 * CALLERS {
        report.lost += 1;
        let fault = format!("{told} of {} callers that waited got a result", 2 * CALLERS);
        report.faults.push(fault);
    }
    Ok(())
}

fn healthy(server: &Server, what: &str, report: &mut Report) {
    let address = server.address();
    let answer = || {
        let mut stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(HEALTH))?;
        write!(
            stream,
            "GET /health HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n"
        )?;
        let mut answer = String::new();
        stream.take(1024).read_to_string(&mut answer)?;
        Ok::<String, std::io::Error>(answer)
    };
    let answer = answer();
    if !answer
        .as_ref()
        .is_ok_and(|answer| answer.starts_with("HTTP/1.1 200"))
    {
        report.lost += 1;
        report
            .faults
            .push(format!("{what} does not answer: {answer:?}"));
    }
}
