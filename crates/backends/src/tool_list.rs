//! Reading the list of tools, page by page, and what is odd about it: what is left out is said by name.

use std::collections::HashSet;
use std::time::Duration;

use onecall_mcp::limits::{PAGES_MAX, TOOL_NAME_MAX, TOOLS_MAX};
use onecall_mcp::{ShapeError, Tool, ToolPage, is_tool_name, method};
use serde_json::json;

use crate::client::Client;
use crate::error::RequestError;
use crate::limits::{LIST_BYTES_MAX, REMARKS_MAX, SHOWN_NAME_CHARS_MAX};
use crate::negotiate::is_unknown_method;

/// All tools, over all pages, in the order of the server.
#[derive(Debug, Default)]
pub(crate) struct ToolList {
    pub(crate) tools: Vec<Tool>,
    /// How long the list lasts, where the server says so.
    pub(crate) lasts: Option<Duration>,
    /// What was left out, and why.
    pub(crate) remarks: Remarks,
}

/// Bounded: a server can be odd in as many places as it lists tools.
#[derive(Debug, Default)]
pub(crate) struct Remarks {
    said: Vec<String>,
    unsaid: usize,
}

impl Remarks {
    pub(crate) fn add(&mut self, remark: String) {
        if self.said.len() < REMARKS_MAX {
            self.said.push(remark);
        } else {
            self.unsaid += 1;
        }
    }

    pub(crate) fn into_lines(mut self) -> Vec<String> {
        if self.unsaid > 0 {
            self.said.push(match self.unsaid {
                1 => "1 more entry is left out".to_owned(),
                many => format!("{many} more entries are left out"),
            });
        }
        self.said
    }
}

pub(crate) async fn read(client: &Client) -> Result<ToolList, RequestError> {
    let mut list = ToolList::default();
    let mut cursors: HashSet<String> = HashSet::new();
    let mut cursor: Option<String> = None;
    let mut bytes = 0;
    for number in 1.. {
        let params = cursor.map_or(json!({}), |cursor| json!({ "cursor": cursor }));
        let listed = client.request_raw(method::TOOLS_LIST, params);
        let raw = match listed.await {
            // A server of resources or prompts alone.
            Err(RequestError::Rpc(error)) if is_unknown_method(&error) => break,
            // Every entry is read by itself, so that what is too deep for one hides no other.
            Err(RequestError::TooDeep {
                result: Some(raw), ..
            }) => raw,
            listed => listed?,
        };
        bytes += raw.get().len();
        if bytes > LIST_BYTES_MAX {
            return Err(too_many("bytes in one list", LIST_BYTES_MAX));
        }
        let page = ToolPage::from_raw(&raw).map_err(RequestError::Malformed)?;
        for fault in page.refused {
            list.remarks.add(format!("an entry is left out: {fault}"));
        }
        list.tools.extend(page.tools);
        let lasts = page.ttl_ms.map(Duration::from_millis);
        list.lasts = lasts.into_iter().chain(list.lasts).min();
        if list.tools.len() > TOOLS_MAX {
            return Err(too_many("tools", TOOLS_MAX));
        }
        let Some(next) = page.next_cursor else { break };
        if !cursors.insert(next.clone()) {
            let next = shown(&next);
            list.remarks.add(format!(
                "the list of tools is cut: its page {number} leads back to the cursor `{next}`"
            ));
            break;
        }
        if number == PAGES_MAX {
            list.remarks.add(format!(
                "the list of tools is cut: it goes on after {PAGES_MAX} pages"
            ));
            break;
        }
        cursor = Some(next);
    }
    leave_out(&mut list);
    Ok(list)
}

fn too_many(what: &'static str, limit: usize) -> RequestError {
    RequestError::Malformed(ShapeError::TooMany { what, limit })
}

/// The first of a name wins. A name that clients would refuse, with the whole list, can be changed by an override.
fn leave_out(list: &mut ToolList) {
    let mut seen = HashSet::new();
    let remarks = &mut list.remarks;
    list.tools.retain(|tool| {
        let name = tool.name();
        let is_first = seen.insert(name.to_owned());
        let name_shown = shown(name);
        if !is_first {
            remarks.add(format!(
                "tool `{name_shown}` is listed more than once; only the first counts"
            ));
        } else if !is_tool_name(name) {
            remarks.add(format!(
                "tool `{name_shown}` is not published unless an override names it: a name has letters, digits and `_-.`, at most {TOOL_NAME_MAX}"
            ));
        }
        is_first
    });
}

/// A name as far as a line has room for it.
pub(crate) fn shown(name: &str) -> String {
    let mut shown: String = name.chars().take(SHOWN_NAME_CHARS_MAX).collect();
    if shown.len() < name.len() {
        shown.push('…');
    }
    shown.escape_debug().to_string()
}
