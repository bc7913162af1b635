//! Text for people: message, place, the lines concerned, help. Drawing is `annotate-snippets`' work;
//! here it is decided what is drawn. Users' text is cleaned of control characters.

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{
    AnnotationKind, Group, Level, Origin, Renderer, Snippet, normalize_untrusted_str,
};

use crate::{Diagnostic, Diagnostics, Label, Place, Severity, SourceFile, SourceMap, Span};

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

/// Places of one file further apart than this are drawn as snippets of their own, so that drawing stays cheap.
const SNIPPET_LINES_MAX: usize = 200;

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
    for snippet in snippets(diagnostic, sources) {
        group = group.element(snippet);
    }
    for label in &diagnostic.labels {
        if let Place::Path(path) = &label.place {
            group = group.element(Origin::path(clean(&path.to_string())));
            if !label.text.is_empty() {
                group = group.element(Level::NOTE.message(clean(&label.text)));
            }
        }
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

type Drawn<'a> = Snippet<'a, annotate_snippets::Annotation<'a>>;

/// The labelled lines, a snippet a file; that of the first primary place comes first.
fn snippets<'a>(diagnostic: &'a Diagnostic, sources: &'a SourceMap) -> Vec<Drawn<'a>> {
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
    groups
        .iter()
        .map(|group| snippet(sources.get(group[0].0.source), group))
        .collect()
}

/// Only the lines from the first label to the last: the whole file would be cut into lines each time.
fn snippet<'a>(file: &'a SourceFile, labels: &[(Span, &Label)]) -> Drawn<'a> {
    let lines = labels
        .iter()
        .map(|(span, _)| file.line_index(span.start as usize));
    let first = lines.clone().min().unwrap_or(0);
    let last = lines.max().unwrap_or(0);
    let mut start = file.line_range(first).start;
    if start == 0 && file.text().starts_with('\u{feff}') {
        start = '\u{feff}'.len_utf8();
    }
    let end = file.line_range(last).end.max(start);
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
        .line_start(first + 1)
        .path(clean(file.name()))
        .annotations(annotations)
}

/// A span over several lines is shown by its first: the start is what a reader looks for.
fn first_line(file: &SourceFile, span: Span) -> std::ops::Range<usize> {
    let line = file.line_range(file.line_index(span.start as usize));
    let start = (span.start as usize).min(line.end);
    start..(span.end as usize).clamp(start, line.end)
}

fn clean(text: &str) -> String {
    normalize_untrusted_str(text)
}

#[cfg(test)]
mod tests;
