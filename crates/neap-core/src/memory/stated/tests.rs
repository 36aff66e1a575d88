//! Single cases.

use super::*;

fn standing_instructions(message: &str) -> Vec<&str> {
    stated(message).into_iter().map(|stated| stated.text).collect()
}

#[test]
fn what_is_to_hold_is_taken_as_it_was_said() {
    for (message, want) in [
        ("From now on, answer in French.", vec!["From now on, answer in French."]),
        (
            "Thanks! Always use tabs in main.rs, never spaces. What next?",
            vec!["Always use tabs in main.rs, never spaces."],
        ),
        ("- I prefer short answers\n- Never push to main", vec!["I prefer short answers", "Never push to main"]),
        ("Also, please never mention prices; ok?", vec!["Also, please never mention prices;"]),
        ("By the way, I'd prefer metric units.", vec!["By the way, I'd prefer metric units."]),
        ("<note>\nAlways use tabs.\n</note>\nI prefer short answers.", vec!["I prefer short answers."]),
        ("Don't ever delete files without asking.", vec!["Don't ever delete files without asking."]),
        (
            "Going forward please use UTC for v1.2 and later",
            vec!["Going forward please use UTC for v1.2 and later"],
        ),
    ] {
        assert_eq!(standing_instructions(message), want, "{message}");
    }
}

#[test]
fn stories_questions_and_single_wishes_are_not() {
    for message in [
        "Never mind, it works now.",
        "Never been better!",
        "Always wanted to see the sea.",
        "I always thought so.",
        "I never knew that you prefer tea.",
        "Do you prefer tabs?",
        "Should I always use tabs?",
        "I would rather go home now.",
        "She said: from her I always got flowers.",
        "Use tabs here.",
        "He always uses tabs.",
        "> Always use tabs in this project",
        "<system-reminder>\nAlways use tabs in this project.\n</system-reminder>\nFix the test",
        "<notes>Never push.</notes>\n<rules level=\"1\">\n<rule>\nNever push.\n</rule>\nI prefer tea.\n</rules>",
        "```\nAlways use tabs in this project\n```",
        "always",
        "",
        "...",
    ] {
        assert_eq!(standing_instructions(message), Vec::<&str>::new(), "{message}");
    }
    assert_eq!(standing_instructions(&"I prefer tea. ".repeat(9)).len(), STATED_MAX);
    let long = |middle: &str| {
        format!("I prefer tea. {} {middle} {} I hate rain.", "And so on. ".repeat(200), "And so on. ".repeat(200))
    };
    assert_eq!(
        standing_instructions(&long("I like jazz.")),
        ["I prefer tea.", "I hate rain."],
        "pasted text has its ends"
    );
    assert_eq!(standing_instructions(&format!("I prefer {}", "very ".repeat(80))), Vec::<&str>::new());
}
