//! Whether the first message of an occasion is taken for the piece of work that it belongs to.

use std::collections::BTreeMap;

use neap_core::ids::SessionId;
use neap_core::recall::{Filter, belongs_to};
use neap_core::tokens::Tokens;
use neap_engine::Asking;

use super::Options;
use super::feed::{Told, occasion};
use super::tally::Tally;
use crate::out::Failure;

/// What is looked at of what was said before.
const BUDGET: Tokens = Tokens(1_000);

/// Asks, before each occasion, to which work its first message belongs; that of the conversation that it is taken to go on with
/// is the answer. The first occasion of a piece of work has nothing to be found by, and is not asked.
pub(crate) async fn place_all(told: &mut Told, options: &Options, tally: &mut Tally) -> Result<(), Failure> {
    let conversation = told.conversation.clone();
    let mut works: BTreeMap<SessionId, &str> = BTreeMap::new();
    let mut last = None;
    for turn in &conversation.turns {
        let Some(work) = turn.project.as_deref() else { return Ok(()) };
        if last == Some(turn.session) {
            continue;
        }
        last = Some(turn.session);
        if works.values().any(|known| *known == work) {
            told.tell(Some(turn.session)).await?;
            let asking = Asking {
                embedding: told.meaning(&turn.text).await?,
                filter: Filter::default(),
                weights: options.weights.clone(),
                ..Asking::new(turn.text.as_str(), BUDGET)
            };
            let found = told.engine.recollect(&asking).await?;
            let mut votes: BTreeMap<&str, f64> = BTreeMap::new();
            for (session, weight) in belongs_to(&found.ranked) {
                *votes.entry(works.get(&session).copied().unwrap_or_default()).or_default() += weight;
            }
            let taken = votes.into_iter().reduce(|best, next| if next.1 > best.1 { next } else { best });
            tally.openings += 1;
            tally.placed += u64::from(taken.is_some_and(|(taken, _)| taken == work));
        }
        works.insert(occasion(turn.session)?, work);
    }
    Ok(())
}
