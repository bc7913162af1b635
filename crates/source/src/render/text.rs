//! Text for people: message, place, the lines concerned, help. Drawing is `annotate-snippets`' work;
//! here it is decided what is drawn. Users' text is cleaned of control characters.

use crate::limits::{SNIPPET_BYTES_MAX, SNIPPET_LINES_MAX};
use std::ops::Range;

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{
    Annotation, AnnotationKind, Element, Group, Level, Origin, Renderer, Snippet,
    normalize_untrusted_str,
};

use crate::{Diagnostic, Diagnostics, Label, Severity, SourceFile, SourceMap, Span, codes};

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
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Note => Level::NOTE,
    };
    let title = level
        .primary_title(clean(&diagnostic.message))
        .id(diagnostic.code.as_str());
    let mut group = Group::with_title(title);
    for element in elements(diagnostic, sources) {
        group = group.element(element);
    }
    for help in &diagnostic.help {
        group = group.element(Level::HELP.message(clean(help)));
    }
    for note in &diagnostic.notes {
        group = group.element(Level::NOTE.message(clean(note)));
    }
    let mut drawn = renderer(options).render(&[group]);
    drawn.push('\n');
    drawn
}

/// All diagnostics, a blank line after each, and the summary.
pub fn report(diagnostics: &Diagnostics, sources: &SourceMap, options: TextOptions) -> String {
    let mut report = String::new();
    for diagnostic in diagnostics {
        report.push_str(&text(diagnostic, sources, options));
        report.push('\n');
    }
    report.push_str(&super::summary(diagnostics));
    report.push('\n');
    report
}

fn renderer(options: TextOptions) -> Renderer {
    let renderer = if options.color {
        Renderer::styled()
    } else {
        Renderer::plain()
    };
    let decor = if options.unicode {
        DecorStyle::Unicode
    } else {
        DecorStyle::Ascii
    };
    renderer
        .decor_style(decor)
        .term_width(options.width.max(40))
}

/// What is drawn of the labels: a snippet a file (none of a line that holds a secret, since logs are read by others), that of the first primary place first, then places without text.
fn elements<'a>(diagnostic: &'a Diagnostic, sources: &'a SourceMap) -> Vec<Element<'a>> {
    let mut groups: Vec<Vec<(Span, &Label)>> = Vec::new();
    let spanned = |primary: bool| {
        let labels = diagnostic.labels.iter();
        labels
            .filter(move |label| label.primary == primary)
            .filter_map(|label| Some((label.place.span()?, label)))
    };
    for (span, label) in spanned(true).chain(spanned(false)) {
        let file = sources.get(span.source);
        let line = file.line_index(span.start as usize);
        let near = groups.iter_mut().find(|group| {
            let (first, _) = group[0];
            let other = file.line_index(first.start as usize);
            first.source == span.source && line.abs_diff(other) <= SNIPPET_LINES_MAX
        });
        match near {
            Some(group) => group.push((span, label)),
            None => groups.push(vec![(span, label)]),
        }
    }
    let mut elements = Vec::new();
    for group in &groups {
        let file = sources.get(group[0].0.source);
        let window = window(file, group);
        if window.bytes.len() > SNIPPET_BYTES_MAX || diagnostic.code == codes::LITERAL_SECRET {
            elements.extend(group.iter().flat_map(|(_, label)| origin(label, sources)));
        } else {
            elements.push(Element::from(snippet(file, &window, group)));
        }
    }
    let pathed = diagnostic.labels.iter();
    let pathed = pathed.filter(|label| label.place.span().is_none());
    elements.extend(pathed.flat_map(|label| origin(label, sources)));
    elements
}

/// A place in one line, and what is said there.
fn origin<'a>(label: &Label, sources: &SourceMap) -> Vec<Element<'a>> {
    let place = Element::from(Origin::path(clean(&sources.describe(&label.place))));
    if label.text.is_empty() {
        return vec![place];
    }
    vec![place, Level::NOTE.message(clean(&label.text)).into()]
}

/// The part of a file that is drawn.
struct Window {
    first_line: usize,
    bytes: Range<usize>,
}

/// Only the lines from the first label to the last: the whole file would be cut into lines each time.
fn window(file: &SourceFile, labels: &[(Span, &Label)]) -> Window {
    let lines = labels
        .iter()
        .map(|(span, _)| file.line_index(span.start as usize));
    let first_line = lines.clone().min().unwrap_or(0);
    let last_line = lines.max().unwrap_or(0);
    let mut start = file.line_range(first_line).start;
    if start == 0 && file.text().starts_with('\u{feff}') {
        start = '\u{feff}'.len_utf8();
    }
    let end = file.line_range(last_line).end.max(start);
    Window {
        first_line,
        bytes: start..end,
    }
}

fn snippet<'a>(
    file: &'a SourceFile,
    window: &Window,
    labels: &[(Span, &Label)],
) -> Snippet<'a, Annotation<'a>> {
    let Range { start, end } = window.bytes;
    let annotations = labels.iter().map(|(span, label)| {
        let kind = if label.primary {
            AnnotationKind::Primary
        } else {
            AnnotationKind::Context
        };
        let range = first_line(file, *span);
        let from = range.start.clamp(start, end) - start;
        let to = range.end.clamp(start, end) - start;
        let text = (!label.text.is_empty()).then(|| clean(&label.text));
        kind.span(from..to).label(text)
    });
    Snippet::source(&file.text()[start..end])
        .line_start(window.first_line + 1)
        .path(clean(file.name()))
        .annotations(annotations)
}

/// A span over several lines is shown by its first: the start is what a reader looks for.
fn first_line(file: &SourceFile, span: Span) -> Range<usize> {
    let line = file.line_range(file.line_index(span.start as usize));
    let start = (span.start as usize).min(line.end);
    start..(span.end as usize).clamp(start, line.end)
}

fn clean(text: &str) -> String {
    normalize_untrusted_str(text)
}

#[cfg(test)]
mod tests;
