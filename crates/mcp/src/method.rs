//! Names of methods and notifications, spelled once.

pub const INITIALIZE: &str = "initialize";
pub const INITIALIZED: &str = "notifications/initialized";
pub const DISCOVER: &str = "server/discover";
pub const PING: &str = "ping";
pub const TOOLS_LIST: &str = "tools/list";
pub const TOOLS_CALL: &str = "tools/call";
pub const TOOLS_CHANGED: &str = "notifications/tools/list_changed";
pub const PROMPTS_LIST: &str = "prompts/list";
pub const PROMPTS_GET: &str = "prompts/get";
pub const PROMPTS_CHANGED: &str = "notifications/prompts/list_changed";
pub const RESOURCES_LIST: &str = "resources/list";
pub const RESOURCES_READ: &str = "resources/read";
pub const RESOURCE_TEMPLATES_LIST: &str = "resources/templates/list";
pub const RESOURCES_CHANGED: &str = "notifications/resources/list_changed";
pub const RESOURCES_SUBSCRIBE: &str = "resources/subscribe";
pub const RESOURCES_UNSUBSCRIBE: &str = "resources/unsubscribe";
pub const RESOURCE_UPDATED: &str = "notifications/resources/updated";
pub const SET_LEVEL: &str = "logging/setLevel";
pub const COMPLETE: &str = "completion/complete";
pub const LISTEN: &str = "subscriptions/listen";
pub const LISTEN_ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";
pub const ELICIT: &str = "elicitation/create";
/// 2025-11-25 only.
pub const ELICITATION_COMPLETE: &str = "notifications/elicitation/complete";
pub const SAMPLE: &str = "sampling/createMessage";
pub const ROOTS_LIST: &str = "roots/list";
pub const CANCELLED: &str = "notifications/cancelled";
pub const PROGRESS: &str = "notifications/progress";
pub const MESSAGE: &str = "notifications/message";
pub const TASKS_GET: &str = "tasks/get";
/// 2025-11-25 only.
pub const TASKS_RESULT: &str = "tasks/result";
pub const TASKS_UPDATE: &str = "tasks/update";
pub const TASKS_CANCEL: &str = "tasks/cancel";
pub const TASK_STATUS: &str = "notifications/tasks";
