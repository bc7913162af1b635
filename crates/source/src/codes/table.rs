//! The table itself. A new code goes into its range, in order; its page goes into `docs/diagnostics/`.

super::codes! {
    // Shape. Up to `WF029` raised by this crate, from `WF030` on by dialects and `workflow`.
    NOT_UTF8 = "WF001", "not UTF-8", "The file holds bytes that are not UTF-8 text.";
    SYNTAX = "WF002", "syntax", "The file cannot be read as YAML or JSON at this place.";
    TAB_INDENTATION = "WF003", "tab in indentation", "A YAML line is indented by a tab.";
    DOCUMENT_LIMIT = "WF004", "document too large", "A file is longer, deeper or, with its aliases expanded, larger than is read.";
    DUPLICATE_KEY = "WF005", "duplicate key", "A mapping has the same key twice.";
    KEY_NOT_TEXT = "WF006", "key is not text", "A key is written as a number, a boolean or null and is taken as text.";
    COMPLEX_KEY = "WF007", "key is a collection", "A key is a mapping or a sequence.";
    UNQUOTED_TEMPLATE = "WF008", "template without quotes", "A value that starts with `{{` is not quoted, so YAML reads it as a mapping.";
    LEGACY_BOOLEAN = "WF009", "boolean of YAML 1.1", "A value such as `yes` or `off` is text here and was a boolean in YAML 1.1.";
    LEGACY_NUMBER = "WF010", "octal number of YAML 1.1", "A number with a leading zero is decimal here and was octal in YAML 1.1.";
    INEXACT_NUMBER = "WF011", "number cannot be kept", "A number cannot be held exactly as JSON data.";
    UNKNOWN_TAG = "WF012", "tag not applied", "A YAML tag has no meaning here, or does not fit its value.";
    BAD_ALIAS = "WF013", "alias cannot be followed", "An alias or merge key does not lead to a value that fits.";
    LENIENT_JSON = "WF016", "not standard JSON", "A JSON file has comments or trailing commas, which other programs may refuse.";
    UNKNOWN_KEY = "WF020", "unknown key", "A mapping has a key that is not known there.";
    MISSING_KEY = "WF021", "missing key", "A mapping lacks a key that it needs.";
    WRONG_TYPE = "WF022", "wrong type", "A value is of another type than the one needed.";
    MISSING_VALUE = "WF023", "missing value", "A key that needs a value has none.";
    UNKNOWN_VALUE = "WF024", "unknown value", "A value is not one of those known.";
    OUT_OF_RANGE = "WF025", "number out of range", "A number is outside the range allowed.";

    INVALID_NAME = "WF030", "name not allowed", "A name has characters or a length that names of its kind cannot have.";
    INVALID_DURATION = "WF031", "not a duration", "A value is not a duration such as `30s`, `5m` or `1h30m`.";
    TOOL_REFERENCE = "WF032", "not a tool reference", "The tool of a step is written in a way that no tool can be named.";
    KEY_NOT_APPLICABLE = "WF033", "key does not apply", "A key is written where it cannot act.";
    KEYS_CONFLICT = "WF034", "keys exclude each other", "Two keys are given of which only one may be.";
    RETRY_COUNT = "WF035", "retry without a count", "A step is to be retried, but not how often.";
    CLAMPED = "WF036", "number lowered to its limit", "A number is above what is done, so the limit is used.";
    INVALID_SCHEMA = "WF037", "not a JSON Schema", "A schema of the file is no valid JSON Schema.";
    INVALID_ITEM_NAME = "WF038", "item name not allowed", "The name of a loop's item cannot be read in a template.";
    NO_STEPS = "WF039", "no steps", "A workflow has no step.";
    LOOP_RETRY = "WF040", "loop cannot be retried", "A loop as a whole is to be retried.";
    DUPLICATE_WORKFLOW = "WF041", "duplicate workflow", "Two workflows of one server have the same name.";
    UNUSUAL_NAME = "WF042", "unusual name", "A name is allowed here, but not everywhere the workflow may be used.";
    RETRY_ON = "WF043", "unknown failure", "A step is to be retried on a kind of failure that does not exist.";
    NOT_PORTABLE = "WF044", "works here only", "The file works here, and would not work in the system its dialect comes from.";
    INPUT_DEFAULT = "WF045", "default of a parameter does not fit", "The default of a parameter is none that the parameter takes.";
    UNUSABLE_SCHEMA = "WF046", "schema cannot be used", "A schema of the file is valid, and no value can be checked against it.";
    MOCK_TEMPLATE = "WF048", "template in a mock", "The mock of a step has a template, which nothing fills in.";

    // `WF1xx`: the graph of steps.
    UNKNOWN_STEP = "WF101", "unknown step", "A step is named that the workflow does not have.";
    DUPLICATE_STEP = "WF102", "duplicate step", "Two steps of a workflow have the same name.";
    CYCLE = "WF103", "cycle", "Steps wait for each other, so that none of them can start.";
    ALL_STEPS_READ = "WF104", "all steps are read", "An expression reads all steps at once, which makes it wait for none.";
    TOO_MANY_STEPS = "WF105", "too many steps", "A workflow has more steps than are run.";
    MISSING_DEFAULT = "WF106", "missing default results", "A step that can end without output is read, and has no default to read in its place.";
    UNDECLARED_READ = "WF107", "read without waiting", "An expression reads a step that its own step does not wait for.";
    TIMEOUT_ARITHMETIC = "WF108", "time-outs do not fit together", "A step or a loop may take longer than the run it is part of.";
    UNUSED_NEED = "WF109", "need never read", "A step waits for another one that it never reads.";

    // `WF2xx`: templates, paths and other expressions.
    TEMPLATE_SYNTAX = "WF201", "template syntax", "A template cannot be parsed.";
    UNKNOWN_PARAMETER = "WF202", "unknown parameter", "An expression reads a parameter that is not declared.";
    UNKNOWN_ROOT = "WF203", "unknown value", "An expression reads a value that does not exist in workflows.";
    UNKNOWN_ITEM = "WF204", "no such loop item", "An expression reads the item of a loop where there is none of that name.";
    UNKNOWN_STEP_PART = "WF205", "unknown part of a step", "An expression reads a part that steps do not have.";
    VALUE_BECOMES_TEXT = "WF206", "value becomes text", "A template is followed by a line break, so that its value is turned into text.";
    UNKNOWN_FUNCTION = "WF207", "unknown function", "A template calls a function that does not exist.";
    CONSTANT_CONDITION = "WF208", "condition is constant", "A condition does not depend on anything.";
    CONSTANT_COLLECTION = "WF209", "collection is no list", "The collection of a loop is a fixed text that is no list.";
    JQ_SYNTAX = "WF210", "jq syntax", "A jq program cannot be read.";
    JQ_UNDEFINED = "WF211", "unknown in jq", "A jq program uses a function or variable that does not exist.";

    // `WF3xx`: the tools of the backends.
    UNKNOWN_TOOL = "WF301", "unknown tool", "A step calls a tool that no backend has.";
    UNKNOWN_ARGUMENT = "WF302", "unknown argument", "A step passes an argument that its tool does not take.";
    MISSING_ARGUMENT = "WF303", "missing argument", "A step does not pass an argument that its tool needs.";
    ARGUMENT_TYPE = "WF304", "argument does not fit", "A step passes a value that does not fit the tool's schema.";
    UNKNOWN_OUTPUT_FIELD = "WF305", "unknown output field", "An expression reads a field that the tool's output does not have.";
    UNSAFE_ANNOTATION = "WF306", "annotation looks safer than the steps", "A workflow claims to be safer than the tools it calls.";
    UNUSED_STEP = "WF307", "unused step", "A step only reads, and nothing uses what it read.";
    DEFAULT_UNFIT = "WF308", "default does not fit the tool", "The default of a step is not of the shape its tool returns.";
    NAME_TAKEN = "WF309", "name is taken by a tool", "A workflow has the name of a backend's tool, and is withheld.";
    TOOL_CHANGED = "WF310", "tool is not as it was locked", "A step calls a tool that has changed since the lock file was written, or is not in it.";
    LOCK_UNREADABLE = "WF311", "lock file cannot be read", "The lock file beside the files is not one that this version can read.";
    NAMES_UNSETTLED = "WF312", "tools are not named as configured", "The tools of the backends do not fit what the configuration says of their names.";
    HIDDEN_CHARACTERS = "WF313", "hidden characters in a tool", "The definition of a tool has characters that people do not see and models read.";
    PARALLEL = "WF314", "backend takes fewer calls than a loop makes", "A loop makes more calls at once than its backend takes.";
    UNUSABLE_TOOL_SCHEMA = "WF315", "schema of a tool cannot be used", "A step calls a tool with an input schema against which no arguments can be checked.";

    // `WF4xx`: questions to people, and output.
    OUTPUT_SHAPE = "WF401", "output property without one source", "An output property needs either a value or properties.";
    OUTPUT_DEPTH = "WF402", "output nested too deeply", "Output properties are nested deeper than is built.";
    OUTPUT_REQUIRED = "WF403", "required property unknown", "The output requires a property that it does not define.";
    OUTPUT_DEFAULT = "WF404", "default does not fit its type", "The default of an output property is not of the property's type.";
    QUESTION_NOT_A_FORM = "WF405", "question is no form", "A question has a schema that clients cannot show as a form.";
    RESPONSE_UNFIT = "WF406", "default response does not fit", "The default response of a question does not fit its schema.";
    QUESTION_NOT_STORED = "WF407", "question in a run that is not stored", "A workflow asks a person, but its runs are not stored.";

    // `WF5xx`: test suites.
    LOOP_TEMPLATE = "WF501", "loop over no node", "A node is to run for each element of something that is no node.";
    UNKNOWN_SERVER = "WF502", "unknown server", "A node names a server that is not declared.";
    SERVER_UNCLEAR = "WF503", "server not named", "There are several servers, and a node does not say which one it calls.";
    SUITE_DIFFERS = "WF504", "suite runs differently elsewhere", "A suite has something that mcptest 1.3.0 does not do as its page says.";
    NOT_RUN_YET = "WF505", "part of a suite not run yet", "A suite has tests that `onecall test` does not run.";
    NAME_HIDES_VARIABLE = "WF506", "node hides a variable", "A template names both a node and a variable, and reads the node.";
    ENVIRONMENT_NOT_NAMED = "WF507", "environment not read", "A composition reads an environment variable that the configuration does not name.";
    EVALUATION = "WF508", "judged metric", "A judged metric does not exist, or its rubric cannot be judged.";
    DUPLICATE_COMPOSITION = "WF509", "duplicate composition", "Two compositions of a suite have the same name.";
    ASSERTION_EMPTY = "WF510", "assertion that always holds", "A matcher of a suite asks for nothing, so that every value passes.";
    UNKNOWN_MATCHER = "WF511", "unknown matcher", "An assertion of a suite names a matcher that does not exist.";
    MATCHER_INVALID = "WF512", "matcher that cannot be used", "The argument of a matcher is not what the matcher needs.";
    TARGET_INVALID = "WF513", "target that cannot be read", "The target of an assertion is not a path.";
    CASE_VARIABLE = "WF514", "variable of a case", "A case lacks a variable that a node reads, or has one that no node reads.";
    DUPLICATE_CASE = "WF515", "duplicate case", "Two cases of a composition have the same name.";

    // `WF6xx`: configuration.
    UNRECOGNISED = "WF601", "file not recognised", "A file was named that is none of the kinds that are read.";
    DUPLICATE_BACKEND = "WF602", "duplicate backend", "Two backends have the same name.";
    VARIABLE_NOT_SET = "WF603", "variable not set", "A value refers to an environment variable that is not set.";
    BACKEND_TRANSPORT = "WF604", "backend cannot be reached this way", "A backend needs either a command or a URL that fits its transport.";
    KEY_INERT = "WF605", "key has no effect yet", "A key is known, but nothing acts on it yet.";
    KEY_REFUSED = "WF606", "protection not available yet", "A key restricts who may do what, and cannot be enforced yet.";
    UNKNOWN_RESOURCE = "WF607", "resource not found", "A resource refers to another one that was not given.";
    UNREFERENCED = "WF608", "definition not published", "A definition was given that no server refers to.";
    NO_BACKENDS = "WF609", "group without backends", "A server takes its backends from a group that has none here.";
    DUPLICATE_RESOURCE = "WF610", "duplicate resource", "Two resources have the same kind, namespace and name.";
    UNKNOWN_KIND = "WF611", "unknown kind of resource", "A resource is of a kind that is not read.";
    UNKNOWN_BACKEND = "WF612", "unknown backend", "A key refers to a backend that is not configured.";
    AGGREGATION = "WF613", "aggregation is incomplete", "The way names of tools are made unique lacks what it needs.";
    UNFIT_PREFIX = "WF614", "prefix that no name can have", "Every name of a backend's tools would be one that clients refuse.";
    HEADER = "WF615", "header that cannot be sent", "A header that a backend is to be called with is none, or is given twice.";
    TOKEN_URL = "WF616", "token server that is not safe", "Credentials go to a token server over https, or within this machine.";
    NOT_INHERITED = "WF617", "variable that no backend inherits", "A backend is to inherit a variable that is the gateway's own, or is to have one that the gateway sets.";
    SUITE_ENVIRONMENT = "WF618", "servers of a suite get few variables", "A server of a suite is started with a short list of environment variables, not with all of them.";
    LITERAL_SECRET = "WF619", "secret written in a file", "A token or another secret is written in a configuration file.";
    ACCESS = "WF620", "callers cannot be told apart safely", "What says who may call would let in the wrong ones, or nobody.";
    NO_CALLER_TOKEN = "WF621", "no caller shows a token to exchange", "A backend is called with what its caller's token is exchanged for, and no caller shows one.";
    UNDEFINED_GROUP = "WF622", "group that no file defines", "A `groupRef` names a group that no file defines.";
    EMPTY_OVERRIDE = "WF623", "override that changes nothing", "An override of a tool has nothing to change.";
    STORE_UNSUPPORTED = "WF633", "store that is not supported", "A store is named by a URL, and only files can be one.";
    TOKEN_FILE_OPEN = "WF635", "token file that others can read", "A file that holds the token of a caller can be read by other users.";
}
