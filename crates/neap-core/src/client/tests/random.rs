//! What holds for every history, however odd.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::bounds::talk;
use super::*;
use crate::client::{Chain, CutPlan, ForwardDecision, HistoryPart, RenderedHistory, classify, decide_forward};

/// Items of any kind, in any order; calls and results share few ids.
fn any_item() -> impl Strategy<Value = HistoryItem> {
    let id = prop_oneof![Just("a"), Just("b"), Just("c")];
    let words = "[a-z ]{0,60}";
    prop_oneof![
        4 => words.prop_map(|w| user(&w)),
        4 => words.prop_map(|w| assistant(&w)),
        1 => words.prop_map(|w| system(&w)),
        3 => id.clone().prop_map(calls),
        3 => (id.clone(), words).prop_map(|(id, w)| answers(id, &w)),
        1 => Just(item(Speaker::Assistant, vec![ContentBlock::Thinking])),
        1 => Just(item(Speaker::Other, vec![unknown("new_kind")])),
        1 => id.prop_map(|id| item(Speaker::User, vec![answer(id, "x"), text("and")])),
    ]
}

fn history() -> impl Strategy<Value = Vec<HistoryItem>> {
    (prop::collection::vec(any_item(), 0..60), 0..12_usize).prop_map(|(odd, turns)| {
        let mut items = talk(turns);
        items.extend(odd);
        items
    })
}

/// Number of calls without a result and results without a call.
fn unpaired(request: &ClientRequest, rendered: &RenderedHistory) -> usize {
    let mut open: BTreeMap<&str, i64> = BTreeMap::new();
    let mut wrong = 0;
    for part in &rendered.parts {
        let HistoryPart::Item { at, omitted, .. } = part else { continue };
        for (_, block) in request.items[*at].blocks.iter().enumerate().filter(|(nth, _)| !omitted.contains(nth)) {
            match block {
                ContentBlock::ToolCall(call) => *open.entry(&call.id).or_default() += 1,
                ContentBlock::ToolResult { id, .. } => {
                    let count = open.entry(id).or_default();
                    *count -= 1;
                    wrong += usize::from(*count < 0);
                }
                ContentBlock::Text(_) | ContentBlock::Thinking | ContentBlock::Other { .. } => {}
            }
        }
    }
    wrong + open.values().filter(|count| **count > 0).count()
}

fn recounted(request: &ClientRequest, rendered: &RenderedHistory) -> Tokens {
    request.fixed_tokens + rendered.parts.iter().map(|part| part_tokens(request, part)).sum()
}

fn cut(request: &ClientRequest, bounds: &Bounds) -> Option<CutPlan> {
    let chain = Chain::from_request(&tenant(), request);
    let ForwardDecision::NewCut(cut) = decide_forward(request, &chain, classify(request), None, bounds) else {
        return None;
    };
    let note = "word ".repeat(cut.note_budget.0 as usize / 2);
    make_plan(request, &cut, &note, bounds).ok()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// I1, I7, I9 and PROTOCOLS' rules for what is sent.
    #[test]
    fn what_is_sent_fits_is_paired_and_grows_at_its_end(
        items in history(),
        more in prop::collection::vec(any_item(), 1..8),
        percent in 5_u64..120,
    ) {
        let before = request(items.clone());
        let bounds = Bounds::new(Tokens((before.tokens().0 * percent / 100).max(200)));
        let Some(mut plan) = cut(&before, &bounds) else { return Ok(()) };
        let again = cut(&before, &bounds);
        prop_assert_eq!(Some(&plan), again.as_ref(), "the same input, the same cut");
        let first = plan.render(&before);
        prop_assert!(first.tokens <= bounds.budget, "I1: {} of {}", first.tokens, bounds.budget);
        prop_assert!(recounted(&before, &first) <= first.tokens, "I1, counted again");
        prop_assert_eq!(unpaired(&before, &first), 0, "I7");
        for part in &first.parts {
            let HistoryPart::Item { at, omitted, .. } = part else { continue };
            let blocks = before.items[*at].blocks.iter().enumerate();
            let stale = blocks.filter(|(nth, block)| matches!(block, ContentBlock::Thinking) && !omitted.contains(nth)).count();
            prop_assert!(stale == 0 || *at >= before.stable_len(), "thoughts of before the cut");
        }
        // Nothing is repeated or out of order, and the head is there.
        let places: Vec<usize> =
            first.parts.iter().filter_map(|p| if let HistoryPart::Item { at, .. } = p { Some(*at) } else { None }).collect();
        prop_assert!(places.windows(2).all(|pair| pair[0] < pair[1]));
        prop_assert_eq!(places.first(), Some(&0));
        if let Some(at) = plan.recall_target(&before) {
            plan.add_recalled(at, "[r]", &WordCounter);
        }
        // Within an epoch, what was sent is a prefix of what is sent next.
        let first = plan.render(&before);
        let stable_len = before.stable_len();
        let mut longer = items[..stable_len].to_vec();
        longer.push(assistant("ok"));
        longer.extend(more);
        let after = request(longer);
        prop_assert!(plan.is_valid_for(&Chain::from_request(&tenant(), &after)));
        let second = plan.render(&after);
        let stable = first.parts.iter().filter(|p| !matches!(p, HistoryPart::Item { at, .. } if *at >= stable_len)).count();
        prop_assert_eq!(&second.parts[..stable], &first.parts[..stable]);
        // A history that changed before its end is another.
        if stable_len > 1 {
            let mut edited = items[..stable_len].to_vec();
            edited[stable_len - 1] = user("something else altogether");
            prop_assert!(!plan.is_valid_for(&Chain::from_request(&tenant(), &request(edited))));
        }
    }

    #[test]
    fn what_fits_is_never_cut(items in history()) {
        let request = request(items);
        let bounds = Bounds::new(Tokens(request.tokens().0 * 10 / 9 + 2));
        let decision = decide_forward(&request, &Chain::from_request(&tenant(), &request), classify(&request), None, &bounds);
        prop_assert_eq!(decision, ForwardDecision::Unchanged);
    }
}
