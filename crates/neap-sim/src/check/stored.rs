//! Checks the streams that clients write: equal to what was acknowledged, equal to their replay (I3), and with each
//! accepted text exactly once (I2).

use std::collections::{BTreeMap, BTreeSet};

use neap_core::base::ids::{StreamId, TurnNo};
use neap_core::session::event::RecordedEvent;
use neap_core::session::state::SessionState;
use neap_store::{Store, StoreError};

use super::stream::StreamWatch;
use super::{Violations, view};
use crate::labels::{label, stored_labels};
use crate::trace::Trace;

#[derive(Default)]
struct ClientStream {
    watch: StreamWatch,
    replayed: SessionState,
    /// How often each labelled text is stored.
    labels: BTreeMap<u64, u64>,
}

/// Where accepted texts must be.
#[derive(Debug, Clone)]
pub(crate) enum Place {
    In(StreamId),
    /// In one stream of all.
    OneStream,
    /// In any stream: a branch of a history repeats its beginning.
    AnyStream,
}

#[derive(Default)]
pub(crate) struct StoredTexts {
    streams: BTreeMap<StreamId, ClientStream>,
    /// Where messages are, which search finds; it does not look into calls.
    said: BTreeMap<u64, BTreeSet<(StreamId, Option<TurnNo>)>>,
}

impl StoredTexts {
    /// Follows every stream to its end; returns what is new.
    pub(crate) async fn follow(
        &mut self,
        store: &dyn Store,
        trace: &Trace,
        out: &mut Violations,
    ) -> Result<Vec<RecordedEvent>, StoreError> {
        let mut all = Vec::new();
        for id in trace.streams() {
            let stream = self.streams.entry(id.clone()).or_default();
            if trace.acknowledged_len(&id) == stream.watch.events_seen {
                continue;
            }
            let new = stream.watch.follow(store, &id, trace, out).await?;
            for recorded in &new {
                stream.replayed.apply(recorded);
                let [said, called] = stored_labels(&recorded.event);
                for number in &said {
                    self.said.entry(*number).or_default().insert((id.clone(), recorded.event.turn()));
                }
                for number in said.into_iter().chain(called) {
                    let count = stream.labels.entry(number).or_default();
                    *count += 1;
                    out.check("once", *count == 1, || format!("{} is twice in {id}", label(number)));
                }
            }
            for violation in stream.replayed.violations() {
                out.add("state", format!("{id}: {violation}"));
            }
            all.extend(new);
        }
        Ok(all)
    }

    /// The sessions and turns that have a message; none if it is not stored.
    pub(crate) fn places(&self, number: u64) -> Option<&BTreeSet<(StreamId, Option<TurnNo>)>> {
        self.said.get(&number)
    }

    pub(crate) fn expect(&self, numbers: &[u64], place: &Place, out: &mut Violations) {
        let count = |stream: &ClientStream, number| stream.labels.get(&number).copied().unwrap_or(0);
        let all = |number| self.streams.values().map(|stream| count(stream, number)).sum::<u64>();
        for number in numbers.iter().copied() {
            let is_there = match place {
                Place::In(session) => self.streams.get(session).is_some_and(|stream| count(stream, number) == 1),
                Place::OneStream => all(number) == 1,
                Place::AnyStream => all(number) >= 1,
            };
            out.check("once", is_there, || {
                format!("{} was accepted and is stored {} times, not in {place:?}", label(number), all(number))
            });
        }
    }

    /// Rows against the stream (I3).
    pub(crate) async fn check_rows(&self, store: &dyn Store, out: &mut Violations) -> Result<(), StoreError> {
        for (id, stream) in &self.streams {
            let rows = store.load(id).await?.unwrap_or_default();
            out.check("I3", rows == stream.replayed, || {
                format!("{id}: rows say {:?}, the stream says {:?}", rows.head(), stream.replayed.head())
            });
        }
        Ok(())
    }

    /// Everything from the first event.
    pub(crate) async fn check_from_start(
        &self,
        store: &dyn Store,
        trace: &Trace,
        out: &mut Violations,
    ) -> Result<(), StoreError> {
        for (id, stream) in &self.streams {
            let all = stream.watch.compare_all(store, id, trace, out).await?;
            let is_same = SessionState::replay(&all) == stream.replayed;
            out.check("I3", is_same, || format!("{id}: a replay gives another state"));
            view::check_logs(store, id, &all, out).await?;
            view::check_examination(store, id, out).await?;
        }
        self.check_rows(store, out).await
    }
}
