//! Stored results against their seals: is each still the one that was taken in?

use std::collections::BTreeMap;

use neap_core::event::{Event, Recorded};
use neap_core::ids::{Seq, SessionId};
use neap_core::message::{Seal, ToolRound};
use neap_model::envelope::{Envelope, Keyring, Refused};
use neap_store::{Finding, Severity, Store, StoreError, Stored};

use crate::answer::binding;

/// Events read at once.
const PAGE: usize = 256;

/// Verifies every sealed result of a session. One that is not what was sealed is damaged; those whose key is not in
/// the keyring are noted. How old they are does not matter. A result without a seal is not judged.
pub async fn verify_results(
    store: &dyn Store,
    session: &SessionId,
    keyring: &Keyring,
) -> Result<Vec<Finding>, StoreError> {
    let mut found = Vec::new();
    let mut unknown: BTreeMap<String, u64> = BTreeMap::new();
    let mut from = Seq(1);
    loop {
        let page = store.events(session, from, PAGE).await?;
        let Some(last) = page.last() else { break };
        from = match last {
            Stored::Event(recorded) => recorded.seq.next(),
            Stored::Damaged { seq, .. } => seq.next(),
        };
        for stored in &page {
            let Stored::Event(Recorded { seq, event: Event::ToolsCalled { round, .. }, .. }) = stored else {
                continue;
            };
            for seal in &round.seals {
                match verify(session, round, seal, keyring) {
                    Ok(()) => {}
                    Err(Refused::UnknownKey) => *unknown.entry(seal.key_id.clone()).or_default() += 1,
                    Err(_) => found.push(finding(
                        session,
                        Severity::Damaged,
                        format!("event {seq}: the result of call {} is not the one that was sealed", seal.call_id),
                    )),
                }
            }
        }
    }
    found.extend(unknown.into_iter().map(|(key, count)| {
        let results = if count == 1 { "tool result is" } else { "tool results are" };
        let what = format!("{count} {results} sealed with key {key}, which is not here: not verified");
        finding(session, Severity::Note, what)
    }));
    Ok(found)
}

fn verify(session: &SessionId, round: &ToolRound, seal: &Seal, keyring: &Keyring) -> Result<(), Refused> {
    let calls = round.assistant.message.tool_calls.iter().zip(&round.results);
    let Some((call, result)) = calls.into_iter().find(|(call, _)| call.id == seal.call_id) else {
        return Err(Refused::OtherCall);
    };
    let binding = binding(session.as_str(), call);
    keyring.verify(&Envelope::from_seal(seal, &binding, &result.message.content), &binding)
}

fn finding(session: &SessionId, severity: Severity, what: String) -> Finding {
    Finding { severity, session: Some(session.clone()), what }
}
