//! Putting a history in short where its client asks for that, and opening what was put in short before.
//!
//! What the client keeps is signed, for the key it was asked with: it says everything itself, and nothing that was altered, or made for
//! somebody else, is ever put before a model as ours.

use std::sync::Arc;

use neap_core::ids::SessionId;
use neap_core::ingest::{Caller, Chain, Digest, Heard, Tenant, Verdict, compaction_room, in_short};
use neap_model::compute::in_place;
use neap_model::envelope::{Binding, Envelope, Keyring, Refused};
use neap_model::wire::heard::{Compaction, Counts, Request};

use super::Origin;
use super::bounding::Bounding;
use super::lines::HeardLine;
use super::plan::{Incoming, Plan, Recorded};
use super::recording::New;
use crate::engine::Engine;
use crate::error::EngineError;

/// Begins what we put in short: what begins otherwise is a provider's, and passed on.
const MARK: &str = "neap1:";
/// What signs it as this and nothing else.
const TOOL: &str = "compaction";
/// Of a budget, the person's own messages may stay as they are up to this, in per cent.
const KEPT_PERCENT: u64 = 20;

impl Engine {
    /// Opens what of a history was put in short here; gives the session whose history that is. Fails with why it is not ours.
    pub(super) fn opened(
        &self,
        request: &mut Request,
        caller: &Caller,
        counts: &Counts,
    ) -> Result<Option<String>, String> {
        let mut session = None;
        for (at, content) in request.compactions() {
            let Some(text) = content.strip_prefix(MARK) else { continue };
            let refused = |why: String| format!("the encrypted content of a compaction cannot be verified: {why}");
            let envelope: Envelope =
                serde_json::from_str(text).map_err(|_| refused("it is not what was given".to_owned()))?;
            let keyring = self.parts.keyring().map_err(|error| refused(error.to_string()))?;
            verified(keyring, &envelope, caller).map_err(|error| refused(error.to_string()))?;
            request.open(at, &envelope.payload, counts);
            session = Some(envelope.session);
        }
        Ok(session)
    }

    /// Whether a client asks for its history in short, and nobody else has to give it. A part that somebody else put in short only they
    /// can open; and what is put in short for somebody who is not known, they could not show to be theirs.
    pub(super) fn is_ours_to_compact(&self, request: &Request, incoming: &Incoming<'_>) -> bool {
        let is_closed_to_us = || request.compactions().iter().any(|(_, content)| !content.starts_with(MARK));
        request.heard().wants_compaction() && !incoming.shadow && !self.parts.is_alone && !is_closed_to_us()
    }

    /// Answers a client that asks for its history in short; all of it is recorded first.
    pub(super) async fn compact(
        &self,
        request: &Arc<Request>,
        incoming: &Incoming<'_>,
        origin: &Origin,
        plan: &mut Plan,
    ) -> Result<(), EngineError> {
        let caller = &origin.caller;
        let opened = origin.opened.as_deref();
        let heard = &request.heard().without_trigger();
        let chain = &Chain::of(&caller.tenant, heard);
        let (session, mut line) = self.line_of(caller, heard, chain, &mut None).await?;
        if opened.is_some_and(|opened| opened != session.as_str()) {
            // It goes on from another session, whose record only the opened item has: the provider puts it in short.
            plan.body = Some(request.whole());
            return Ok(());
        }
        let mut found = self.found(&mut line, &session, heard, chain, false).await?;
        found.told = told(heard, &session, opened);
        let new = New::of(&line, heard, chain, &found);
        self.hear(&mut line, new, (heard, chain)).await?;
        plan.recorded = Recorded::Yes;
        plan.session = Some(session.clone());
        plan.verdict = Some(found.verdict);
        plan.turn = Some(line.live.state.turn());
        let counts = self.parts.lines.counts(incoming.encoding);
        let bytes = incoming.body.len();
        let bounding =
            Bounding { parts: &self.parts, engine: self, request, bytes, chain, counts: &counts, ahead: None };
        let text = self.short(&bounding, &mut line, heard, incoming).await?;
        let turn = line.live.state.turn().to_string();
        let owner = caller.tenant.digest().to_string();
        let binding = Binding { session: session.as_str(), call_id: &turn, tool: TOOL, arguments: &owner };
        let now = self.parts.clock.now();
        let tokens_out = counts.of(&text);
        let envelope = self.parts.keyring()?.seal(&binding, text, now)?;
        let content = format!("{MARK}{}", serde_json::to_string(&envelope).unwrap_or_default());
        plan.answer = Some(request.compacted(&Compaction {
            content: &content,
            mark: &Digest::of(TOOL, &[content.as_bytes()]).to_string(),
            at: now.0.div_euclid(1_000),
            tokens_in: plan.tokens_in,
            tokens_out,
            kept: incoming.budget.percent(KEPT_PERCENT),
        }));
        Ok(())
    }

    /// What stands for all of it, with summaries of all that has none yet.
    async fn short(
        &self,
        bounding: &Bounding<'_>,
        line: &mut HeardLine,
        heard: &Heard,
        incoming: &Incoming<'_>,
    ) -> Result<String, EngineError> {
        let room = compaction_room(incoming.budget);
        let next = line.live.state.turn().next();
        bounding.summarize(&mut line.live, next, room).await?;
        Ok(in_place(bounding.bytes, || in_short(&line.live.state, heard, room, bounding.counts.counter())))
    }
}

/// Whether what was put in short is this caller's: made for whom it is known as, or was. Where there is one caller, whatever was made here is
/// that caller's, also for a token that was renewed since.
fn verified(keyring: &Keyring, envelope: &Envelope, caller: &Caller) -> Result<(), Refused> {
    let verify = |owner: &Tenant| {
        let owner = owner.digest().to_string();
        let (session, call_id) = (envelope.session.as_str(), envelope.call_id.as_str());
        keyring.verify(envelope, &Binding { session, call_id, tool: TOOL, arguments: &owner })
    };
    for owner in [Some(caller.tenant), caller.earlier].into_iter().flatten() {
        match verify(&owner) {
            // Whom it was made for is looked at last: all else holds.
            Err(Refused::OtherArguments) => {}
            verified => return verified,
        }
    }
    if caller.must_prove() { Err(Refused::OtherArguments) } else { Ok(()) }
}

/// How many items say only what is in the session already: all up to the one that stands for it.
pub(super) fn told(heard: &Heard, session: &SessionId, opened: Option<&str>) -> usize {
    heard.opened.filter(|_| opened == Some(session.as_str())).map_or(0, |at| at + 1)
}

/// What becomes of the way a history was cut when its client has put it in short: it is another one from now on.
pub(super) fn forget_cut(line: &mut HeardLine, verdict: Verdict) {
    if verdict == Verdict::ClientCompaction {
        line.frozen = None;
    }
}
