//! Tools of ours in clients' conversations: offered from a session's first request on or never, carried out here, and what was really
//! said put back where the client has only what it was given.
//!
//! Shadows are kept in memory. Where one is gone, the client's own words stand: nothing is orphaned, and what the tools did
//! is in the session all the same.

use std::time::{Duration, Instant};

use neap_core::ids::SessionId;
use neap_core::ingest::{Caller, Chain, Digest, Shadow, steers_efforts};
use neap_core::knowledge::Outlook;
use neap_core::message::ToolCall;
use neap_core::tokens::Tokens;
use neap_model::compute::in_place;
use neap_model::wire::heard::{Counts, Request};
use neap_store::StoreError;
use serde_json::json;

use super::lines::{HeardLine, check_owner};
use super::plan::{Incoming, Plan, Ticket};
use super::reading::counted;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::live::Live;
use crate::mind::AgentPart;

/// Shadows of one history that are kept, in bytes.
const SHADOW_BYTES_MAX: usize = 4 << 20;
/// How long a call waits for another process's lock.
const LOCK_WAIT: Duration = Duration::from_secs(10);
/// The tool whose files are a tenant's own.
const MEMORY: &str = "memory";

impl Engine {
    /// Offers tools of ours, where the session began with them, and puts what was said with them back into the history.
    pub(super) async fn offer(
        &self,
        line: &mut HeardLine,
        request: &mut Request,
        incoming: &Incoming<'_>,
        (chain, is_new): (&Chain, bool),
        plan: &mut Plan,
    ) -> Result<(), EngineError> {
        let Some(offer) = incoming.offer.filter(|_| !incoming.shadow) else { return Ok(()) };
        let mark = Digest::of("tools", &[line.live.id.as_str().as_bytes()]);
        if is_new {
            line.offers = Some(true);
            if let Some(end) = line.live.state.head().line.clone() {
                self.write(line, None, vec![(None, Some(mark))], end, None).await?;
            }
        }
        let offers = match line.offers {
            Some(offers) => offers,
            None => {
                let known = self.parts.store.linked(&[mark]).await?.pop().unwrap_or_default();
                known.iter().any(|(session, _)| *session == line.live.id)
            }
        };
        line.offers = Some(offers);
        if !offers {
            return Ok(());
        }
        let counts = self.parts.lines.counts(incoming.encoding);
        plan.ours = request.offer(offer, &counts);
        let woven = in_place(incoming.body.len(), || weave(request, &line.shadows, chain, &counts));
        plan.changes.added += plan.ours.len() + woven;
        plan.opened = request.is_changed().then(|| request.whole());
        plan.body.clone_from(&plan.opened);
        plan.tokens_planned = request.heard().tokens();
        Ok(())
    }

    /// Carries out a call of one of the tools that a plan says are ours. What goes wrong is told in words, for the model to read.
    pub async fn call_ours(&self, plan: &Plan, call: &ToolCall) -> String {
        let Some(Ticket { session, caller, .. }) = &plan.ticket else { return refused("there is no session") };
        let began = Instant::now();
        loop {
            let done = match call.name == MEMORY {
                true => self.memory_file(caller, call).await,
                false => self.call_passed(session, caller, call).await,
            };
            match done {
                // A request does not wait for a lock, but a model that called a tool wants it done.
                Err(EngineError::Store(StoreError::Busy { .. })) if began.elapsed() < LOCK_WAIT => {
                    tokio::task::yield_now().await;
                }
                done => return done.unwrap_or_else(|error| refused(&error.to_string())),
            }
        }
    }

    async fn call_passed(&self, id: &SessionId, caller: &Caller, call: &ToolCall) -> Result<String, EngineError> {
        if steers_efforts(&call.name) {
            self.parts.lines.get(&self.parts, id, &caller.tenant).await?.lock().await.steers = true;
        }
        let live = Live::load(self.parts.store.as_ref(), id.clone()).await?;
        check_owner(&live, &caller.tenant)?;
        // What one caller's model remembers is no other caller's (I11).
        let agent = AgentPart { id: self.agent_of(caller).await?, outlook: Outlook::default().into() };
        let mut session = self.session_for(live, Some(&agent)).await?;
        Ok(session.call_tool(&call.name, &call.arguments).await?.text)
    }

    /// Keeps what was really said in the place of an answer.
    pub async fn keep_shadow(&self, plan: &Plan, shadow: Said) -> Result<(), EngineError> {
        let Some(Ticket { session, caller, chain, .. }) = &plan.ticket else { return Ok(()) };
        let line = self.parts.lines.get(&self.parts, session, &caller.tenant).await?;
        let mut line = line.lock().await;
        let Said { text, calls, items, held } = shadow;
        line.shadows.push(Shadow { asked: chain.asked(), text, calls, items, held });
        let mut bytes: usize = line.shadows.iter().map(Shadow::bytes).sum();
        while bytes > SHADOW_BYTES_MAX {
            bytes -= line.shadows.remove(0).bytes();
        }
        Ok(())
    }

    /// Whether a request that goes on from a plan is still within its budget.
    pub async fn fits(&self, body: &str, encoding: &str, budget: Tokens) -> bool {
        counted(&self.parts.lines.counts(encoding), body).await <= budget
    }
}

/// What was really said in the place of an answer that a client was given.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Said {
    /// The words that it was given.
    pub text: String,
    /// The calls that it was given, by their ids.
    pub calls: Vec<String>,
    /// What was said, as it goes to the model.
    pub items: Vec<String>,
    /// What answers calls of ours in the last of them.
    pub held: Vec<String>,
}

/// Puts shadows where they belong; says how many.
fn weave(request: &mut Request, shadows: &[Shadow], chain: &Chain, counts: &Counts) -> usize {
    let heard = request.heard();
    let places: Vec<_> = shadows.iter().filter_map(|shadow| Some((shadow.place(heard, chain)?, shadow))).collect();
    for (items, shadow) in &places {
        request.weave(items.clone(), shadow, counts);
    }
    places.len()
}

fn refused(why: &str) -> String {
    json!({"error": why}).to_string()
}
