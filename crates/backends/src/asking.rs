//! Questions of a backend on their way to the caller. While one is open, the time-out of its call
//! stands still: nobody blames a backend for a person's patience.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use onecall_mcp::{Exact, RequestId, method, response_error_text, response_text};
use serde_json::Value;
use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;

use crate::call::{Answered, Question, QuestionSink};
use crate::limits::ASKED_TOGETHER;
use crate::pages::{PageSink, Pages};

/// Whether a request of a server is a question, and not one about the connection.
pub(crate) fn is_question(name: &str) -> bool {
    matches!(name, method::ELICIT | method::SAMPLE | method::ROOTS_LIST)
}

/// The message that tells a server how its question was answered.
pub(crate) fn answer_text(id: &RequestId, answered: &Answered) -> String {
    match answered {
        Ok(answer) => response_text(id, answer),
        Err(error) => response_error_text(Some(id), error),
    }
}

/// Where the questions of one call go.
#[derive(Clone, Debug)]
pub(crate) struct Asker {
    sink: QuestionSink,
    /// Told of pages that are done with.
    pages: Option<PageSink>,
    open: Arc<OpenOnes>,
    began: Instant,
}

/// How many questions of a call are open.
#[derive(Debug, Default)]
struct OpenOnes {
    count: AtomicUsize,
    changed: Notify,
    /// The call was answered, questions or none.
    is_answered: AtomicBool,
    /// Which request of this process belongs to the call, by the order in which they were made.
    request: AtomicU64,
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
            began: Instant::now(),
        }
    }

    /// Remembers whom a question sends to a page, before the server can say anything more.
    pub(crate) fn note(&self, method: &str, params: &Value, pages: &Pages) {
        if let Some(sink) = self.pages.as_ref().filter(|_| method == method::ELICIT) {
            pages.sent(params, sink);
        }
    }

    /// Puts a question and waits for the answer; `None` where nobody takes it.
    pub(crate) async fn ask(&self, method: String, params: Exact) -> Option<Answered> {
        self.begin().ask(method, params).await
    }

    /// From now on a question is open.
    pub(crate) fn begin(&self) -> Asking {
        Asking {
            asker: self.clone(),
            _open: Open::new(&self.open),
        }
    }

    /// A request is made for the call. Ids of requests are random, and say nothing about their order.
    pub(crate) fn set_requested(&self) {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let number = NEXT.fetch_add(1, Ordering::SeqCst);
        self.open.request.store(number, Ordering::SeqCst);
    }

    /// The call waits for an answer, or has it. A task asks once more after its call was answered.
    pub(crate) fn set_answered(&self, is_answered: bool) {
        self.open.is_answered.store(is_answered, Ordering::SeqCst);
    }

    pub(crate) fn is_answered(&self) -> bool {
        self.open.is_answered.load(Ordering::SeqCst)
    }

    fn is_free(&self) -> bool {
        self.open.count.load(Ordering::SeqCst) == 0
    }
}

/// A question that is about to be put.
#[derive(Debug)]
pub(crate) struct Asking {
    pub(crate) asker: Asker,
    _open: Open,
}

impl Asking {
    pub(crate) async fn ask(self, method: String, params: Exact) -> Option<Answered> {
        let (reply, answer) = oneshot::channel();
        let question = Question {
            method,
            params,
            reply,
        };
        self.asker.sink.try_send(Box::new(question)).ok()?;
        answer.await.ok()
    }
}

/// Which of several calls a question is put to that names none. One that is being asked
/// already waits for its answer, so it is another's. Questions come early in a call, so it is a new one's; of calls
/// that were made together the first one's, since servers take them in order.
pub(crate) fn place<'a>(askers: impl Iterator<Item = &'a Asker>) -> Option<Asking> {
    let mut askers: Vec<_> = askers.collect();
    askers.sort_by_key(|asker| asker.open.request.load(Ordering::SeqCst));
    let free = || askers.iter().filter(|asker| asker.is_free());
    let newest = free().next_back().or(askers.last())?;
    let together = |asker: &Asker| asker.began + ASKED_TOGETHER >= newest.began;
    let asker = free().find(|asker| together(asker)).unwrap_or(newest);
    Some(asker.begin())
}

/// One open question.
#[derive(Debug)]
struct Open(Arc<OpenOnes>);

impl Open {
    fn new(open: &Arc<OpenOnes>) -> Self {
        open.count.fetch_add(1, Ordering::SeqCst);
        open.changed.notify_waiters();
        Self(Arc::clone(open))
    }
}

impl Drop for Open {
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
            let answer = asker.ask("m".to_owned(), json!({}).into()).await;
            tokio::time::sleep(second / 4).await;
            answer
        };
        let person = async {
            let question = questions.recv().await.unwrap();
            tokio::time::sleep(second * 100).await;
            question.reply.send(Ok(json!(1).into())).unwrap();
        };
        let (done, ()) = tokio::join!(within(second, Some(&asker), work), person);
        assert_eq!(done, Some(Some(Ok(json!(1).into()))));
        let slow = tokio::time::sleep(second * 2);
        assert_eq!(within(second, Some(&asker), slow).await, None);
    }
}
