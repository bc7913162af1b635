//! Text for people: message, place, the lines concerned, help.

use crate::{Diagnostic, SourceMap};

/// How text is drawn.
#[derive(Clone, Copy, Debug)]
pub struct TextOptions {
    pub color: bool,
    /// Box-drawing characters in place of ASCII.
    pub unicode: bool,
    /// Columns of the terminal.
    pub width: usize,
}

impl Default for TextOptions {
    fn default() -> Self {
        Self {
            color: false,
            unicode: false,
            width: 140,
        }
    }
}

/// One diagnostic, ending in a line break.
pub fn text(diagnostic: &Diagnostic, sources: &SourceMap, options: TextOptions) -> String {
    let _ = (diagnostic, sources, options);
    String::new()
}
