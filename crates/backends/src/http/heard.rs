//! What a server says on its own account, on the stream of a call or beside all calls: notifications, questions and
//! news.

use std::sync::Arc;

use onecall_mcp::{Era, Exact, Incoming, RequestId, RpcError, method};
use serde_json::json;

use super::{Shared, lock};
use crate::asking::{self, Asker, Asking, answer_text, is_question};
use crate::call::{Answered, Logged, Progress};
use crate::link::RequestOptions;

impl Shared {
    /// Takes a message that came on a stream and is not the answer.
    pub(super) fn take(
        self: &Arc<Self>,
        message: Incoming<Exact>,
        options: Option<&RequestOptions>,
    ) {
        match message {
            Incoming::Notification { method, params } => match method.as_str() {
                method::PROGRESS => {
                    let sink = options.and_then(|options| options.progress.as_ref());
                    if let (Some(sink), Some(progress)) = (sink, Progress::read(params)) {
                        let _ = sink.try_send(progress);
                    }
                }
                method::MESSAGE => {
                    let sink = options.and_then(|options| options.messages.as_ref());
                    if let (Some(sink), Some(logged)) = (sink, Logged::read(&params)) {
                        let _ = sink.try_send(logged);
                    }
                }
                method::LISTEN_ACKNOWLEDGED => {
                    if let Some(own) = options.and_then(|options| options.acknowledged.as_ref()) {
                        own.notify_one();
                    }
                }
                _ => self.news.take(&method, &params),
            },
            // A modern server asks nothing.
            Incoming::Request { id, method, params } if self.revision.era() == Era::Legacy => {
                let asking = match options {
                    Some(options) => options.asker.as_ref().map(Asker::begin),
                    None => self.placed(),
                };
                self.asked(id, method, params, asking);
            }
            Incoming::Request { .. } | Incoming::Response { .. } => {}
        }
    }

    /// A question outside the stream of a call can only be placed where there is one caller.
    fn placed(&self) -> Option<Asking> {
        let askers = lock(&self.askers);
        asking::place(askers.values().filter(|_| self.opening.serves_one))
    }

    /// A question that came on the stream of a call goes to whoever made that call. One that finds no place is
    /// refused, and a server that asks faster than it takes answers gets none.
    fn asked(
        self: &Arc<Self>,
        id: RequestId,
        method: String,
        params: Exact,
        asking: Option<Asking>,
    ) {
        let is_question = is_question(&method);
        let asking = asking.filter(|_| is_question).and_then(|asking| {
            let place = Arc::clone(&self.questions).try_acquire_owned().ok()?;
            Some((asking, place))
        });
        let shared = Arc::clone(self);
        if let Some((asking, place)) = asking {
            asking.asker.note(&method, params.value(), &self.news.pages);
            tokio::spawn(async move {
                let answer = asking.ask(method.clone(), params).await;
                shared.reply(&id, &method, answer).await;
                drop(place);
            });
        } else if let Ok(place) = Arc::clone(&self.replies).try_acquire_owned() {
            let answer = (method == method::PING).then(|| Ok(json!({}).into()));
            tokio::spawn(async move {
                shared.reply(&id, &method, answer).await;
                drop(place);
            });
        }
    }

    async fn reply(&self, id: &RequestId, method: &str, answer: Option<Answered>) {
        let refused = || Err(RpcError::method_not_found(method));
        let message = answer_text(id, &answer.unwrap_or_else(refused));
        self.send(message).await;
    }
}
