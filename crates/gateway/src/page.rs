//! One page of a list, in the order of the list. A cursor is the index of the first entry of its page.

use crate::limits::{LIST_TTL, PAGE_ENTRIES_MAX};
use onecall_mcp::{Era, Exact, Fields, RpcError};
use serde_json::Value;

/// The page that the parameters ask for, under the list's own key.
pub(crate) fn of(
    entries: impl ExactSizeIterator<Item = Exact>,
    key: &str,
    params: &Value,
    era: Era,
) -> Result<Fields, RpcError> {
    let count = entries.len();
    let first = first(params, count)?;
    let last = count.min(first + PAGE_ENTRIES_MAX);
    let entries = entries.skip(first).take(last - first);
    let mut page = Fields::default();
    page.set(key, &entries.collect::<Vec<Exact>>());
    if last < count {
        page.set("nextCursor", &last.to_string());
    }
    hint(&mut page, LIST_TTL.as_millis(), era);
    Ok(page)
}

/// Says how long a result may be kept, where the era has a word for it and the result does not say so itself.
pub(crate) fn hint(result: &mut Fields, ttl_ms: u128, era: Era) {
    match era {
        Era::Modern => {
            let ttl = u64::try_from(ttl_ms).unwrap_or(u64::MAX);
            result.supply("ttlMs", &Value::from(ttl));
            // Callers may see different things, and backends may tell them apart.
            result.supply("cacheScope", &Value::from("private"));
        }
        Era::Legacy => {
            result.remove("ttlMs");
            result.remove("cacheScope");
        }
    }
}

fn first(params: &Value, count: usize) -> Result<usize, RpcError> {
    match params.get("cursor") {
        None | Some(Value::Null) => Ok(0),
        Some(cursor) => cursor
            .as_str()
            .and_then(|text| text.parse().ok())
            .filter(|first| *first <= count)
            .ok_or_else(|| RpcError::invalid_params("`cursor` is not one this server gave")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn pages_follow_each_other_to_the_end() {
        let page = |cursor: Value| {
            let entries = (0..1_200).map(|number| Value::from(number).into());
            let page = of(entries, "items", &json!({ "cursor": cursor }), Era::Modern)?;
            Ok::<Value, RpcError>(serde_json::from_str(&page.to_text()).unwrap())
        };
        let (mut cursor, mut sizes) = (Value::Null, Vec::new());
        loop {
            let page = page(cursor).unwrap();
            sizes.push(page["items"].as_array().unwrap().len());
            cursor = page["nextCursor"].clone();
            if cursor.is_null() {
                break;
            }
        }
        assert_eq!(sizes, [500, 500, 200]);
        for bad in [json!("x"), json!(7), json!("1201"), json!("-1"), json!("")] {
            assert_eq!(page(bad.clone()).unwrap_err().code, -32602, "{bad}");
        }
    }
}
