//! Names of the fields in which a question is carried to a client and its answer back, spelled once.

/// What is asked, by key.
pub const INPUT_REQUESTS: &str = "inputRequests";
/// What is answered, by the same keys.
pub const INPUT_RESPONSES: &str = "inputResponses";
/// What the server wants back with the answers, as it gave it.
pub const REQUEST_STATE: &str = "requestState";
