//! Limits on what clients control, and how long a leaving server waits for them.

use std::time::Duration;

/// Limit: body of one HTTP request, in bytes, in every era, unless configured.
pub(crate) const BODY_BYTES_MAX: usize = 4 * 1024 * 1024;

/// What `rmcp` is handed of a body may be longer than what came: an answer goes in a string, in which every byte may be
/// escaped with one more, and this much is around it.
pub(crate) const HIDING_BYTES: usize = 1024;

/// Limit: requests that are being worked on, of all clients together, unless configured. Streams that only tell of
/// changes do not count.
pub(crate) const REQUESTS_MAX: usize = 1_024;

/// Limit: open connections, unless configured; further ones wait until one is closed.
pub(crate) const CONNECTIONS_MAX: usize = 4_096;

/// How long a connection may be idle between requests, and how long a request may take to arrive. A client that has
/// gone without a word, or that sends one byte at a time, would keep its place among the connections for ever.
pub(crate) const CONNECTION_IDLE: Duration = Duration::from_mins(5);

/// Limit: a usual call that is read and answered on its connection, with its head, in bytes, and what a client sends
/// ahead of an answer. Longer ones are read by `hyper`.
pub(crate) const PLAIN_BYTES_MAX: usize = 64 * 1024;

/// Limit: headers of such a call.
pub(crate) const PLAIN_HEADERS_MAX: usize = 32;

/// Limit: reads until such a call is there; what comes in smaller pieces is left to `hyper`.
pub(crate) const PLAIN_READS_MAX: usize = 16;

/// Room for what is read at once, and kept by an idle connection.
pub(crate) const PLAIN_BUFFER_BYTES: usize = 8 * 1024;

/// How soon a client that was refused for the number of requests may come back, in seconds.
pub(crate) const RETRY_AFTER_SECONDS: u16 = 1;

/// Limit: messages of one batch.
pub(crate) const BATCH_MAX: usize = 100;

/// Limit: a refusal in plain text that is told as JSON, in bytes.
pub(crate) const REFUSAL_BYTES_MAX: usize = 64 * 1024;

/// Limit: one line from a stdio client, in bytes.
pub(crate) const LINE_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Limit: lines read from or written to a stdio client ahead of the handler.
pub(crate) const LINES_AHEAD_MAX: usize = 64;

/// Limit: tools that are counted apart in the metrics.
pub(crate) const TOOLS_COUNTED_MAX: usize = 500;

/// Limit: refused callers that are logged one by one in each interval; the others are counted.
pub(crate) const REFUSALS_LOGGED_MAX: u32 = 100;

/// How long that interval is.
pub(crate) const REFUSALS_LOGGED_EVERY: Duration = Duration::from_secs(10);

/// Limit: characters of a name that are logged, where a client made it up.
pub(crate) const NAME_LOGGED_MAX: usize = 64;

/// Limit: entries of one page of a list.
pub(crate) const PAGE_ENTRIES_MAX: usize = 500;

/// Limit: questions of one call that wait for their client.
pub(crate) const QUESTIONS_AHEAD_MAX: usize = 8;

/// How often the progress of a loop is told, at most.
pub(crate) const ITEMS_TOLD_EVERY: Duration = Duration::from_millis(100);

/// Limit: progress of a backend that waits to be passed on.
pub(crate) const PROGRESS_AHEAD_MAX: usize = 64;

/// Limit: log messages of a backend that wait to be passed on.
pub(crate) const MESSAGES_AHEAD_MAX: usize = 64;

/// Limit: resources that one session or listener may watch.
pub(crate) const SUBSCRIPTIONS_MAX: usize = 256;

/// How often a task is looked at that nobody drives here.
pub(crate) const TASK_LOOK: Duration = Duration::from_millis(500);

/// Limit: labels a client may put on a run.
pub(crate) const LABELS_MAX: usize = 32;

/// Limit: the name or the text of one label, in bytes.
pub(crate) const LABEL_BYTES_MAX: usize = 256;

/// Limit: a client's own idempotency key, in bytes.
pub(crate) const CLIENT_KEY_BYTES_MAX: usize = 256;

/// How long a client may keep a list of the modern era without asking again.
pub(crate) const LIST_TTL: Duration = Duration::from_secs(10);

/// How long calls in flight may go on after the server was told to stop.
pub(crate) const GRACE: Duration = Duration::from_secs(5);

/// How long calls in flight may go on after the input of a stdio client has ended. With `CLOSING`, and what it takes
/// the program to put runs away, this makes up its grace time of ten seconds.
pub(crate) const INPUT_GRACE: Duration = Duration::from_millis(7_500);

/// How long streams may take to end after the last call.
pub(crate) const CLOSING: Duration = Duration::from_secs(1);

/// How long a cancelled request waits to learn whether its client cancelled it or has gone.
pub(crate) const CANCEL_NOTICE: Duration = Duration::from_millis(500);

/// How long a call waits for its run before it answers with a handle, unless configured.
pub(crate) const PATIENCE: Duration = Duration::from_secs(45);

/// How long a call waits for its run before it becomes a task of a client that takes tasks.
pub(crate) const TASK_AFTER: Duration = Duration::from_millis(500);

/// How long a task is promised to be found after its run has ended.
pub(crate) const TASK_TTL: Duration = Duration::from_hours(1);

/// How often a client should look at a task.
pub(crate) const TASK_POLL: Duration = Duration::from_millis(500);

/// How long `workflow_result` waits unless it is asked to, where calls are that patient.
pub(crate) const RESULT_WAIT: Duration = Duration::from_secs(30);

/// Limit: how long `workflow_result` may be asked to wait.
pub(crate) const RESULT_WAIT_MAX: Duration = Duration::from_secs(45);

/// Limit: what a run says in its result, in bytes of JSON, unless configured; more than that is shown by its beginning
/// and linked.
pub(crate) const SHOWN_BYTES_MAX: usize = 256 * 1024;

/// Limit: the beginning that is shown of a larger output, in bytes.
pub(crate) const PREVIEW_BYTES_MAX: usize = 4 * 1024;

/// How long a sealed request state or answer link can be used.
pub(crate) const SEAL_LIFE: Duration = Duration::from_hours(24);

/// Limit: states of backends that are remembered as answered; the oldest are forgotten first.
pub(crate) const SPENT_MAX: usize = 16_384;

/// Limit: sessions of handshake clients, unless configured.
pub(crate) const SESSIONS_MAX: usize = 1_000;

/// How soon a client that was refused for the number of sessions may come back, in seconds.
pub(crate) const SESSION_RETRY_AFTER_SECONDS: u16 = 10;

/// How long a session may be silent before it is closed, unless configured. Handshake clients almost never close
/// theirs.
pub(crate) const SESSION_IDLE: Duration = Duration::from_mins(30);

/// Limit: messages of a session that wait for its handler, and events of one of its streams that wait to be read.
pub(crate) const EVENTS_AHEAD_MAX: usize = 16;

/// Limit: events of one stream that are kept for a client that comes back for them.
pub(crate) const EVENTS_KEPT_MAX: usize = 16;

/// Limit: answers of one session that nobody was there to read, which are kept in case their client comes back.
pub(crate) const LOST_ANSWERS_MAX: usize = 8;

/// Limit: such answers of all sessions of a server, in bytes.
pub(crate) const LOST_BYTES_MAX: usize = 64 * 1024 * 1024;

/// How long such an answer is kept.
pub(crate) const LOST_LIFE: Duration = Duration::from_mins(1);

/// Limit: streams of one session beside those that it is told things on.
pub(crate) const IDLE_STREAMS_MAX: usize = 32;

/// How long a client is asked to wait before it comes back for a stream that it has lost.
pub(crate) const STREAM_RETRY: Duration = Duration::from_secs(3);

/// Limit: a filled-in form, in bytes.
pub(crate) const FORM_BYTES_MAX: usize = 256 * 1024;

/// Limit: how often one call that is passed through may be asked back.
pub(crate) const ROUNDS_MAX: usize = 20;

/// Limit: calls that stand still at their backends until their clients answer.
pub(crate) const HELD_MAX: usize = 256;

/// How long such a call is held before it is cancelled.
pub(crate) const HELD_LIFE: Duration = Duration::from_mins(10);

/// Limit: a token that a caller shows, in bytes.
pub(crate) const CALLER_TOKEN_BYTES_MAX: usize = 16 * 1024;

/// Limit: the name of a caller in its token, in bytes.
pub(crate) const PRINCIPAL_BYTES_MAX: usize = 256;

/// Limit: keys of an identity provider.
pub(crate) const KEYS_MAX: usize = 64;

/// How long keys of an identity provider are used before they are looked up anew.
pub(crate) const KEYS_FRESH: Duration = Duration::from_mins(10);

/// How long they are used while the provider does not answer.
pub(crate) const KEYS_STALE: Duration = Duration::from_hours(1);

/// How long a caller waits for the first keys of a provider.
pub(crate) const KEYS_WAIT: Duration = Duration::from_secs(5);

/// How soon after a fetch of its keys has ended a provider is asked again, whatever tokens callers send.
pub(crate) const KEYS_AGAIN: Duration = Duration::from_secs(10);

/// How far clocks may be apart, unless configured.
pub(crate) const CLOCK_LEEWAY: Duration = Duration::from_mins(1);

/// Limit: fields of one form; a question that needs more is answered as JSON.
pub(crate) const FORM_FIELDS_MAX: usize = 500;

/// Limit: how deep a form shows objects in objects; what is deeper is written as JSON.
pub(crate) const FORM_DEPTH_MAX: usize = 6;

/// Limit: characters of a question in the title of its page.
pub(crate) const TITLE_CHARS_MAX: usize = 80;

/// Texts that may be longer than this, in characters, are entered on several lines.
pub(crate) const FORM_LINE_MAX: u64 = 200;

/// Limit: what a client calls itself, in characters, as it is shown to people.
pub(crate) const CLIENT_NAME_CHARS_MAX: usize = 100;
/// Limit: clients whose words about themselves are remembered.
pub(crate) const CLIENTS_KNOWN_MAX: usize = 16;
/// Limit: how long such words may be, in bytes.
pub(crate) const CLIENT_TEXT_BYTES_MAX: usize = 4 * 1024;
/// Limit: how long a `_meta` of a result may be that is remembered, in bytes.
pub(crate) const META_KNOWN_BYTES_MAX: usize = 1024;
/// Limit: held calls of a run whose decisions are told.
pub(crate) const HELD_TOLD_MAX: usize = 3;

/// How long a session is not asked the same question again.
pub(crate) const ASK_AGAIN_PAUSE: Duration = Duration::from_secs(1);
