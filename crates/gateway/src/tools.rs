//! `tools/list`: what is published, in the order it is published in, and what clients are told of it.

use crate::{fit, page, result_tool};
use onecall_mcp::{Era, Exact, Fields, RpcError, Tool};
use onecall_runtime::publish::Published;
use serde_json::Value;
use std::time::Duration;

/// One page of the list. `patience`: how long calls wait for their runs.
pub(crate) fn page(
    published: &Published,
    params: &Value,
    era: Era,
    patience: Duration,
) -> Result<Fields, RpcError> {
    let own = result_tool::is_listed(published).then(|| result_tool::definition(patience));
    let tools = published.tools.iter();
    let tools = tools.map(|tool| fit::tool(tool.definition.exact(), era));
    let listed: Vec<Exact> = tools.chain(own.map(Exact::from)).collect();
    page::of(listed.into_iter(), "tools", params, era)
}

/// What clients can tell apart about the list: they are told of changes of this, and of nothing else.
pub(crate) fn definitions(published: &Published) -> Vec<Tool> {
    let definitions = published.tools.iter();
    definitions.map(|tool| tool.definition.clone()).collect()
}
