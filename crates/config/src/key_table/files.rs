//! Keys of configuration files: `onecall.yaml`, `mcp.json`, a ToolHive configuration.

use super::Shape::{
    Any, Choice, Duration, Flag, Many, Named, One, Pairs, Reference, References, Text, Texts, Whole,
};
use super::{Effect, Part, acts, free, key, needed, plain, refused, warned};
use crate::limits::{REQUESTS_MAX, RESULT_BYTES_MAX};

/// How other programs spell the transports.
const TRANSPORTS: &[&str] = &["stdio", "sse", "http", "streamable-http", "streamable_http"];

/// The name of the part that a list of MCP servers is.
pub const MCP_SERVERS: &str = "mcp.json";

pub(super) const PARTS: &[Part] = &[
    plain(
        "onecall.yaml",
        &[
            acts("backends", Named("backend of onecall.yaml")),
            acts("workflows", Texts),
            acts("expose", Any),
            acts("environment", Texts),
            acts("store", Text),
            acts("durability", Choice(&["none", "async", "sync"])),
            acts("templates", One("templates")),
            acts("names", One("names")),
            acts("limits", One("limits")),
            acts("questions", One("questions")),
            acts("auth", One("auth")),
            acts("server", One("server")),
        ],
    ),
    plain(
        "server",
        &[
            acts("url", Text),
            acts("hosts", Texts),
            acts("origins", Texts),
        ],
    ),
    plain(
        "auth",
        &[
            acts("tokens", Many("token of a caller")),
            acts("oidc", One("oidc")),
        ],
    ),
    plain(
        "token of a caller",
        &[
            needed("principal", Text),
            acts("token", Text),
            acts("token_file", Text),
        ],
    ),
    plain(
        "oidc",
        &[
            needed("issuer", Text),
            needed("audience", Text),
            acts("jwks_url", Text),
            acts("resource", Text),
            acts("algorithms", Texts),
            acts("leeway", Duration),
            acts("scopes", Texts),
            acts("principal_claim", Text),
        ],
    ),
    plain(
        "templates",
        &[
            acts("mode", Choice(&["workflow", "go"])),
            acts("missing", Choice(&["error", "go"])),
        ],
    ),
    plain("names", &[acts("prefix", Text)]),
    plain(
        "limits",
        &[
            acts("steps", Whole(1, 1_000)),
            acts("in_flight", Whole(1, 10_000)),
            acts("argument_bytes", Whole(1, i64::MAX)),
            acts("body_bytes", Whole(1, i64::MAX)),
            acts("sessions", Whole(1, i64::MAX)),
            acts("session_idle", Duration),
            acts("patience", Duration),
            acts("requests", Whole(1, REQUESTS_MAX)),
            acts("connections", Whole(1, REQUESTS_MAX)),
            acts("result_bytes", Whole(1, RESULT_BYTES_MAX)),
            acts("text_bytes", Whole(1, i64::MAX)),
            acts("run_bytes", Whole(1, i64::MAX)),
            acts("events", Whole(1, i64::MAX)),
            acts("operations", Whole(1, i64::MAX)),
            acts("shown_bytes", Whole(1, i64::MAX)),
            acts("open_runs", Whole(1, i64::MAX)),
            acts("open_runs_per_caller", Whole(1, i64::MAX)),
            acts("open_bytes", Whole(1, i64::MAX)),
            acts("open_bytes_per_caller", Whole(1, i64::MAX)),
            acts("ephemeral_bytes", Whole(1, i64::MAX)),
        ],
    ),
    plain(
        "questions",
        &[
            acts("timeout", Duration),
            acts("links", Choice(crate::onecall::LINKS)),
        ],
    ),
    Part {
        name: "backend of onecall.yaml",
        includes: &["any backend"],
        keys: &[
            acts("transport", Choice(TRANSPORTS)),
            acts("auth", One("auth of a backend")),
        ],
        is_open: false,
    },
    plain(
        "auth of a backend",
        &[
            needed("type", Choice(&crate::backend_auth::KINDS)),
            acts("token", Text),
            acts("token_url", Text),
            acts("client_id", Text),
            acts("client_secret", Text),
            acts("scopes", Texts),
            acts("audience", Text),
            acts("resource", Text),
            acts("subject_token", Text),
            acts("subject", Choice(&["caller"])),
            acts("subject_token_type", Text),
        ],
    ),
    Part {
        name: MCP_SERVERS,
        includes: &[],
        keys: &[needed("mcpServers", Named("server of mcp.json"))],
        is_open: true,
    },
    Part {
        name: "server of mcp.json",
        includes: &["any backend"],
        keys: &[acts("type", Choice(TRANSPORTS)), acts("disabled", Flag)],
        is_open: true,
    },
    plain(
        "any backend",
        &[
            acts("command", Text),
            acts("args", Texts),
            acts("env", Pairs),
            acts("inherit_env", Texts),
            acts("cwd", Text),
            acts("url", Text),
            acts("headers", Pairs),
            acts("session", Choice(crate::backend::SESSIONS)),
            acts("timeout", Duration),
            acts("connect_timeout", Duration),
            acts("max_in_flight", Whole(1, 10_000)),
            acts("eager", Flag),
            acts("unusable_schemas", Choice(crate::backend::UNUSABLE_SCHEMAS)),
        ],
    ),
    plain(
        "ToolHive configuration",
        &[
            acts("name", Text),
            acts("groupRef", Reference),
            free("metadata"),
            acts("backends", Many("backend")),
            acts("incomingAuth", One("incomingAuth")),
            acts("outgoingAuth", One("outgoingAuth")),
            acts("aggregation", One("aggregation")),
            acts("compositeTools", Many("composite tool")),
            acts("compositeToolRefs", References),
            acts("operational", One("operational")),
            warned("telemetry"),
            warned("audit"),
            warned("optimizer"),
            warned("codeMode"),
            warned("sessionStorage"),
            warned("passthroughHeaders"),
            refused("rateLimiting"),
        ],
    ),
    Part {
        name: "backend",
        includes: &["any backend"],
        keys: &[
            needed("name", Text),
            acts("transport", Choice(TRANSPORTS)),
            free("type"),
            free("metadata"),
            warned("caBundlePath"),
        ],
        is_open: false,
    },
    plain(
        "incomingAuth",
        &[
            key(
                "type",
                Effect::Refused,
                Choice(&["oidc", "local", "anonymous"]),
            ),
            acts("oidc", One("oidc of incomingAuth")),
            refused("authz"),
        ],
    ),
    plain(
        "oidc of incomingAuth",
        &[
            needed("issuer", Text),
            needed("audience", Text),
            acts("jwksUrl", Text),
            acts("resource", Text),
            acts("scopes", Texts),
            acts("insecureAllowHttp", Flag),
            refused("introspectionUrl"),
            warned("clientId"),
            warned("clientSecretEnv"),
            warned("protectedResourceAllowPrivateIp"),
            warned("jwksAllowPrivateIp"),
            warned("caBundlePath"),
        ],
    ),
    plain(
        "outgoingAuth",
        &[
            key("source", Effect::Warned, Choice(&["inline", "discovered"])),
            acts("default", One("strategy")),
            acts("backends", Named("strategy")),
        ],
    ),
    plain(
        "strategy",
        &[
            needed(
                "type",
                Choice(&[
                    "unauthenticated",
                    "header_injection",
                    "token_exchange",
                    "upstream_inject",
                    "aws_sts",
                    "obo",
                    "xaa",
                ]),
            ),
            acts("headerInjection", One("headerInjection")),
            acts("tokenExchange", One("tokenExchange")),
            refused("upstreamInject"),
            refused("awsSts"),
            refused("obo"),
            refused("xaa"),
        ],
    ),
    plain(
        "headerInjection",
        &[
            needed("headerName", Text),
            acts("headerValue", Text),
            acts("headerValueEnv", Text),
        ],
    ),
    plain(
        "tokenExchange",
        &[
            needed("tokenUrl", Text),
            acts("clientId", Text),
            acts("clientSecret", Text),
            acts("clientSecretEnv", Text),
            acts("audience", Text),
            acts("scopes", Texts),
            acts("subjectTokenType", Text),
            refused("subjectProviderName"),
        ],
    ),
    plain(
        "aggregation",
        &[
            acts(
                "conflictResolution",
                Choice(&["prefix", "priority", "manual"]),
            ),
            acts("conflictResolutionConfig", One("conflictResolutionConfig")),
            acts("tools", Many("rule for tools")),
            acts("excludeAllTools", Flag),
            acts("defaultToolVisibility", Choice(&["allow", "deny"])),
        ],
    ),
    plain(
        "conflictResolutionConfig",
        &[acts("prefixFormat", Text), acts("priorityOrder", Texts)],
    ),
    plain(
        "rule for tools",
        &[
            needed("workload", Text),
            acts("filter", Texts),
            acts("overrides", Named("override")),
            acts("excludeAll", Flag),
            acts("toolConfigRef", Reference),
        ],
    ),
    plain(
        "override",
        &[
            acts("name", Text),
            acts("description", Text),
            acts("annotations", One("annotations")),
        ],
    ),
    plain(
        "operational",
        &[
            acts("timeouts", One("timeouts")),
            warned("logLevel"),
            acts("failureHandling", One("failureHandling")),
        ],
    ),
    plain(
        "failureHandling",
        &[
            acts("healthCheckInterval", Duration),
            acts("healthCheckTimeout", Duration),
            acts("unhealthyThreshold", Whole(1, 1_000)),
            warned("statusReportingInterval"),
            warned("partialFailureMode"),
            acts("circuitBreaker", One("circuitBreaker")),
        ],
    ),
    plain(
        "circuitBreaker",
        &[
            acts("enabled", Flag),
            acts("failureThreshold", Whole(1, 1_000)),
            acts("timeout", Duration),
        ],
    ),
    plain(
        "timeouts",
        &[acts("default", Duration), acts("perWorkload", Pairs)],
    ),
];
