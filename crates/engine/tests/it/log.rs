//! What the log says of a run: names and codes, and nothing that a tool repeats of what it was given.

use crate::driver::{Setting, end_of};
use crate::plan::{call, plan};
use crate::world::{SECRET, Tool};
use onecall_engine::evaluate::PlanEvaluator;
use onecall_engine::event::End;
use onecall_workflow::expression::{Expression, Path, Program, Root, Segment, nowhere};
use onecall_workflow::policy::OnError;
use onecall_workflow::workflow::{
    Output, OutputKind, OutputProperties, OutputProperty, OutputSource, Unset,
};
use serde_json::json;
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

/// Lines that are logged from here on, until the guard is dropped.
fn listen() -> (Lines, tracing::subscriber::DefaultGuard) {
    let lines = Lines::default();
    let writer = lines.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_ansi(false)
        .with_writer(move || writer.clone())
        .finish();
    let guard = tracing::subscriber::set_default(subscriber);
    (lines, guard)
}

impl Lines {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

#[tokio::test(start_paused = true)]
async fn a_default_in_the_output_is_logged_without_its_reason() {
    let (lines, _guard) = listen();
    let mut setting = Setting::new(&[]);
    let mut plan = plan(Vec::new());
    let missing = Path::new(Root::Input, vec![Segment::Key(SECRET.to_owned())]);
    Arc::make_mut(&mut plan).workflow.output = Output::Properties(OutputProperties {
        properties: vec![OutputProperty {
            name: "count".to_owned(),
            kind: OutputKind::Integer,
            description: None,
            source: OutputSource::Value(Expression::new(Program::Path(missing), None)),
            default: Some(json!(7)),
            schema: None,
            place: nowhere(),
        }],
        required: Vec::new(),
        unset: Unset::Fails,
    });
    let driven = setting.drive(plan, Arc::new(PlanEvaluator::default()));
    let end = end_of(driven.await.unwrap());
    assert!(matches!(end, End::Completed { .. }), "{end:?}");
    let log = lines.text();
    assert!(
        log.contains(" WARN ") && log.contains("property=\"count\""),
        "{log:?}"
    );
    assert!(log.contains("a default took the place"), "{log}");
    assert!(!log.contains(SECRET), "{log}");
}

#[tokio::test(start_paused = true)]
async fn a_failure_that_is_passed_over_is_logged_without_its_message() {
    let (lines, _guard) = listen();
    let mut setting = Setting::new(&[("a", Tool::Fails(Duration::from_secs(1)))]);
    let mut fails = call("a", &[]);
    fails.on_error = OnError::CONTINUE;
    let end = end_of(setting.run(vec![fails]).await);
    assert!(matches!(end, End::Completed { .. }), "{end:?}");
    let log = lines.text();
    assert!(
        log.contains("the step failed and the run goes on"),
        "{log:?}"
    );
    assert!(log.contains("code=tool.error"), "{log}");
    assert!(!log.contains(SECRET), "{log}");
}
