//! Reading a request, and counting it: off the async workers where it is long.

use std::sync::Arc;

use neap_core::ingest::{Caller, Chain, Tenant, path_of};
use neap_core::tokens::Tokens;
use neap_model::compute::{SMALL_BYTES, off_worker};
use neap_model::wire::heard::{Counts, Request};
use neap_model::wire::json::NotJson;

use super::Origin;
use super::backlog::conversation_key;
use super::plan::{Incoming, Plan};
use crate::engine::Engine;

impl Engine {
    /// Reads a request; fails with the plan for one that is not about a history, or cannot be read.
    pub(super) async fn read(
        &self,
        caller: &Caller,
        incoming: &Incoming<'_>,
    ) -> Result<(Arc<Request>, Origin), Box<Plan>> {
        let counts = self.parts.lines.counts(incoming.encoding);
        let unread = async |fault: Option<String>| {
            Box::new(Plan::unread(fault, counted(&counts, incoming.body).await, incoming))
        };
        let mut request = match taken_apart(incoming, &counts, caller.tenant).await {
            Ok(Some(request)) => request,
            // The provider says what is wrong with it; that it is not too long is seen to here.
            Ok(None) => return Err(unread(None).await),
            Err(error) => return Err(unread(Some(error.to_string())).await),
        };
        let opened = match self.opened(&mut request, caller, &counts) {
            Ok(session) => session,
            Err(why) => return Err(Box::new(Plan { refusal: Some(why), ..Plan::of(&request) })),
        };
        let chain = Chain::of(&caller.tenant, request.heard());
        let named = request.heard().signals.identity(&caller.tenant).map(|identity| identity.name);
        let key = conversation_key(named.as_ref(), &chain);
        Ok((Arc::new(request), Origin { caller: *caller, opened, named, chain, key }))
    }
}

/// Takes a request apart, with what its items are known by, which is worked out once.
async fn taken_apart(
    incoming: &Incoming<'_>,
    counts: &Counts,
    tenant: Tenant,
) -> Result<Option<Request>, NotJson> {
    let (path, headers, body) = (path_of(incoming.path), incoming.headers, incoming.body);
    if body.len() < SMALL_BYTES {
        return Request::read(path, headers, body, counts);
    }
    let (path, headers, body, counts) = (path.to_owned(), headers.to_vec(), body.to_owned(), counts.clone());
    off_worker(body.len(), move || {
        let request = Request::read(&path, &headers, &body, &counts)?;
        if let Some(request) = &request {
            Chain::of(&tenant, request.heard());
        }
        Ok(request)
    })
    .await
}

/// What a text costs.
pub(super) async fn counted(counts: &Counts, text: &str) -> Tokens {
    if text.len() < SMALL_BYTES {
        return counts.of(text);
    }
    let (counts, text) = (counts.clone(), text.to_owned());
    off_worker(text.len(), move || counts.of(&text)).await
}
