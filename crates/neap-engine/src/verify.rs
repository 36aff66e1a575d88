//! Verifies stored tool results against their seals.

use std::collections::BTreeMap;

use neap_core::base::ids::{Seq, StreamId};
use neap_core::base::message::{Seal, ToolRound};
use neap_core::session::event::{Event, RecordedEvent, TurnEvent};
use neap_model::envelope::{Envelope, EnvelopeError, Keyring};
use neap_store::{Finding, Severity, Store, StoreError, StoredEvent};

use crate::tool_answer::call_binding;

const PAGE: usize = 256;

/// Verifies every sealed result of a session. A result that differs from the sealed one is damaged; results sealed
/// with an unknown key are noted. Age does not matter, and results without a seal are skipped.
pub async fn verify_results(
    store: &dyn Store,
    session: &StreamId,
    keyring: &Keyring,
) -> Result<Vec<Finding>, StoreError> {
    let mut found = Vec::new();
    let mut unknown: BTreeMap<String, u64> = BTreeMap::new();
    let mut from = Seq(1);
    loop {
        let page = store.events(session, from, PAGE).await?;
        let Some(last) = page.last() else { break };
        from = last.seq().next();
        for stored in &page {
            let StoredEvent::Whole(RecordedEvent {
                seq,
                event: Event::Turn(TurnEvent::ToolsCalled { round, .. }),
                ..
            }) = stored
            else {
                continue;
            };
            for seal in &round.seals {
                match verify(session, round, seal, keyring) {
                    Ok(()) => {}
                    Err(EnvelopeError::UnknownKey) => *unknown.entry(seal.key_id.clone()).or_default() += 1,
                    Err(_) => found.push(finding(
                        session,
                        Severity::Damaged,
                        format!("event {seq}: the result of call {} does not match its seal", seal.call_id),
                    )),
                }
            }
        }
    }
    found.extend(unknown.into_iter().map(|(key, count)| {
        let results = if count == 1 { "tool result is" } else { "tool results are" };
        let what = format!("{count} {results} sealed with key {key}, which is missing: not verified");
        finding(session, Severity::Note, what)
    }));
    Ok(found)
}

fn verify(session: &StreamId, round: &ToolRound, seal: &Seal, keyring: &Keyring) -> Result<(), EnvelopeError> {
    let calls = round.assistant.message.tool_calls.iter().zip(&round.results);
    let Some((call, result)) = calls.into_iter().find(|(call, _)| call.id == seal.call_id) else {
        return Err(EnvelopeError::OtherCall);
    };
    let binding = call_binding(session.as_str(), call);
    keyring.verify(&Envelope::from_seal(seal, &binding, &result.message.content), &binding)
}

fn finding(session: &StreamId, severity: Severity, what: String) -> Finding {
    Finding { severity, session: Some(session.clone()), what }
}
