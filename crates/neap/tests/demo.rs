//! `neap demo`: what it claims is measured, and fits the terminal.

use crate::rig::Neap;

#[test]
fn the_demonstration_keeps_its_promise() {
    let neap = Neap::new();
    let told = neap.json(&["demo", "--fast"]);
    let number = |name: &str| told[name].as_u64().unwrap_or_else(|| panic!("{name}: {told}"));
    assert_eq!(number("turns"), 200);
    assert!(number("tokens_max") <= number("budget"), "flat: {told}");
    assert!(number("everything_last") > 4 * number("tokens_max"), "the other climbs: {told}");
    assert_eq!((number("efforts_opened"), number("efforts_closed")), (20, 20), "{told}");
    assert!(number("efforts_expanded") >= 2, "{told}");
    let fact = &told["fact"];
    assert_eq!(fact["word_for_word"], true, "{fact}");
    assert!(fact["answer"].as_str().is_some_and(|answer| answer.contains(fact["said"].as_str().expect("a text"))));
    assert!(told["price"]["saved_dollars"].as_f64() > Some(0.1), "{told}");
    assert!(!neap.data().exists(), "nothing is kept");
}

#[test]
fn without_a_terminal_it_prints_plain_lines_that_fit() {
    for columns in [40, 80, 200] {
        let neap = Neap::new();
        let mut command = neap.command(&["demo"]);
        let output = command.env("COLUMNS", columns.to_string()).output().expect("it runs");
        let said = String::from_utf8(output.stdout).expect("text");
        let wide: Vec<&str> = said.lines().filter(|line| line.chars().count() > columns).collect();
        assert_eq!(wide, [""; 0]);
        assert!(said.contains("turn 200  everything ") && said.contains("neap run -- claude"), "{said}");
        assert!(said.contains("must start at 03:40") && !said.contains('\u{1b}'), "{said}");
    }
}
