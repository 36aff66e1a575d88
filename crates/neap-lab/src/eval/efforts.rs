//! Measures whether the first message of a session is matched to the work it continues.

use std::collections::BTreeMap;

use neap_core::base::ids::StreamId;
use neap_core::base::tokens::Tokens;
use neap_core::recall::{Filter, likely_conversations};
use neap_engine::RetrievalRequest;

use super::EvalOptions;
use super::conversation_store::{ConversationStore, occasion_session};
use super::tally::EvalTally;
use crate::LabError;

const BUDGET: Tokens = Tokens(1_000);

/// Before each session, queries with its first message and lets the recalled sessions vote for a project. The
/// first session of a project has nothing to match and is skipped.
pub(crate) async fn evaluate_openings(
    recorded: &mut ConversationStore,
    options: &EvalOptions,
    tally: &mut EvalTally,
) -> Result<(), LabError> {
    let conversation = recorded.conversation.clone();
    let mut projects: BTreeMap<StreamId, &str> = BTreeMap::new();
    let mut last = None;
    for turn in &conversation.turns {
        let Some(project) = turn.project.as_deref() else { return Ok(()) };
        if last == Some(turn.session) {
            continue;
        }
        last = Some(turn.session);
        if projects.values().any(|known| *known == project) {
            recorded.record_before(Some(turn.session)).await?;
            let request = RetrievalRequest {
                embedding: recorded.embed_query(&turn.text).await?,
                filter: Filter::default(),
                weights: options.weights.clone(),
                ..RetrievalRequest::new(turn.text.as_str(), BUDGET)
            };
            let found = recorded.engine.retrieve(&request).await?;
            let mut votes: BTreeMap<&str, f64> = BTreeMap::new();
            for (session, weight) in likely_conversations(&found.ranked) {
                *votes.entry(projects.get(&session).copied().unwrap_or_default()).or_default() += weight;
            }
            let winner = votes.into_iter().reduce(|best, next| if next.1 > best.1 { next } else { best });
            tally.openings += 1;
            tally.placed_right += u64::from(winner.is_some_and(|(winner, _)| winner == project));
        }
        projects.insert(occasion_session("", turn.session)?.into(), project);
    }
    Ok(())
}
