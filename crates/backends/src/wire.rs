//! The ways a message can go, behind one set of verbs. An enum, not a trait: the set is closed.

use std::sync::Arc;

use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::watch;

use crate::error::RequestError;
use crate::link::RequestOptions;
use crate::process::Process;

#[derive(Debug)]
pub(crate) enum Wire {
    Child(Process),
}

impl Wire {
    pub(crate) async fn request(
        &self,
        name: &str,
        params: Value,
        options: RequestOptions,
    ) -> Result<Box<RawValue>, RequestError> {
        match self {
            Self::Child(process) => process.link.request(name, params, options).await,
        }
    }

    /// Rises when the server says that one of its lists changed.
    pub(crate) fn changed(&self) -> watch::Receiver<u64> {
        match self {
            Self::Child(process) => process.link.changed(),
        }
    }

    /// Holds the reason once the connection has ended.
    pub(crate) fn closed(&self) -> watch::Receiver<Option<Arc<str>>> {
        match self {
            Self::Child(process) => process.link.closed(),
        }
    }

    pub(crate) fn stderr_tail(&self) -> Vec<String> {
        match self {
            Self::Child(process) => process.stderr.tail(),
        }
    }

    /// Headers mirror parameters on this wire.
    pub(crate) fn has_headers(&self) -> bool {
        match self {
            Self::Child(_) => false,
        }
    }

    pub(crate) async fn shutdown(&self) {
        match self {
            Self::Child(process) => process.shutdown().await,
        }
    }
}
