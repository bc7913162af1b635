//! What one module of the runtime logs while a test listens.

use std::fmt::Debug;
use std::sync::{Arc, Mutex};
use tracing::field::Field;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// The lines of one target, such as `onecall_runtime::offers`.
#[derive(Clone)]
pub(crate) struct Logged {
    target: &'static str,
    lines: Arc<Mutex<Vec<String>>>,
}

impl Logged {
    pub(crate) fn of(target: &'static str) -> Self {
        Self {
            target,
            lines: Arc::default(),
        }
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.lines.lock().unwrap().clone()
    }
}

impl Subscriber for Logged {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == self.target
    }
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, event: &Event<'_>) {
        if self.enabled(event.metadata()) {
            let mut line = String::new();
            let mut help = String::new();
            event.record(&mut |field: &Field, text: &dyn Debug| match field.name() {
                "message" => line = format!("{text:?}"),
                "help" => help = format!(" = help: {text:?}"),
                _ => {}
            });
            line.push_str(&help);
            self.lines.lock().unwrap().push(line);
        }
    }
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}
