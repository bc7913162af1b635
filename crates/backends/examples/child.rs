//! Child processes for the tests of this crate: the demo backend, and servers with one fault each.
//! `child demo [--ledger FILE] [--changing]`, or `child <fault>`.

use onecall_testkit::faulty::child::{crash, serve};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mode = arguments.first().map_or("demo", String::as_str);
    match mode {
        "demo" => demo(&arguments[1..]),
        "crash" => crash("cannot read the settings", 1),
        "stubborn" => {
            serve("plain");
            // Ignores that its stdin was closed.
            std::thread::sleep(std::time::Duration::from_hours(1));
        }
        fault => serve(fault),
    }
}

fn demo(arguments: &[String]) {
    let mut options = onecall_demo::Options::default();
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--ledger" => options.ledger = arguments.next().map(Into::into),
            _ => options.changing_list = true,
        }
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let served = runtime.map(|runtime| runtime.block_on(onecall_demo::serve_stdio(options)));
    assert!(matches!(served, Ok(Ok(()))), "the demo failed: {served:?}");
}
