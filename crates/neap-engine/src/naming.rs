//! Sessions that are known by less than their whole name: what was cut off once told them from others.

use neap_core::event::Event;
use neap_core::ids::SessionId;
use neap_core::ingest::{Digest, Line, Link};

use crate::engine::Engine;
use crate::error::EngineError;
use crate::live::{Live, overtaken};

impl Engine {
    /// Whether a session of old, whose id is only part of a name, is the one of this name: the first name that asks has it from then on, and
    /// no other, since two names that begin alike are two sessions (I11).
    pub async fn goes_by(&self, old: &SessionId, name: &SessionId) -> Result<bool, EngineError> {
        let store = self.parts.store.as_ref();
        let taken = Digest::of("a name was cut", &[old.as_str().as_bytes()]);
        let whole = Digest::of("the whole name", &[old.as_str().as_bytes(), name.as_str().as_bytes()]);
        let mut live = Live::load(store, old.clone()).await?;
        let mut conflicts = 0;
        loop {
            if live.state.head().session.is_none() {
                return Ok(false);
            }
            let linked = store.linked(&[taken, whole]).await?;
            let is_here = |at: usize| {
                linked.get(at).is_some_and(|found: &Vec<_>| found.iter().any(|(session, _)| session == old))
            };
            if is_here(0) {
                return Ok(is_here(1));
            }
            let turn = live.state.turn();
            let links = [taken, whole].map(|digest| Link { digest, turn }).to_vec();
            let ended = live.state.head().line.clone();
            let line = ended.unwrap_or_else(|| Line { asked: whole, answered: Vec::new() });
            let linked = Event::HistoryLinked { turn, links, line, tenant: None };
            let decided = vec![live.state.record(self.parts.clock.now(), linked)];
            match live.commit(store, decided).await {
                Ok(()) => return Ok(true),
                Err(error) => overtaken(&mut live, store, error, &mut conflicts).await?,
            }
        }
    }
}
