//! Carries out what the rules decide about efforts where a session's model calls no tools (`EffortRules`).

use neap_core::client::{RuleAction, enter_effort};
use neap_core::session::event::EffortEvent;
use neap_core::turn::tools::Banner;
use serde_json::{Value, json};

use crate::observer::TurnObserver;
use crate::session::{Session, TurnReply};

impl Session {
    /// Opens the effort that a person's message begins, before the model reads the message.
    pub(crate) async fn apply_rules_before(&mut self, text: &str, observer: &mut dyn TurnObserver) {
        let now = self.parts.clock.now();
        let Some(rules) = &mut self.rules else { return };
        for action in rules.observe_message(&self.stream.state, text, now) {
            self.apply_rule(action, observer).await;
        }
    }

    /// Opens or closes what that message asked for and the model did not do.
    pub(crate) async fn apply_rules_after(&mut self, reply: &mut TurnReply, observer: &mut dyn TurnObserver) {
        let Some(rules) = &mut self.rules else { return };
        let has_called = reply.tool_calls > 0 || !reply.refusals.is_empty();
        let (action, has_taken_over) = rules.observe_end(&self.stream.state, has_called);
        if has_taken_over {
            observer.on_banner(&Banner::KeptByRule);
            reply.banners.push(Banner::KeptByRule);
            self.withdraw_tools();
        }
        if let Some(action) = action {
            reply.banners.extend(self.apply_rule(action, observer).await);
        }
    }

    /// The turn does not fail with it: efforts are an aid.
    async fn apply_rule(&mut self, action: RuleAction, observer: &mut dyn TurnObserver) -> Option<Banner> {
        let (tool, arguments) = self.tool_of(&action)?;
        match self.command(tool, &arguments.to_string(), observer).await {
            Ok(done) => {
                let banner = done.banner?;
                observer.on_banner(&banner);
                Some(banner)
            }
            Err(error) => {
                tracing::warn!(target: "neap::efforts", %error, "an effort could not be kept by rule");
                None
            }
        }
    }

    fn tool_of(&self, action: &RuleAction) -> Option<(&'static str, Value)> {
        let RuleAction::Enter(name) = action else { return Some(("close_effort", json!({}))) };
        let event = enter_effort(&self.stream.state, name)?;
        if let EffortEvent::Switched { id, .. } = &event {
            return Some(("switch_effort", json!({"id": id})));
        }
        if let EffortEvent::Reopened { id, .. } = &event {
            return Some(("reopen_effort", json!({"id": id})));
        }
        Some(("open_effort", json!({"name": name})))
    }
}
