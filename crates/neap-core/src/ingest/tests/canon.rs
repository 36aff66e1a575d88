//! What counts of an item, and what does not.

use serde_json::json;

use super::*;
use crate::ingest::{Chain, canonical};

#[track_caller]
fn same(a: &Item, b: &Item) {
    assert_eq!(canonical(a), canonical(b));
}

#[track_caller]
fn apart(a: &Item, b: &Item) {
    assert_ne!(canonical(a), canonical(b));
}

fn other(json: serde_json::Value) -> Item {
    item(Speaker::User, vec![Block::Other { kind: "image".to_owned(), json }])
}

fn calling(id: &str, arguments: &str) -> Item {
    let call = ToolCall { id: id.to_owned(), name: "run".to_owned(), arguments: arguments.to_owned() };
    item(Speaker::Assistant, vec![Block::Call(call)])
}

#[test]
fn what_clients_change_without_meaning_it_does_not_count() {
    // Thoughts and what is empty are as if they were not there.
    let thought = item(Speaker::Assistant, vec![Block::Thinking, text(""), text("hi")]);
    same(&thought, &assistant("hi"));
    // Keys of arguments in any order, spaces between them, none at all.
    same(&calling("c", r#"{"a": 1, "b": {"d": 2, "c": [3]}}"#), &calling("c", r#"{"b":{"c":[3],"d":2},"a":1}"#));
    same(&calling("c", ""), &calling("c", "{}"));
    // Marks for the cache, ids, states, what is null or empty.
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
    let failed = Block::Answer { id: "c".to_owned(), content: vec![text("1")], failed: true };
    apart(&item(Speaker::User, vec![failed]), &answers("c", "1"));
    apart(&other(json!({"source": "x"})), &other(json!({"source": "y"})));
    let reference = |id: &str| Block::Other { kind: "item_reference".to_owned(), json: json!({ "id": id }) };
    apart(&item(Speaker::Other, vec![reference("a")]), &item(Speaker::Other, vec![reference("b")]));
}

/// An item's link is worked out once, for one place in one history: elsewhere, and when it is changed, it is another.
#[test]
fn what_stands_for_an_item_is_its_own() {
    let said = heard(vec![user("a"), assistant("b"), user("c")]);
    let anew = |items: &[Item]| heard(items.iter().map(|one| item(one.speaker, one.blocks.to_vec())).collect());
    let links = |heard: &Heard| Chain::of(&tenant(), heard).links().to_vec();
    let first = links(&said);
    assert_eq!(links(&said), first);
    // Of somebody else; after another beginning; as somebody else's words; in other words.
    let other = Tenant::of_key(Some("sk-two"));
    assert_eq!(Chain::of(&other, &said), Chain::of(&other, &anew(&said.items)));
    assert_ne!(Chain::of(&other, &said).links(), first);
    let mut changed = said.clone();
    changed.items.remove(0);
    changed.items[1].speaker = Speaker::Assistant;
    changed.items.push(said.items[2].clone());
    changed.items[2].blocks.push(text("d"));
    assert_eq!(links(&changed), links(&anew(&changed.items)));
    assert_eq!(links(&said), first);
}

/// Programs put the time of day into them, and their own version.
#[test]
fn instructions_at_the_beginning_do_not_count() {
    let with =
        |words: &str| Chain::of(&tenant(), &heard(vec![system(words), system("more"), user("a"), system("x")]));
    let (one, two) = (with("It is Monday."), with("It is Tuesday."));
    assert_eq!(one, two);
    assert_eq!((one.unlinked(), one.upto(2)), (2, one.start()));
    assert_ne!(one.upto(3), one.upto(4), "later ones do");
}

#[test]
fn an_item_of_thoughts_adds_no_link() {
    let thoughts = item(Speaker::Assistant, vec![Block::Thinking]);
    let chain = Chain::of(&tenant(), &heard(vec![user("a"), thoughts.clone(), assistant("b")]));
    assert_eq!(chain.links()[0], chain.links()[1]);
    let without = Chain::of(&tenant(), &heard(vec![user("a"), assistant("b")]));
    assert_eq!(chain.upto(3), without.upto(2));
    assert_eq!(Chain::of(&tenant(), &heard(vec![thoughts])).upto(1), *tenant().digest());
}

/// I11: two keys never share a link, whatever is said.
#[test]
fn tenants_share_no_link() {
    let said = heard(vec![user("hello"), assistant("hi")]);
    let (one, two) = (Chain::of(&tenant(), &said), Chain::of(&Tenant::of_key(Some("sk-two")), &said));
    assert!(one.links().iter().all(|link| !two.links().contains(link)));
    assert_ne!(Tenant::of_key(None), tenant());
    assert!(!format!("{:?}", tenant()).contains("sk-one"));
}

#[test]
fn instructions_at_the_end_may_move() {
    let before = heard(vec![user("a"), system("be brief")]);
    let chain = Chain::of(&tenant(), &before);
    assert_eq!((chain.stem(), chain.asked()), (1, chain.links()[0]));
    // The answer is found whether they stay or go.
    let (ends, links) = chain.answered(&[assistant("b")]);
    assert_eq!((ends.len(), links.len()), (2, 2));
    let moved = Chain::of(&tenant(), &heard(vec![user("a"), assistant("b"), user("c"), system("be brief")]));
    let stayed = Chain::of(&tenant(), &heard(vec![user("a"), system("be brief"), assistant("b"), user("c")]));
    assert_eq!(ends, [moved.upto(2), stayed.upto(3)]);
}

#[test]
fn digests_are_read_as_they_are_written() {
    let digest = *tenant().digest();
    let text = serde_json::to_string(&digest).expect("it is text");
    assert_eq!(text.len(), 34);
    assert_eq!(serde_json::from_str::<crate::ingest::Digest>(&text).expect("a digest"), digest);
    for wrong in ["\"\"", "\"xyz\"", "\"0123456789abcdef0123456789abcdeg\"", "\"ééééééééééééééééé\""]
    {
        assert!(serde_json::from_str::<crate::ingest::Digest>(wrong).is_err(), "{wrong}");
    }
}
