//! Calls that are passed through, beside the same calls made to the backend itself.
//!
//! A call that comes alone finds the cores asleep, and then the time to wake them, and whether the scheduler puts two
//! of the processes on one of them, count more than what any program does. So the rows stand twice: with all
//! processes on one core, where a call costs what the programs do, and left to the scheduler, with a forwarder that only
//! copies bytes beside it, to tell what a process in between costs here that does nothing.

use crate::Done;
use crate::client::{Call, Lines};
use crate::forward;
use crate::load::{Shape, Target, Took, Watched};
use crate::place;
use crate::process::Program;
use crate::rows::{add, ms};
use crate::table::{Table, cpu};
use std::sync::Arc;
use std::time::Duration;

const ALONE: Shape = Shape {
    clients: 1,
    calls: 1_000,
    pace: None,
};

const PACED: Shape = Shape {
    clients: 16,
    calls: 100,
    // A millisecond for each: timers are no finer, and two in one would wait for each other.
    pace: Some(Duration::from_millis(16)),
};

const EAGER: Shape = Shape {
    clients: 16,
    calls: 200,
    pace: None,
};

pub(crate) async fn all(table: &mut Table, program: &Program, watched: &Watched) -> Done {
    passed(table, program, watched, "").await?;
    forwarded(table, watched).await?;
    let cores = place::stay_on_one()?;
    let alone = on_one_core(table, program).await;
    place::stay_on(&cores)?;
    alone
}

async fn on_one_core(table: &mut Table, program: &Program) -> Done {
    // What is started from here on stays on this core too.
    let backend = program.backend().await?;
    let gateway = program.gateway(&backend, "one_core.db").await?;
    let watched = Watched { gateway, backend };
    passed(table, program, &watched, ", one core").await?;
    watched.gateway.end().await?;
    watched.backend.end().await
}

async fn passed(table: &mut Table, program: &Program, watched: &Watched, place: &str) -> Done {
    let lines = Target::Lines(Arc::new(Lines::open(program.lines()?)?));
    let (bare, through) = (Call::new("add", add()), watched.through());
    for (name, target) in [("http", watched.bare()), ("stdio", lines)] {
        let call = Call::new(&format!("{name}_add"), add());
        let (first, second) = ((&target, &bare), (&through, &call));
        for (clients, shape) in [("1 client", ALONE), ("16 at 16 ms", PACED)] {
            let (one, other) = watched.compare(first, second, shape).await?;
            let what = format!("passed over {name}, {clients}{place}: added p50");
            let (added, beside) = added(&one, &other);
            table.at_most(&what, added, 0.1, "ms", &beside);
        }
        let (one, other) = watched.compare(first, second, EAGER).await?;
        let what = format!("passed over {name}, 16 at once{place}: calls");
        let bare = format!("bare {:.0} /s; {}", one.a_second(), cpu(&other, 1.0));
        table.tell(&what, other.a_second(), "/s", &bare);
    }
    Ok(())
}

/// The least that stands between a client and a backend: a process that copies bytes.
async fn forwarded(table: &mut Table, watched: &Watched) -> Done {
    let (child, address) = forward::start(&watched.backend.address).await?;
    let forwarded = Target::Http(address);
    let call = Call::new("add", add());
    for (clients, shape) in [("1 client", ALONE), ("16 at 16 ms", PACED)] {
        let (first, second) = ((&watched.bare(), &call), (&forwarded, &call));
        let (one, other) = watched.compare(first, second, shape).await?;
        let (added, beside) = added(&one, &other);
        let what = format!("only copied over http, {clients}: added p50");
        table.tell(&what, added, "ms", &beside);
    }
    forward::end(child).await
}

fn added(bare: &Took, through: &Took) -> (f64, String) {
    let (one, other) = (ms(bare.p50()), ms(through.p50()));
    let ratio = other / one;
    let beside = format!(
        "p50 {other:.3} / {one:.3} ms = {ratio:.2}; {}",
        cpu(through, 1.0)
    );
    (other - one, beside)
}
