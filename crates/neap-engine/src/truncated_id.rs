//! Sessions with a truncated name as their id, from before ids had the whole name.

use neap_core::base::digest::Digest;
use neap_core::base::ids::SessionId;
use neap_core::client::{HistoryHead, HistoryLink};
use neap_core::session::event::ClientEvent;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::stream::{OpenStream, Recorder};

impl Engine {
    /// Whether the session `old`, whose id is a truncated name, belongs to `name`. The first name that asks owns
    /// it, since two names with the same beginning are two sessions (I11).
    pub async fn claim_truncated_id(&self, old: &SessionId, name: &SessionId) -> Result<bool, EngineError> {
        let store = self.parts.store.as_ref();
        let claimed = Digest::of("a name was cut", &[old.as_str().as_bytes()]);
        let full_name = Digest::of("the whole name", &[old.as_str().as_bytes(), name.as_str().as_bytes()]);
        let mut stream = OpenStream::load(store, old.clone()).await?;
        let mut recorder = Recorder::new(&self.parts);
        loop {
            if stream.state.head().stream.is_none() {
                return Ok(false);
            }
            let linked = store.sessions_by_digest(&[claimed, full_name]).await?;
            let is_here = |at: usize| {
                linked.get(at).is_some_and(|found: &Vec<_>| found.iter().any(|(session, _)| session == old))
            };
            if is_here(0) {
                return Ok(is_here(1));
            }
            let turn = stream.state.turn();
            let links = [claimed, full_name].map(|digest| HistoryLink { digest, turn }).to_vec();
            let head = stream.state.head().history.clone();
            let history = head.unwrap_or_else(|| HistoryHead { asked: full_name, answered: Vec::new() });
            let linked = ClientEvent::HistoryLinked { turn, links, history, tenant: None };
            let decided = vec![stream.state.record(self.parts.clock.now(), linked)];
            if !recorder.commit(&mut stream, decided).await?.is_stale() {
                return Ok(true);
            }
        }
    }
}
