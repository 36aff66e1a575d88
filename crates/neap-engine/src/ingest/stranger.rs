//! Requests of whom nothing is known, where there are several callers: each is bounded by itself, and nothing of it is kept.

use std::sync::Arc;

use neap_core::ingest::{Caller, Callers, Tenant};
use neap_store::MemStore;

use super::backlog::Backlog;
use super::lines::Lines;
use super::plan::{Incoming, Plan, Recorded};
use crate::engine::Engine;
use crate::hush::Waiting;
use crate::meaning::Patience;
use crate::parts::{NoHostTools, Parts};

impl Engine {
    /// What goes on of a request that shows no credential. It is decided over a store of its own that ends with it, so that whatever is
    /// recorded, summarised and recalled on the way comes from this request alone and is found by no other (I11).
    pub(super) async fn ingest_alone(&self, incoming: &Incoming<'_>) -> Plan {
        let _room = self.parts.lines.enter(incoming.limit).await;
        let alone = self.alone(incoming.encoding);
        // What is put in short could be opened by nobody later, and what a tool of ours keeps found by nobody.
        let incoming = Incoming { offer: None, ..*incoming };
        let nobody = Caller { tenant: Tenant::local(), earlier: None, callers: Callers::Many };
        let plan = alone.ingest_of(&nobody, &incoming).await;
        let recorded = if plan.class.is_conversation() { Recorded::NotKept } else { Recorded::NotNeeded };
        Plan { session: None, turn: None, verdict: None, ticket: None, recorded, ..plan }
    }

    /// An engine that decides as this one does and knows nothing.
    fn alone(&self, encoding: &str) -> Engine {
        let Parts { model, summarizer, summary_limit, built_in, clock, keyring, .. } = self.parts.as_ref();
        let parts = Parts {
            store: Arc::new(MemStore::new().with_masking(self.parts.store.masking())),
            model: model.clone(),
            summarizer: summarizer.clone(),
            summary_limit: *summary_limit,
            built_in: built_in.clone(),
            embedder: None,
            patience: Patience::default(),
            waiting: Waiting::default(),
            clock: clock.clone(),
            host_tools: Arc::new(NoHostTools),
            encoding: self.parts.encoding.clone(),
            agent: None,
            views: None,
            callers: Callers::Many,
            is_alone: true,
            hides_callers: false,
            lines: Lines::counting(encoding, self.parts.lines.counts(encoding)),
            backlog: Backlog::default(),
            keyring: keyring.clone(),
        };
        Engine { parts: Arc::new(parts) }
    }
}
