//! Search over everything that was said, and over memories.

use std::sync::Arc;
use std::time::Duration;

use neap_core::base::ids::{EffortId, SessionId, Stamp};
use neap_engine::{ExpectedText, SearchPart, SearchRequest};
use serde::Deserialize;
use serde_json::json;

use super::Api;
use super::page::{fit, to_value};
use super::problem::Problem;
use super::project::project_filter;
use super::route::{Answer, Call, Outcome};

const HITS_MAX: usize = 100;
const HITS_DEFAULT: usize = 10;
/// How long a search waits for missing embeddings.
const INDEX_TIMEOUT: Duration = Duration::from_millis(500);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Search {
    query: String,
    #[serde(default)]
    session: Option<String>,
    #[serde(default, rename = "in")]
    part: Option<SearchPart>,
    #[serde(default)]
    by: Option<String>,
    #[serde(default)]
    effort: Option<String>,
    #[serde(default)]
    since: Option<i64>,
    #[serde(default)]
    project: Option<String>,
    #[serde(default)]
    here: Option<String>,
    #[serde(default)]
    max: Option<usize>,
    #[serde(default)]
    expect: Option<String>,
}

pub(super) fn most(max: Option<usize>) -> Result<usize, Problem> {
    match max.unwrap_or(HITS_DEFAULT) {
        max @ 1..=HITS_MAX => Ok(max),
        max => Err(Problem::bad_request(format!("max is from 1 to {HITS_MAX}, not {max}"))),
    }
}

impl Search {
    fn into_request(self) -> Result<(SearchRequest, Option<String>), Problem> {
        let Self { query, session, part, by, effort, since, project, here, max, expect } = self;
        let session = session.map(|name| SessionId::from_name(&name)).transpose();
        let effort = effort.map(|name| EffortId::from_name(&name)).transpose();
        let request = SearchRequest {
            query,
            part: part.unwrap_or_default(),
            session: session.map_err(|error| Problem::bad_request(format!("session: {error}")))?,
            by,
            effort: effort.map_err(|error| Problem::bad_request(format!("effort: {error}")))?,
            since: since.map(Stamp),
            project: project_filter(project.as_deref(), here.as_deref())?,
            max: most(max)?,
        };
        request.check()?;
        Ok((request, expect))
    }
}

impl Api {
    /// Checks that the session is there, and indexes what is new for a moment.
    async fn prepare(&self, request: &SearchRequest) -> Result<(), Problem> {
        if let Some(id) = &request.session {
            self.engine.head(id).await?;
        }
        // Recent texts may lack embeddings; without them words are searched.
        let _ = tokio::time::timeout(INDEX_TIMEOUT, self.engine.index_batch()).await;
        Ok(())
    }
}

pub(super) async fn search(api: Arc<Api>, call: Call) -> Outcome {
    let (request, expected) = call.body::<Search>()?.into_request()?;
    if expected.is_some() {
        return Err(Problem::bad_request("'expect' is not for this route")
            .hint("POST /search/expect says what became of an expected text"));
    }
    api.prepare(&request).await?;
    let hits = api.engine.find(&request, &api.agent_id).await?;
    let note = api.engine.embed_fault().map(|reason| format!("searched by words alone: {reason}"));
    Ok(Answer::Json(fit(json!({"items": to_value(&hits)?, "next": null, "note": note}))))
}

/// What became of a text that a search should find.
pub(super) async fn expect(api: Arc<Api>, call: Call) -> Outcome {
    let (request, expected) = call.body::<Search>()?.into_request()?;
    let id = expected.ok_or_else(|| Problem::bad_request("'expect' is missing: the text that should be found"))?;
    let text = ExpectedText::parse(&id, request.session.as_ref())?;
    api.prepare(&request).await?;
    let outcome = api.engine.find_expected(&request, &api.agent_id, &text).await?;
    Ok(Answer::Json(fit(json!({"expected": id, "outcome": outcome}))))
}
