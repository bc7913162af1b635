//! Limits on backends: sizes, counts and times. Sizes of messages are in `onecall_mcp::limits`.

use std::time::Duration;

/// Limit: calls in flight to one backend, unless its options say otherwise.
pub const IN_FLIGHT_DEFAULT: usize = 64;
/// Limit: messages waiting for a child that does not read.
pub(crate) const OUTBOUND_MAX: usize = 64;
/// Limit: messages written in one go.
pub(crate) const BATCH_MAX: usize = 32;
/// Room that a stream keeps after a long line.
pub(crate) const OUTLET_BYTES_KEPT: usize = 1024 * 1024;
/// Limit: an overlong line is skipped up to this size; beyond it the connection is given up.
pub(crate) const SKIPPED_BYTES_MAX: usize = 256 * 1024 * 1024;
/// Limit: lines, and bytes of them, that come before the first message of a server and are none; beyond either it is
/// taken for a program that does not speak the protocol.
pub(crate) const UNHEARD_LINES_MAX: usize = 1_000;
pub(crate) const UNHEARD_BYTES_MAX: usize = 1024 * 1024;
/// Limit: what is kept of lines that are no messages: the first and so many of the last, each so long.
pub(crate) const IGNORED_LAST_LINES: usize = 2;
pub(crate) const IGNORED_LINE_BYTES_MAX: usize = 200;
/// Limit: what is kept of a child's stderr.
pub(crate) const STDERR_BYTES_MAX: usize = 64 * 1024;
/// Limit: what an error shows of it.
pub(crate) const STDERR_SHOWN_LINES: usize = 8;
/// Limit: questions of one backend that wait for their reply.
pub(crate) const QUESTIONS_MAX: usize = 32;

/// Calls that begin within this time of each other count as made together.
pub(crate) const ASKED_TOGETHER: Duration = Duration::from_secs(1);

pub(crate) const CALL_TIMEOUT_DEFAULT: Duration = Duration::from_mins(1);
pub(crate) const CONNECT_TIMEOUT_DEFAULT: Duration = Duration::from_secs(30);
/// The first run of `npx`, `uvx` or `docker` fetches what it runs.
pub(crate) const CHILD_CONNECT_TIMEOUT_DEFAULT: Duration = Duration::from_mins(2);
/// A child has this long to end after its stdin is closed.
pub(crate) const GRACE_DEFAULT: Duration = Duration::from_secs(2);
/// And this long after the polite signal.
pub(crate) const TERMINATE_GRACE: Duration = Duration::from_secs(1);
/// A server that has not answered the probe by then is asked to `initialize` as well.
pub(crate) const PROBE_PATIENCE: Duration = Duration::from_secs(2);
/// Time for the exit status of a child whose stdout has closed.
pub(crate) const EXIT_STATUS_WAIT: Duration = Duration::from_millis(200);

pub(crate) const BACKOFF_FIRST: Duration = Duration::from_millis(250);
pub(crate) const BACKOFF_MAX: Duration = Duration::from_secs(30);
/// A connection that lived this long starts its back-off anew.
pub(crate) const BACKOFF_FORGIVEN: Duration = Duration::from_secs(10);
/// A call waits for a reconnection that is due within this time; else it fails at once.
pub(crate) const BACKOFF_WAITED: Duration = Duration::from_secs(1);
/// So long before its caller gives it up a call that waits for its turn says that it was not sent.
pub(crate) const TOLD_UNSENT: Duration = Duration::from_millis(50);

/// Limit: the head of an HTTP response.
pub(crate) const HTTP_HEAD_BYTES_MAX: usize = 256 * 1024;
/// Limit: interim responses (1xx) to one request. They do not extend the time that the request may take.
pub(crate) const INTERIM_RESPONSES_MAX: usize = 100;
/// Limit: the body of a request that is written at once. It fits into what any system takes without being read, so a
/// server that answers before it has read everything keeps nobody waiting.
pub(crate) const PLAIN_REQUEST_BYTES_MAX: usize = 32 * 1024;
/// Limit: headers of an answer that is read without `hyper`.
pub(crate) const PLAIN_HEADERS_MAX: usize = 32;
/// Room for a usual answer, and for a piece of a large one.
pub(crate) const PLAIN_BUFFER_BYTES: usize = 4 * 1024;
pub(crate) const PLAIN_BUFFER_BYTES_MAX: usize = 64 * 1024;
/// Limit: all events of the stream of one request.
pub(crate) const STREAM_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Limit: events in a row of such a stream that are no messages; no answer is expected behind them.
pub(crate) const EVENTS_PASSED_OVER_MAX: usize = 100_000;
/// Events are decoded in pieces of so many bytes.
pub(crate) const EVENT_PIECE_BYTES: usize = 2048;
/// Limit: what a reader takes before others on its thread have their turn, and what a message, a line that may be one
/// and a piece of events count besides their bytes, and each line in such a piece.
pub(crate) const TURN_BYTES_MAX: usize = 64 * 1024;
pub(crate) const TURN_PIECE_BYTES: usize = 1024;
pub(crate) const TURN_LINE_BYTES: usize = 64;
/// Limit: what is read of a body that nobody wants, so that its connection can be used again, and for how long.
pub(crate) const REST_BYTES_MAX: usize = 16 * 1024;
pub(crate) const REST_PATIENCE: Duration = Duration::from_millis(200);
/// A token is renewed so long before it expires.
pub(crate) const TOKEN_EARLY: Duration = Duration::from_secs(30);
/// A token whose server does not say how long it lasts.
pub(crate) const TOKEN_LASTS_DEFAULT: Duration = Duration::from_mins(5);
/// Limit: a token is fetched anew after this time, whatever its server says.
pub(crate) const TOKEN_LASTS_MAX: Duration = Duration::from_hours(24);
pub(crate) const TOKEN_TIMEOUT: Duration = Duration::from_secs(10);
/// Limit: tokens kept for one backend, each for another caller.
pub(crate) const TOKENS_MAX: usize = 1_024;
/// Limit: the answer of a token server.
pub(crate) const TOKEN_BYTES_MAX: usize = 64 * 1024;
/// Limit: idle connections kept to one server.
pub(crate) const HTTP_IDLE_MAX: usize = 64;
/// An idle connection is given up before servers do so (common default: 5 s). A request written
/// into a connection that the server is just closing would have an unknown outcome.
pub(crate) const HTTP_IDLE: Duration = Duration::from_secs(4);
pub(crate) const HTTP_CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// A server that leaves the probe unanswered so long is asked to `initialize`.
pub(crate) const HTTP_PROBE_PATIENCE: Duration = Duration::from_secs(5);
/// A legacy server's change stream is waited for so long at the opening.
pub(crate) const HTTP_LISTEN_PATIENCE: Duration = Duration::from_millis(500);
/// A server of two endpoints that leaves the end of the handshake unanswered so long is asked what there is to ask.
pub(crate) const SSE_OPENED_PATIENCE: Duration = Duration::from_secs(1);
/// For the end of a session.
pub(crate) const HTTP_GOODBYE: Duration = Duration::from_secs(1);
/// For a message that needs no answer.
pub(crate) const HTTP_NOTICE_TIMEOUT: Duration = Duration::from_secs(10);
/// Limit: how often the stream of one call is resumed.
pub(crate) const RESUMES_MAX: u32 = 100;
pub(crate) const RESUME_WAIT_DEFAULT: Duration = Duration::from_secs(1);
pub(crate) const RESUME_WAIT_MAX: Duration = Duration::from_secs(30);

/// A list is kept so long where the server neither tells of changes nor says how long it lasts.
pub(crate) const LIST_KEPT_DEFAULT: Duration = Duration::from_secs(30);
/// Limit: a list is not read again sooner, whatever the server says.
pub(crate) const LIST_KEPT_MIN: Duration = Duration::from_secs(1);
/// Limit: a list is read again after this time, whatever the server says.
pub(crate) const LIST_KEPT_MAX: Duration = Duration::from_hours(1);
/// A list that is read again must be there within this time.
pub(crate) const LIST_TIMEOUT: Duration = Duration::from_secs(30);
/// Limit: all pages of one list of tools, resources, templates or prompts.
pub(crate) const LIST_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Limit: pages of one connection that people were sent to and that are not done with; the oldest are forgotten.
pub(crate) const PAGES_MAX: usize = 256;
/// Limit: the name that a server gives to a page.
pub(crate) const PAGE_NAME_BYTES_MAX: usize = 1024;
/// Limit: updates of resources that wait for a slow listener; older ones are lost to it.
pub(crate) const UPDATES_MAX: usize = 256;
/// Limit: what such an update says beside the resource, in bytes; where it is more, the resource alone is told.
pub(crate) const UPDATE_BYTES_MAX: usize = 16 * 1024;
/// Limit: what a message of progress says, in bytes; where it is more, the numbers alone are told, if they are less.
pub(crate) const PROGRESS_BYTES_MAX: usize = 16 * 1024;
/// Limit: a log message, in bytes; of a longer one its level, its logger and its length are told.
pub(crate) const LOGGED_BYTES_MAX: usize = 64 * 1024;
/// A subscription is acknowledged after this time even if the server has not taken it yet.
pub(crate) const SUBSCRIBE_PATIENCE: Duration = Duration::from_secs(2);
/// How often a task is asked for where its server does not say, and the bounds of what it may say.
pub(crate) const TASK_POLL_DEFAULT: Duration = Duration::from_secs(1);
pub(crate) const TASK_POLL_MIN: Duration = Duration::from_millis(20);
pub(crate) const TASK_POLL_MAX: Duration = Duration::from_secs(30);

/// Limit: what is said of one list of tools.
pub(crate) const REMARKS_MAX: usize = 20;
/// Limit: characters shown of a name that is left out.
pub(crate) const SHOWN_NAME_CHARS_MAX: usize = 80;

/// Failures in a row after which a backend is probed.
pub(crate) const DOUBT_AFTER: u32 = 5;
/// A probe must be answered within this time.
pub(crate) const HEALTH_PROBE_TIMEOUT: Duration = Duration::from_secs(2);
/// Probes left unanswered by a backend that counts as dead, after which an idle connection is given up.
pub(crate) const HEALTH_PROBES_MORE: u32 = 2;
/// Limit: connections of one backend that each serve one caller.
pub(crate) const CALLERS_MAX: usize = 256;
/// A caller's own connection is given up after this time without a call.
pub(crate) const CALLER_IDLE: Duration = Duration::from_mins(10);
/// Limit: a document of another server, in bytes, and the time it may take.
pub(crate) const DOCUMENT_BYTES_MAX: usize = 256 * 1024;
pub(crate) const DOCUMENT_TIMEOUT: Duration = Duration::from_secs(10);

/// A connection that lived so long makes its end news, though it ended so before.
pub(crate) const DOWN_LOGGED_AGAIN: Duration = Duration::from_mins(1);

/// Limit: tools that are known to run as tasks only; others are found out at each call.
pub(crate) const TASK_ONLY_MAX: usize = 10_000;
