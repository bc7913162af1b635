//! One HTML page that needs nothing else: the rows, and for each that did not pass its reasons, graph and trace.

use crate::row::{Row, Summary, Verdict};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write as _;

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem;color:#1d2433;background:#fff}\
h1{font-size:1.3rem}details{border:1px solid #d5dae3;border-radius:6px;margin:.5rem 0;padding:.4rem .8rem}\
summary{cursor:pointer}pre{background:#f4f6f9;padding:.6rem;border-radius:4px;overflow:auto;white-space:pre-wrap}\
.pass{color:#15703a}.fail,.error{color:#b3261e}.skipped{color:#8a6100}.word{font-weight:600;text-transform:uppercase;margin-right:.5rem}\
svg text{font:13px system-ui,sans-serif}small{color:#5b6475}";

const BOX_WIDTH: usize = 150;
const BOX_HEIGHT: usize = 34;
const GAP_X: usize = 50;
const GAP_Y: usize = 16;

/// The whole page.
pub fn page(rows: &[Row]) -> String {
    let counts = super::terminal::summary(Summary::of(rows));
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>onecall test</title>\
         <link rel=\"icon\" href=\"data:,\"><style>{STYLE}</style></head><body>\n<h1>onecall test</h1>\n<p>{}</p>\n",
        escaped(&counts)
    );
    for row in rows {
        self::row(row, &mut page);
    }
    page.push_str("</body></html>\n");
    page
}

fn row(row: &Row, page: &mut String) {
    let is_good = row.verdict == Verdict::Pass;
    let word = match row.verdict {
        Verdict::Pass => "pass",
        Verdict::Fail => "fail",
        Verdict::Error => "error",
        Verdict::Skipped => "skipped",
    };
    let open = if is_good { "" } else { " open=\"\"" };
    let flaky = if row.flaky { " (flaky)" } else { "" };
    let _ = writeln!(
        page,
        "<details{open}><summary><span class=\"word {word}\">{word}</span>{}{flaky} <small>{} · {} ms</small></summary>",
        escaped(&row.label()),
        escaped(&row.suite),
        row.duration.as_millis()
    );
    let reasons = row.reasons();
    if !reasons.is_empty() {
        let _ = writeln!(page, "<pre>{}</pre>", escaped(&reasons.join("\n")));
    }
    for eval in &row.evals {
        let _ = writeln!(page, "<p>{}</p>", escaped(&eval.line()));
    }
    if let Some(trace) = row.trace.as_ref().filter(|_| !is_good) {
        graph(row, &trace.nodes, page);
        for (id, node) in &trace.nodes {
            let status = node["status"].as_str().unwrap_or_default();
            let text = serde_json::to_string_pretty(node).unwrap_or_default();
            let _ = writeln!(
                page,
                "<details><summary>{} <small>{status}</small></summary><pre>{}</pre></details>",
                escaped(id),
                escaped(&text)
            );
        }
    }
    page.push_str("</details>\n");
}

/// The nodes as boxes, each right of all that it needs.
fn graph(row: &Row, nodes: &serde_json::Map<String, Value>, page: &mut String) {
    let columns = columns(row, nodes);
    let mut places: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    let mut heights: BTreeMap<usize, usize> = BTreeMap::new();
    for (id, column) in &columns {
        let line = heights.entry(*column).or_default();
        let place = (
            column * (BOX_WIDTH + GAP_X) + 1,
            *line * (BOX_HEIGHT + GAP_Y) + 1,
        );
        places.insert(id, place);
        *line += 1;
    }
    let width = (heights.keys().max().unwrap_or(&0) + 1) * (BOX_WIDTH + GAP_X);
    let height = heights.values().max().unwrap_or(&0) * (BOX_HEIGHT + GAP_Y) + 2;
    let _ = write!(
        page,
        "<svg width=\"{width}\" height=\"{height}\" role=\"img\" aria-label=\"graph of the nodes\">"
    );
    for (id, needs) in &row.needs {
        for need in needs {
            let (Some(from), Some(to)) = (places.get(need.as_str()), places.get(id.as_str()))
            else {
                continue;
            };
            let _ = write!(
                page,
                "<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" stroke=\"#8892a6\"/>",
                from.0 + BOX_WIDTH,
                from.1 + BOX_HEIGHT / 2,
                to.0,
                to.1 + BOX_HEIGHT / 2
            );
        }
    }
    for (id, (x, y)) in &places {
        let status = nodes[*id]["status"].as_str().unwrap_or_default();
        let (fill, line) = match status {
            "ok" => ("#e5f4ea", "#15703a"),
            "err" => ("#fbe9e7", "#b3261e"),
            _ => ("#f4f0e4", "#8a6100"),
        };
        let shown: String = id.chars().take(18).collect();
        let _ = write!(
            page,
            "<g><title>{} {status}</title><rect x=\"{x}\" y=\"{y}\" width=\"{BOX_WIDTH}\" height=\"{BOX_HEIGHT}\" rx=\"5\" fill=\"{fill}\" stroke=\"{line}\"/>\
             <text x=\"{}\" y=\"{}\">{}</text></g>",
            escaped(id),
            x + 8,
            y + BOX_HEIGHT / 2 + 5,
            escaped(&shown)
        );
    }
    page.push_str("</svg>\n");
}

/// The column of each node: one after the last that it needs.
fn columns<'a>(row: &'a Row, nodes: &'a serde_json::Map<String, Value>) -> Vec<(&'a str, usize)> {
    let mut columns: BTreeMap<&str, usize> = nodes.keys().map(|id| (id.as_str(), 0)).collect();
    for _ in 0..nodes.len() {
        let mut is_settled = true;
        for (id, needs) in &row.needs {
            let parents = needs.iter().filter_map(|need| columns.get(need.as_str()));
            let wanted = parents.max().map_or(0, |column| column + 1);
            if let Some(own) = columns.get_mut(id.as_str())
                && wanted > *own
            {
                *own = wanted;
                is_settled = false;
            }
        }
        if is_settled {
            break;
        }
    }
    nodes
        .keys()
        .map(|id| (id.as_str(), columns[id.as_str()]))
        .collect()
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for own in text.chars() {
        match own {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            own if own.is_control() && own != '\n' && own != '\t' => out.push('\u{fffd}'),
            own => out.push(own),
        }
    }
    out
}
