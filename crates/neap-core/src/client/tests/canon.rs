//! What counts in an item, and what does not.

use serde_json::json;

use super::*;
use crate::client::{Chain, canonical_bytes};

#[track_caller]
fn same(a: &HistoryItem, b: &HistoryItem) {
    assert_eq!(canonical_bytes(a), canonical_bytes(b));
}

#[track_caller]
fn apart(a: &HistoryItem, b: &HistoryItem) {
    assert_ne!(canonical_bytes(a), canonical_bytes(b));
}

fn other(json: serde_json::Value) -> HistoryItem {
    item(Speaker::User, vec![ContentBlock::Other { kind: "image".to_owned(), json }])
}

fn calling(id: &str, arguments: &str) -> HistoryItem {
    let call = ToolCall { id: id.to_owned(), name: "run".to_owned(), arguments: arguments.to_owned() };
    item(Speaker::Assistant, vec![ContentBlock::ToolCall(call)])
}

#[test]
fn what_clients_change_without_meaning_it_does_not_count() {
    // Thinking and empty text do not count.
    let thought = item(Speaker::Assistant, vec![ContentBlock::Thinking, text(""), text("hi")]);
    same(&thought, &assistant("hi"));
    // Argument keys in any order, spaces between them, no arguments.
    same(&calling("c", r#"{"a": 1, "b": {"d": 2, "c": [3]}}"#), &calling("c", r#"{"b":{"c":[3],"d":2},"a":1}"#));
    same(&calling("c", ""), &calling("c", "{}"));
    // Cache marks, ids, statuses, null and empty values.
    let plain = other(json!({"type": "image", "source": {"data": "x"}}));
    let marked = json!({"source": {"data": "x", "detail": null}, "type": "image", "id": "1", "status": "done",
        "annotations": [], "name": "", "cache_control": {"type": "ephemeral"}});
    same(&plain, &other(marked));
}

#[test]
fn what_means_something_counts() {
    apart(&user("hi"), &assistant("hi"));
    apart(&user("hi"), &user("hi "));
    apart(&item(Speaker::User, vec![text("a"), text("b")]), &user("ab"));
    apart(&calling("c", "{}"), &calling("d", "{}"));
    apart(&calling("c", r#"{"a":1}"#), &calling("c", r#"{"a":2}"#));
    apart(&calling("c", "not json"), &calling("c", "not  json"));
    apart(&answers("c", "1"), &answers("c", "2"));
    let failed = ContentBlock::ToolResult { id: "c".to_owned(), content: vec![text("1")], failed: true };
    apart(&item(Speaker::User, vec![failed]), &answers("c", "1"));
    apart(&other(json!({"source": "x"})), &other(json!({"source": "y"})));
    let reference =
        |id: &str| ContentBlock::Other { kind: "item_reference".to_owned(), json: json!({ "id": id }) };
    apart(&item(Speaker::Other, vec![reference("a")]), &item(Speaker::Other, vec![reference("b")]));
}

/// An item's link is cached for one place in one history: elsewhere, and after a change, it is another.
#[test]
fn what_stands_for_an_item_is_its_own() {
    let history = request(vec![user("a"), assistant("b"), user("c")]);
    let anew =
        |items: &[HistoryItem]| request(items.iter().map(|one| item(one.speaker, one.blocks.to_vec())).collect());
    let links = |request: &ClientRequest| Chain::from_request(&tenant(), request).links().to_vec();
    let first = links(&history);
    assert_eq!(links(&history), first);
    // Another tenant; another beginning; another speaker; another text.
    let other = Tenant::from_key(Some("sk-two"));
    assert_eq!(Chain::from_request(&other, &history), Chain::from_request(&other, &anew(&history.items)));
    assert_ne!(Chain::from_request(&other, &history).links(), first);
    let mut changed = history.clone();
    changed.items.remove(0);
    changed.items[1].speaker = Speaker::Assistant;
    changed.items.push(history.items[2].clone());
    changed.items[2].blocks.push(text("d"));
    assert_eq!(links(&changed), links(&anew(&changed.items)));
    assert_eq!(links(&history), first);
}

/// Programs put the time of day and their version into them.
#[test]
fn instructions_at_the_beginning_do_not_count() {
    let with = |words: &str| {
        Chain::from_request(&tenant(), &request(vec![system(words), system("more"), user("a"), system("x")]))
    };
    let (one, two) = (with("It is Monday."), with("It is Tuesday."));
    assert_eq!(one, two);
    assert_eq!((one.unlinked_len(), one.prefix_digest(2)), (2, one.start()));
    assert_ne!(one.prefix_digest(3), one.prefix_digest(4), "later ones do");
}

#[test]
fn an_item_of_thoughts_adds_no_link() {
    let thoughts = item(Speaker::Assistant, vec![ContentBlock::Thinking]);
    let chain = Chain::from_request(&tenant(), &request(vec![user("a"), thoughts.clone(), assistant("b")]));
    assert_eq!(chain.links()[0], chain.links()[1]);
    let without = Chain::from_request(&tenant(), &request(vec![user("a"), assistant("b")]));
    assert_eq!(chain.prefix_digest(3), without.prefix_digest(2));
    assert_eq!(Chain::from_request(&tenant(), &request(vec![thoughts])).prefix_digest(1), *tenant().digest());
}

/// I11: two keys never share a link.
#[test]
fn tenants_share_no_link() {
    let history = request(vec![user("hello"), assistant("hi")]);
    let (one, two) = (
        Chain::from_request(&tenant(), &history),
        Chain::from_request(&Tenant::from_key(Some("sk-two")), &history),
    );
    assert!(one.links().iter().all(|link| !two.links().contains(link)));
    assert_ne!(Tenant::from_key(None), tenant());
    assert!(!format!("{:?}", tenant()).contains("sk-one"));
}

#[test]
fn instructions_at_the_end_may_move() {
    let before = request(vec![user("a"), system("be brief")]);
    let chain = Chain::from_request(&tenant(), &before);
    assert_eq!((chain.stable_len(), chain.stable_digest()), (1, chain.links()[0]));
    // The reply is found whether they stay or move.
    let (ends, links) = chain.reply_digests(&[assistant("b")]);
    assert_eq!((ends.len(), links.len()), (2, 2));
    let moved =
        Chain::from_request(&tenant(), &request(vec![user("a"), assistant("b"), user("c"), system("be brief")]));
    let stayed =
        Chain::from_request(&tenant(), &request(vec![user("a"), system("be brief"), assistant("b"), user("c")]));
    assert_eq!(ends, [moved.prefix_digest(2), stayed.prefix_digest(3)]);
}

#[test]
fn digests_are_read_as_they_are_written() {
    let digest = *tenant().digest();
    let text = serde_json::to_string(&digest).expect("it is text");
    assert_eq!(text.len(), 34);
    assert_eq!(serde_json::from_str::<crate::base::digest::Digest>(&text).expect("a digest"), digest);
    for wrong in ["\"\"", "\"xyz\"", "\"0123456789abcdef0123456789abcdeg\"", "\"ééééééééééééééééé\""]
    {
        assert!(serde_json::from_str::<crate::base::digest::Digest>(wrong).is_err(), "{wrong}");
    }
}
