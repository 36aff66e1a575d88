//! Verdicts on histories.

use std::collections::BTreeSet;

use super::*;
use crate::base::digest::Digest;
use crate::client::{Chain, HistoryHead, HistoryVerdict, judge_history};

#[derive(Default)]
struct Known {
    links: BTreeSet<Digest>,
    history: Option<HistoryHead>,
    others: BTreeSet<Digest>,
}

impl Known {
    fn matched(links: &BTreeSet<Digest>, chain: &Chain) -> usize {
        chain.links().iter().take_while(|link| **link == chain.start() || links.contains(link)).count()
    }

    fn judge(&self, items: &[HistoryItem]) -> HistoryVerdict {
        let chain = Chain::from_request(&tenant(), &request(items.to_vec()));
        let (own, others) = (Self::matched(&self.links, &chain), Self::matched(&self.others, &chain));
        judge_history(self.history.as_ref(), own, others, &chain, items)
    }

    fn record(&mut self, items: &[HistoryItem], reply: Option<HistoryItem>) {
        let chain = Chain::from_request(&tenant(), &request(items.to_vec()));
        self.links.extend(chain.links());
        self.history = Some(HistoryHead { asked: chain.stable_digest(), answered: Vec::new() });
        if let Some(reply) = reply {
            let (answered, links) = chain.reply_digests(&[reply]);
            self.links.extend(links);
            self.history = Some(HistoryHead { asked: chain.stable_digest(), answered });
        }
    }
}

/// PROTOCOLS: "Longest stored prefix, then".
#[test]
fn every_verdict_is_found() {
    let (a, b, c, d) = (user("a"), assistant("b"), user("c"), assistant("d"));
    let mut known = Known::default();
    assert_eq!(known.judge(std::slice::from_ref(&a)), HistoryVerdict::NewSession);
    known.record(std::slice::from_ref(&a), None);
    assert_eq!(known.judge(std::slice::from_ref(&a)), HistoryVerdict::Retry);
    // The reply was never recorded, and the client has it.
    assert_eq!(known.judge(&[a.clone(), b.clone(), c.clone()]), HistoryVerdict::Turn);
    // There was no reply, and the person continues.
    assert_eq!(known.judge(&[a.clone(), user("a2")]), HistoryVerdict::Turn);
    known.record(std::slice::from_ref(&a), Some(b.clone()));
    assert_eq!(known.judge(std::slice::from_ref(&a)), HistoryVerdict::Regeneration);
    assert_eq!(known.judge(&[a.clone(), b.clone(), c.clone()]), HistoryVerdict::Turn);
    // The reply comes back in other words.
    assert_eq!(known.judge(&[a.clone(), assistant("B"), c.clone()]), HistoryVerdict::Turn);
    known.record(&[a.clone(), b.clone(), c.clone()], Some(d.clone()));
    assert_eq!(known.judge(&[a.clone(), b.clone(), c.clone()]), HistoryVerdict::Regeneration);
    assert_eq!(known.judge(&[a.clone(), b.clone(), c.clone(), d.clone(), user("e")]), HistoryVerdict::Turn);
    // The last question rephrased; the first one again; the reply gone and something else asked.
    assert_eq!(known.judge(&[a.clone(), b.clone(), user("c2")]), HistoryVerdict::Edit);
    assert_eq!(known.judge(std::slice::from_ref(&a)), HistoryVerdict::Edit);
    assert_eq!(known.judge(&[a.clone(), b.clone(), c.clone(), user("e")]), HistoryVerdict::Edit);
    assert_eq!(known.judge(&[user("In short: a, b, c.")]), HistoryVerdict::ClientCompaction);
    // Another session that begins like this one.
    let other = Known { others: known.links.clone(), ..Known::default() };
    assert_eq!(other.judge(&[a, b, c, d, user("e")]), HistoryVerdict::Fork);
    assert_eq!(other.judge(&[user("x")]), HistoryVerdict::NewSession);
}

#[test]
fn a_client_that_moves_its_last_instruction_goes_on() {
    let (top, last) = (system("set up"), system("be brief"));
    let mut known = Known::default();
    known.record(&[top.clone(), user("a"), last.clone()], Some(assistant("b")));
    let next = [top.clone(), user("a"), assistant("b"), user("c"), last.clone()];
    assert_eq!(known.judge(&next), HistoryVerdict::Turn);
    assert_eq!(known.judge(&[top.clone(), user("a"), system("be long")]), HistoryVerdict::Regeneration);
    // A client that leaves it where it was continues as well.
    assert_eq!(known.judge(&[top, user("a"), last, assistant("b"), user("c")]), HistoryVerdict::Turn);
}

/// The same where the reply was never recorded.
#[test]
fn a_client_that_leaves_its_last_instruction_goes_on() {
    let mut known = Known::default();
    known.record(&[user("a"), system("be brief")], None);
    assert_eq!(known.judge(&[user("a"), system("be brief"), assistant("b"), user("c")]), HistoryVerdict::Turn);
    assert_eq!(known.judge(&[user("a"), system("be brief")]), HistoryVerdict::Retry);
    assert_eq!(known.judge(&[user("a"), assistant("b"), user("c"), system("be brief")]), HistoryVerdict::Turn);
}

#[test]
fn a_request_that_names_an_answer_goes_on_from_there() {
    let named = Signals { previous_response: Some("resp_1".to_owned()), ..Signals::default() };
    let request = ClientRequest { signals: named, ..request(vec![user("c")]) };
    let chain = Chain::from_request(&tenant(), &request);
    assert_eq!(chain.start(), tenant().response_digest("resp_1"));
    let head = HistoryHead { asked: *tenant().digest(), answered: vec![tenant().response_digest("resp_1")] };
    assert_eq!(judge_history(Some(&head), 0, 0, &chain, &request.items), HistoryVerdict::Turn);
}

/// A compaction item is the client's doing, however much of the old history it keeps.
#[test]
fn a_history_that_was_put_in_short_is_known_as_that() {
    let mut known = Known::default();
    known.record(&[user("a"), assistant("b"), user("c")], Some(assistant("d")));
    let compaction =
        item(Speaker::Other, vec![ContentBlock::Other { kind: "compaction".to_owned(), json: json!({}) }]);
    assert_eq!(known.judge(&[user("a"), compaction.clone(), user("e")]), HistoryVerdict::ClientCompaction);
    known.record(&[user("a"), compaction.clone(), user("e")], Some(assistant("f")));
    assert_eq!(known.judge(&[user("a"), compaction, user("e"), assistant("f"), user("g")]), HistoryVerdict::Turn);
}
