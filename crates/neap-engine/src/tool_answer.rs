//! Results of the host's tools, signed on arrival if they are not, and always verified before they are recorded.

use neap_core::base::ids::Stamp;
use neap_core::base::message::{Seal, ToolCall};
use neap_core::text::secrets::mask_call;
use neap_core::turn::{Input, truncate_message};
use neap_model::envelope::{CallBinding, Envelope, EnvelopeError, KeyError, ReplayGuard};
use serde_json::json;

use crate::driver::Driver;
use crate::stream::OpenStream;

/// The result of a host's tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolAnswer {
    /// Unsigned: the engine signs it.
    Plain(String),
    /// Signed where it was made, with a key that the engine knows. One that does not verify is refused.
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

#[derive(Debug, thiserror::Error)]
enum AnswerRejected {
    #[error(transparent)]
    Refused(#[from] EnvelopeError),
    #[error(transparent)]
    Key(#[from] KeyError),
}

pub(crate) fn call_binding<'a>(session: &'a str, call: &'a ToolCall) -> CallBinding<'a> {
    CallBinding { session, call_id: &call.id, tool: &call.name, arguments: &call.arguments }
}

impl Driver<'_> {
    /// Runs a host's tool. Nothing of a refused result is read, stored or logged.
    pub(crate) async fn call_host_tool(&self, stream: &mut OpenStream, call: &ToolCall) -> Input {
        let called_at = self.parts.clock.now();
        let answer = self.parts.host_tools.call(call).await;
        match self.verify_answer(stream, call, answer, called_at) {
            Ok((text, seal)) => Input::ToolAnswered { text, seal: Some(seal) },
            Err(why) => {
                tracing::warn!(
                    session = %stream.id,
                    call = ?call.id,
                    tool = ?call.name,
                    %why,
                    "tool result refused"
                );
                let text = json!({"error": format!("Tool result refused: {why}.")}).to_string();
                let stored_call = mask_call(stream.state.masking(), call.clone());
                let seal = self.seal(stream, &stored_call, &text).ok();
                Input::ToolAnswered { text, seal }
            }
        }
    }

    /// Opens the result's envelope. Every result enters the memory through here.
    fn verify_answer(
        &self,
        stream: &mut OpenStream,
        call: &ToolCall,
        answer: ToolAnswer,
        called_at: Stamp,
    ) -> Result<(String, Seal), AnswerRejected> {
        let keyring = self.parts.keyring()?;
        let session = stream.id.clone();
        let binding = call_binding(session.as_str(), call);
        let now = self.parts.clock.now();
        // A result that is signed here cannot be a replay, whatever the clock did meanwhile.
        let (envelope, replay_guard) = match answer {
            ToolAnswer::Plain(text) => (keyring.seal(&binding, text, now)?, &mut ReplayGuard::new()),
            ToolAnswer::Sealed(envelope) => (*envelope, &mut stream.seen_envelopes),
        };
        replay_guard.set_call_time(called_at.min(now));
        // Masked before it is truncated: half a secret would not be recognised.
        let text =
            stream.state.masking().mask(&keyring.open(&envelope, &binding, now, replay_guard)?).0.into_owned();
        let text = truncate_message(text, stream.state.policy());
        // What was masked or truncated is signed again, as the result of the call as it is stored.
        let stored_call = mask_call(stream.state.masking(), call.clone());
        let seal = match text == envelope.payload && stored_call == *call {
            true => envelope.to_seal(),
            false => self.seal(stream, &stored_call, &text)?,
        };
        Ok((text, seal))
    }

    fn seal(&self, stream: &OpenStream, call: &ToolCall, text: &str) -> Result<Seal, KeyError> {
        let binding = call_binding(stream.id.as_str(), call);
        Ok(self.parts.keyring()?.seal(&binding, text.to_owned(), self.parts.clock.now())?.to_seal())
    }
}
