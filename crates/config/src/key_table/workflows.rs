//! Keys of a workflow file.

use super::Shape::{Any, Choice, Duration, Flag, Mapping, Named, One, Pairs, Text, Texts, Whole};
use super::{Effect, Part, acts, key, needed, plain};

pub(super) const PARTS: &[Part] = &[
    plain(
        "workflow file",
        &[
            needed("workflow", Text),
            acts("version", Text),
            acts("title", Text),
            acts("description", Text),
            acts("labels", Pairs),
            acts("annotations", One("annotations of a workflow file")),
            acts("expose", Flag),
            acts("inputs", Mapping),
            acts("parameters", Mapping),
            acts("timeout", Any),
            acts("parallel", Whole(1, 10_000)),
            acts("all_failed", Choice(&["completes", "fails"])),
            acts("any_failed", Choice(&["completes", "is_error"])),
            acts("durability", Choice(&["none", "async", "sync"])),
            acts("on_disconnect", Choice(&["cancel", "continue"])),
            acts("budget", One("budget of a workflow file")),
            acts("steps", Named("step of a workflow file")),
            acts("tool", Text),
            acts("bind", Mapping),
            acts("hide", Texts),
            acts("outputs", Mapping),
            acts("unset_outputs", Choice(&["left_out", "fail"])),
            acts("returns", Any),
        ],
    ),
    plain(
        "annotations of a workflow file",
        &[
            acts("title", Text),
            acts("read_only", Flag),
            acts("destructive", Flag),
            acts("idempotent", Flag),
            acts("open_world", Flag),
        ],
    ),
    plain(
        "time-out of a workflow file",
        &[
            needed("limit", Duration),
            acts("while_asking", Choice(&["ticks", "stands"])),
        ],
    ),
    plain(
        "budget of a workflow file",
        &[
            acts("calls", Whole(0, i64::MAX)),
            acts("cost_usd", Any),
            acts("tokens", Whole(0, i64::MAX)),
            acts("time", Duration),
        ],
    ),
    Part {
        name: "step of a workflow file",
        includes: &["any step of a workflow file"],
        keys: &[
            acts("needs", Any),
            acts("ask", Any),
            acts("answer", Mapping),
            acts("answer_schema", Mapping),
            acts("default_answer", Any),
            acts("on_decline", Choice(REFUSALS)),
            acts("on_cancel", Choice(REFUSALS)),
            acts("each", Any),
            acts("as", Text),
            acts("parallel", Whole(1, 10_000)),
            acts("max_items", Whole(1, 100_000)),
            acts("report", Flag),
            acts("failed_item", Choice(&["by_on_error", "ends_loop"])),
            acts("do", One("body of a loop")),
            acts("mock", Any),
        ],
        is_open: false,
    },
    Part {
        name: "body of a loop",
        includes: &["any step of a workflow file"],
        keys: &[key("name", Effect::Free, Text)],
        is_open: false,
    },
    plain(
        "any step of a workflow file",
        &[
            acts("title", Text),
            acts("description", Text),
            acts("if", Any),
            acts("truth", Choice(&["jq", "words"])),
            acts("timeout", Duration),
            acts("after_skip", Choice(&["skip", "run", "skip_after_failure"])),
            acts("default", Any),
            acts("tool", Text),
            acts("with", Mapping),
            acts("read", Choice(&["payload", "content_map"])),
            acts("missing", Choice(&["leave_out", "fail"])),
            acts("idempotent", Flag),
            acts("transform", Text),
            acts("call_budget", One("budget of a call")),
            acts("retry", Any),
            acts("on_error", Choice(&["abort", "continue"])),
        ],
    ),
    plain(
        "budget of a call",
        &[acts("cost_usd", Any), acts("tokens", Whole(0, i64::MAX))],
    ),
    plain(
        "retry of a workflow file",
        &[
            needed("times", Whole(1, 100)),
            acts("delay", Duration),
            acts("on", Texts),
        ],
    ),
    plain(
        "expression of a workflow file",
        &[
            acts("$go", Text),
            acts("mode", Choice(&["workflow", "go"])),
            acts("missing", Choice(&["error", "go"])),
            acts("$jq", Text),
            acts("view", Choice(&["run", "parents", "nodes", "result"])),
            acts("parents", Texts),
            acts("$text", Text),
            acts("$value", Any),
        ],
    ),
    Part {
        name: "output of a workflow file",
        includes: &[],
        keys: &[
            acts("value", Any),
            acts("properties", Named("output of a workflow file")),
            acts("type", Text),
            acts("description", Text),
            acts("default", Any),
            acts("required", Flag),
        ],
        // Whatever else is said of an output is JSON Schema.
        is_open: true,
    },
];

const REFUSALS: &[&str] = &["fail", "continue", "skip_remaining"];
