//! Limits on what the other side controls. Each can be narrowed by the caller, none is absent.

/// Limit: one JSON-RPC message, in bytes; a call result is at most this long.
pub const MESSAGE_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Limit: arguments of one call, in bytes of JSON.
pub const ARGUMENTS_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Limit: nesting of one message. `serde_json` itself stops at 128.
pub const NESTING_MAX: usize = 100;
/// Limit: nesting of one entry of a list, which stands in a list, a result and a message.
pub(crate) const ENTRY_NESTING_MAX: usize = NESTING_MAX - 3;
/// Limit: messages of one batch.
pub const BATCH_MAX: usize = 1_000;
/// Limit: pages of one list.
pub const PAGES_MAX: usize = 1_000;
/// Limit: tools of one backend.
pub const TOOLS_MAX: usize = 10_000;
/// Limit: a tool name, in characters, as the protocol recommends.
pub const TOOL_NAME_MAX: usize = 128;
/// Limit: the URI of a resource that somebody watches, in bytes.
pub const URI_BYTES_MAX: usize = 8 * 1024;
/// Limit: properties of one form.
pub const FORM_PROPERTIES_MAX: usize = 100;
/// Limit: values mirrored into headers for one tool.
pub const PARAM_HEADERS_MAX: usize = 32;
/// Limit: questions in one `input_required` answer.
pub const INPUT_REQUESTS_MAX: usize = 32;
