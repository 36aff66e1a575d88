//! Cuts of histories that do not fit, case by case.

use super::*;
use crate::client::{
    Chain, CutPlan, ForwardDecision, HistoryCut, HistoryPart, RenderedHistory, RequestClass, decide_forward,
};

/// A conversation in which each turn has a call.
pub(super) fn talk(turns: usize) -> Vec<HistoryItem> {
    let mut items = vec![system("set up")];
    for turn in 0..turns {
        let id = format!("c{turn}");
        items.extend([user(&format!("question number {turn} about it")), calls(&id)]);
        items.extend([answers(&id, "some lines of output that are long enough"), assistant("done with that")]);
    }
    items.push(user("and now"));
    items
}

fn class_of(request: &ClientRequest) -> RequestClass {
    crate::client::classify(request)
}

fn decided(request: &ClientRequest, plan: Option<&CutPlan>, bounds: &Bounds) -> ForwardDecision {
    decide_forward(request, &Chain::from_request(&tenant(), request), class_of(request), plan, bounds)
}

#[track_caller]
fn cut(request: &ClientRequest, bounds: &Bounds) -> HistoryCut {
    match decided(request, None, bounds) {
        ForwardDecision::NewCut(cut) => cut,
        other @ (ForwardDecision::Unchanged | ForwardDecision::ReuseCut | ForwardDecision::TooLarge(_)) => {
            panic!("not cut but {other:?}")
        }
    }
}

#[track_caller]
pub(super) fn plan(request: &ClientRequest, bounds: &Bounds) -> CutPlan {
    make_plan(request, &cut(request, bounds), "[In short.]", bounds).expect("it fits")
}

fn places(rendered: &RenderedHistory) -> Vec<Option<usize>> {
    rendered
        .parts
        .iter()
        .map(|part| if let HistoryPart::Item { at, .. } = part { Some(*at) } else { None })
        .collect()
}

#[test]
fn what_fits_goes_on_as_it_came() {
    let request = request(talk(10));
    let bounds = Bounds::new(Tokens(request.tokens().0 * 10 / 9 + 2));
    assert_eq!(decided(&request, None, &bounds), ForwardDecision::Unchanged);
    let tight = Bounds::new(Tokens(request.tokens().0 - 1));
    assert!(matches!(decided(&request, None, &tight), ForwardDecision::NewCut(_)));
}

/// PROTOCOLS, "Sent layout": head, note, tail.
#[test]
fn the_middle_is_left_out_in_whole_turns() {
    let request = request(talk(20));
    let bounds = Bounds::new(Tokens(request.tokens().0 / 2));
    let plan = plan(&request, &bounds);
    let rendered = plan.render(&request);
    let places = places(&rendered);
    assert_eq!(&places[..3], [Some(0), Some(1), None], "what set it up, what was asked first, then the note");
    let tail: Vec<usize> = places[3..].iter().flatten().copied().collect();
    assert!(request.items[tail[0]].is_turn_start(), "the tail begins with a turn");
    assert_eq!(tail, (tail[0]..request.items.len()).collect::<Vec<_>>());
    assert!(rendered.tokens <= bounds.budget.percent(75), "{} of {}", rendered.tokens, bounds.budget);
    assert_eq!(rendered.changes.dropped, tail[0] - 2);
    assert_eq!(rendered.changes.orphans, 0);
}

#[test]
fn a_tool_loop_is_not_cut_before_it_must_be() {
    let mut items = talk(10);
    items.extend([calls("last"), answers("last", "x")]);
    let request = request(items);
    let bounds = Bounds::new(Tokens(request.tokens().0 + 1));
    assert_eq!(class_of(&request), RequestClass::ToolLoop);
    assert_eq!(decided(&request, None, &bounds), ForwardDecision::Unchanged);
    assert!(matches!(
        decided(&request, None, &Bounds::new(Tokens(request.tokens().0 - 1))),
        ForwardDecision::NewCut(_)
    ));
}

/// A budget for half of a history, beside a system prompt of which so much was read that a long tail costs little.
fn half_fits(items: Vec<HistoryItem>) -> (ClientRequest, Bounds) {
    let history = request(items.clone()).tokens().0;
    let request = ClientRequest { fixed_tokens: Tokens(8_000), ..request(items) };
    (request, Bounds::new(Tokens(8_000 + history / 2)))
}

#[test]
fn thoughts_of_before_the_cut_are_left_out_and_later_ones_stay() {
    let mut items = talk(20);
    let (before, bounds) = half_fits(items.clone());
    let plan = plan(&before, &bounds);
    let rendered = plan.render(&before);
    assert!(rendered.changes.thinking > 0);
    let seen = items.len();
    items.extend([calls("new"), answers("new", "x")]);
    let after = plan.render(&ClientRequest { items, ..before });
    let omitted = |at: usize| {
        after.parts.iter().find_map(|part| match part {
            HistoryPart::Item { at: place, omitted, .. } if *place == at => Some(omitted.clone()),
            HistoryPart::Item { .. } | HistoryPart::Note { .. } => None,
        })
    };
    assert_eq!(omitted(seen), Some(vec![]), "what the model thought since is its own");
    assert_eq!(after.changes.thinking, rendered.changes.thinking);
}

/// Orphans are the client's while everything fits; a cut removes them.
#[test]
fn orphans_are_mended_when_a_history_is_cut() {
    let mut items = talk(20);
    let at = items.len() - 1;
    items.insert(at, answers("nobody", "asked"));
    items.insert(at, calls("unanswered"));
    let (request, bounds) = half_fits(items);
    assert_eq!(decided(&request, None, &Bounds::new(Tokens(1_000_000))), ForwardDecision::Unchanged);
    let rendered = plan(&request, &bounds).render(&request);
    assert_eq!(rendered.changes.orphans, 2);
    assert!(!places(&rendered).contains(&Some(at + 1)), "an answer to nothing is gone whole");
    let caller = rendered.parts.iter().find_map(|part| match part {
        HistoryPart::Item { at: place, omitted, .. } if *place == at => Some(omitted.clone()),
        HistoryPart::Item { .. } | HistoryPart::Note { .. } => None,
    });
    assert_eq!(caller, Some(vec![0, 2]), "its words stay, its thought and its call do not");
}

#[test]
fn a_turn_that_is_too_long_loses_its_oldest_rounds() {
    let mut items = vec![system("set up"), user("do all of it")];
    for round in 0..50 {
        let id = format!("r{round}");
        items.extend([calls(&id), answers(&id, "a line of output from the tool")]);
    }
    let request = request(items);
    let bounds = Bounds::new(Tokens(request.tokens().0 / 3));
    let rendered = plan(&request, &bounds).render(&request);
    let places = places(&rendered);
    assert_eq!(&places[..3], [Some(0), Some(1), None]);
    assert_eq!(places.last(), Some(&Some(request.items.len() - 1)));
    assert!(rendered.tokens <= bounds.budget);
    assert_eq!(request.items[places[3].expect("an item")].speaker, Speaker::Assistant);
}

/// One over-long text must not push out the rest of a history.
#[test]
fn a_text_that_is_too_long_is_shown_in_part() {
    let long = "word ".repeat(5_000);
    let request = request(vec![user("look"), calls("c"), answers("c", &long)]);
    let bounds = Bounds::new(Tokens(1_000));
    // Nothing can be omitted, but a text can be shortened.
    let nothing = HistoryCut::nothing(&request, None, &bounds);
    let rendered = make_plan(&request, &nothing, "", &bounds).expect("it fits").render(&request);
    assert!(rendered.tokens <= bounds.budget);
    assert_eq!(rendered.changes.shortened, 1);
    let Some(HistoryPart::Item { shortened, .. }) = rendered.parts.last() else { panic!("{rendered:?}") };
    assert!(shortened[0].1.contains("fetch_original t2"), "{}", shortened[0].1);
}

#[test]
fn what_cannot_be_cut_is_said_to_be_too_large() {
    let request = request(vec![system(&"word ".repeat(5_000)), user("x")]);
    assert!(
        matches!(decided(&request, None, &Bounds::new(Tokens(1_000))), ForwardDecision::TooLarge(needed) if needed > Tokens(5_000))
    );
}

#[test]
fn what_was_recalled_stays_where_it_was() {
    let mut items = talk(20);
    let before = request(items.clone());
    let bounds = Bounds::new(Tokens(before.tokens().0 / 2));
    let mut plan = plan(&before, &bounds);
    let at = plan.recall_target(&before).expect("the newest turn");
    assert_eq!(at, items.len() - 1);
    plan.add_recalled(at, "[Said before.]", &WordCounter);
    assert_eq!(plan.recall_target(&before), None);
    plan.add_recalled(at, "[Something else.]", &WordCounter);
    items.extend([assistant("ok"), user("next")]);
    let after = request(items);
    let (first, second) = (plan.render(&before), plan.render(&after));
    assert_eq!(second.parts[..first.parts.len()], first.parts);
    assert!(
        matches!(first.parts.last(), Some(HistoryPart::Item { appended: Some(text), .. }) if &**text == "[Said before.]")
    );
    assert_eq!(plan.recall_target(&after), Some(at + 2));
}

/// Where a cut would save little, the cached prompt is kept.
#[test]
fn a_cut_that_saves_little_is_not_made() {
    let long = "word ".repeat(4_000);
    let items = vec![user("short"), assistant("short"), user(&long)];
    let request = request(items);
    let bounds = Bounds::new(Tokens(request.tokens().0 + 5));
    assert_eq!(decided(&request, None, &bounds), ForwardDecision::Unchanged);
}
