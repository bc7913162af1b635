//! Tool lists kept in a file: `{backend: <tools/list result>}`, written by `onecall tools --save`, read by
//! `onecall check --tools`.

use crate::merge;
use crate::notices;
use crate::runtime::Runtime;
use indexmap::IndexMap;
use onecall_backends::{BackendName, BackendState, ToolLists};
use onecall_config::settings::Server;
use onecall_mcp::{Exact, Tool, ToolPage, long_numbers};
use onecall_source::Diagnostics;
use onecall_workflow::catalog::Catalog;
use serde::Serialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::sync::Arc;
use std::time::Duration;

/// The tools of backends, by backend.
#[derive(Clone, Debug, Default)]
pub struct SavedTools {
    lists: Vec<(BackendName, Arc<[Tool]>)>,
}

#[derive(Debug, thiserror::Error)]
pub enum ReadToolsError {
    #[error("the file of tools is not JSON")]
    Json(#[from] serde_json::Error),
    #[error("the file of tools must be an object of `tools/list` results, by backend")]
    Shape,
    #[error("the tools of backend `{backend}` cannot be read: {reason}")]
    List { backend: String, reason: String },
}

/// A tool as it is written: to be read by people where nothing is lost by that.
#[derive(Serialize)]
#[serde(untagged)]
enum Saved<'a> {
    Value(&'a Map<String, Value>),
    Text(&'a Exact),
}

impl<'a> Saved<'a> {
    fn of(tool: &'a Tool) -> Self {
        if long_numbers(tool.exact().text()).is_empty() {
            return Self::Value(tool.object());
        }
        Self::Text(tool.exact())
    }
}

impl SavedTools {
    /// Asks every backend of a runtime.
    pub async fn of(runtime: &Runtime, patience: Duration) -> Self {
        let lists = runtime.content().backends.settle(patience).await;
        Self {
            lists: lists.lists.clone(),
        }
    }

    pub fn parse(text: &str) -> Result<Self, ReadToolsError> {
        if !text.trim_start().starts_with('{') {
            serde_json::from_str::<IgnoredAny>(text)?;
            return Err(ReadToolsError::Shape);
        }
        let backends: IndexMap<String, Box<RawValue>> = serde_json::from_str(text)?;
        let mut lists = Vec::with_capacity(backends.len());
        for (name, list) in backends {
            let failed = |reason: String| ReadToolsError::List {
                backend: name.clone(),
                reason,
            };
            let page = ToolPage::from_raw(&list).map_err(|error| failed(error.to_string()))?;
            if let Some(refused) = page.refused.first() {
                return Err(failed(refused.to_string()));
            }
            lists.push((BackendName::from(name.as_str()), page.tools.into()));
        }
        Ok(Self { lists })
    }

    pub fn to_text(&self) -> String {
        let lists = self.lists.iter().map(|(backend, tools)| {
            let tools: Vec<Saved<'_>> = tools.iter().map(Saved::of).collect();
            (backend.as_str(), IndexMap::from([("tools", tools)]))
        });
        let backends: IndexMap<&str, _> = lists.collect();
        let text = serde_json::to_string_pretty(&backends).expect("tools are JSON");
        text + "\n"
    }

    pub fn count(&self) -> usize {
        self.lists.iter().map(|(_, tools)| tools.len()).sum()
    }

    /// Why the tools of some backends are not among them.
    pub fn missing(&self, runtime: &Runtime) -> Vec<String> {
        let statuses = runtime.backends();
        let is_missing = |name: &BackendName| self.lists.iter().all(|(own, _)| own != name);
        let missing = statuses.iter().filter(|status| is_missing(&status.name));
        missing
            .map(|status| match &status.state {
                BackendState::Down { reason, .. } => {
                    format!("backend `{}` cannot be reached: {reason}", status.name)
                }
                BackendState::Invalid { reason } => {
                    format!("backend `{}` is withheld: {reason}", status.name)
                }
                _ => format!("backend `{}` has not told its tools in time", status.name),
            })
            .collect()
    }

    /// The catalog that a server would have with these tools, and what is odd about their names. A server without
    /// backends is given all of theirs.
    pub fn catalog(&self, server: &Server) -> (Catalog, Diagnostics) {
        let own = server.backends.iter().map(|backend| &backend.name);
        let mut names: Vec<BackendName> = own.cloned().collect();
        if names.is_empty() {
            names.extend(self.lists.iter().map(|(backend, _)| backend.clone()));
        }
        let lists = ToolLists {
            version: 0,
            lists: self.lists.clone(),
        };
        let options = merge::options(server);
        let (catalog, notices) = merge::merge(&names, &lists, &options);
        let notices = notices.iter();
        let odd = notices.map(|notice| notices::diagnostic(notice, server, &lists));
        (catalog, odd.collect())
    }
}

/// Loops that make more calls at once than the backends of a server take.
pub fn check_parallel(server: &Server, catalog: &Catalog) -> Diagnostics {
    let in_flight_max = |name: &BackendName| {
        let mut backends = server.backends.iter();
        let backend = backends.find(|backend| backend.name == *name);
        let stated = backend.and_then(|backend| backend.max_in_flight);
        stated.unwrap_or(onecall_backends::IN_FLIGHT_DEFAULT)
    };
    let mut diagnostics = Diagnostics::new();
    for workflow in &server.workflows {
        diagnostics.append(onecall_workflow::check::check_parallel(
            workflow,
            catalog,
            in_flight_max,
        ));
    }
    diagnostics
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_saved_is_read_again_to_the_last_digit() {
        let text = r#"{ "b": { "tools": [
            {"name":"long","n":123456789012345678901234567890,"e":1e400}, {"name":"short","n":1}] } }"#;
        let saved = SavedTools::parse(text).unwrap();
        let written = saved.to_text();
        assert!(
            written.contains(r#"{"name":"long","n":123456789012345678901234567890,"e":1e400}"#)
        );
        assert!(written.contains("\"name\": \"short\","), "{written}");
        assert_eq!(SavedTools::parse(&written).unwrap().lists, saved.lists);
        for (text, told) in [
            ("[]", "must be an object"),
            ("{", "not JSON"),
            ("", "not JSON"),
        ] {
            let error = SavedTools::parse(text).unwrap_err().to_string();
            assert!(error.contains(told), "{text}: {error}");
        }
    }
}
