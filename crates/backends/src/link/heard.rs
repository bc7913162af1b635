//! What a server says on its own account: notifications for the call they belong to, questions for whoever can be
//! asked, and news.

use std::sync::Arc;

use onecall_mcp::{
    Exact, RequestId, RpcError, code, meta, method, response_error_text, response_text,
};
use serde_json::json;

use super::{Frame, Link, Waiting};
use crate::asking::{Asking, answer_text, is_question};
use crate::call::{Answered, Logged, Progress};

impl Link {
    pub(super) fn notified(&self, name: &str, params: Exact) {
        match name {
            method::PROGRESS => {
                let token = params.value().get(meta::PROGRESS_TOKEN);
                let token = token.and_then(RequestId::from_value);
                let Some(RequestId::Number(id)) = token else {
                    return;
                };
                let table = self.shared.lock();
                let sink = table
                    .waiting
                    .get(&id)
                    .and_then(|waiting| waiting.progress.as_ref());
                if let (Some(sink), Some(progress)) = (sink, Progress::read(params)) {
                    let _ = sink.try_send(progress);
                }
            }
            method::MESSAGE => {
                let sink = self.newest(|waiting| waiting.messages.clone());
                if let (Some(sink), Some(logged)) = (sink, Logged::read(&params)) {
                    let _ = sink.try_send(logged);
                }
            }
            method::LISTEN_ACKNOWLEDGED => {
                let id = meta::get(params.value(), meta::SUBSCRIPTION_ID);
                let stream = match id.and_then(RequestId::from_value) {
                    Some(RequestId::Number(id)) => {
                        let table = self.shared.lock();
                        let waiting = table.waiting.get(&id);
                        waiting.and_then(|waiting| waiting.acknowledged.clone())
                    }
                    Some(RequestId::Text(_)) | None => {
                        self.newest(|waiting| waiting.acknowledged.clone())
                    }
                };
                if let Some(stream) = stream {
                    stream.notify_one();
                }
            }
            _ => self.shared.news.take(name, &params),
        }
    }

    /// Answers what a server may ask of us; questions go to the call they can belong to.
    pub(super) fn asked(&self, id: RequestId, name: String, params: Exact) {
        if name == method::PING {
            return self.reply(response_text(&id, &json!({})));
        }
        let is_question = is_question(&name);
        let (placed, is_in_call) = {
            let table = self.shared.lock();
            let placed = is_question.then(|| table.placed()).flatten();
            (placed, table.has_calls())
        };
        // One that belongs to no call was meant for nobody.
        if is_question && placed.is_none() && is_in_call {
            self.shared.news.question_refused();
        }
        let permit = Arc::clone(&self.shared.questions).try_acquire_owned();
        let (Some(asking), Ok(permit)) = (placed, permit) else {
            let error = RpcError::method_not_found(&name);
            return self.reply(response_error_text(Some(&id), &error));
        };
        let pages = &self.shared.news.pages;
        asking.asker.note(&name, params.value(), pages);
        let link = self.clone();
        tokio::spawn(async move {
            let answer = link.put(asking, &name, &params).await;
            drop(permit);
            let refused = || {
                let text = "nobody took the question";
                Err(RpcError::new(code::INTERNAL, text))
            };
            link.reply(answer_text(&id, &answer.unwrap_or_else(refused)));
        });
    }

    /// Puts a question until it is answered or refused. A call that is answered with the question open was not the one
    /// that it belongs to: then it is put to another.
    async fn put(&self, mut asking: Asking, name: &str, params: &Exact) -> Option<Answered> {
        loop {
            let asker = asking.asker.clone();
            let answer = asking.ask(name.to_owned(), params.clone()).await;
            if answer.is_some() || !asker.is_answered() {
                return answer;
            }
            asking = self.shared.lock().placed()?;
        }
    }

    /// What the newest call has of a kind. Invariant: calls that take messages share a connection only
    /// when they have one caller, so any of them reaches the right person.
    fn newest<T>(&self, have: impl Fn(&Waiting) -> Option<T>) -> Option<T> {
        let table = self.shared.lock();
        let having = table.waiting.iter().filter_map(|(id, waiting)| {
            let had = have(waiting)?;
            Some((*id, had))
        });
        having.max_by_key(|(id, _)| *id).map(|(_, had)| had)
    }

    fn reply(&self, message: String) {
        // Limit: a server that does not read gets no replies either.
        let _ = self.shared.outbound.try_send(Frame::other(message));
    }
}
