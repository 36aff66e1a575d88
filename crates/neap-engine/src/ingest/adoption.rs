//! Continues a stream that was recorded under an earlier identity of its caller.

use std::collections::BTreeMap;

use neap_core::client::{Chain, Digest, HistoryHead, HistoryLink};
use neap_core::session::event::ClientEvent;

use super::session_cache::{ProxySession, check_owner};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::stream::Recorder;

pub(super) struct EarlierIdentity {
    /// The digests of the request's history under the earlier identity.
    pub(super) chain: Chain,
    /// A digest to link the stream to, besides its id.
    pub(super) mark: Option<Digest>,
}

impl Engine {
    /// Links a stream to its caller's current digests as well, and records its owner.
    pub(super) async fn adopt_stream(
        &self,
        proxy_session: &mut ProxySession,
        chain: &Chain,
        earlier: &EarlierIdentity,
    ) -> Result<(), EngineError> {
        let ProxySession { stream, owner, .. } = proxy_session;
        let store = self.parts.store.as_ref();
        let old_links = earlier.chain.links();
        let new_digests: BTreeMap<Digest, Digest> = (0..=old_links.len())
            .map(|items| (earlier.chain.prefix_digest(items), chain.prefix_digest(items)))
            .collect();
        let renewed = |digest: &Digest| new_digests.get(digest).copied();
        stream.drop_uncommitted(store).await?;
        let mut recorder = Recorder::new(&self.parts);
        loop {
            check_owner(stream, owner)?;
            let linked = store.sessions_by_digest(old_links).await?;
            let known = old_links.iter().zip(&linked).filter(|(digest, _)| **digest != earlier.chain.start());
            let mut links: Vec<HistoryLink> = known
                .filter_map(|(digest, sessions)| {
                    let (_, turn) = sessions.iter().find(|(session, _)| *session == stream.id)?;
                    Some(HistoryLink { digest: renewed(digest)?, turn: *turn })
                })
                .collect();
            let turn = stream.state.turn();
            links.extend(earlier.mark.map(|digest| HistoryLink { digest, turn }));
            // An end that is not part of the request keeps its digest.
            let history = match &stream.state.head().history {
                Some(history) => HistoryHead {
                    asked: renewed(&history.asked).unwrap_or(history.asked),
                    answered: history.answered.iter().map(|end| renewed(end).unwrap_or(*end)).collect(),
                },
                None => HistoryHead { asked: chain.start(), answered: Vec::new() },
            };
            let tenant = stream.state.head().tenant.is_none().then_some(*owner);
            let linked = ClientEvent::HistoryLinked { turn, links, history, tenant };
            let decided = vec![stream.state.record(self.parts.clock.now(), linked)];
            if !recorder.commit(stream, decided).await?.is_stale() {
                return Ok(());
            }
        }
    }
}
