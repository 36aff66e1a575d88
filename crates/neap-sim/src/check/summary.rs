//! I12: what is stored as a summary was made as one, of what was said, and within its length.

use std::collections::BTreeSet;

use neap_core::effort::Summary;
use neap_core::event::{Event, Recorded};
use neap_core::ids::EffortId;
use neap_core::receipt::Receipt;
use neap_core::reference::words;
use neap_core::tokens::TokenCounter;

use super::Violations;
use crate::tape::Summed;

/// Looks at the summaries among new events.
pub fn check(
    new: &[Recorded],
    made: &[Summed],
    counter: &dyn TokenCounter,
    summary_tokens_max: u64,
    out: &mut Violations,
) {
    for recorded in new {
        if let Event::EffortConcluded { id, summary, receipt, .. }
        | Event::EffortSummarized { id, summary, receipt, .. } = &recorded.event
        {
            one(id, summary, made, receipt.as_deref(), counter, summary_tokens_max, out);
        }
        if let Event::SpanCompacted { scope, span, receipt, .. } = &recorded.event {
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

fn one(
    id: &EffortId,
    summary: &Summary,
    made: &[Summed],
    receipt: Option<&Receipt>,
    counter: &dyn TokenCounter,
    tokens_max: u64,
    out: &mut Violations,
) {
    let text = &summary.text;
    let is_brief = *text == format!("Brief effort: {id} (too short to summarize)");
    let answers =
        made.iter().filter(|summed| summed.about == id.as_str()).filter_map(|summed| summed.answer.as_ref());
    // What was mended has words of the original in place of its own.
    let mended: Vec<&str> = receipt.iter().flat_map(|r| &r.repaired).map(|change| change.from.as_str()).collect();
    let was_made = answers.into_iter().any(|answer| {
        let known: BTreeSet<String> = words(answer).into_iter().chain(words(&mended.join(" "))).collect();
        words(text).iter().all(|word| known.contains(word))
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
