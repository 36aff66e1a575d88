//! The tool by which a chat's model lists what was done in a time, in all conversations that are stored here.

use async_trait::async_trait;
use neap_core::base::ids::{SessionId, Stamp};
use neap_core::base::message::ToolCall;
use neap_core::context::tools::ToolSpec;
use neap_core::memory::knowledge::parse_time_range;
use neap_engine::{Engine, HostTools, PastWork, ToolAnswer};
use serde_json::{Value, json};

use crate::app;
use crate::env::DataDir;
use crate::out::{self, Failure};

const NAME: &str = "past_work";
const LISTED_MAX: usize = 12;
const TEXT_CHARS_MAX: usize = 160;

pub(super) struct PastWorkTool {
    engine: Engine,
    /// The chat's own session.
    own: SessionId,
}

impl PastWorkTool {
    /// The tool, if there are other conversations than this one: its schema is worth nothing otherwise.
    pub(super) async fn if_useful(data: &DataDir, own: &SessionId) -> Result<Option<Self>, Failure> {
        let engine = app::read_engine(data)?;
        let sessions = engine.sessions().await?;
        let has_others = sessions.iter().any(|info| info.session != *own && info.turns.0 > 0 && !info.scrubbed);
        Ok(has_others.then(|| Self { engine, own: own.clone() }))
    }

    async fn list(&self, when: &str) -> Result<Value, Failure> {
        let now = Stamp(jiff::Timestamp::now().as_millisecond());
        let Some((from, until)) = parse_time_range(when, now) else {
            return Ok(
                json!({"error": "No time is named. Name one, e.g. yesterday, last week, in the past 10 days."}),
            );
        };
        // The question itself is no work.
        let is_work = |work: &PastWork| work.effort.is_some() || work.session != self.own;
        let mut found = self.engine.past_work(from, until).await?;
        found.retain(is_work);
        let mut result = json!({
            "status": "ok", "first_day": from.date(), "last_day": Stamp(until.0 - 1).date(),
            "work": found.iter().take(LISTED_MAX).map(listed).collect::<Vec<_>>(),
        });
        if found.len() > LISTED_MAX {
            result["more"] = json!(found.len() - LISTED_MAX);
        }
        if found.is_empty()
            && let Some(latest) = self.engine.past_work(Stamp(0), from).await?.into_iter().find(is_work)
        {
            result["latest_day"] = json!(latest.at.date());
        }
        Ok(result)
    }
}

fn listed(work: &PastWork) -> Value {
    json!({
        "day": work.at.date(), "session": work.session, "effort": work.effort, "status": work.status,
        "text": out::shorten(&work.text, TEXT_CHARS_MAX),
    })
}

/// The tools that a chat may offer.
pub(crate) fn chat_tools() -> Vec<ToolSpec> {
    vec![ToolSpec {
        name: NAME.to_owned(),
        description: "Lists what was worked on in a time, in all conversations on this machine.".to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {"when": {"type": "string", "description": "e.g. yesterday, last week, past 10 days"}},
            "required": ["when"],
        }),
    }]
}

#[async_trait]
impl HostTools for PastWorkTool {
    fn specs(&self) -> Vec<ToolSpec> {
        chat_tools()
    }

    async fn call(&self, call: &ToolCall) -> ToolAnswer {
        let arguments: Value = serde_json::from_str(&call.arguments).unwrap_or_default();
        let result = self.list(arguments["when"].as_str().unwrap_or_default()).await;
        result.unwrap_or_else(|failure| json!({"error": failure.to_string()})).to_string().into()
    }
}
