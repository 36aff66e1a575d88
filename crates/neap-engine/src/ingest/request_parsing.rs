//! Parses and counts requests, off the async workers if they are long.

use std::sync::Arc;

use neap_core::base::tokens::Tokens;
use neap_core::client::{Chain, Tenant};
use neap_model::caller::{Caller, target_path};
use neap_model::compute::{INLINE_BYTES_MAX, run_blocking, run_in_place};
use neap_model::wire::json::NotJson;
use neap_model::wire::request::{CachedCounter, WireRequest};

use super::RequestOrigin;
use super::backlog::conversation_key;
use super::plan::{IncomingRequest, RequestPlan};
use crate::engine::Engine;

impl Engine {
    /// Parses a request; fails with the plan for one that is not about a history, or cannot be parsed.
    pub(super) async fn parse_request(
        &self,
        caller: &Caller,
        incoming: &IncomingRequest<'_>,
    ) -> Result<(Arc<WireRequest>, RequestOrigin), Box<RequestPlan>> {
        let counts = self.parts.session_cache.counts(incoming.encoding);
        let unread = async |fault: Option<String>| {
            let tokens = count_tokens(&counts, incoming.body).await;
            Box::new(RequestPlan::for_unread(fault, tokens, incoming, self.parts.session_cache.model_ratios()))
        };
        let mut request = match parse_off_worker(incoming, &counts, caller.tenant).await {
            Ok(Some(request)) => request,
            // The provider reports what is wrong; only the size is checked here.
            Ok(None) => return Err(unread(None).await),
            Err(error) => return Err(unread(Some(error.to_string())).await),
        };
        let compacted_session = match self.open_compactions(&mut request, caller, &counts) {
            Ok(session) => session,
            Err(why) => {
                let plan = RequestPlan::for_request(&request, incoming, self.parts.session_cache.model_ratios());
                return Err(Box::new(RequestPlan { refusal: Some(why), ..plan }));
            }
        };
        let chain = Chain::from_request(&caller.tenant, request.parsed());
        let session_name = request.parsed().signals.identity(&caller.tenant).map(|identity| identity.name);
        let conversation_key = conversation_key(session_name.as_ref(), &chain);
        Ok((
            Arc::new(request),
            RequestOrigin { caller: *caller, compacted_session, session_name, chain, conversation_key },
        ))
    }

    /// The plan of a request before it is cut. Long tool results are shown in short, the same in every request.
    pub(super) fn begin_plan(
        &self,
        request: &mut Arc<WireRequest>,
        incoming: &IncomingRequest<'_>,
    ) -> RequestPlan {
        let mut plan = RequestPlan::for_request(request, incoming, self.parts.session_cache.model_ratios());
        if incoming.trims_tools {
            let counts = self.parts.session_cache.counts(incoming.encoding);
            let trim = || Arc::make_mut(request).trim_results(&counts);
            plan.changes.trimmed = run_in_place(incoming.body.len(), trim);
        }
        if plan.changes.trimmed > 0 {
            plan.body = Some(request.render_all());
            plan.tokens_planned = request.parsed().tokens();
        }
        plan
    }
}

/// For a long request, this also computes the digests of its items, which are cached.
async fn parse_off_worker(
    incoming: &IncomingRequest<'_>,
    counts: &CachedCounter,
    tenant: Tenant,
) -> Result<Option<WireRequest>, NotJson> {
    let (path, headers, body) = (target_path(incoming.path), incoming.headers, incoming.body);
    if body.len() < INLINE_BYTES_MAX {
        return WireRequest::read(path, headers, body, counts);
    }
    let (path, headers, body, counts) = (path.to_owned(), headers.to_vec(), body.to_owned(), counts.clone());
    run_blocking(body.len(), move || {
        let request = WireRequest::read(&path, &headers, &body, &counts)?;
        if let Some(request) = &request {
            Chain::from_request(&tenant, request.parsed());
        }
        Ok(request)
    })
    .await
}

pub(super) async fn count_tokens(counts: &CachedCounter, text: &str) -> Tokens {
    if text.len() < INLINE_BYTES_MAX {
        return counts.count(text);
    }
    let (counts, text) = (counts.clone(), text.to_owned());
    run_blocking(text.len(), move || counts.count(&text)).await
}
