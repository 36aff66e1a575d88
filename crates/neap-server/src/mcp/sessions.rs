//! Limits the MCP sessions open over HTTP.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::http::HeaderMap;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::session::{SessionId, SessionManager};
use tokio::time::Instant;

const SESSION_HEADER: &str = "mcp-session-id";

#[derive(Debug, Clone)]
pub struct SessionLimits {
    /// Open at once; each takes some 80 KiB.
    pub sessions_max: usize,
    /// A session idle for this long may be closed to make room for a new one.
    pub idle: Duration,
}

impl Default for SessionLimits {
    fn default() -> Self {
        Self { sessions_max: 256, idle: Duration::from_secs(60) }
    }
}

/// Open sessions. The session manager closes one that is idle for five minutes.
pub(super) struct McpSessions {
    pub(super) manager: Arc<LocalSessionManager>,
    pub(super) limits: SessionLimits,
    last_used: Mutex<BTreeMap<SessionId, Instant>>,
    pub(super) start_lock: tokio::sync::Mutex<()>,
}

impl McpSessions {
    pub(super) fn new(limits: SessionLimits) -> Self {
        let (last_used, start_lock) = (Mutex::default(), tokio::sync::Mutex::default());
        Self { manager: Arc::new(LocalSessionManager::default()), limits, last_used, start_lock }
    }

    pub(super) fn note_started(&self, headers: &HeaderMap) {
        let Some(id) = session_header(headers) else { return };
        self.last_used.lock().unwrap_or_else(PoisonError::into_inner).insert(id.into(), Instant::now());
    }

    /// Records a use of the session in a request's headers, if it exists.
    pub(super) fn note_used(&self, headers: &HeaderMap) {
        let Some(id) = session_header(headers) else { return };
        if let Some(at) = self.last_used.lock().unwrap_or_else(PoisonError::into_inner).get_mut(id) {
            *at = Instant::now();
        }
    }

    /// Whether the session in a request's headers exists.
    pub(super) async fn is_open(&self, headers: &HeaderMap) -> bool {
        let Some(id) = session_header(headers) else { return false };
        self.manager.sessions.read().await.contains_key(id)
    }

    /// Whether one more session may start. At the limit, closes the one idle longest, if idle long enough.
    pub(super) async fn make_room(&self) -> bool {
        let open: BTreeSet<SessionId> = self.manager.sessions.read().await.keys().cloned().collect();
        let most_idle = {
            let mut last_used = self.last_used.lock().unwrap_or_else(PoisonError::into_inner);
            // Drop sessions that the manager has closed.
            last_used.retain(|id, _| open.contains(id));
            let idle = last_used.iter().filter(|(_, at)| at.elapsed() >= self.limits.idle);
            idle.min_by_key(|(_, at)| **at).map(|(id, _)| id.clone())
        };
        match most_idle {
            _ if open.len() < self.limits.sessions_max => true,
            Some(id) => {
                self.last_used.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
                self.manager.close_session(&id).await.is_ok()
            }
            None => false,
        }
    }
}

fn session_header(headers: &HeaderMap) -> Option<&str> {
    headers.get(SESSION_HEADER)?.to_str().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn begin(sessions: &McpSessions) -> HeaderMap {
        let (id, _transport) = sessions.manager.create_session().await.expect("a session");
        let headers = HeaderMap::from_iter([(
            axum::http::HeaderName::from_static(SESSION_HEADER),
            id.parse().expect("an id is plain"),
        )]);
        sessions.note_started(&headers);
        headers
    }

    #[tokio::test]
    async fn the_one_that_was_not_used_for_longest_makes_room() {
        let mut sessions = McpSessions::new(SessionLimits { sessions_max: 2, idle: Duration::from_secs(3_600) });
        let first = begin(&sessions).await;
        assert!(sessions.make_room().await);
        let second = begin(&sessions).await;
        assert!(!sessions.make_room().await, "both were just used");
        sessions.note_used(&first);
        sessions.limits.idle = Duration::ZERO;
        assert!(sessions.make_room().await);
        assert_eq!((sessions.is_open(&first).await, sessions.is_open(&second).await), (true, false));
        let third = begin(&sessions).await;
        // An id that was never assigned is not a session.
        sessions.note_used(&HeaderMap::from_iter([(
            axum::http::HeaderName::from_static(SESSION_HEADER),
            "none".parse().expect("a value"),
        )]));
        assert_eq!(sessions.last_used.lock().expect("a lock").len(), 2);
        assert!(sessions.is_open(&third).await);
    }
}
