//! Hook events: a program reports each prompt, and writes it into its transcript as well. Events arrive once, twice,
//! out of order, before or after the transcript is imported.

use neap_core::base::ids::Stamp;
use neap_core::base::project_id::Place;
use neap_core::client::hook_reply::HookBudgets;
use neap_core::client::transcript::{PromptFingerprint, TranscriptRecord};
use neap_core::client::{ContentBlock, Speaker};
use neap_model::hook::HookEvent;
use serde_json::json;

use super::imports::TranscriptFile;
use super::{Clients, Delivery};
use crate::check::Violations;
use crate::plant::Plant;
use crate::run::Report;
use crate::transcript::{PROGRAM, record};

const FILES: u64 = 2;
/// Deliveries of one event arrive within this time.
const DELIVERY_MS: u64 = 4_999;
/// Room for the marks around the parts of a context.
const MARKS_TOKENS: u64 = 100;

#[derive(Default)]
pub(super) struct Hooks {
    files: Vec<TranscriptFile>,
    /// Events that are not delivered yet, or will be once more.
    pending: Vec<(HookEvent, Stamp)>,
}

impl Clients {
    pub(super) async fn use_hooks(&mut self, report: &mut Report, out: &mut Violations) {
        while (self.hooks.files.len() as u64) < FILES {
            let name = format!("hooked {}", self.hooks.files.len());
            self.hooks.files.push(TranscriptFile { name, ..TranscriptFile::default() });
        }
        let at = usize::try_from(self.rng.below(FILES)).unwrap_or(0);
        if self.rng.chance(600) {
            self.prompt(at);
        }
        for _ in 0..self.rng.below(3) {
            self.deliver_hook(report, out).await;
        }
        if self.rng.chance(300) {
            let mut file = std::mem::take(&mut self.hooks.files[at]);
            self.import(&mut file, report, out).await;
            self.hooks.files[at] = file;
        }
        self.check_contexts(at, out).await;
    }

    /// A person says something: the program calls its hook, then writes the prompt and later the reply down.
    fn prompt(&mut self, at: usize) {
        let text = self.local_text();
        let (moment, id) = (self.next_moment(), format!("prompt-{}", self.labels));
        let mut file = std::mem::take(&mut self.hooks.files[at]);
        let mut event = json!({"hook_event_name": "UserPromptSubmit", "session_id": file.name, "prompt": text});
        let (session, line) = (PROGRAM.session_id(&file.name), self.labels.to_string());
        // Newer versions of the program give prompts an id.
        let key = if self.rng.chance(500) {
            event["prompt_id"] = json!(id);
            PROGRAM.prompt_key(&id, &text)
        } else {
            PromptFingerprint::of(&session, &text).nth_key(1)
        };
        if let Ok(event) = HookEvent::parse(Some(PROGRAM), &event.to_string()) {
            self.hooks.pending.push((event, moment));
        }
        let keys = vec![PROGRAM.record_key(&["record", &line]), key];
        let written: TranscriptRecord = record(keys, moment, Speaker::User, ContentBlock::Text(text));
        file.records.push(written);
        self.append_reply(&mut file);
        self.hooks.files[at] = file;
    }

    async fn deliver_hook(&mut self, report: &mut Report, out: &mut Violations) {
        let at = usize::try_from(self.rng.below(self.hooks.pending.len() as u64)).unwrap_or(0);
        let Some((event, moment)) = self.hooks.pending.get(at).cloned() else { return };
        let is_last = self.rng.chance(500);
        let mut delay = self.rng.below(DELIVERY_MS);
        if self.plant == Some(Plant::LateDelivery) {
            delay += 60_000 * report.hooked;
        }
        let later = Stamp(moment.0 + i64::try_from(delay).unwrap_or(0));
        let [first, second] = [moment, later].map(|moment| event.to_transcript(moment));
        let (Some(first), Some(second)) = (first, second) else { return };
        let [first, second] = [first, second].map(Delivery::Hook);
        let Some(engine) = self.draw_engine() else { return };
        report.hooked += 1;
        let (is_accepted, _) = self.deliver(&engine, second, Some(first), out).await;
        if is_accepted && is_last {
            self.hooks.pending.remove(at);
        }
    }

    async fn check_contexts(&mut self, at: usize, out: &mut Violations) {
        let Some(engine) = self.draw_engine() else { return };
        let (session, prompt) = (PROGRAM.session_id(&self.hooks.files[at].name), self.local_user.next_message());
        let HookBudgets { lost, knowledge, efforts, recalled } = HookBudgets::default();
        let contexts = [
            (engine.prompt_context(&session, &prompt).await, lost + knowledge + efforts + recalled),
            (engine.session_start_context(&session, &Place::Unknown).await, knowledge + efforts),
        ];
        for (context, budget) in contexts {
            match context {
                Ok(text) => {
                    let tokens = self.counter.count(&text);
                    out.check("I8", tokens.0 <= budget.0 + MARKS_TOKENS, || {
                        format!("a hook's context has {tokens} tokens, its parts may have {budget}: {text}")
                    });
                }
                Err(error) => self.explain(&error, out),
            }
        }
    }
}
