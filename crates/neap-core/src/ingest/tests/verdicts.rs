//! What became of the history since the last time.

use std::collections::BTreeSet;

use super::*;
use crate::ingest::{Chain, Digest, Line, Verdict, judge};

/// What a store would know.
#[derive(Default)]
struct Known {
    links: BTreeSet<Digest>,
    line: Option<Line>,
    others: BTreeSet<Digest>,
}

impl Known {
    fn matched(links: &BTreeSet<Digest>, chain: &Chain) -> usize {
        chain.links().iter().take_while(|link| **link == chain.start() || links.contains(link)).count()
    }

    fn judge(&self, items: &[Item]) -> Verdict {
        let chain = Chain::of(&tenant(), &heard(items.to_vec()));
        let (own, others) = (Self::matched(&self.links, &chain), Self::matched(&self.others, &chain));
        judge(self.line.as_ref(), own, others, &chain, items)
    }

    /// Hears a request, and what is answered to it.
    fn hear(&mut self, items: &[Item], reply: Option<Item>) {
        let chain = Chain::of(&tenant(), &heard(items.to_vec()));
        self.links.extend(chain.links());
        self.line = Some(Line { asked: chain.asked(), answered: Vec::new() });
        if let Some(reply) = reply {
            let (answered, links) = chain.answered(&[reply]);
            self.links.extend(links);
            self.line = Some(Line { asked: chain.asked(), answered });
        }
    }
}

/// PROTOCOLS: "Longest stored prefix, then".
#[test]
fn every_verdict_is_found() {
    let (a, b, c, d) = (user("a"), assistant("b"), user("c"), assistant("d"));
    let mut known = Known::default();
    assert_eq!(known.judge(std::slice::from_ref(&a)), Verdict::NewSession);
    known.hear(std::slice::from_ref(&a), None);
    assert_eq!(known.judge(std::slice::from_ref(&a)), Verdict::Retry);
    // The answer was never heard, and the client has it.
    assert_eq!(known.judge(&[a.clone(), b.clone(), c.clone()]), Verdict::Turn);
    // There was none, and the person goes on.
    assert_eq!(known.judge(&[a.clone(), user("a2")]), Verdict::Turn);
    known.hear(std::slice::from_ref(&a), Some(b.clone()));
    assert_eq!(known.judge(std::slice::from_ref(&a)), Verdict::Regeneration);
    assert_eq!(known.judge(&[a.clone(), b.clone(), c.clone()]), Verdict::Turn);
    // The answer comes back in other words.
    assert_eq!(known.judge(&[a.clone(), assistant("B"), c.clone()]), Verdict::Turn);
    known.hear(&[a.clone(), b.clone(), c.clone()], Some(d.clone()));
    assert_eq!(known.judge(&[a.clone(), b.clone(), c.clone()]), Verdict::Regeneration);
    assert_eq!(known.judge(&[a.clone(), b.clone(), c.clone(), d.clone(), user("e")]), Verdict::Turn);
    // The last question put otherwise; the first one again; the answer gone and something else said.
    assert_eq!(known.judge(&[a.clone(), b.clone(), user("c2")]), Verdict::Edit);
    assert_eq!(known.judge(std::slice::from_ref(&a)), Verdict::Edit);
    assert_eq!(known.judge(&[a.clone(), b.clone(), c.clone(), user("e")]), Verdict::Edit);
    // The same session with another history.
    assert_eq!(known.judge(&[user("In short: a, b, c.")]), Verdict::ClientCompaction);
    // Another session that begins as this one.
    let other = Known { others: known.links.clone(), ..Known::default() };
    assert_eq!(other.judge(&[a, b, c, d, user("e")]), Verdict::Fork);
    assert_eq!(other.judge(&[user("x")]), Verdict::NewSession);
}

#[test]
fn a_client_that_moves_its_last_instruction_goes_on() {
    let (top, last) = (system("set up"), system("be brief"));
    let mut known = Known::default();
    known.hear(&[top.clone(), user("a"), last.clone()], Some(assistant("b")));
    let next = [top.clone(), user("a"), assistant("b"), user("c"), last.clone()];
    assert_eq!(known.judge(&next), Verdict::Turn);
    assert_eq!(known.judge(&[top.clone(), user("a"), system("be long")]), Verdict::Regeneration);
    // One that leaves it where it was goes on as well.
    assert_eq!(known.judge(&[top, user("a"), last, assistant("b"), user("c")]), Verdict::Turn);
}

/// The same where the answer was never heard.
#[test]
fn a_client_that_leaves_its_last_instruction_goes_on() {
    let mut known = Known::default();
    known.hear(&[user("a"), system("be brief")], None);
    assert_eq!(known.judge(&[user("a"), system("be brief"), assistant("b"), user("c")]), Verdict::Turn);
    assert_eq!(known.judge(&[user("a"), system("be brief")]), Verdict::Retry);
    assert_eq!(known.judge(&[user("a"), assistant("b"), user("c"), system("be brief")]), Verdict::Turn);
}

#[test]
fn a_request_that_names_an_answer_goes_on_from_there() {
    let named = Signals { response: Some("resp_1".to_owned()), ..Signals::default() };
    let request = Heard { signals: named, ..heard(vec![user("c")]) };
    let chain = Chain::of(&tenant(), &request);
    assert_eq!(chain.start(), tenant().response("resp_1"));
    let line = Line { asked: *tenant().digest(), answered: vec![tenant().response("resp_1")] };
    assert_eq!(judge(Some(&line), 0, 0, &chain, &request.items), Verdict::Turn);
}

/// A history with one in its place that was put in short is the client's doing, however much of the old one it keeps.
#[test]
fn a_history_that_was_put_in_short_is_known_as_that() {
    let mut known = Known::default();
    known.hear(&[user("a"), assistant("b"), user("c")], Some(assistant("d")));
    let short = item(Speaker::Other, vec![Block::Other { kind: "compaction".to_owned(), json: json!({}) }]);
    assert_eq!(known.judge(&[user("a"), short.clone(), user("e")]), Verdict::ClientCompaction);
    known.hear(&[user("a"), short.clone(), user("e")], Some(assistant("f")));
    assert_eq!(known.judge(&[user("a"), short, user("e"), assistant("f"), user("g")]), Verdict::Turn);
}
