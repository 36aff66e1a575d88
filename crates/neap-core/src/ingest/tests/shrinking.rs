//! What is shortened and left out of items that are kept, when they do not fit.

use proptest::prelude::*;

use super::*;

/// Nothing is left out by the cut itself.
fn shrunk(items: Vec<Item>, budget: u64) -> (Heard, Result<super::super::Layout, Tokens>) {
    let heard = heard(items);
    let nothing = Cut { dropped: Vec::new(), room: Tokens::ZERO, kept: heard.tokens() };
    let layout = freeze(&heard, &nothing, "", &Bounds::new(Tokens(budget))).map(|frozen| frozen.lay_out(&heard));
    (heard, layout)
}

/// The texts of an item that were shortened.
fn short(layout: &super::super::Layout, of: usize) -> Vec<String> {
    layout
        .pieces
        .iter()
        .find_map(|piece| match piece {
            Piece::Item { at, short, .. } if *at == of => {
                Some(short.iter().map(|(_, text)| text.to_string()).collect())
            }
            Piece::Item { .. } | Piece::Note { .. } => None,
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
    let (heard, layout) = shrunk(items, 8_000);
    let layout = layout.expect("it fits");
    assert!(layout.tokens <= Tokens(8_000) && layout.tokens > Tokens(5_000), "{}", layout.tokens);
    assert_eq!(layout.pieces.len(), heard.items.len(), "no call is left out while texts can be shorter");
}

/// A call goes with its result, the oldest first; the question and the newest result stay.
#[test]
fn pairs_are_left_out_where_shortening_is_not_enough() {
    let ids: Vec<String> = (0..400).map(|n| format!("c{n}")).collect();
    let asked = item(Speaker::Assistant, ids.iter().map(|id| call(id)).collect());
    let answered = item(Speaker::User, ids.iter().map(|id| answer(id, "short enough")).collect());
    let (_, layout) = shrunk(vec![user("do them all"), asked, answered], 2_000);
    let layout = layout.expect("it fits");
    let gone: Vec<&Vec<usize>> = layout
        .pieces
        .iter()
        .filter_map(|piece| if let Piece::Item { without, .. } = piece { Some(without) } else { None })
        .collect();
    assert_eq!(gone.len(), 3);
    assert_eq!(gone[1], gone[2], "calls and results go together");
    assert!(!gone[1].is_empty() && gone[1].len() < 400);
    assert_eq!(gone[1], &(0..gone[1].len()).collect::<Vec<_>>(), "the oldest first");
}

#[test]
fn arguments_are_shortened_too() {
    let long = serde_json::json!({"path": "a.rs", "content": "word ".repeat(3_000)}).to_string();
    let made = Block::Call(ToolCall { id: "c".into(), name: "write".into(), arguments: long });
    let (_, layout) = shrunk(vec![user("write"), item(Speaker::Assistant, vec![made]), answers("c", "ok")], 600);
    let arguments = short(&layout.expect("it fits"), 1).pop().expect("shorter arguments");
    let value: serde_json::Value = serde_json::from_str(&arguments).expect("JSON");
    assert_eq!(value["path"], "a.rs");
}

/// Models repeat what they find in their own messages.
#[test]
fn what_the_model_said_ends_with_a_sentence_and_carries_no_mark() {
    let said = "This is a sentence of mine. ".repeat(400);
    let (_, layout) = shrunk(vec![user("tell"), assistant(&said), user("and now?")], 500);
    let layout = layout.expect("it fits");
    let text = short(&layout, 1).pop().expect("it is shortened");
    assert!(said.starts_with(&text) && text.ends_with('.'), "{text}");
    let last = layout.pieces.last();
    assert!(matches!(last, Some(Piece::Item { more: Some(more), .. }) if more.contains("in part")), "{last:?}");
}

#[test]
fn what_cannot_be_left_out_is_told_with_what_it_takes() {
    let (heard, layout) = shrunk(vec![system(&"rule ".repeat(5_000)), user("hello")], 1_000);
    let least = layout.expect_err("it cannot fit");
    assert!(least > Tokens(5_000) && least <= heard.tokens(), "{least}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// I1 and I7, whatever the sizes: what has no system text and nothing unknown always fits.
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
        let (heard, layout) = shrunk(items, budget);
        let layout = layout.map_err(|least| TestCaseError::fail(format!("{least} of {budget}")))?;
        prop_assert!(layout.tokens <= Tokens(budget));
        let written: Tokens = layout.pieces.iter().map(|piece| piece_tokens(&heard, piece)).sum();
        prop_assert!(heard.fixed + written <= layout.tokens, "counted again");
        let mut open = std::collections::BTreeSet::new();
        for piece in &layout.pieces {
            let Piece::Item { at, without, .. } = piece else { continue };
            for (_, block) in heard.items[*at].blocks.iter().enumerate().filter(|(nth, _)| !without.contains(nth)) {
                match block {
                    Block::Call(call) => prop_assert!(open.insert(call.id.clone())),
                    Block::Answer { id, .. } => prop_assert!(open.remove(id), "a result without its call"),
                    Block::Text(_) | Block::Thinking | Block::Other { .. } => {}
                }
            }
        }
        prop_assert!(open.is_empty(), "a call without its result");
    }
}
