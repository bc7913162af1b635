//! Calls that stand still in their middle: a backend of the handshake era asks on its open stream, and the modern
//! client whose call it is can only answer by calling again. Until then the call is held here, for some time.

use crate::limits::{HELD_LIFE, HELD_MAX};
use crate::passing::Calling;
use indexmap::IndexMap;
use onecall_mcp::{Exact, input_request};
use onecall_runtime::calls::Question;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio_util::task::AbortOnDropHandle;

/// The key of the question in what the client is asked.
pub(crate) const KEY: &str = "question";

/// The calls that wait for their clients, by a random name that only a sealed state carries.
#[derive(Debug, Default)]
pub(crate) struct HeldCalls {
    open: Mutex<HashMap<u64, Kept>>,
}

#[derive(Debug)]
struct Kept {
    held: Held,
    /// Ends the call when nobody came back.
    _expiry: AbortOnDropHandle<()>,
}

/// A call and the question that it waits for. Dropping it cancels the call at its backend.
#[derive(Debug)]
pub(crate) struct Held {
    calling: Calling,
    question: Question,
}

impl Held {
    /// The call goes on being driven, so that its connection stays alive.
    pub(crate) fn new(calling: Calling, question: Question) -> Self {
        Self {
            calling: calling.driven(),
            question,
        }
    }

    /// What the client is asked.
    pub(crate) fn requests(&self) -> IndexMap<String, Exact> {
        let Question { method, params, .. } = &self.question;
        [(KEY.to_owned(), input_request(method, params.clone()))].into()
    }

    /// Gives the answer.
    pub(crate) fn answered(self, answer: Exact) -> Calling {
        // A backend that no longer waits ends its call by itself.
        let _ = self.question.reply.send(Ok(answer));
        self.calling
    }
}

impl HeldCalls {
    /// Keeps a call; `None` where too many are kept already.
    pub(crate) fn keep(self: &Arc<Self>, held: Held) -> Option<u64> {
        let name = rand::random();
        let mut open = self.lock();
        if open.len() >= HELD_MAX {
            return None;
        }
        let calls = Arc::downgrade(self);
        let expiry = tokio::spawn(async move {
            tokio::time::sleep(HELD_LIFE).await;
            if let Some(calls) = calls.upgrade() {
                calls.take(name);
            }
        });
        let kept = Kept {
            held,
            _expiry: AbortOnDropHandle::new(expiry),
        };
        open.insert(name, kept);
        Some(name)
    }

    pub(crate) fn take(&self, name: u64) -> Option<Held> {
        let kept = self.lock().remove(&name);
        kept.map(|kept| kept.held)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Kept>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
