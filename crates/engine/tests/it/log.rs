//! What the log says of a run: names and codes, and nothing that a tool repeats of what it was given.

use crate::driver::{Setting, end_of};
use crate::plan::call;
use crate::world::{SECRET, Tool};
use onecall_engine::event::End;
use onecall_workflow::policy::OnError;
use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::Duration;

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn a_failure_that_is_passed_over_is_logged_without_its_message() {
    let lines = Lines::default();
    let writer = lines.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_ansi(false)
        .with_writer(move || writer.clone())
        .finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    let mut setting = Setting::new(&[("a", Tool::Fails(Duration::from_secs(1)))]);
    let mut fails = call("a", &[]);
    fails.on_error = OnError::CONTINUE;
    let end = end_of(setting.run(vec![fails]).await);
    assert!(matches!(end, End::Completed { .. }), "{end:?}");
    let log = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
    assert!(
        log.contains("the step failed and the run goes on"),
        "{log:?}"
    );
    assert!(log.contains("code=tool.error"), "{log}");
    assert!(!log.contains(SECRET), "{log}");
}
