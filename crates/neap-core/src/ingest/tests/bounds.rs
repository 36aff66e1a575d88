//! What is sent in place of a history that does not fit, case by case.

use super::*;
use crate::ingest::{Chain, Class, Cut, Decision, Frozen, Layout, Piece, decide};

/// A conversation of so many turns, each with a call.
pub(super) fn talk(turns: usize) -> Vec<Item> {
    let mut items = vec![system("set up")];
    for turn in 0..turns {
        let id = format!("c{turn}");
        items.extend([user(&format!("question number {turn} about it")), calls(&id)]);
        items.extend([answers(&id, "some lines of output that are long enough"), assistant("done with that")]);
    }
    items.push(user("and now"));
    items
}

fn class_of(heard: &Heard) -> Class {
    crate::ingest::classify(heard)
}

fn decided(heard: &Heard, frozen: Option<&Frozen>, bounds: &Bounds) -> Decision {
    decide(heard, &Chain::of(&tenant(), heard), class_of(heard), frozen, bounds)
}

#[track_caller]
fn cut(heard: &Heard, bounds: &Bounds) -> Cut {
    match decided(heard, None, bounds) {
        Decision::Rewrite(cut) => cut,
        other @ (Decision::Unchanged | Decision::Grow | Decision::TooLarge) => panic!("not cut but {other:?}"),
    }
}

#[track_caller]
pub(super) fn frozen(heard: &Heard, bounds: &Bounds) -> Frozen {
    freeze(heard, &cut(heard, bounds), "[In short.]", bounds).expect("it fits")
}

fn places(layout: &Layout) -> Vec<Option<usize>> {
    layout.pieces.iter().map(|piece| if let Piece::Item { at, .. } = piece { Some(*at) } else { None }).collect()
}

#[test]
fn what_fits_goes_on_as_it_came() {
    let heard = heard(talk(10));
    let bounds = Bounds::new(Tokens(heard.tokens().0 * 10 / 9 + 2));
    assert_eq!(decided(&heard, None, &bounds), Decision::Unchanged);
    let tight = Bounds::new(Tokens(heard.tokens().0 - 1));
    assert!(matches!(decided(&heard, None, &tight), Decision::Rewrite(_)));
}

/// PROTOCOLS, "Sent layout": head, what stands for the middle, tail.
#[test]
fn the_middle_is_left_out_in_whole_turns() {
    let heard = heard(talk(20));
    let bounds = Bounds::new(Tokens(heard.tokens().0 / 2));
    let frozen = frozen(&heard, &bounds);
    let layout = frozen.lay_out(&heard);
    let places = places(&layout);
    assert_eq!(&places[..3], [Some(0), Some(1), None], "what set it up, what was asked first, then the note");
    let tail: Vec<usize> = places[3..].iter().flatten().copied().collect();
    assert!(heard.items[tail[0]].begins_turn(), "the tail begins with a turn");
    assert_eq!(tail, (tail[0]..heard.items.len()).collect::<Vec<_>>());
    assert!(layout.tokens <= bounds.low(), "{} of {}", layout.tokens, bounds.low());
    assert_eq!(layout.changes.dropped, tail[0] - 2);
    assert_eq!(layout.changes.orphans, 0);
}

/// While calls are answered, nothing is cut that fits.
#[test]
fn a_tool_loop_is_not_cut_before_it_must_be() {
    let mut items = talk(10);
    items.extend([calls("last"), answers("last", "x")]);
    let heard = heard(items);
    let bounds = Bounds::new(Tokens(heard.tokens().0 + 1));
    assert_eq!(class_of(&heard), Class::ToolLoop);
    assert_eq!(decided(&heard, None, &bounds), Decision::Unchanged);
    assert!(matches!(decided(&heard, None, &Bounds::new(Tokens(heard.tokens().0 - 1))), Decision::Rewrite(_)));
}

#[test]
fn thoughts_of_before_the_cut_are_left_out_and_later_ones_stay() {
    let mut items = talk(20);
    let before = heard(items.clone());
    let bounds = Bounds::new(Tokens(before.tokens().0 / 2));
    let frozen = frozen(&before, &bounds);
    let layout = frozen.lay_out(&before);
    assert!(layout.changes.thoughts > 0);
    let seen = items.len();
    items.extend([calls("new"), answers("new", "x")]);
    let after = frozen.lay_out(&heard(items));
    let without = |at: usize| {
        after.pieces.iter().find_map(|piece| match piece {
            Piece::Item { at: place, without, .. } if *place == at => Some(without.clone()),
            Piece::Item { .. } | Piece::Note { .. } => None,
        })
    };
    assert_eq!(without(seen), Some(vec![]), "what the model thought since is its own");
    assert_eq!(after.changes.thoughts, layout.changes.thoughts);
}

/// Orphans are the client's while all fits; what is cut is mended.
#[test]
fn orphans_are_mended_when_a_history_is_cut() {
    let mut items = talk(20);
    let at = items.len() - 1;
    items.insert(at, answers("nobody", "asked"));
    items.insert(at, calls("unanswered"));
    let heard = heard(items);
    assert_eq!(decided(&heard, None, &Bounds::new(Tokens(1_000_000))), Decision::Unchanged);
    let bounds = Bounds::new(Tokens(heard.tokens().0 / 2));
    let layout = frozen(&heard, &bounds).lay_out(&heard);
    assert_eq!(layout.changes.orphans, 2);
    assert!(!places(&layout).contains(&Some(at + 1)), "an answer to nothing is gone whole");
    let caller = layout.pieces.iter().find_map(|piece| match piece {
        Piece::Item { at: place, without, .. } if *place == at => Some(without.clone()),
        Piece::Item { .. } | Piece::Note { .. } => None,
    });
    assert_eq!(caller, Some(vec![0, 2]), "its words stay, its thought and its call do not");
}

/// A turn that is longer than the budget loses its oldest rounds, and what was asked stays.
#[test]
fn a_turn_that_is_too_long_loses_its_oldest_rounds() {
    let mut items = vec![system("set up"), user("do all of it")];
    for round in 0..50 {
        let id = format!("r{round}");
        items.extend([calls(&id), answers(&id, "a line of output from the tool")]);
    }
    let heard = heard(items);
    let bounds = Bounds::new(Tokens(heard.tokens().0 / 3));
    let layout = frozen(&heard, &bounds).lay_out(&heard);
    let places = places(&layout);
    assert_eq!(&places[..3], [Some(0), Some(1), None]);
    assert_eq!(places.last(), Some(&Some(heard.items.len() - 1)));
    assert!(layout.tokens <= bounds.budget);
    assert_eq!(heard.items[places[3].expect("an item")].speaker, Speaker::Assistant);
}

/// DESIGN, decision 19.
#[test]
fn a_text_that_is_too_long_is_shown_in_part() {
    let long = "word ".repeat(5_000);
    let heard = heard(vec![user("look"), calls("c"), answers("c", &long)]);
    let bounds = Bounds::new(Tokens(1_000));
    // Nothing can be left out: but a text can be shown in part.
    let nothing = Cut { dropped: Vec::new(), room: Tokens(100), kept: heard.tokens() };
    let layout = freeze(&heard, &nothing, "", &bounds).expect("it fits").lay_out(&heard);
    assert!(layout.tokens <= bounds.budget);
    assert_eq!(layout.changes.shortened, 1);
    let Some(Piece::Item { short, .. }) = layout.pieces.last() else { panic!("{layout:?}") };
    assert!(short[0].1.contains("fetch_original t2"), "{}", short[0].1);
}

#[test]
fn what_cannot_be_cut_is_said_to_be_too_large() {
    let heard = heard(vec![system(&"word ".repeat(5_000)), user("x")]);
    assert_eq!(decided(&heard, None, &Bounds::new(Tokens(1_000))), Decision::TooLarge);
}

/// What is recalled for a turn stays with it.
#[test]
fn what_was_recalled_stays_where_it_was() {
    let mut items = talk(20);
    let before = heard(items.clone());
    let bounds = Bounds::new(Tokens(before.tokens().0 / 2));
    let mut frozen = frozen(&before, &bounds);
    let at = frozen.awaits_recall(&before).expect("the newest turn");
    assert_eq!(at, items.len() - 1);
    frozen.recall(at, "[Said before.]", &WordCounter);
    assert_eq!(frozen.awaits_recall(&before), None);
    frozen.recall(at, "[Something else.]", &WordCounter);
    items.extend([assistant("ok"), user("next")]);
    let after = heard(items);
    let (first, second) = (frozen.lay_out(&before), frozen.lay_out(&after));
    assert_eq!(second.pieces[..first.pieces.len()], first.pieces);
    assert!(
        matches!(first.pieces.last(), Some(Piece::Item { more: Some(text), .. }) if &**text == "[Said before.]")
    );
    assert_eq!(frozen.awaits_recall(&after), Some(at + 2));
}

/// PROTOCOLS: at most four, ours at the end of what is frozen.
#[test]
fn there_are_at_most_four_marks() {
    for client in 0..5 {
        let mut heard = heard(talk(20));
        heard.marks = client;
        let bounds = Bounds::new(Tokens(heard.tokens().0 / 2));
        let layout = frozen(&heard, &bounds).lay_out(&heard);
        let ours = layout.pieces.iter().filter(|piece| matches!(piece, Piece::Note { mark: true, .. })).count();
        assert_eq!(ours, usize::from(client < 4), "{client}");
    }
}

/// Where a cut would save little, the prompt that a cache knows is kept.
#[test]
fn a_cut_that_saves_little_is_not_made() {
    let long = "word ".repeat(4_000);
    let items = vec![user("short"), assistant("short"), user(&long)];
    let heard = heard(items);
    let bounds = Bounds::new(Tokens(heard.tokens().0 + 5));
    assert_eq!(decided(&heard, None, &bounds), Decision::Unchanged);
}
