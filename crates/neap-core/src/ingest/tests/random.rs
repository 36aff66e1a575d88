//! What holds of every history, however odd.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::bounds::talk;
use super::*;
use crate::ingest::{Chain, Decision, Frozen, Layout, Piece, classify, decide};

/// Items of any kind, in any order; calls and answers share few ids.
fn any_item() -> impl Strategy<Value = Item> {
    let id = prop_oneof![Just("a"), Just("b"), Just("c")];
    let words = "[a-z ]{0,60}";
    prop_oneof![
        4 => words.prop_map(|w| user(&w)),
        4 => words.prop_map(|w| assistant(&w)),
        1 => words.prop_map(|w| system(&w)),
        3 => id.clone().prop_map(calls),
        3 => (id.clone(), words).prop_map(|(id, w)| answers(id, &w)),
        1 => Just(item(Speaker::Assistant, vec![Block::Thinking])),
        1 => Just(item(Speaker::Other, vec![unknown("new_kind")])),
        1 => id.prop_map(|id| item(Speaker::User, vec![answer(id, "x"), text("and")])),
    ]
}

fn history() -> impl Strategy<Value = Vec<Item>> {
    (prop::collection::vec(any_item(), 0..60), 0..12_usize).prop_map(|(odd, turns)| {
        let mut items = talk(turns);
        items.extend(odd);
        items
    })
}

/// What is left of calls and answers: each id, with how often it is called and answered.
fn unpaired(heard: &Heard, layout: &Layout) -> usize {
    let mut open: BTreeMap<&str, i64> = BTreeMap::new();
    let mut wrong = 0;
    for piece in &layout.pieces {
        let Piece::Item { at, without, .. } = piece else { continue };
        for (_, block) in heard.items[*at].blocks.iter().enumerate().filter(|(nth, _)| !without.contains(nth)) {
            match block {
                Block::Call(call) => *open.entry(&call.id).or_default() += 1,
                Block::Answer { id, .. } => {
                    let count = open.entry(id).or_default();
                    *count -= 1;
                    wrong += usize::from(*count < 0);
                }
                Block::Text(_) | Block::Thinking | Block::Other { .. } => {}
            }
        }
    }
    wrong + open.values().filter(|count| **count > 0).count()
}

/// What a layout costs, counted again.
fn recounted(heard: &Heard, layout: &Layout) -> Tokens {
    heard.fixed + layout.pieces.iter().map(|piece| piece_tokens(heard, piece)).sum()
}

fn cut(heard: &Heard, bounds: &Bounds) -> Option<Frozen> {
    let chain = Chain::of(&tenant(), heard);
    let Decision::Rewrite(cut) = decide(heard, &chain, classify(heard), None, bounds) else { return None };
    let note = "word ".repeat(cut.room.0 as usize / 2);
    freeze(heard, &cut, &note, bounds).ok()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// I1, I7, I9 and what PROTOCOLS says of what is sent.
    #[test]
    fn what_is_sent_fits_is_paired_and_grows_at_its_end(
        items in history(),
        more in prop::collection::vec(any_item(), 1..8),
        percent in 5_u64..120,
    ) {
        let before = heard(items.clone());
        let bounds = Bounds::new(Tokens((before.tokens().0 * percent / 100).max(200)));
        let Some(mut frozen) = cut(&before, &bounds) else { return Ok(()) };
        let again = cut(&before, &bounds);
        prop_assert_eq!(Some(&frozen), again.as_ref(), "the same input, the same cut");
        let first = frozen.lay_out(&before);
        prop_assert!(first.tokens <= bounds.budget, "I1: {} of {}", first.tokens, bounds.budget);
        prop_assert!(recounted(&before, &first) <= first.tokens, "I1, counted again");
        prop_assert_eq!(unpaired(&before, &first), 0, "I7");
        for piece in &first.pieces {
            let Piece::Item { at, without, .. } = piece else { continue };
            let blocks = before.items[*at].blocks.iter().enumerate();
            let stale = blocks.filter(|(nth, block)| matches!(block, Block::Thinking) && !without.contains(nth)).count();
            prop_assert!(stale == 0 || *at >= before.stem(), "thoughts of before the cut");
        }
        let marks = before.marks + first.pieces.iter().filter(|p| matches!(p, Piece::Note { mark: true, .. })).count();
        prop_assert!(marks <= 4);
        // Nothing is there twice or out of order, and what set it up is there.
        let places: Vec<usize> =
            first.pieces.iter().filter_map(|p| if let Piece::Item { at, .. } = p { Some(*at) } else { None }).collect();
        prop_assert!(places.windows(2).all(|pair| pair[0] < pair[1]));
        prop_assert_eq!(places.first(), Some(&0));
        if let Some(at) = frozen.awaits_recall(&before) {
            frozen.recall(at, "[r]", &WordCounter);
        }
        // Within an epoch what was sent is the beginning of what is sent next.
        let first = frozen.lay_out(&before);
        let stem = before.stem();
        let mut longer = items[..stem].to_vec();
        longer.push(assistant("ok"));
        longer.extend(more);
        let after = heard(longer);
        prop_assert!(frozen.holds(&Chain::of(&tenant(), &after)));
        let second = frozen.lay_out(&after);
        let stable = first.pieces.iter().filter(|p| !matches!(p, Piece::Item { at, .. } if *at >= stem)).count();
        prop_assert_eq!(&second.pieces[..stable], &first.pieces[..stable]);
        // A history that was changed before its end is another.
        if stem > 1 {
            let mut edited = items[..stem].to_vec();
            edited[stem - 1] = user("something else altogether");
            prop_assert!(!frozen.holds(&Chain::of(&tenant(), &heard(edited))));
        }
    }

    /// What fits is never touched.
    #[test]
    fn what_fits_is_never_cut(items in history()) {
        let heard = heard(items);
        let bounds = Bounds::new(Tokens(heard.tokens().0 * 10 / 9 + 2));
        let decision = decide(&heard, &Chain::of(&tenant(), &heard), classify(&heard), None, &bounds);
        prop_assert_eq!(decision, Decision::Unchanged);
    }
}
