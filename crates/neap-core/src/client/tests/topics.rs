//! Detection of where work begins and ends.

use crate::base::ids::Stamp;
use crate::client::{TopicChange, TopicTracker};

const HOUR: i64 = 3_600_000;

fn cart() -> TopicTracker {
    let mut topics = TopicTracker::default();
    let change =
        topics.observe_user("The total in cart.rs is wrong when a coupon is applied, please fix it", Stamp(0));
    assert_eq!(change, TopicChange::Opens("total cart wrong coupon".to_owned()));
    topics.observe("The coupon was applied twice in src/cart.rs, function apply_coupon; I changed the loop.");
    topics
}

#[track_caller]
fn check(message: &str, after: i64, want: &str) {
    let change = cart().observe_user(message, Stamp(after));
    let got = match &change {
        TopicChange::Continues => "goes on",
        TopicChange::Opens(_) => "opens",
        TopicChange::Closes => "closes",
    };
    assert_eq!(got, want, "{message:?}: {change:?}");
}

#[test]
fn work_begins_where_nothing_is_in_common() {
    check("Help me plan a trip to Lisbon with two small children in April", 1, "opens");
    check("Unrelated: which database should the reporting service use?", 1, "opens");
    check("The deploy pipeline fails with a certificate problem on staging hosts", HOUR, "opens");
    check("New task: the coupon emails should be sent in the evening", 1, "opens");
    // A pause alone begins nothing.
    check("Does the coupon also expire in the cart of a guest?", 9 * HOUR, "goes on");
    check("Where did the invoices of the warehouse end up yesterday evening?", 9 * HOUR, "opens");
}

#[test]
fn work_goes_on_where_something_is() {
    check("Does the coupon loop handle an empty list?", 1, "goes on");
    check("And what happens for a guest without an account on mobile?", 1, "goes on");
    check("Rename it", 1, "goes on");
    check("yes please, go ahead and run everything once more", 1, "goes on");
    check("please look at src/cart.rs again, line forty seems odd to me today", 1, "goes on");
    check("ok", 1, "goes on");
    check("", 1, "goes on");
}

/// Only an explicit sign ends work: a pause or another topic does not.
#[test]
fn work_ends_only_on_an_explicit_sign() {
    for message in
        ["Great, that fixed it", "thanks, it's resolved", "All done. Ship it!", "it works now", "we're done here"]
    {
        check(message, 1, "closes");
    }
    for message in [
        "let's do this later",
        "put it on hold",
        "it's not fixed",
        "is it done?",
        "it should be done by tomorrow",
        "once it is fixed we can merge",
        "it works now but the test still fails",
        "let's do the emails instead",
        "thanks",
    ] {
        check(message, 1, "goes on");
    }
}

#[test]
fn what_was_said_long_ago_is_no_longer_in_play() {
    let mut topics = cart();
    for turn in 0..10 {
        topics.observe_user(&format!("and now chapter {turn} about rivers"), Stamp(turn));
    }
    let change = topics.observe_user("please fix the coupon total of cart checkout again", Stamp(20));
    assert!(matches!(change, TopicChange::Opens(_)), "{change:?}");
}
