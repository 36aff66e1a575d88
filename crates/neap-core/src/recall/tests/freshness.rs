//! The later of two statements of the same thing leads; the earlier is marked.

use super::super::RecalledContext;
use super::Talk;
use super::packing::recall;

const ASKED: &str = "Where does Ada work?";

fn recalled(texts: &[&str]) -> RecalledContext {
    let mut talk = Talk::default();
    for (day, text) in (1..).zip(texts) {
        talk.say("a", day, "user", text);
    }
    recall(&talk, ASKED, 500)
}

/// Texts marked as outdated, oldest first.
fn stale(page: &RecalledContext) -> Vec<&str> {
    page.shown.iter().filter(|item| item.is_stale).map(|item| item.text.as_str()).collect()
}

#[test]
fn what_was_put_out_of_date_is_marked_and_the_current_leads() {
    // The shorter has the higher own score.
    let page = recalled(&["Ada does work at Acme", "Ada does work at Initech these days as far as we know"]);
    assert_eq!(stale(&page), ["Ada does work at Acme"]);
    assert_eq!(page.best.as_deref(), Some("Ada does work at Initech these days as far as we know"));
    assert!(page.text.contains("[user, since changed] Ada does work at Acme\n"), "{}", page.text);
}

#[test]
fn the_last_of_several_holds() {
    let page = recalled(&["Ada does work at Acme", "ADA does work at Initech", "Ada does work at Hooli"]);
    assert_eq!(stale(&page), ["Ada does work at Acme", "ADA does work at Initech"]);
    assert_eq!(page.best.as_deref(), Some("Ada does work at Hooli"));
}

/// A repetition, however written, outdates nothing; nor does a text with another beginning and end.
#[test]
fn what_says_the_same_or_something_else_holds() {
    assert_eq!(stale(&recalled(&["Ada does work at Acme.", "ada does WORK at acme!"])), Vec::<&str>::new());
    assert_eq!(
        stale(&recalled(&["Ada does work at Acme", "Ada does play the violin and work on it"])),
        Vec::<&str>::new()
    );
}
