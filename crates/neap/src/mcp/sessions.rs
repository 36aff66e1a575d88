//! How many sessions clients of the MCP server may have open over HTTP.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::http::HeaderMap;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::session::{SessionId, SessionManager};
use tokio::time::Instant;

/// The header that names a session of the protocol's.
const SESSION: &str = "mcp-session-id";

/// How many sessions of clients there may be.
#[derive(Debug, Clone)]
pub(crate) struct SessionLimits {
    /// Open at once: each keeps some 80 KiB.
    pub(crate) sessions_max: usize,
    /// One that was not used for so long makes room for another when there is none left.
    pub(crate) idle: Duration,
}

impl Default for SessionLimits {
    fn default() -> Self {
        Self { sessions_max: 256, idle: Duration::from_secs(60) }
    }
}

/// The sessions that clients have begun. One that is not used for five minutes ends by itself.
pub(super) struct Sessions {
    pub(super) open: Arc<LocalSessionManager>,
    pub(super) limits: SessionLimits,
    /// When each was last used.
    used: Mutex<BTreeMap<SessionId, Instant>>,
    /// Held while one begins.
    pub(super) beginning: tokio::sync::Mutex<()>,
}

impl Sessions {
    pub(super) fn new(limits: SessionLimits) -> Self {
        let (used, beginning) = (Mutex::default(), tokio::sync::Mutex::default());
        Self { open: Arc::new(LocalSessionManager::default()), limits, used, beginning }
    }

    /// Notes that a client was given the session which the headers of an answer name.
    pub(super) fn began(&self, headers: &HeaderMap) {
        let Some(id) = named(headers) else { return };
        self.used.lock().unwrap_or_else(PoisonError::into_inner).insert(id.into(), Instant::now());
    }

    /// Notes that the session which the headers of a request name is in use, if a client was given it.
    pub(super) fn used(&self, headers: &HeaderMap) {
        let Some(id) = named(headers) else { return };
        if let Some(at) = self.used.lock().unwrap_or_else(PoisonError::into_inner).get_mut(id) {
            *at = Instant::now();
        }
    }

    /// Whether there is room for one more. If there is none, the one that was not used for longest ends, if that is long enough ago.
    pub(super) async fn make_room(&self) -> bool {
        let open: BTreeSet<SessionId> = self.open.sessions.read().await.keys().cloned().collect();
        let longest = {
            let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
            // Those that have ended by themselves.
            used.retain(|id, _| open.contains(id));
            let idle = used.iter().filter(|(_, at)| at.elapsed() >= self.limits.idle);
            idle.min_by_key(|(_, at)| **at).map(|(id, _)| id.clone())
        };
        match longest {
            _ if open.len() < self.limits.sessions_max => true,
            Some(id) => {
                self.used.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
                self.open.close_session(&id).await.is_ok()
            }
            None => false,
        }
    }
}

fn named(headers: &HeaderMap) -> Option<&str> {
    headers.get(SESSION)?.to_str().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn begin(sessions: &Sessions) -> HeaderMap {
        let (id, _transport) = sessions.open.create_session().await.expect("a session");
        let headers = HeaderMap::from_iter([(
            axum::http::HeaderName::from_static(SESSION),
            id.parse().expect("an id is plain"),
        )]);
        sessions.began(&headers);
        headers
    }

    async fn is_open(sessions: &Sessions, headers: &HeaderMap) -> bool {
        sessions.open.sessions.read().await.contains_key(named(headers).expect("a name"))
    }

    #[tokio::test]
    async fn the_one_that_was_not_used_for_longest_makes_room() {
        let mut sessions = Sessions::new(SessionLimits { sessions_max: 2, idle: Duration::from_secs(3_600) });
        let first = begin(&sessions).await;
        assert!(sessions.make_room().await);
        let second = begin(&sessions).await;
        assert!(!sessions.make_room().await, "both were just used");
        sessions.used(&first);
        sessions.limits.idle = Duration::ZERO;
        assert!(sessions.make_room().await);
        assert_eq!((is_open(&sessions, &first).await, is_open(&sessions, &second).await), (true, false));
        let third = begin(&sessions).await;
        // An id that nobody was given is no session.
        sessions.used(&HeaderMap::from_iter([(
            axum::http::HeaderName::from_static(SESSION),
            "none".parse().expect("a value"),
        )]));
        assert_eq!(sessions.used.lock().expect("a lock").len(), 2);
        assert!(is_open(&sessions, &third).await);
    }
}
