//! Content blocks of a result and the content map that steps read them through.

use serde_json::{Map, Value};

/// The content map: `text`, `text_1`, …, `image_0`, `audio_0`, `resource`, `resource_1`, `link_0`.
/// Text of a text block or resource, base64 of image, audio and binary resources, URI of a link.
/// Blocks of unknown types have no entry; they stay in the result itself.
pub fn content_map(content: &[Value]) -> Map<String, Value> {
    let mut map = Map::new();
    let [mut texts, mut images, mut audios, mut resources, mut links] = [0_usize; 5];
    for block in content {
        let key = match block_type(block) {
            Some("text") => bare_first("text", &mut texts),
            Some("image") => numbered("image", &mut images),
            Some("audio") => numbered("audio", &mut audios),
            Some("resource") => bare_first("resource", &mut resources),
            Some("resource_link") => numbered("link", &mut links),
            _ => continue,
        };
        let mut keys = mapped_member(block).iter();
        let value = keys.try_fold(block, |value, key| value.get(key));
        map.insert(key, value.cloned().unwrap_or(Value::Null));
    }
    map
}

/// The keys that lead to what the content map has of a block; none for a block of an unknown type.
pub fn mapped_member(block: &Value) -> &'static [&'static str] {
    match block_type(block) {
        Some("text") => &["text"],
        Some("image" | "audio") => &["data"],
        Some("resource") => match block.get("resource").and_then(|own| own.get("text")) {
            Some(_) => &["resource", "text"],
            None => &["resource", "blob"],
        },
        Some("resource_link") => &["uri"],
        _ => &[],
    }
}

fn block_type(block: &Value) -> Option<&str> {
    block.get("type").and_then(Value::as_str)
}

/// First without a number, then `_1`, `_2`, ….
fn bare_first(word: &str, count: &mut usize) -> String {
    let key = if *count == 0 {
        word.to_owned()
    } else {
        format!("{word}_{count}")
    };
    *count += 1;
    key
}

fn numbered(word: &str, count: &mut usize) -> String {
    let key = format!("{word}_{count}");
    *count += 1;
    key
}

/// The text of the only text block; `None` where there is none or more than one.
pub fn sole_text(content: &[Value]) -> Option<&str> {
    let mut texts = content.iter().filter_map(block_text);
    let first = texts.next()?;
    texts.next().is_none().then_some(first)
}

/// All text blocks, one a line: what a failure shows.
pub fn text_of(content: &[Value]) -> String {
    content
        .iter()
        .filter_map(block_text)
        .collect::<Vec<_>>()
        .join("\n")
}

fn block_text(block: &Value) -> Option<&str> {
    (block_type(block)? == "text").then(|| block.get("text")?.as_str())?
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_kind_of_block_has_its_key() {
        let content = json!([
            { "type": "text", "text": "one" },
            { "type": "image", "data": "aW1n", "mimeType": "image/png" },
            { "type": "text", "text": "two" },
            { "type": "audio", "data": "YXVk", "mimeType": "audio/wav" },
            { "type": "resource", "resource": { "uri": "a:b", "text": "body" } },
            { "type": "resource", "resource": { "uri": "a:c", "blob": "YmluCg==" } },
            { "type": "resource_link", "uri": "https://example.com/x", "name": "x" },
            { "type": "image", "data": "aW1nMg==" },
            { "type": "hologram", "data": "?" },
            { "type": "text", "text": "three" }
        ]);
        let map = Value::Object(content_map(content.as_array().unwrap()));
        let expected = json!({
            "text": "one", "image_0": "aW1n", "text_1": "two", "audio_0": "YXVk", "resource": "body",
            "resource_1": "YmluCg==", "link_0": "https://example.com/x", "image_1": "aW1nMg==",
            "text_2": "three"
        });
        assert_eq!(map, expected);
    }

    #[test]
    fn a_sole_text_is_sole() {
        let one = json!([{ "type": "image", "data": "" }, { "type": "text", "text": "x" }]);
        assert_eq!(sole_text(one.as_array().unwrap()), Some("x"));
        let two = json!([{ "type": "text", "text": "x" }, { "type": "text", "text": "y" }]);
        assert_eq!(sole_text(two.as_array().unwrap()), None);
        assert_eq!(text_of(two.as_array().unwrap()), "x\ny");
    }
}
