//! The ways a message can go, behind one set of verbs. An enum, not a trait: the set is closed.

use std::sync::Arc;

use serde_json::value::RawValue;
use tokio::sync::watch;

use crate::error::RequestError;
use crate::http::HttpWire;
use crate::link::RequestOptions;
use crate::news::News;
use crate::params::Params;
use crate::process::Process;
use crate::sse::SseWire;

#[derive(Debug)]
pub(crate) enum Wire {
    Child(Process),
    Http(HttpWire),
    Sse(SseWire),
}

impl Wire {
    pub(crate) async fn request(
        &self,
        name: &str,
        params: Params<'_>,
        options: RequestOptions,
    ) -> Result<Box<RawValue>, RequestError> {
        match self {
            Self::Child(process) => process.link.request(name, params, options).await,
            Self::Http(http) => http.request(name, params, &options).await,
            Self::Sse(sse) => sse.link.request(name, params, options).await,
        }
    }

    /// What the server tells outside of answers.
    pub(crate) fn news(&self) -> &News {
        match self {
            Self::Child(process) => process.link.news(),
            Self::Http(http) => http.news(),
            Self::Sse(sse) => sse.link.news(),
        }
    }

    /// Holds the reason once the connection has ended.
    pub(crate) fn closed(&self) -> watch::Receiver<Option<Arc<str>>> {
        match self {
            Self::Child(process) => process.link.closed(),
            Self::Http(http) => http.closed(),
            Self::Sse(sse) => sse.link.closed(),
        }
    }

    /// What is spoken, which is not always what the options say: an older server is found to be one.
    pub(crate) fn transport(&self) -> &'static str {
        match self {
            Self::Child(_) => "stdio",
            Self::Http(_) => "http",
            Self::Sse(_) => "sse",
        }
    }

    /// Every call has a stream and headers of its own.
    pub(crate) fn is_http(&self) -> bool {
        match self {
            Self::Http(_) => true,
            Self::Child(_) | Self::Sse(_) => false,
        }
    }

    pub(crate) async fn shutdown(&self) {
        match self {
            Self::Child(process) => process.shutdown().await,
            Self::Http(http) => http.shutdown().await,
            Self::Sse(sse) => sse.link.close("it was shut down"),
        }
    }
}
