//! The Model Context Protocol as JSON: messages, eras, headers, error codes, tool shapes.
//!
//! Everything here is pure: no sockets, no processes, no clock. Unknown fields are kept, so that
//! what a server sends can be passed on unchanged. Transports live in `backends`, `demo` and
//! `gateway`.
#![deny(clippy::disallowed_methods)]

mod arguments;
mod call;
mod content;
mod elicitation;
mod era;
mod error;
mod exact;
pub mod field;
mod fields;
mod header;
mod keys;
mod lenient;
pub mod limits;
mod lines;
mod message;
pub mod meta;
pub mod method;
mod page;
mod param_header;
mod sse;
mod task;
mod tool;
mod tool_call;
mod uri_template;
pub mod url;

pub use arguments::Arguments;
pub use call::{CallAnswer, CallOutput, CallResult, InputRequired, Says};
pub use content::{content_map, mapped_member, sole_text, text_of};
pub use elicitation::{
    FormFault, Mode, QuestionShape, answer, check_form, input_request, wanted_pages,
};
pub use era::{Era, Probe, Revision, judge_probe};
pub use error::{RpcError, ShapeError, code};
pub use exact::Exact;
pub use fields::{Fields, on_one_line};
pub use header::{
    HeaderFault, check_header, check_mirrored, content_length, decode_value, encode_value,
    is_framing, mirrored, name,
};
pub use lenient::{long_numbers, mend, read_leniently, to_the_digit};
pub use lines::{Line, Lines, Skipped};
pub use message::{
    Incoming, RequestId, Written, batch, id_of, message_text, notification, parse, parse_call,
    parse_of_server, request, request_text, response, response_error, response_error_text,
    response_text, unread_result,
};
pub use page::ListPage;
pub use param_header::{ParamHeader, param_headers, values as param_header_values};
pub use sse::{SseDecoder, SseEvent, SseTooLong, encode_event};
pub use task::{EXTENSION as TASKS_EXTENSION, Task, TaskStatus};
pub use tool::{Hints, Tool, ToolPage, is_tool_name};
pub use tool_call::{ClientText, ToolCall};
pub use uri_template::template_matches;
