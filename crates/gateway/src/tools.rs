//! `tools/list`: what is published, page by page, in the order it is published in.

use crate::fit;
use crate::limits::{LIST_TTL, TOOLS_PER_PAGE_MAX};
use crate::result_tool;
use onecall_mcp::{Era, RpcError, Tool};
use onecall_runtime::publish::Published;
use serde_json::{Map, Value};

/// One page of the list.
pub(crate) fn page(published: &Published, params: &Value, era: Era) -> Result<Value, RpcError> {
    let ours = result_tool::is_listed(published);
    let count = published.tools.len() + usize::from(ours);
    let first = first_of(params, count)?;
    let last = count.min(first + TOOLS_PER_PAGE_MAX);
    let own = ours.then(result_tool::definition);
    let tools = published
        .tools
        .iter()
        .map(|tool| fit::tool(tool.definition.object(), era))
        .chain(own)
        .skip(first)
        .take(last - first);
    let mut page = Map::new();
    page.insert("tools".to_owned(), Value::Array(tools.collect()));
    if last < count {
        page.insert("nextCursor".to_owned(), Value::from(last.to_string()));
    }
    if era == Era::Modern {
        let ttl = u64::try_from(LIST_TTL.as_millis()).unwrap_or(u64::MAX);
        page.insert("ttlMs".to_owned(), Value::from(ttl));
        page.insert("cacheScope".to_owned(), Value::from("private"));
    }
    Ok(Value::Object(page))
}

/// A cursor is the index of the first tool of its page.
fn first_of(params: &Value, count: usize) -> Result<usize, RpcError> {
    match params.get("cursor") {
        None | Some(Value::Null) => Ok(0),
        Some(cursor) => cursor
            .as_str()
            .and_then(|text| text.parse().ok())
            .filter(|first| *first <= count)
            .ok_or_else(|| RpcError::invalid_params("`cursor` is not one this server gave")),
    }
}

/// What clients can tell apart about the list: they are told of changes of this, and of nothing else.
pub(crate) fn definitions(published: &Published) -> Vec<Tool> {
    let definitions = published.tools.iter();
    definitions.map(|tool| tool.definition.clone()).collect()
}
