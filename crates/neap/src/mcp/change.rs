//! Telling a client that a resource changed, whoever changed it: this process or another on the same store.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::Duration;

use neap_core::ids::{Seq, SessionId};
use rmcp::RoleServer;
use rmcp::model::{ErrorData, ResourceUpdatedNotificationParam, SubscriptionFilter};
use rmcp::service::{Peer, SubscriptionContext};
use tokio::sync::broadcast::error::RecvError;

use super::uri::Uri;
use super::{Desk, Server};

/// How often the store is asked whether something changed.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// How often a connection that hears nothing is looked at, whether it is still there.
const GONE_AFTER: Duration = Duration::from_secs(30);
/// Resources that one client may watch.
const WATCHED_MAX: usize = 256;

/// Streams with how far each is known.
#[derive(Default)]
struct Watched(BTreeMap<String, (SessionId, Option<Seq>)>);

impl Watched {
    /// Adds a resource of which nothing is known: the first look tells of it.
    fn add(&mut self, desk: &Desk, uri: &str) -> Result<(), ErrorData> {
        let stream = stream_of(desk, uri)
            .ok_or_else(|| ErrorData::resource_not_found("there is no such resource", None))?;
        self.0.insert(uri.to_owned(), (stream, None));
        Ok(())
    }

    /// What changed since it was last looked at. Each stream is looked at once.
    async fn changed(&mut self, desk: &Desk) -> Vec<String> {
        let mut seen: BTreeMap<SessionId, Seq> = BTreeMap::new();
        for (stream, _) in self.0.values() {
            if !seen.contains_key(stream)
                && let Ok(now) = desk.engine.store().seq(stream).await
            {
                seen.insert(stream.clone(), now);
            }
        }
        let mut changed = Vec::new();
        for (uri, (stream, known)) in &mut self.0 {
            if let Some(now) = seen.get(stream)
                && known.replace(*now) != Some(*now)
            {
                changed.push(uri.clone());
            }
        }
        changed
    }
}

/// The stream in which a resource changes.
fn stream_of(desk: &Desk, uri: &str) -> Option<SessionId> {
    match Uri::parse(uri)? {
        Uri::Context(session) | Uri::Effort(session, _) | Uri::Raw(session, ..) => Some(session),
        Uri::Memory(_) => desk.place.agent.as_ref().map(neap_core::ids::AgentId::stream),
    }
}

impl Server {
    /// Watches a resource for a client that stays connected (before 2026-07-28).
    pub(super) async fn watch(&self, uri: String, peer: Peer<RoleServer>) -> Result<(), ErrorData> {
        let desk = self.desk.clone();
        let mut watched = Watched::default();
        watched.add(&desk, &uri)?;
        watched.changed(&desk).await; // As it is now, before the client hears that it is watched.
        let mut all = self.watched.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if all.len() >= WATCHED_MAX && !all.contains_key(&uri) {
            return Err(ErrorData::invalid_params(format!("{WATCHED_MAX} resources are watched already"), None));
        }
        let task = tokio::spawn(async move {
            while !peer.is_transport_closed() {
                tokio::time::sleep(LOOK_EVERY).await;
                for uri in watched.changed(&desk).await {
                    if peer.notify_resource_updated(ResourceUpdatedNotificationParam::new(uri)).await.is_err() {
                        return;
                    }
                }
            }
        });
        if let Some(before) = all.insert(uri, task.abort_handle()) {
            before.abort();
        }
        Ok(())
    }

    /// Watches it no more.
    pub(super) fn unwatch(&self, uri: &str) {
        let mut all = self.watched.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(task) = all.remove(uri) {
            task.abort();
        }
    }

    /// Tells a client that stays connected when there are other resources than before.
    pub(super) fn tell_lists(&self, peer: Peer<RoleServer>) {
        if self.tells_lists.swap(true, Ordering::Relaxed) {
            return; // A client that says twice that it is ready hears everything once.
        }
        let mut news = self.desk.listed.subscribe();
        tokio::spawn(async move {
            while !peer.is_transport_closed() {
                let told = match tokio::time::timeout(GONE_AFTER, news.recv()).await {
                    Ok(Err(RecvError::Closed)) => return,
                    Ok(Ok(()) | Err(RecvError::Lagged(_))) => peer.notify_resource_list_changed().await,
                    Err(_) => Ok(()),
                };
                if told.is_err() {
                    return;
                }
            }
        });
    }

    /// What of a filter can be watched.
    pub(super) fn watchable(&self, requested: &SubscriptionFilter) -> SubscriptionFilter {
        let mut accepted = SubscriptionFilter::new();
        accepted.resources_list_changed = requested.resources_list_changed;
        accepted.resource_subscriptions = requested.resource_subscriptions.as_ref().map(|uris| {
            uris.iter().filter(|uri| stream_of(&self.desk, uri).is_some()).take(WATCHED_MAX).cloned().collect()
        });
        accepted
    }

    /// Tells of changes until the client has heard enough (since 2026-07-28). Each resource is told of at once:
    /// the client was answered before this begins, and what changed in between would never be heard of.
    pub(super) async fn tell_changes(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let mut watched = Watched::default();
        for uri in context.accepted().resource_subscriptions.iter().flatten() {
            watched.add(&self.desk, uri)?;
        }
        let (mut news, sink) = (self.desk.listed.subscribe(), context.sink());
        let tells_lists = context.accepted().resources_list_changed == Some(true);
        let mut looks = tokio::time::interval(LOOK_EVERY);
        loop {
            let told = tokio::select! {
                () = context.cancelled() => return Ok(()),
                _ = looks.tick() => {
                    let mut told = Ok(());
                    for uri in watched.changed(&self.desk).await {
                        told = told.and(sink.notify_resource_updated(uri).await);
                    }
                    told
                }
                heard = news.recv(), if tells_lists => match heard {
                    Err(RecvError::Closed) => return Ok(()),
                    Ok(()) | Err(RecvError::Lagged(_)) => sink.notify_resource_list_changed().await,
                },
            };
            if told.is_err() {
                return Ok(());
            }
        }
    }
}
