//! Looks at the store while somebody watches, and at what the proxy logged.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use neap_core::base::ids::{Seq, StreamId};
use neap_store::{StoreError, StoredEvent};
use serde_json::to_value;

use super::translate::translate;
use super::{KEPT_MAX, LiveEvent};
use crate::api::Api;

const INTERVAL: Duration = Duration::from_millis(250);

/// Starts looking, unless that is going on. Returns once the present is known, so that nothing later is missed.
pub(super) async fn start(api: &Arc<Api>) -> Result<(), StoreError> {
    // A second watcher waits until the first has looked.
    let _starting = api.feed.starting.lock().await;
    let is_first = {
        let mut ring = api.feed.ring();
        !std::mem::replace(&mut ring.is_polled, true)
    };
    if is_first {
        if let Err(error) = look(api).await {
            api.feed.ring().is_polled = false;
            return Err(error);
        }
        tokio::spawn(poll(api.clone()));
    }
    Ok(())
}

async fn poll(api: Arc<Api>) {
    loop {
        tokio::time::sleep(INTERVAL).await;
        {
            let mut ring = api.feed.ring();
            if ring.watchers == 0 || api.feed.is_closed() {
                ring.is_polled = false;
                return;
            }
        }
        if let Err(error) = look(&api).await {
            // A store that is busy or gone may come back; watchers wait.
            tracing::debug!(target: "neap::api", %error, "cannot look for events");
        }
    }
}

async fn look(api: &Arc<Api>) -> Result<(), StoreError> {
    let feed = &api.feed;
    if let Some(proxy) = &api.proxy {
        let after = feed.ring().last_request;
        let is_first = feed.ring().seen.is_none();
        let requests = proxy.requests_after(after).requests;
        if let Some(last) = requests.last() {
            feed.ring().last_request = last.number;
        }
        // What came before the first watcher is in the log of requests.
        let requests = requests.into_iter().filter(|_| !is_first);
        let event = |logged| LiveEvent { name: "request", data: to_value(logged).unwrap_or_default() };
        // At once: the store may fail, and its events are read again then, but these are not.
        feed.push(requests.map(event).collect());
    }
    let mut events = Vec::new();
    let store = api.engine.store();
    let commits = store.commit_count().await?;
    let seen = {
        let ring = feed.ring();
        if ring.commits == commits && ring.seen.is_some() { None } else { Some(ring.seen.clone()) }
    };
    if let Some(seen) = seen {
        let now: BTreeMap<StreamId, Seq> = store.last_seqs().await?.into_iter().collect();
        match seen {
            Some(seen) if missed(&seen, &now) <= KEPT_MAX as u64 => {
                for (stream, last) in &now {
                    let from = seen.get(stream).copied().unwrap_or(Seq(0));
                    if *last > from {
                        events.extend(read(api, stream, from, *last).await?);
                    }
                }
            }
            Some(_) => feed.begin_anew(&mut feed.ring()),
            None => {}
        }
        let mut ring = feed.ring();
        (ring.seen, ring.commits) = (Some(now), commits);
    }
    feed.push(events);
    Ok(())
}

fn missed(seen: &BTreeMap<StreamId, Seq>, now: &BTreeMap<StreamId, Seq>) -> u64 {
    let from = |stream: &StreamId| seen.get(stream).map_or(0, |seq| seq.0);
    now.iter().map(|(stream, last)| last.0.saturating_sub(from(stream))).sum()
}

/// The events of one stream, if the API shows it.
async fn read(api: &Api, stream: &StreamId, after: Seq, last: Seq) -> Result<Vec<LiveEvent>, StoreError> {
    let session = stream.session();
    match (&session, stream.agent()) {
        (Some(id), _) => {
            let head = api.engine.store().head(id).await?;
            // An erased session has one last event, which says so.
            let is_erased = head.as_ref().is_some_and(|head| head.scrubbed);
            if !is_erased && api.engine.head(id).await.is_err() {
                return Ok(Vec::new());
            }
        }
        (None, Some(agent)) if agent == api.agent_id => {}
        (None, _) => return Ok(Vec::new()),
    }
    let max = usize::try_from(last.0 - after.0).unwrap_or(usize::MAX);
    let stored = api.engine.store().events(stream, after.next(), max).await?;
    let recorded = stored.into_iter().filter_map(StoredEvent::whole);
    Ok(recorded.filter_map(|recorded| translate(session.as_ref(), &recorded)).collect())
}
