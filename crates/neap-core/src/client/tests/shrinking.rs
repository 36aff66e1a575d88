//! Shortening and omitting in items that a cut keeps.

use proptest::prelude::*;

use super::*;

/// The cut itself omits nothing.
fn shrunk(items: Vec<HistoryItem>, budget: u64) -> (ClientRequest, Result<super::super::RenderedHistory, Tokens>) {
    let request = request(items);
    let bounds = Bounds::new(Tokens(budget));
    let nothing = HistoryCut::nothing(&request, None, &bounds);
    let rendered = make_plan(&request, &nothing, "", &bounds).map(|plan| plan.render(&request));
    (request, rendered)
}

fn short(rendered: &super::super::RenderedHistory, item: usize) -> Vec<String> {
    rendered
        .parts
        .iter()
        .find_map(|part| match part {
            HistoryPart::Item { at, shortened, .. } if *at == item => {
                Some(shortened.iter().map(|(_, text)| text.to_string()).collect())
            }
            HistoryPart::Item { .. } | HistoryPart::Note { .. } => None,
        })
        .unwrap_or_default()
}

#[test]
fn many_results_share_the_room() {
    let mut items = vec![user("look at all of it")];
    for n in 0..30 {
        let id = format!("c{n}");
        items.extend([calls(&id), answers(&id, &"line ".repeat(600))]);
    }
    let (request, rendered) = shrunk(items, 8_000);
    let rendered = rendered.expect("it fits");
    assert!(rendered.tokens <= Tokens(8_000) && rendered.tokens > Tokens(5_000), "{}", rendered.tokens);
    assert_eq!(rendered.parts.len(), request.items.len(), "no call is left out while texts can be shorter");
}

/// A call goes with its result, oldest first; the question and the newest result stay.
#[test]
fn pairs_are_left_out_where_shortening_is_not_enough() {
    let ids: Vec<String> = (0..400).map(|n| format!("c{n}")).collect();
    let calls = item(Speaker::Assistant, ids.iter().map(|id| call(id)).collect());
    let results = item(Speaker::User, ids.iter().map(|id| answer(id, "short enough")).collect());
    let (_, rendered) = shrunk(vec![user("do them all"), calls, results], 2_000);
    let rendered = rendered.expect("it fits");
    let gone: Vec<&Vec<usize>> = rendered
        .parts
        .iter()
        .filter_map(|part| if let HistoryPart::Item { omitted, .. } = part { Some(omitted) } else { None })
        .collect();
    assert_eq!(gone.len(), 3);
    assert_eq!(gone[1], gone[2], "calls and results go together");
    assert!(!gone[1].is_empty() && gone[1].len() < 400);
    assert_eq!(gone[1], &(0..gone[1].len()).collect::<Vec<_>>(), "the oldest first");
}

#[test]
fn arguments_are_shortened_too() {
    let long = serde_json::json!({"path": "a.rs", "content": "word ".repeat(3_000)}).to_string();
    let made = ContentBlock::ToolCall(ToolCall { id: "c".into(), name: "write".into(), arguments: long });
    let (_, rendered) = shrunk(vec![user("write"), item(Speaker::Assistant, vec![made]), answers("c", "ok")], 600);
    let arguments = short(&rendered.expect("it fits"), 1).pop().expect("shorter arguments");
    let value: serde_json::Value = serde_json::from_str(&arguments).expect("JSON");
    assert_eq!(value["path"], "a.rs");
}

/// Models repeat what they find in their own messages.
#[test]
fn what_the_model_said_ends_with_a_sentence_and_carries_no_mark() {
    let said = "This is a sentence of mine. ".repeat(400);
    let (_, rendered) = shrunk(vec![user("tell"), assistant(&said), user("and now?")], 500);
    let rendered = rendered.expect("it fits");
    let text = short(&rendered, 1).pop().expect("it is shortened");
    assert!(said.starts_with(&text) && text.ends_with('.'), "{text}");
    let last = rendered.parts.last();
    assert!(
        matches!(last, Some(HistoryPart::Item { appended: Some(more), .. }) if more.contains("in part")),
        "{last:?}"
    );
}

#[test]
fn what_cannot_be_left_out_is_told_with_what_it_takes() {
    let (request, rendered) = shrunk(vec![system(&"rule ".repeat(5_000)), user("hello")], 1_000);
    let least = rendered.expect_err("it cannot fit");
    assert!(least > Tokens(5_000) && least <= request.tokens(), "{least}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// I1 and I7, whatever the sizes: a history without system text and unknown blocks always fits.
    #[test]
    fn whatever_can_be_shortened_fits(
        rounds in prop::collection::vec((0_usize..800, 1_usize..6, 0_usize..200), 1..40),
        question in 0_usize..3_000,
        budget in 700_u64..4_000,
    ) {
        let mut items = vec![user(&"ask ".repeat(question + 1))];
        for (n, (size, count, said)) in rounds.iter().enumerate() {
            let ids: Vec<String> = (0..*count).map(|at| format!("c{n}-{at}")).collect();
            let text = text(&"said. ".repeat(said + 1));
            items.push(item(Speaker::Assistant, std::iter::once(text).chain(ids.iter().map(|id| call(id))).collect()));
            items.push(item(Speaker::User, ids.iter().map(|id| answer(id, &"out ".repeat(*size))).collect()));
        }
        let (request, rendered) = shrunk(items, budget);
        let rendered = rendered.map_err(|least| TestCaseError::fail(format!("{least} of {budget}")))?;
        prop_assert!(rendered.tokens <= Tokens(budget));
        let written: Tokens = rendered.parts.iter().map(|part| part_tokens(&request, part)).sum();
        prop_assert!(request.fixed_tokens + written <= rendered.tokens, "counted again");
        let mut open = std::collections::BTreeSet::new();
        for part in &rendered.parts {
            let HistoryPart::Item { at, omitted, .. } = part else { continue };
            for (_, block) in request.items[*at].blocks.iter().enumerate().filter(|(nth, _)| !omitted.contains(nth)) {
                match block {
                    ContentBlock::ToolCall(call) => prop_assert!(open.insert(call.id.clone())),
                    ContentBlock::ToolResult { id, .. } => prop_assert!(open.remove(id), "a result without its call"),
                    ContentBlock::Text(_) | ContentBlock::Thinking | ContentBlock::Other { .. } => {}
                }
            }
        }
        prop_assert!(open.is_empty(), "a call without its result");
    }
}
