//! What modern clients say of themselves, read once: a client says the same in every request.

use crate::ask;
use crate::limits::{CLIENT_TEXT_BYTES_MAX, CLIENTS_KNOWN_MAX};
use onecall_mcp::ClientText;
use onecall_runtime::calls::Takes;
use rmcp::model::{ClientCapabilities, Implementation};
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A client as it declares itself.
#[derive(Debug)]
pub(crate) struct Declared {
    /// What it calls itself, for people.
    pub(crate) name: Option<String>,
    /// In the words of the protocol, as the client wrote them.
    pub(crate) capabilities: Value,
    pub(crate) takes: Takes,
    pub(crate) takes_tasks: bool,
}

impl Declared {
    /// `None` where the protocol wants more of a client, or other types.
    pub(crate) fn read(info: Option<&Value>, capabilities: &Value) -> Option<Self> {
        use serde::Deserialize as _;
        if let Some(info) = info {
            Implementation::deserialize(info).ok()?;
        }
        let declared = ClientCapabilities::deserialize(capabilities).ok()?;
        Some(Self {
            name: ask::client_name(info),
            takes: Takes {
                forms: ask::shows_forms(Some(&declared)),
                pages: ask::shows_pages(Some(&declared)),
            },
            takes_tasks: declared.supports_tasks(),
            capabilities: capabilities.clone(),
        })
    }
}

/// The clients that called last.
#[derive(Debug, Default)]
pub(crate) struct Known(Mutex<VecDeque<Entry>>);

#[derive(Debug)]
struct Entry {
    info: Option<Box<RawValue>>,
    capabilities: Box<RawValue>,
    declared: Arc<Declared>,
}

impl Entry {
    fn is_of(&self, client: ClientText<'_>) -> bool {
        let own = self.info.as_deref().map(RawValue::get);
        own == client.info.map(RawValue::get)
            && self.capabilities.get() == client.capabilities.get()
    }
}

impl Known {
    pub(crate) fn read(&self, client: ClientText<'_>) -> Option<Arc<Declared>> {
        if let Some(known) = self.lock().iter().find(|known| known.is_of(client)) {
            return Some(Arc::clone(&known.declared));
        }
        let value = |raw: &RawValue| serde_json::from_str::<Value>(raw.get()).ok();
        let info = match client.info {
            Some(info) => Some(value(info)?),
            None => None,
        };
        let declared = Declared::read(info.as_ref(), &value(client.capabilities)?)?;
        let declared = Arc::new(declared);
        let info_bytes = client.info.map_or(0, |info| info.get().len());
        if info_bytes + client.capabilities.get().len() <= CLIENT_TEXT_BYTES_MAX {
            let mut known = self.lock();
            known.truncate(CLIENTS_KNOWN_MAX - 1);
            known.push_front(Entry {
                info: client.info.map(ToOwned::to_owned),
                capabilities: client.capabilities.to_owned(),
                declared: Arc::clone(&declared),
            });
        }
        Some(declared)
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Entry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(known: &Known, info: &str, capabilities: &str) -> Option<Arc<Declared>> {
        let raw = |text: &str| RawValue::from_string(text.to_owned()).unwrap();
        let (info, capabilities) = (raw(info), raw(capabilities));
        known.read(ClientText {
            info: Some(&info),
            capabilities: &capabilities,
        })
    }

    #[test]
    fn a_client_is_read_once_and_another_one_for_itself() {
        let known = Known::default();
        let info = r#"{"name":"n","version":"1"}"#;
        let first = read(&known, info, "{}").unwrap();
        assert_eq!(first.name.as_deref(), Some("n 1"));
        assert!(Arc::ptr_eq(&first, &read(&known, info, "{}").unwrap()));
        let asks = read(&known, info, r#"{"elicitation":{}}"#).unwrap();
        assert!(asks.takes.forms && !first.takes.forms);
        assert!(read(&known, r#"{"name":1}"#, "{}").is_none());
        assert!(read(&known, info, "[]").is_none());
    }

    #[test]
    fn few_are_remembered_and_none_that_says_much() {
        let known = Known::default();
        for number in 0..CLIENTS_KNOWN_MAX * 2 {
            let info = format!(r#"{{"name":"n{number}","version":"1"}}"#);
            read(&known, &info, "{}").unwrap();
        }
        assert_eq!(known.lock().len(), CLIENTS_KNOWN_MAX);
        let long = "x".repeat(CLIENT_TEXT_BYTES_MAX);
        let info = format!(r#"{{"name":"{long}","version":"1"}}"#);
        read(&known, &info, "{}").unwrap();
        assert!(
            known
                .lock()
                .iter()
                .all(|one| one.info.as_deref().unwrap().get() != info)
        );
    }
}
