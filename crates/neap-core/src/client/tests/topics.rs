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

/// A coding agent's conversation: what a person says, what the agent answers, and whether it begins work.
const CODING: [(&str, &str, bool); 22] = [
    ("hi", "Hello, what shall we do?", false),
    ("The nightly export writes empty files since the billing release", "I read export/nightly.rs.", true),
    ("run the tests", "All 212 tests pass.", false),
    ("hm, the export still fails with an empty file on the second tenant", "The tenant filter is wrong.", false),
    ("fix it", "I changed the filter in export/nightly.rs.", false),
    ("now run the full suite again and show me the failures", "One failure in the tenant tests.", false),
    ("looks like the test is wrong, please update the tenant test", "Updated tests/tenant.rs.", false),
    ("continue", "The export works for both tenants.", false),
    ("commit this with a good message", "Committed.", false),
    ("why is the filter so slow on big tenants?", "It reads every row of the tenant.", false),
    ("can you add an index for the tenant filter?", "Added the index.", false),
    ("yes", "Done.", false),
    ("great, that fixed it", "Good.", false),
    ("Next task: the login page needs a link to reset passwords", "I read pages/login.", true),
    ("use the same style as the register link", "Styled like the register link.", false),
    ("it doesn't show on mobile", "The media query hid the link.", false),
    ("show me the diff", "The diff has 12 lines.", false),
    ("push it", "Pushed.", false),
    ("try again", "Pushed now.", false),
    ("Separately, bump the compiler to the current version", "Bumped in rust-toolchain.toml.", true),
    ("any warnings?", "Two warnings about unused imports.", false),
    ("remove the unused imports", "Removed both unused imports.", false),
];

#[test]
fn a_coding_agents_work_is_told_from_its_steps() {
    let mut topics = TopicTracker::default();
    for (at, (said, answered, begins)) in CODING.into_iter().enumerate() {
        let change = topics.observe_user(said, Stamp(at as i64));
        assert_eq!(matches!(change, TopicChange::Opens(_)), begins, "{said:?}: {change:?}");
        topics.observe(answered);
    }
}
