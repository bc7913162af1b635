//! Calls that are passed through, beside the same calls made to the backend itself.
//!
//! A call that comes alone finds the cores asleep, and then the time to wake them, and whether the scheduler puts two
//! of the processes on one of them, count more than what any program does. So the rows stand three times: left to the
//! scheduler, which may let the bare call share a core and not the other; with the client on one core and the servers
//! on another; and with all on one core. A forwarder that only copies bytes stands beside each, to tell what a process
//! in between costs that does nothing.

use crate::Done;
use crate::client::{Call, Lines};
use crate::forward::Forwarder;
use crate::load::{Compared, Shape, Target, Watched};
use crate::place;
use crate::process::Program;
use crate::rows::{add, ms};
use crate::table::{Table, cpu};
use rustix::thread::CpuSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::process::Child;

const ALONE: Shape = Shape {
    clients: 1,
    calls: 200,
    pace: None,
};

const PACED: Shape = Shape {
    clients: 16,
    calls: 20,
    // A millisecond for each: timers are no finer, and two in one would wait for each other.
    pace: Some(Duration::from_millis(16)),
};

const EAGER: Shape = Shape {
    clients: 16,
    calls: 40,
    pace: None,
};

pub(crate) async fn all(table: &mut Table, program: &Program, watched: &Watched) -> Done {
    let forwarder = Forwarder::start(&watched.backend.address).await?;
    passed(table, program.lines()?, watched, "").await?;
    forwarded(table, watched, forwarder, "").await?;
    let cores = place::allowed()?;
    let fixed = at_fixed_cores(table, program, &cores).await;
    place::stay_on(&cores)?;
    fixed
}

/// Rows whose processes stay where they are.
async fn at_fixed_cores(table: &mut Table, program: &Program, cores: &CpuSet) -> Done {
    let one = place::only(cores, 0).ok_or("no core is allowed")?;
    if let Some(other) = place::only(cores, 1) {
        placed(table, program, (&one, &other), ", 2 cores").await?;
    }
    placed(table, program, (&one, &one), ", 1 core").await
}

async fn placed(
    table: &mut Table,
    program: &Program,
    (own, servers): (&CpuSet, &CpuSet),
    place: &str,
) -> Done {
    // What is started from here on stays where this process is now.
    place::stay_on(servers)?;
    let backend = program.backend().await?;
    let gateway = program.gateway(&backend, "placed.db").await?;
    let lines = program.lines()?;
    let forwarder = Forwarder::start(&backend.address).await?;
    let watched = Watched { gateway, backend };
    place::stay_on(own)?;
    passed(table, lines, &watched, place).await?;
    forwarded(table, &watched, forwarder, place).await?;
    watched.gateway.end().await?;
    watched.backend.end().await
}

/// `lines`: a backend that is spoken to over its input and output.
async fn passed(table: &mut Table, lines: Child, watched: &Watched, place: &str) -> Done {
    let lines = Target::Lines(Arc::new(Lines::open(lines)?));
    let (bare, through) = (Call::new("add", add()), watched.through());
    for (name, target) in [("http", watched.bare()), ("stdio", lines)] {
        let call = Call::new(&format!("{name}_add"), add());
        let (first, second) = ((&target, &bare), (&through, &call));
        for (clients, shape) in [("1 client", ALONE), ("16 at 16 ms", PACED)] {
            let compared = watched.compare(first, second, shape).await?;
            let what = format!("passed over {name}, {clients}{place}: added p50");
            let (added, beside) = added(&compared);
            table.at_most(&what, added, 0.1, "ms", &beside);
        }
        let Compared { one, other, .. } = watched.compare(first, second, EAGER).await?;
        let what = format!("passed over {name}, 16 at once{place}: calls");
        let bare = format!("bare {:.0} /s; {}", one.a_second(), cpu(&other, 1.0));
        table.tell(&what, other.a_second(), "/s", &bare);
    }
    Ok(())
}

/// The least that stands between a client and a backend: a process that copies bytes.
async fn forwarded(
    table: &mut Table,
    watched: &Watched,
    forwarder: Forwarder,
    place: &str,
) -> Done {
    let forwarded = Target::Http(forwarder.address.clone());
    let call = Call::new("add", add());
    for (clients, shape) in [("1 client", ALONE), ("16 at 16 ms", PACED)] {
        let (first, second) = ((&watched.bare(), &call), (&forwarded, &call));
        let compared = watched.compare(first, second, shape).await?;
        let (added, beside) = added(&compared);
        let what = format!("only copied over http, {clients}{place}: added p50");
        table.tell(&what, added, "ms", &beside);
    }
    forwarder.end().await
}

fn added(compared: &Compared) -> (f64, String) {
    let (one, other) = (ms(compared.one.p50()), ms(compared.other.p50()));
    let ratio = other / one;
    let cpu = cpu(&compared.other, 1.0);
    let beside = format!("p50 {other:.3} / {one:.3} ms = {ratio:.2}; {cpu}");
    (compared.added_ms(), beside)
}
