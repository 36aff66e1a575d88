//! I12: a stored summary was made by a summarizer, from its messages, and within its length.

use std::collections::BTreeSet;

use neap_core::base::ids::EffortId;
use neap_core::base::tokens::TokenCounter;
use neap_core::session::effort::Summary;
use neap_core::session::event::{EffortEvent, Event, RecordedEvent, WindowEvent};
use neap_core::text::receipt::Receipt;
use neap_core::text::reference::folded_words;

use super::Violations;
use crate::trace::SummaryAnswer;

pub fn check(
    new: &[RecordedEvent],
    summaries: &[SummaryAnswer],
    counter: &dyn TokenCounter,
    summary_tokens_max: u64,
    out: &mut Violations,
) {
    for recorded in new {
        if let Event::Effort(
            EffortEvent::Concluded { id, summary, receipt, .. }
            | EffortEvent::Summarized { id, summary, receipt, .. },
        ) = &recorded.event
        {
            check_effort_summary(id, summary, summaries, receipt.as_deref(), counter, summary_tokens_max, out);
        }
        if let Event::Window(WindowEvent::SpanCompacted { scope, span, receipt, .. }) = &recorded.event {
            let name = span.handle(scope);
            out.check("I12", !span.text.trim().is_empty(), || format!("an empty summary of {name}"));
            out.check("I12", receipt.is_some(), || format!("{name} has no receipt"));
            out.check("I8", span.tokens < span.size.tokens, || {
                format!("{name} is longer than what it stands for")
            });
            let line = counter.count(&span.line(scope));
            out.check("I1", span.tokens == line, || format!("{name}: counted {}, costs {line}", span.tokens));
        }
    }
}

fn check_effort_summary(
    id: &EffortId,
    summary: &Summary,
    summaries: &[SummaryAnswer],
    receipt: Option<&Receipt>,
    counter: &dyn TokenCounter,
    tokens_max: u64,
    out: &mut Violations,
) {
    let text = &summary.text;
    let is_brief = *text == format!("Brief effort: {id} (too short to summarize)");
    let answers = summaries
        .iter()
        .filter(|candidate| candidate.about == id.as_str())
        .filter_map(|candidate| candidate.answer.as_ref());
    // A repaired summary contains values of the original.
    let repaired: Vec<&str> =
        receipt.iter().flat_map(|r| &r.repaired).map(|change| change.from.as_str()).collect();
    let was_made = answers.into_iter().any(|answer| {
        let known: BTreeSet<String> =
            folded_words(answer).into_iter().chain(folded_words(&repaired.join(" "))).collect();
        folded_words(text).iter().all(|word| known.contains(word))
    });
    out.check("I12", is_brief || was_made, || format!("nobody made this summary of {id}: {text}"));
    out.check("I12", receipt.is_some_and(|r| r.changed.is_empty()), || format!("{id}: a receipt {receipt:?}"));
    out.check("I12", !text.trim().is_empty(), || format!("an empty summary of {id}"));
    let tokens = counter.count(text).0;
    out.check("I8", is_brief || tokens <= tokens_max, || {
        format!("a summary of {tokens} tokens, cap {tokens_max}")
    });
    let day = summary.at.map_or_else(String::new, |at| format!(" ({})", at.date()));
    let line = counter.count(&format!("- {id}: {text}{day}\n"));
    out.check("I1", summary.tokens == line, || format!("{id}: counted {}, costs {line}", summary.tokens));
}
