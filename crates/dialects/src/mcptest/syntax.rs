//! A suite as it is written: the file's own types, with places, before anything is decided.
//! Servers are read by `config`; the keys of the test runner are kept as they stand.

mod step;

pub(super) use step::Step;

use onecall_source::{
    Diagnostic, Diagnostics, Entry, Fields, Node, NodeKind, Spanned, Text, codes, suggest,
};

#[derive(Debug)]
pub(super) struct Suite<'n> {
    /// The names of the declared servers.
    pub(super) servers: Vec<&'n Text>,
    pub(super) variables: Vec<Variable<'n>>,
    pub(super) compositions: Vec<Composition<'n>>,
    /// `publish: true` at the root holds for every composition that does not say.
    pub(super) publish: bool,
    pub(super) providers: Option<&'n Node>,
    pub(super) judge: Option<&'n Node>,
    /// Keys for tests that are no compositions.
    pub(super) tests: Vec<&'n Text>,
}

/// An entry of `variables`.
#[derive(Debug)]
pub(super) struct Variable<'n> {
    pub(super) name: &'n Text,
    pub(super) value: Option<&'n Node>,
    pub(super) from_env: Option<&'n Text>,
    pub(super) default: Option<&'n Node>,
}

#[derive(Debug)]
pub(super) struct Composition<'n> {
    pub(super) node: &'n Node,
    pub(super) name: Option<&'n Text>,
    pub(super) description: Option<&'n Text>,
    pub(super) steps: Vec<Step<'n>>,
    pub(super) output: Option<Output<'n>>,
    pub(super) budget: Option<Budget<'n>>,
    pub(super) publish: Option<Spanned<bool>>,
    pub(super) expect: Option<&'n Entry>,
    pub(super) cases: Option<&'n Entry>,
    pub(super) eval: Option<&'n Entry>,
    pub(super) tags: Option<&'n Node>,
    /// The JSON Schema of what callers give as `${var.…}`.
    pub(super) inputs: Option<&'n Node>,
    /// Policies that are spelled out.
    pub(super) policy: Option<&'n Node>,
}

#[derive(Debug)]
pub(super) enum Output<'n> {
    /// The output of one node.
    Of(&'n Text),
    /// A jq program over all of them.
    Assemble(&'n Text),
    /// Typed properties, each with a template.
    Properties {
        properties: Vec<Property<'n>>,
        required: Vec<&'n Text>,
    },
}

/// A property of a typed output.
#[derive(Debug)]
pub(super) struct Property<'n> {
    pub(super) name: &'n Text,
    pub(super) kind: &'static str,
    pub(super) description: Option<&'n Text>,
    pub(super) value: &'n Text,
    pub(super) default: Option<&'n Node>,
}

#[derive(Debug)]
pub(super) struct Budget<'n> {
    pub(super) node: &'n Node,
    pub(super) cost_usd: Option<f64>,
    pub(super) tokens: Option<u64>,
    pub(super) duration_ms: Option<u64>,
}

/// Root keys of suites for tests that are no compositions.
const TEST_KEYS: [&str; 25] = [
    "agents",
    "baseline",
    "calibration",
    "compliance",
    "conformance",
    "corpus",
    "coverage",
    "evals",
    "hooks",
    "imports",
    "mock_server",
    "model_compat",
    "performance",
    "prompts",
    "resources",
    "rubrics",
    "scenarios",
    "scorers",
    "security",
    "setup",
    "setup_per_test",
    "stepwise",
    "teardown",
    "tool_quality",
    "tools",
];

/// Root keys that say something about the suite, and of which compositions need nothing.
const ABOUT_KEYS: [&str; 5] = ["$schema", "description", "metadata", "name", "version"];

impl<'n> Suite<'n> {
    pub(super) fn read(root: &'n Node, diagnostics: &mut Diagnostics) -> Option<Self> {
        let mut fields = Fields::read(root, "a suite", diagnostics)?;
        let servers = fields.mapping("servers", diagnostics);
        let variables = fields.mapping("variables", diagnostics);
        let compositions = fields.sequence("compositions", diagnostics);
        let publish = fields.optional_bool("publish", diagnostics);
        let providers = fields.optional("providers");
        let judge = fields.optional("judge");
        let mut tests = Vec::new();
        for entry in fields.rest() {
            let key = entry.key.as_str();
            if TEST_KEYS.contains(&key) {
                tests.push(&entry.key);
            } else if !ABOUT_KEYS.contains(&key) {
                diagnostics.push(unknown_root_key(entry));
            }
        }
        Some(Self {
            servers: servers.iter().map(|entry| &entry.key).collect(),
            variables: variables
                .iter()
                .filter_map(|entry| Variable::read(entry, diagnostics))
                .collect(),
            compositions: compositions
                .iter()
                .filter_map(|node| Composition::read(node, diagnostics))
                .collect(),
            publish: publish.is_some_and(|publish| publish.value),
            providers,
            judge,
            tests,
        })
    }
}

impl<'n> Variable<'n> {
    fn read(entry: &'n Entry, diagnostics: &mut Diagnostics) -> Option<Self> {
        let mut fields = Fields::read(&entry.value, "a variable", diagnostics)?;
        let variable = Self {
            name: &entry.key,
            value: fields.optional("value"),
            from_env: fields.optional_string("from_env", diagnostics),
            default: fields.optional("default"),
        };
        if let (Some(value), Some(from_env)) = (variable.value, variable.from_env) {
            diagnostics.push(two_sources(variable.name, value, from_env));
        } else if variable.value.is_none() && variable.from_env.is_none() {
            fields.required("value", diagnostics);
        }
        fields.finish(diagnostics);
        Some(variable)
    }
}

impl<'n> Composition<'n> {
    fn read(node: &'n Node, diagnostics: &mut Diagnostics) -> Option<Self> {
        let mut fields = Fields::read(node, "a composition", diagnostics)?;
        let composition = Self {
            node,
            name: fields.required_string("name", diagnostics),
            description: fields.optional_string("description", diagnostics),
            steps: fields
                .sequence("nodes", diagnostics)
                .iter()
                .filter_map(|node| Step::read(node, diagnostics))
                .collect(),
            output: fields
                .optional("output")
                .and_then(|node| Output::read(node, diagnostics)),
            budget: fields
                .optional("budget")
                .and_then(|node| Budget::read(node, diagnostics)),
            publish: fields.optional_bool("publish", diagnostics),
            expect: fields.entry("expect"),
            cases: fields.entry("cases"),
            eval: fields.entry("eval"),
            tags: fields.optional("tags"),
            inputs: fields
                .optional("inputs")
                .filter(|node| node.expect_mapping("inputs", diagnostics).is_some()),
            policy: fields.optional("policy"),
        };
        fields.finish(diagnostics);
        Some(composition)
    }
}

impl<'n> Output<'n> {
    fn read(node: &'n Node, diagnostics: &mut Diagnostics) -> Option<Self> {
        if let NodeKind::Mapping(_) = &node.kind {
            let mut fields = Fields::read(node, "output", diagnostics)?;
            if fields.has("properties") {
                return Some(Self::read_properties(fields, diagnostics));
            }
            let program = fields.required_string("assemble", diagnostics);
            fields.finish(diagnostics);
            return program.map(Self::Assemble);
        }
        node.expect_string("output", diagnostics).map(Self::Of)
    }

    fn read_properties(mut fields: Fields<'n>, diagnostics: &mut Diagnostics) -> Self {
        let entries = fields.mapping("properties", diagnostics);
        let properties = entries
            .iter()
            .filter_map(|entry| Property::read(entry, diagnostics))
            .collect();
        let required = fields.string_sequence("required", diagnostics);
        fields.finish(diagnostics);
        Self::Properties {
            properties,
            required,
        }
    }
}

impl<'n> Property<'n> {
    fn read(entry: &'n Entry, diagnostics: &mut Diagnostics) -> Option<Self> {
        let mut fields = Fields::read(&entry.value, "a property", diagnostics)?;
        let kinds = ["string", "integer", "number", "boolean", "object", "array"];
        let kind = fields.optional_choice("type", &kinds, diagnostics);
        let value = fields.required_string("value", diagnostics);
        let description = fields.optional_string("description", diagnostics);
        let default = fields.entry("default").map(|entry| &entry.value);
        fields.finish(diagnostics);
        Some(Self {
            name: &entry.key,
            kind: kind.map_or("any", |kind| kind.value),
            description,
            value: value?,
            default,
        })
    }
}

impl<'n> Budget<'n> {
    fn read(node: &'n Node, diagnostics: &mut Diagnostics) -> Option<Self> {
        let mut fields = Fields::read(node, "budget", diagnostics)?;
        let cost = fields.optional_amount("max_cost_usd", diagnostics);
        let tokens = fields.optional_integer("max_tokens", 0..=i64::MAX, diagnostics);
        let duration = fields.optional_integer("max_duration_ms", 1..=i64::MAX, diagnostics);
        fields.finish(diagnostics);
        Some(Self {
            node,
            cost_usd: cost.map(|cost| cost.value),
            tokens: tokens.and_then(|tokens| u64::try_from(tokens.value).ok()),
            duration_ms: duration.and_then(|duration| u64::try_from(duration.value).ok()),
        })
    }
}

fn unknown_root_key(entry: &Entry) -> Diagnostic {
    let known = [
        "compositions",
        "servers",
        "variables",
        "publish",
        "providers",
        "judge",
    ];
    let key = &entry.key;
    let diagnostic = Diagnostic::warning(
        codes::UNKNOWN_KEY,
        format!("a suite has no key named `{key}`"),
    )
    .label(key.place(), "unknown key");
    match suggest(key, known.into_iter().chain(TEST_KEYS).chain(ABOUT_KEYS)) {
        Some(near) => diagnostic.help(format!("a key named `{near}` exists")),
        None => diagnostic
            .help("compositions do not need it; remove it, or leave it for other programs"),
    }
}

fn two_sources(name: &Text, value: &Node, from_env: &Text) -> Diagnostic {
    Diagnostic::error(
        codes::KEYS_CONFLICT,
        format!("variable `{name}` has both `value` and `from_env`"),
    )
    .label(from_env.place(), "only one can be used")
    .secondary(&value.place, "the other one")
    .help("remove one of them; `default` may stand beside `from_env`")
}
