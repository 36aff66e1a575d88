//! What a host's tool answers, on its way into the memory: signed here if it was not before, and always verified.

use neap_core::ids::Stamp;
use neap_core::message::{Seal, ToolCall};
use neap_core::secrets::mask_call;
use neap_core::turn::{Input, limit};
use neap_model::envelope::{Binding, Envelope, KeyError, Refused, Seen};
use serde_json::json;

use crate::drive::Driver;
use crate::live::Live;

/// What a host's tool answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolAnswer {
    /// As it is: signed where it enters.
    Plain(String),
    /// Signed where it was made, with a key that the engine knows. What does not verify is refused.
    Sealed(Box<Envelope>),
}

impl From<String> for ToolAnswer {
    fn from(text: String) -> Self {
        ToolAnswer::Plain(text)
    }
}

impl From<&str> for ToolAnswer {
    fn from(text: &str) -> Self {
        ToolAnswer::Plain(text.to_owned())
    }
}

impl From<Envelope> for ToolAnswer {
    fn from(envelope: Envelope) -> Self {
        ToolAnswer::Sealed(Box::new(envelope))
    }
}

/// Why an answer is not taken in.
#[derive(Debug, thiserror::Error)]
enum NotTaken {
    #[error(transparent)]
    Refused(#[from] Refused),
    #[error(transparent)]
    Key(#[from] KeyError),
}

/// The call, as what an envelope is bound to.
pub(crate) fn binding<'a>(session: &'a str, call: &'a ToolCall) -> Binding<'a> {
    Binding { session, call_id: &call.id, tool: &call.name, arguments: &call.arguments }
}

impl Driver<'_> {
    /// Has the host run its tool. Of an answer that is refused, nothing is read, kept or logged.
    pub(crate) async fn call_host_tool(&self, live: &mut Live, call: &ToolCall) -> Input {
        let asked = self.parts.clock.now();
        let answer = self.parts.host_tools.call(call).await;
        match self.take(live, call, answer, asked) {
            Ok((text, seal)) => Input::ToolAnswered { text, seal: Some(seal) },
            Err(why) => {
                tracing::warn!(session = %live.id, call = ?call.id, tool = ?call.name, %why, "tool result refused");
                let text = json!({"error": format!("Tool result refused: {why}.")}).to_string();
                let kept = mask_call(live.state.masking(), call.clone());
                let seal = self.seal(live, &kept, &text).ok();
                Input::ToolAnswered { text, seal }
            }
        }
    }

    /// The one door into the memory: nothing passes that was not opened here.
    fn take(
        &self,
        live: &mut Live,
        call: &ToolCall,
        answer: ToolAnswer,
        asked: Stamp,
    ) -> Result<(String, Seal), NotTaken> {
        let keyring = self.parts.keyring()?;
        let session = live.id.clone();
        let binding = binding(session.as_str(), call);
        let now = self.parts.clock.now();
        // What is signed here and now was never seen before, whatever the clock did meanwhile.
        let (envelope, seen) = match answer {
            ToolAnswer::Plain(text) => (keyring.seal(&binding, text, now)?, &mut Seen::new()),
            ToolAnswer::Sealed(envelope) => (*envelope, &mut live.seen),
        };
        seen.asked_at(asked.min(now));
        // A secret that is cut in two would not be known as one.
        let text = live.state.masking().text(&keyring.open(&envelope, &binding, now, seen)?).0.into_owned();
        let text = limit(text, live.state.policy());
        // Of what is too long, or holds secrets, the part that is kept is signed, as the answer to the call that is kept.
        let kept = mask_call(live.state.masking(), call.clone());
        let seal = match text == envelope.payload && kept == *call {
            true => envelope.to_seal(),
            false => self.seal(live, &kept, &text)?,
        };
        Ok((text, seal))
    }

    fn seal(&self, live: &Live, call: &ToolCall, text: &str) -> Result<Seal, KeyError> {
        let binding = binding(live.id.as_str(), call);
        Ok(self.parts.keyring()?.seal(&binding, text.to_owned(), self.parts.clock.now())?.to_seal())
    }
}
