//! Diagnostics as output: one file a format. The caller chooses the format and prints.

mod json;
mod sarif;
mod summary;
mod text;

pub use json::json;
pub use sarif::sarif;
pub use summary::summary;
pub use text::{TextOptions, report, text};
