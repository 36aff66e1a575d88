//! Search over everything that was said, and over memories.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use neap_core::base::ids::{EffortId, SessionId, Stamp};
use neap_core::memory::MemoryKind;
use neap_core::recall::{Filter, TextKind};
use serde::Deserialize;
use serde_json::json;

use super::Api;
use super::page::{fit, to_value};
use super::problem::Problem;
use super::route::{Answer, Call, Outcome};

const HITS_MAX: usize = 100;
const HITS_DEFAULT: usize = 10;
/// How long a search waits for missing embeddings.
const INDEX_TIMEOUT: Duration = Duration::from_millis(500);

/// Where to search.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Part {
    #[default]
    Talk,
    Raw,
    Efforts,
    Memories,
    All,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Search {
    query: String,
    #[serde(default)]
    session: Option<String>,
    #[serde(default, rename = "in")]
    part: Option<Part>,
    #[serde(default)]
    by: Option<String>,
    #[serde(default)]
    effort: Option<String>,
    #[serde(default)]
    since: Option<i64>,
    #[serde(default)]
    max: Option<usize>,
}

pub(super) fn most(max: Option<usize>) -> Result<usize, Problem> {
    match max.unwrap_or(HITS_DEFAULT) {
        max @ 1..=HITS_MAX => Ok(max),
        max => Err(Problem::bad_request(format!("max is from 1 to {HITS_MAX}, not {max}"))),
    }
}

pub(super) async fn search(api: Arc<Api>, call: Call) -> Outcome {
    let Search { query, session, part, by, effort, since, max } = call.body()?;
    let (max, part) = (most(max)?, part.unwrap_or_default());
    let session = session.map(|name| SessionId::from_name(&name)).transpose();
    let session = session.map_err(|error| Problem::bad_request(format!("session: {error}")))?;
    if let Some(id) = &session {
        api.engine.head(id).await?;
    }
    let is_narrow = by.is_some() || effort.is_some();
    if is_narrow && part == Part::Memories {
        return Err(Problem::refused("memories have no speaker and no effort"));
    }
    let effort = effort.map(|name| EffortId::from_name(&name)).transpose();
    let effort = effort.map_err(|error| Problem::bad_request(format!("effort: {error}")))?;
    let mut filter = Filter { kinds: kinds(part), from: since.map(Stamp), effort, ..Filter::default() };
    if let Some(speaker) = by {
        by_speaker(speaker, &mut filter);
    }
    filter.streams = session.clone().map(|id| [id.into()].into());
    // Recent texts may lack embeddings; without them words are searched.
    let _ = tokio::time::timeout(INDEX_TIMEOUT, api.engine.index_batch()).await;
    let mut hits = Vec::new();
    if part != Part::Memories {
        hits.extend(api.engine.search(&query, filter.clone(), max).await?);
    }
    if matches!(part, Part::Memories | Part::All) && session.is_none() && !is_narrow {
        let agent = api.agent().await?.id().stream();
        let filter = Filter { streams: Some([agent].into()), kinds: None, ..filter };
        hits.extend(api.engine.search(&query, filter, max).await?);
        hits.sort_by(|a, b| b.score.total_cmp(&a.score));
        hits.truncate(max);
    }
    let note = api.engine.embed_fault().map(|reason| format!("searched by words alone: {reason}"));
    Ok(Answer::Json(fit(json!({"items": to_value(&hits)?, "next": null, "note": note}))))
}

fn kinds(part: Part) -> Option<BTreeSet<TextKind>> {
    match part {
        Part::Raw => Some([TextKind::User, TextKind::Assistant, TextKind::Tool, TextKind::System].into()),
        Part::Efforts => Some([TextKind::Effort].into()),
        Part::Memories => Some(MemoryKind::ALL.map(TextKind::Memory).into()),
        Part::Talk | Part::All => None,
    }
}

/// Restricts the filter to a role, or to a speaker's name.
fn by_speaker(speaker: String, filter: &mut Filter) {
    let role = match speaker.trim().to_lowercase().as_str() {
        "user" => TextKind::User,
        "assistant" => TextKind::Assistant,
        "tool" => TextKind::Tool,
        _ => {
            filter.speakers = Some([speaker].into());
            return;
        }
    };
    let is_included = filter.kinds.as_ref().is_none_or(|kinds| kinds.contains(&role));
    filter.kinds = Some(if is_included { [role].into() } else { BTreeSet::new() });
}
