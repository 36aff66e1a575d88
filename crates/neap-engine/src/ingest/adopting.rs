//! Going on with a stream that is known otherwise than its caller is known now.

use std::collections::BTreeMap;

use neap_core::event::Event;
use neap_core::ingest::{Chain, Digest, Line, Link};

use super::lines::{HeardLine, check_owner};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::live::overtaken;

/// What a stream was known by before.
pub(super) struct Older {
    /// The digests of the request's history, as they would be there.
    pub(super) chain: Chain,
    /// What the stream is to be known by beside its id.
    pub(super) mark: Option<Digest>,
}

impl Engine {
    /// Has what is in a stream known by the digests of now as well, and says whose it is. What was said stays where it is.
    pub(super) async fn adopt(
        &self,
        line: &mut HeardLine,
        chain: &Chain,
        older: &Older,
    ) -> Result<(), EngineError> {
        let HeardLine { live, owner, .. } = line;
        let store = self.parts.store.as_ref();
        let then = older.chain.links();
        let now: BTreeMap<Digest, Digest> =
            (0..=then.len()).map(|items| (older.chain.upto(items), chain.upto(items))).collect();
        let renewed = |digest: &Digest| now.get(digest).copied();
        let mut conflicts = 0;
        if live.is_ahead_of_store() {
            live.reload(store).await?;
        }
        loop {
            check_owner(live, owner)?;
            let linked = store.linked(then).await?;
            let known = then.iter().zip(&linked).filter(|(digest, _)| **digest != older.chain.start());
            let mut links: Vec<Link> = known
                .filter_map(|(digest, sessions)| {
                    let (_, turn) = sessions.iter().find(|(session, _)| *session == live.id)?;
                    Some(Link { digest: renewed(digest)?, turn: *turn })
                })
                .collect();
            let turn = live.state.turn();
            links.extend(older.mark.map(|digest| Link { digest, turn }));
            // An end that the request does not reach is no end of what it brings along.
            let line = match &live.state.head().line {
                Some(line) => Line {
                    asked: renewed(&line.asked).unwrap_or(line.asked),
                    answered: line.answered.iter().map(|end| renewed(end).unwrap_or(*end)).collect(),
                },
                None => Line { asked: chain.start(), answered: Vec::new() },
            };
            let tenant = live.state.head().tenant.is_none().then_some(*owner);
            let linked = Event::HistoryLinked { turn, links, line, tenant };
            let decided = vec![live.state.record(self.parts.clock.now(), linked)];
            match live.commit(store, decided).await {
                Ok(()) => return Ok(()),
                Err(error) => overtaken(live, store, error, &mut conflicts).await?,
            }
        }
    }
}
