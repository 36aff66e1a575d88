//! Of two statements of the same thing the later holds, and comes first.

use super::super::Recollection;
use super::Talk;
use super::packing::recall;

const ASKED: &str = "Where does Ada work?";

fn told(said: &[&str]) -> Recollection {
    let mut talk = Talk::default();
    for (day, text) in (1..).zip(said) {
        talk.say("a", day, "user", text);
    }
    recall(&talk, ASKED, 500)
}

/// What is marked as out of date, oldest first.
fn stale(page: &Recollection) -> Vec<&str> {
    page.shown.iter().filter(|item| item.is_stale).map(|item| item.text.as_str()).collect()
}

#[test]
fn what_was_put_out_of_date_is_marked_and_the_current_leads() {
    // The shorter says more for itself.
    let page = told(&["Ada does work at Acme", "Ada does work at Initech these days as far as we know"]);
    assert_eq!(stale(&page), ["Ada does work at Acme"]);
    assert_eq!(page.best.as_deref(), Some("Ada does work at Initech these days as far as we know"));
    assert!(page.text.contains("[user, since changed] Ada does work at Acme\n"), "{}", page.text);
}

/// However often it changed: only the last holds.
#[test]
fn the_last_of_several_holds() {
    let page = told(&["Ada does work at Acme", "ADA does work at Initech", "Ada does work at Hooli"]);
    assert_eq!(stale(&page), ["Ada does work at Acme", "ADA does work at Initech"]);
    assert_eq!(page.best.as_deref(), Some("Ada does work at Hooli"));
}

/// The same again, however it is written, puts nothing out of date; nor does what begins and ends otherwise.
#[test]
fn what_says_the_same_or_something_else_holds() {
    assert_eq!(stale(&told(&["Ada does work at Acme.", "ada does WORK at acme!"])), Vec::<&str>::new());
    assert_eq!(
        stale(&told(&["Ada does work at Acme", "Ada does play the violin and work on it"])),
        Vec::<&str>::new()
    );
}
