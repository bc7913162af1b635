//! Keys of a composite tool: steps, questions, loops, output.

use super::Shape::{Any, Choice, Duration, Flag, Many, Mapping, Named, One, Text, Texts, Whole};
use super::{Effect, Part, acts, key, needed, plain};

pub(super) const PARTS: &[Part] = &[
    plain(
        "composite tool",
        &[
            needed("name", Text),
            needed("description", Text),
            acts("parameters", Mapping),
            acts("timeout", Duration),
            acts("failureMode", Choice(&["abort", "continue"])),
            needed("steps", Many("step")),
            acts("output", One("output")),
            acts("annotations", One("annotations")),
        ],
    ),
    Part {
        name: "step",
        includes: &["any step"],
        keys: &[
            needed("id", Text),
            acts("type", Choice(&["tool", "elicitation", "forEach"])),
            acts("dependsOn", Texts),
            acts("tool", Text),
            acts("message", Text),
            acts("schema", Mapping),
            acts("onDecline", One("onDecline and onCancel")),
            acts("onCancel", One("onDecline and onCancel")),
            acts("defaultResponse", Any),
            acts("collection", Text),
            acts("itemVar", Text),
            acts("maxParallel", Whole(0, i64::MAX)),
            acts("maxIterations", Whole(0, 1_000)),
            acts("step", One("step of a loop")),
        ],
        is_open: false,
    },
    Part {
        name: "step of a loop",
        includes: &["any step"],
        keys: &[
            key("id", Effect::Free, Text),
            acts("type", Choice(&["tool"])),
            needed("tool", Text),
        ],
        is_open: false,
    },
    plain(
        "any step",
        &[
            acts("title", Text),
            acts("description", Text),
            acts("arguments", Mapping),
            acts("idempotent", Flag),
            acts("condition", Any),
            acts("onError", One("onError")),
            acts("timeout", Duration),
            acts("defaultResults", Any),
        ],
    ),
    plain(
        "onError",
        &[
            acts("action", Choice(&["abort", "continue", "retry"])),
            acts("retryCount", Whole(0, i64::MAX)),
            acts("maxRetries", Whole(0, i64::MAX)),
            acts("retryDelay", Duration),
            acts("retryOn", Texts),
            acts("then", Choice(&["abort", "continue"])),
        ],
    ),
    plain(
        "onDecline and onCancel",
        &[acts(
            "action",
            Choice(&["abort", "continue", "skip_remaining"]),
        )],
    ),
    plain(
        "output",
        &[
            needed("properties", Named("output property")),
            acts("required", Texts),
        ],
    ),
    plain(
        "output property",
        &[
            needed(
                "type",
                Choice(&["string", "integer", "number", "boolean", "object", "array"]),
            ),
            needed("description", Text),
            acts("value", Text),
            acts("properties", Named("output property")),
            acts("default", Any),
        ],
    ),
    plain(
        "annotations",
        &[
            acts("title", Text),
            acts("readOnlyHint", Flag),
            acts("destructiveHint", Flag),
            acts("idempotentHint", Flag),
            acts("openWorldHint", Flag),
        ],
    ),
];
