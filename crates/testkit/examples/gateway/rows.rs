//! The rows of the table, each measured beside the bare work in the same run.

use crate::client::{Call, Http, Lines};
use crate::load::{Compared, Shape, Took, Watched, median};
use crate::process::Program;
use crate::table::{Table, cpu};
use crate::{Done, Failed};
use serde_json::json;
use std::net::{Ipv4Addr, TcpListener};
use std::time::{Duration, Instant};

/// Rounds of a loop and of bare calls side by side; the median of their ratios counts.
const EACH_ROUNDS: usize = 15;

/// Sessions of the handshake era that are open at once.
const SESSIONS: usize = 1_000;

pub(crate) fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

pub(crate) fn add() -> serde_json::Value {
    json!({ "a": 1, "b": 2 })
}

/// Three steps, beside three calls one after the other: of a tool that takes five milliseconds, as real ones do, and
/// of one that takes none. The latter cannot be less than four thirds: the call of the workflow is a fourth.
pub(crate) async fn chain(table: &mut Table, watched: &Watched) -> Done {
    for durability in ["none", "async"] {
        let bare = Call::new("slow", json!({ "ms": 5 }));
        let chain = Call::new(&format!("workflow:chain_slow_{durability}"), json!({}));
        let (ratio, beside) = chained(watched, (&bare, &chain), 12).await?;
        let what = format!("chain of 3, {durability} / three bare calls of 5 ms");
        table.at_most(&what, ratio, 1.3, "", &beside);
        let bare = Call::new("add", add());
        let name = format!("workflow:chain_{durability}");
        let chain = Call::new(&name, json!({ "start": 1 }));
        let (ratio, beside) = chained(watched, (&bare, &chain), 100).await?;
        let what = format!("chain of 3, {durability} / three bare calls of 0 ms");
        table.tell(&what, ratio, "", &beside);
    }
    Ok(())
}

async fn chained(
    watched: &Watched,
    (bare, chain): (&Call, &Call),
    calls: usize,
) -> Result<(f64, String), Failed> {
    let shape = Shape {
        clients: 1,
        calls,
        pace: None,
    };
    let (target, through) = (watched.bare(), watched.through());
    let Compared { one, other, .. } = watched
        .compare((&target, bare), (&through, chain), shape)
        .await?;
    let (three, whole) = (3.0 * ms(one.p50()), ms(other.p50()));
    let beside = format!("p50 {whole:.3} / {three:.3} ms; {} a run", cpu(&other, 1.0));
    Ok((whole / three, beside))
}

/// Ten steps, many clients: what a step costs the gateway.
pub(crate) async fn dag(table: &mut Table, watched: &Watched) -> Done {
    for (durability, goal) in [("none", 60.0), ("async", 75.0)] {
        let call = Call::new(&format!("workflow:dag_{durability}"), json!({ "start": 1 }));
        let warm = Shape {
            clients: 64,
            calls: 5,
            pace: None,
        };
        let shape = Shape { calls: 50, ..warm };
        watched.load(&watched.through(), &call, warm).await?;
        let took = watched.load(&watched.through(), &call, shape).await?;
        let step = took.cpu.gateway.as_secs_f64() * 1e6 / (took.count() * 10.0);
        let beside = format!("{:.0} runs/s; {} a step", took.a_second(), cpu(&took, 10.0));
        let what = format!("DAG of 10, {durability}, 64 clients: CPU a step");
        table.at_most(&what, step, goal, "us", &beside);
    }
    Ok(())
}

/// A loop of a thousand calls, beside as many bare calls, fifty at a time each.
pub(crate) async fn each(table: &mut Table, watched: &Watched) -> Done {
    let items: Vec<u32> = (0..1_000).collect();
    let bare_shape = Shape {
        clients: 50,
        calls: 20,
        pace: None,
    };
    let shape = Shape {
        clients: 1,
        calls: 1,
        pace: None,
    };
    let bare = Call::new("add", add());
    for durability in ["none", "async"] {
        let each = Call::new(
            &format!("workflow:each_{durability}"),
            json!({ "items": items }),
        );
        watched.load(&watched.through(), &each, shape).await?;
        let (mut ratios, mut walls, mut took) = (Vec::new(), Vec::new(), Took::default());
        for _ in 0..EACH_ROUNDS {
            let one = watched.load(&watched.bare(), &bare, bare_shape).await?;
            let other = watched.load(&watched.through(), &each, shape).await?;
            ratios.push(ms(other.wall) / ms(one.wall));
            walls.push(ms(one.wall));
            took.add(other);
        }
        let (ratio, alone) = (median(ratios.into_iter()), median(walls.into_iter()));
        let beside = format!(
            "p50 {:.0} / {alone:.0} ms; {} an item",
            ms(took.p50()),
            cpu(&took, 1_000.0)
        );
        let what = format!("forEach 1,000 at 50, {durability} / bare calls at 50");
        table.at_most(&what, ratio, 1.5, "", &beside);
    }
    Ok(())
}

/// Branches of unlike length, beside the calls of the longest chain alone.
pub(crate) async fn uneven(table: &mut Table, watched: &Watched) -> Done {
    let shape = Shape {
        clients: 1,
        calls: 5,
        pace: None,
    };
    let mut path = Duration::ZERO;
    for time in [100, 20, 100] {
        let call = Call::new("slow", json!({ "ms": time }));
        path += watched.load(&watched.bare(), &call, shape).await?.p50();
    }
    let call = Call::new("workflow:uneven", json!({}));
    let took = watched.load(&watched.through(), &call, shape).await?;
    let (path, whole) = (ms(path), ms(took.p50()));
    let beside = format!("p50 {whole:.1} / {path:.1} ms");
    table.at_most(
        "uneven DAG / its critical path, bare",
        whole / path,
        1.05,
        "",
        &beside,
    );
    Ok(())
}

/// From the start of the program to the answer to a first call of a workflow.
pub(crate) async fn start(table: &mut Table, program: &Program, watched: &Watched) -> Done {
    let call = Call::new("workflow:chain_async", json!({ "start": 1 }));
    let (mut http, mut stdio) = (Vec::new(), Vec::new());
    for _ in 0..5 {
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?
            .local_addr()?
            .port();
        let began = Instant::now();
        let mut child = program.gateway_at(&watched.backend, port)?;
        let mut client = connected(port).await?;
        client.call(&call).await?;
        http.push(began.elapsed());
        child.kill().await?;
        let began = Instant::now();
        let lines = Lines::open(program.gateway_lines(&watched.backend)?)?;
        lines.call(&call).await?;
        stdio.push(began.elapsed());
    }
    for (name, mut times) in [("http", http), ("stdio", stdio)] {
        times.sort_unstable();
        let (median, worst) = (ms(times[times.len() / 2]), ms(times[times.len() - 1]));
        let what = format!("start to first answer, {name}");
        table.at_most(
            &what,
            median,
            50.0,
            "ms",
            &format!("worst of 5: {worst:.0} ms"),
        );
    }
    Ok(())
}

async fn connected(port: u16) -> Result<Http, Failed> {
    let address = format!("127.0.0.1:{port}");
    for _ in 0..5_000 {
        if let Ok(client) = Http::open(&address).await {
            return Ok(client);
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    Err("the gateway does not listen".into())
}

pub(crate) fn idle(table: &mut Table, watched: &Watched) -> Done {
    table.at_most("memory, idle", watched.gateway.memory()?, 25.0, "MiB", "");
    Ok(())
}

/// Sessions of handshake clients, each with its stream, at a gateway that has done nothing else.
pub(crate) async fn sessions(table: &mut Table, program: &Program, watched: &Watched) -> Done {
    let gateway = program.gateway(&watched.backend, "sessions.db").await?;
    let mut open = Vec::with_capacity(SESSIONS);
    for _ in 0..SESSIONS {
        let mut client = Http::open(&gateway.address).await?;
        client.open_session().await?;
        open.push(client);
    }
    let what = "memory, 1,000 sessions with their streams";
    table.at_most(what, gateway.memory()?, 90.0, "MiB", "");
    gateway.end().await
}

pub(crate) fn after(table: &Table, watched: &Watched) -> Done {
    let after = watched.gateway.memory()?;
    table.tell("memory, after all of this", after, "MiB", "");
    Ok(())
}
