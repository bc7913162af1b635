//! One log line for each caller that is refused: why, from which address, and by which limit.
//! The address is that of the connection, which for clients behind a proxy is the proxy's.

use crate::limits::{REFUSALS_LOGGED_EVERY, REFUSALS_LOGGED_MAX};
use std::future::Future;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::time::Instant;

tokio::task_local! {
    static CONNECTION: Connection;
}

/// A connection that is being served.
struct Connection {
    peer: SocketAddr,
    log: Log,
}

/// What the connections of one listener have logged. Refused callers must not fill the log.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Option<Interval>>>);

/// What was logged since the interval began.
struct Interval {
    since: Instant,
    logged: u32,
    unlogged: u64,
}

impl Log {
    /// Serves a connection of this address.
    pub(crate) fn serving<F: Future>(
        &self,
        peer: SocketAddr,
        work: F,
    ) -> impl Future<Output = F::Output> + use<F> {
        let log = self.clone();
        CONNECTION.scope(Connection { peer, log }, work)
    }

    /// Whether another line may be logged, and how many were left out in the interval before it.
    fn permits(&self) -> Option<u64> {
        let mut interval = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let old = interval.take_if(|own| now.duration_since(own.since) >= REFUSALS_LOGGED_EVERY);
        let own = interval.get_or_insert(Interval {
            since: now,
            logged: 0,
            unlogged: 0,
        });
        if own.logged >= REFUSALS_LOGGED_MAX {
            own.unlogged += 1;
            return None;
        }
        own.logged += 1;
        Some(old.map_or(0, |old| old.unlogged))
    }
}

/// Where a request says that it comes from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source<'a> {
    pub(crate) host: &'a str,
    pub(crate) origin: &'a str,
}

/// Logs a refusal. `limit` is the configuration key of the limit that the caller met, with its value.
pub(crate) fn log(reason: &str, limit: Option<(&str, usize)>) {
    write(reason, limit, None);
}

/// Logs a refusal by `Host` or `Origin`.
pub(crate) fn log_source(reason: &str, source: Source<'_>) {
    write(reason, None, Some(source));
}

fn write(reason: &str, limit: Option<(&str, usize)>, source: Option<Source<'_>>) {
    let limit = limit.map(|(key, max)| format!("{key}: {max}"));
    let (host, origin) = (source.map(|own| own.host), source.map(|own| own.origin));
    // Without a connection, in tests, there is no address.
    let _ = CONNECTION.try_with(|Connection { peer, log }| {
        let Some(unlogged) = log.permits() else {
            return;
        };
        if unlogged > 0 {
            tracing::warn!(
                count = unlogged,
                "more callers were refused than are logged"
            );
        }
        let address = peer.to_string();
        tracing::warn!(reason, address, limit, host, origin, "a caller was refused");
    });
}
