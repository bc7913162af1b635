//! Questions of a backend on their way to the caller. While one is open, the time-out of its call
//! stands still: nobody blames a backend for a person's patience.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use onecall_mcp::method;
use serde_json::Value;
use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;

use crate::call::{Question, QuestionSink};
use crate::pages::{PageSink, Pages};

/// Where the questions of one call go.
#[derive(Clone, Debug)]
pub(crate) struct Asker {
    sink: QuestionSink,
    /// Told of pages that are done with.
    pages: Option<PageSink>,
    open: Arc<OpenOnes>,
}

/// How many questions of a call are open.
#[derive(Debug, Default)]
struct OpenOnes {
    count: AtomicUsize,
    changed: Notify,
}

impl OpenOnes {
    async fn until(&self, is_wanted: impl Fn(usize) -> bool) {
        loop {
            // It hears of every change from here on, so none is missed between looking and waiting.
            let changed = self.changed.notified();
            if is_wanted(self.count.load(Ordering::SeqCst)) {
                return;
            }
            changed.await;
        }
    }
}

impl Asker {
    pub(crate) fn new(sink: QuestionSink, pages: Option<PageSink>) -> Self {
        Self {
            sink,
            pages,
            open: Arc::default(),
        }
    }

    /// Remembers whom a question sends to a page, before the server can say anything more.
    pub(crate) fn note(&self, method: &str, params: &Value, pages: &Pages) {
        if let Some(sink) = self.pages.as_ref().filter(|_| method == method::ELICIT) {
            pages.sent(params, sink);
        }
    }

    /// Puts a question and waits for the result object; `None` where nobody takes it.
    pub(crate) async fn ask(&self, method: String, params: Value) -> Option<Value> {
        let (reply, answer) = oneshot::channel();
        let question = Question {
            method,
            params,
            reply,
        };
        let _open = Open::new(&self.open);
        self.sink.try_send(Box::new(question)).ok()?;
        answer.await.ok()
    }
}

/// One open question.
struct Open<'a>(&'a OpenOnes);

impl<'a> Open<'a> {
    fn new(open: &'a OpenOnes) -> Self {
        open.count.fetch_add(1, Ordering::SeqCst);
        open.changed.notify_waiters();
        Self(open)
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.count.fetch_sub(1, Ordering::SeqCst);
        self.0.changed.notify_waiters();
    }
}

/// Does the work within a time in which no question is open. `None`: the time is over.
pub(crate) async fn within<T>(
    after: Duration,
    asker: Option<&Asker>,
    work: impl Future<Output = T>,
) -> Option<T> {
    let Some(asker) = asker else {
        return tokio::time::timeout(after, work).await.ok();
    };
    tokio::pin!(work);
    let mut left = after;
    loop {
        let began = Instant::now();
        tokio::select! {
            done = &mut work => return Some(done),
            () = tokio::time::sleep(left) => return None,
            () = asker.open.until(|open| open > 0) => {}
        }
        left = left.saturating_sub(began.elapsed());
        tokio::select! {
            done = &mut work => return Some(done),
            () = asker.open.until(|open| open == 0) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use tokio::sync::mpsc;

    #[tokio::test(start_paused = true)]
    async fn the_time_of_a_person_does_not_count() {
        let (sink, mut questions) = mpsc::channel(1);
        let asker = Asker::new(sink, None);
        let second = Duration::from_secs(1);
        let work = async {
            tokio::time::sleep(second / 2).await;
            let answer = asker.ask("m".to_owned(), json!({})).await;
            tokio::time::sleep(second / 4).await;
            answer
        };
        let person = async {
            let question = questions.recv().await.unwrap();
            tokio::time::sleep(second * 100).await;
            question.reply.send(json!(1)).unwrap();
        };
        let (done, ()) = tokio::join!(within(second, Some(&asker), work), person);
        assert_eq!(done, Some(Some(json!(1))));
        let slow = tokio::time::sleep(second * 2);
        assert_eq!(within(second, Some(&asker), slow).await, None);
    }
}
