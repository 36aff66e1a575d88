//! Notifies clients of changed resources, whichever process on the store changed them.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::Duration;

use neap_core::base::ids::{Seq, StreamId};
use rmcp::RoleServer;
use rmcp::model::{ErrorData, ResourceUpdatedNotificationParam, SubscriptionFilter};
use rmcp::service::{Peer, SubscriptionContext};
use tokio::sync::broadcast::error::RecvError;

use super::uri::Uri;
use super::{McpState, Server};

const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// How often a silent connection is checked.
const DISCONNECT_CHECK_INTERVAL: Duration = Duration::from_secs(30);
const WATCHED_MAX: usize = 256;

/// Watched URIs with their stream and the last position seen.
#[derive(Default)]
struct WatchedResources(BTreeMap<String, (StreamId, Option<Seq>)>);

impl WatchedResources {
    /// Adds a resource; the next poll reports it as changed.
    fn add(&mut self, state: &McpState, uri: &str) -> Result<(), ErrorData> {
        let stream = stream_of(state, uri)
            .ok_or_else(|| ErrorData::resource_not_found("there is no such resource", None))?;
        self.0.insert(uri.to_owned(), (stream, None));
        Ok(())
    }

    /// The resources that changed since the last call. Reads each stream's position once.
    async fn take_changed(&mut self, state: &McpState) -> Vec<String> {
        let mut latest: BTreeMap<StreamId, Seq> = BTreeMap::new();
        for (stream, _) in self.0.values() {
            if !latest.contains_key(stream)
                && let Ok(now) = state.engine.store().last_seq(stream).await
            {
                latest.insert(stream.clone(), now);
            }
        }
        let mut changed = Vec::new();
        for (uri, (stream, last_seen)) in &mut self.0 {
            if let Some(now) = latest.get(stream)
                && last_seen.replace(*now) != Some(*now)
            {
                changed.push(uri.clone());
            }
        }
        changed
    }
}

fn stream_of(state: &McpState, uri: &str) -> Option<StreamId> {
    match Uri::parse(uri)? {
        Uri::Context(session) | Uri::Effort(session, _) | Uri::Raw(session, ..) => Some(session.into()),
        Uri::Memory(_) => state.defaults.agent.as_ref().map(neap_core::base::ids::AgentId::stream),
    }
}

impl Server {
    /// Watches a resource for a connected client (before 2026-07-28).
    pub(super) async fn watch(&self, uri: String, peer: Peer<RoleServer>) -> Result<(), ErrorData> {
        let state = self.state.clone();
        let mut watched = WatchedResources::default();
        watched.add(&state, &uri)?;
        watched.take_changed(&state).await; // The current state, before the client learns that it is subscribed.
        let mut all = self.watched.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if all.len() >= WATCHED_MAX && !all.contains_key(&uri) {
            return Err(ErrorData::invalid_params(format!("{WATCHED_MAX} resources are watched already"), None));
        }
        let task = tokio::spawn(async move {
            while !peer.is_transport_closed() {
                tokio::time::sleep(POLL_INTERVAL).await;
                for uri in watched.take_changed(&state).await {
                    if peer.notify_resource_updated(ResourceUpdatedNotificationParam::new(uri)).await.is_err() {
                        return;
                    }
                }
            }
        });
        if let Some(previous) = all.insert(uri, task.abort_handle()) {
            previous.abort();
        }
        Ok(())
    }

    pub(super) fn unwatch(&self, uri: &str) {
        let mut all = self.watched.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(task) = all.remove(uri) {
            task.abort();
        }
    }

    pub(super) fn notify_list_changes(&self, peer: Peer<RoleServer>) {
        if self.is_notifying_lists.swap(true, Ordering::Relaxed) {
            return; // Already subscribed.
        }
        let mut list_changes = self.state.list_changed.subscribe();
        tokio::spawn(async move {
            while !peer.is_transport_closed() {
                let sent = match tokio::time::timeout(DISCONNECT_CHECK_INTERVAL, list_changes.recv()).await {
                    Ok(Err(RecvError::Closed)) => return,
                    Ok(Ok(()) | Err(RecvError::Lagged(_))) => peer.notify_resource_list_changed().await,
                    Err(_) => Ok(()),
                };
                if sent.is_err() {
                    return;
                }
            }
        });
    }

    pub(super) fn accepted_filter(&self, requested: &SubscriptionFilter) -> SubscriptionFilter {
        let mut accepted = SubscriptionFilter::new();
        accepted.resources_list_changed = requested.resources_list_changed;
        accepted.resource_subscriptions = requested.resource_subscriptions.as_ref().map(|uris| {
            uris.iter().filter(|uri| stream_of(&self.state, uri).is_some()).take(WATCHED_MAX).cloned().collect()
        });
        accepted
    }

    /// Sends changes until the client cancels (since 2026-07-28). Starts by reporting every resource: the client
    /// had its response before this runs, and a change in between would be missed.
    pub(super) async fn stream_changes(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let mut watched = WatchedResources::default();
        for uri in context.accepted().resource_subscriptions.iter().flatten() {
            watched.add(&self.state, uri)?;
        }
        let (mut list_changes, sink) = (self.state.list_changed.subscribe(), context.sink());
        let wants_lists = context.accepted().resources_list_changed == Some(true);
        let mut ticks = tokio::time::interval(POLL_INTERVAL);
        loop {
            let sent = tokio::select! {
                () = context.cancelled() => return Ok(()),
                _ = ticks.tick() => {
                    let mut sent = Ok(());
                    for uri in watched.take_changed(&self.state).await {
                        sent = sent.and(sink.notify_resource_updated(uri).await);
                    }
                    sent
                }
                change = list_changes.recv(), if wants_lists => match change {
                    Err(RecvError::Closed) => return Ok(()),
                    Ok(()) | Err(RecvError::Lagged(_)) => sink.notify_resource_list_changed().await,
                },
            };
            if sent.is_err() {
                return Ok(());
            }
        }
    }
}
