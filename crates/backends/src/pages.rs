//! Pages that a server of 2025-11-25 has sent people to, by the names that it gave them. When it says that one is done
//! with, whoever was sent there is told, and nobody else. A name counts on its own connection only.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use indexmap::IndexMap;
use onecall_mcp::{Exact, QuestionShape};
use serde_json::Value;

use crate::limits::{PAGE_NAME_BYTES_MAX, PAGES_MAX};

/// Takes the parameters of `notifications/elicitation/complete`, as received, also after the call has ended.
#[derive(Clone)]
pub struct PageSink(Arc<dyn Fn(Exact) + Send + Sync>);

impl PageSink {
    pub fn new(tell: impl Fn(Exact) + Send + Sync + 'static) -> Self {
        Self(Arc::new(tell))
    }
}

impl fmt::Debug for PageSink {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("PageSink")
    }
}

/// The pages of one connection, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct Pages {
    open: Mutex<IndexMap<String, PageSink>>,
}

impl Pages {
    /// Somebody is sent to a page: `params` are those of `elicitation/create`.
    pub(crate) fn sent(&self, params: &Value, sink: &PageSink) {
        let name = QuestionShape::read(params).elicitation_id;
        let Some(name) = name.filter(|name| name.len() <= PAGE_NAME_BYTES_MAX) else {
            return;
        };
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.len() >= PAGES_MAX {
            open.shift_remove_index(0);
        }
        open.insert(name.to_owned(), sink.clone());
    }

    /// The server says that a page is done with.
    pub(crate) fn done(&self, params: &Exact) {
        let name = params.value().get("elicitationId").and_then(Value::as_str);
        let sink = name.and_then(|name| {
            let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            open.shift_remove(name)
        });
        if let Some(PageSink(tell)) = sink {
            tell(params.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_page_is_told_once_and_only_to_whom_was_sent_there() {
        let pages = Pages::default();
        let heard: Arc<Mutex<Vec<(usize, Exact)>>> = Arc::default();
        let sink = |who: usize| {
            let heard = Arc::clone(&heard);
            PageSink::new(move |params| heard.lock().unwrap().push((who, params)))
        };
        let named = |name: &str| json!({ "elicitationId": name });
        for who in 0..=PAGES_MAX {
            pages.sent(&named(&format!("p{who}")), &sink(who));
        }
        pages.sent(&json!({ "mode": "url" }), &sink(0));
        pages.sent(&named(&"n".repeat(PAGE_NAME_BYTES_MAX + 1)), &sink(0));
        for name in ["p0", "p2", "p2", "other"] {
            pages.done(&named(name).into());
        }
        pages.done(&json!({}).into());
        // The first has made room for the last.
        assert_eq!(*heard.lock().unwrap(), [(2, named("p2").into())]);
    }
}
