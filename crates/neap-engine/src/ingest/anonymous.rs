//! Plans requests without a credential, where there are several callers: nothing of them is stored.

use std::sync::Arc;

use neap_core::client::Tenant;
use neap_model::caller::{Caller, Tenancy};
use neap_store::MemStore;

use super::backlog::Backlog;
use super::plan::{IncomingRequest, RecordingOutcome, RequestPlan};
use crate::embedding::QueryEmbedState;
use crate::engine::Engine;
use crate::foreground::ForegroundLoad;
use crate::parts::{NoHostTools, NoProjects, Parts};
use crate::prompt_history::PastStates;

impl Engine {
    /// Plans over a store that ends with the request, so that nothing passes between it and others (I11).
    pub(super) async fn ingest_anonymous(&self, incoming: &IncomingRequest<'_>) -> RequestPlan {
        let _permit = self.parts.session_cache.acquire_permit(incoming.timeout).await;
        let engine = self.anonymous_engine(incoming.encoding);
        // Without our tools and with whole results: nobody could find later what is stored of them. Without economy:
        // each request would be cut anew, since no cut is remembered.
        let incoming = IncomingRequest { offer: None, trims_tools: false, economy: false, ..*incoming };
        let caller = Caller { tenant: Tenant::local(), legacy_tenant: None, tenancy: Tenancy::Multi };
        let plan = engine.ingest_from(&caller, &incoming).await;
        let recorded =
            if plan.class.is_conversation() { RecordingOutcome::NotRetained } else { RecordingOutcome::NotNeeded };
        // Without a store, every history looks new.
        RequestPlan { session: None, turn: None, verdict: None, ticket: None, repeated: None, recorded, ..plan }
    }

    fn anonymous_engine(&self, encoding: &str) -> Engine {
        let Parts { model, summarizer, summary_timeout, fallback_summarizer, clock, keyring, .. } =
            self.parts.as_ref();
        let parts = Parts {
            store: Arc::new(MemStore::new().with_masking(self.parts.store.masking())),
            model: model.clone(),
            model_name: None,
            summarizer: summarizer.clone(),
            summary_timeout: *summary_timeout,
            fallback_summarizer: fallback_summarizer.clone(),
            embedder: None,
            query_embed: QueryEmbedState::default(),
            foreground: ForegroundLoad::default(),
            keeps_efforts_by_rule: false,
            clock: clock.clone(),
            host_tools: Arc::new(NoHostTools),
            other_host_tools: Vec::new(),
            project_finder: Arc::new(NoProjects),
            project: None,
            encoding: self.parts.encoding.clone(),
            agent: None,
            views: None,
            callers: Tenancy::Multi,
            is_anonymous: true,
            hides_callers: false,
            session_cache: self.parts.session_cache.sharing_counts(encoding),
            backlog: Backlog::default(),
            keyring: keyring.clone(),
            past_states: PastStates::default(),
        };
        Engine { parts: Arc::new(parts) }
    }
}
