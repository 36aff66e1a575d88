//! Asks a question where people ask: a tool or a hook gives recalled text beside other layers, and within its own budget.

use std::sync::atomic::{AtomicI64, Ordering};

use neap_core::base::ids::{SessionId, Stamp};
use neap_engine::{Clock, Engine, RecalledContext, RetrievalRequest, SessionOptions};
use neap_model::bpe::counter_for;

use crate::LabError;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EvalSurface {
    /// Recalled text alone.
    Recall,
    /// The tool `get_context`.
    GetContext,
    /// The reply to a prompt's hook, which has its own budget.
    Hook,
}

impl EvalSurface {
    pub(crate) async fn ask(
        self,
        engine: &Engine,
        request: &RetrievalRequest,
        prefix: &str,
    ) -> Result<RecalledContext, LabError> {
        if self == Self::Recall {
            return Ok(engine.retrieve(request).await?);
        }
        // A new session, so that nothing of the past is in sight.
        let session = SessionId::from_name(&format!("{prefix}question"))?;
        drop(engine.resume(&session, &SessionOptions::default()).await?);
        let text = match self {
            Self::Hook => engine.prompt_context(&session, &request.query).await?,
            Self::Recall | Self::GetContext => {
                engine.brief(&session, Some(&request.query), request.budget).await?.text
            }
        };
        let tokens = counter_for("o200k_base").count(&text);
        Ok(RecalledContext { text, tokens, ..RecalledContext::default() })
    }
}

/// The time of the question: surfaces take it from the clock.
#[derive(Debug, Default)]
pub(crate) struct QuestionClock(AtomicI64);

impl QuestionClock {
    pub(crate) fn set(&self, now: Stamp) {
        self.0.store(now.0, Ordering::Relaxed);
    }
}

impl Clock for QuestionClock {
    fn now(&self) -> Stamp {
        Stamp(self.0.load(Ordering::Relaxed))
    }
}
