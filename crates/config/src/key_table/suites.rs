//! Keys of a suite with compositions.

use super::Shape::{Any, Choice, Flag, Many, Mapping, Named, One, Pairs, Text, Texts, Whole};
use super::{Part, acts, needed, noted, plain};

pub(super) const PARTS: &[Part] = &[
    Part {
        name: "suite",
        includes: &[],
        keys: &[
            needed("compositions", Many("composition")),
            acts("servers", Named("server of a suite")),
            acts("variables", Named("variable")),
            acts("publish", Flag),
            acts("providers", Named("provider")),
            acts("judge", One("judge")),
            noted("tools"),
            noted("agents"),
            noted("hooks"),
            noted("imports"),
        ],
        is_open: true,
    },
    Part {
        name: "server of a suite",
        includes: &[],
        keys: &[
            acts("command", Any),
            acts("env", Pairs),
            acts("inherit_env", Texts),
            acts("url", Text),
            acts("headers", Pairs),
            acts("cassette", Text),
        ],
        is_open: true,
    },
    plain(
        "provider",
        &[
            needed("type", Choice(&["openai", "anthropic"])),
            acts("base_url", Text),
            acts("api_key_env", Text),
        ],
    ),
    plain(
        "judge",
        &[
            acts("provider", Text),
            acts("model", Text),
            acts("samples", Whole(1, 25)),
            acts("jury", Any),
            acts("cache", Any),
        ],
    ),
    plain(
        "variable",
        &[
            acts("value", Any),
            acts("from_env", Text),
            acts("default", Any),
        ],
    ),
    plain(
        "composition",
        &[
            needed("name", Text),
            acts("description", Text),
            acts("nodes", Many("node")),
            acts("output", Any),
            acts("budget", One("budget of a composition")),
            acts("publish", Flag),
            acts("inputs", Mapping),
            acts("policy", Mapping),
            acts("expect", Many("assertion")),
            acts("cases", Many("case")),
            acts("tags", Texts),
            acts("eval", Mapping),
        ],
    ),
    plain(
        "assertion",
        &[needed("target", Text), needed("matcher", Mapping)],
    ),
    plain(
        "case",
        &[
            needed("name", Text),
            acts("vars", Mapping),
            acts("golden", Any),
            acts("expect", Many("assertion")),
        ],
    ),
    plain(
        "budget of a composition",
        &[
            acts("max_cost_usd", Any),
            acts("max_tokens", Whole(0, i64::MAX)),
            acts("max_duration_ms", Whole(1, i64::MAX)),
        ],
    ),
    plain(
        "node",
        &[
            needed("id", Text),
            needed("tool", Text),
            acts("needs", Many("need")),
            acts("server", Text),
            acts("args", Any),
            acts("transform", One("transform")),
            acts("when", Text),
            acts("for_each", Text),
            acts("max_concurrency", Whole(1, i64::MAX)),
            acts("max_iterations", Whole(1, 100_000)),
            acts("mock", One("mock")),
            acts("policy", Mapping),
            acts("max_cost_per_call_usd", Any),
            acts("max_tokens_per_call", Whole(0, i64::MAX)),
            acts("freeze", Choice(&["record", "golden"])),
        ],
    ),
    plain(
        "need",
        &[
            needed("id", Text),
            acts("optional", Flag),
            acts("default", Any),
        ],
    ),
    plain("transform", &[needed("jq", Text)]),
    plain("mock", &[needed("result", Any)]),
];
