//! Pairs of sentences that contradict each other, may, or do not.

use super::*;

#[track_caller]
fn clear(old: &str, new: &str, evidence: &str) {
    let want = Contradiction { is_clear: true, evidence: evidence.to_owned() };
    assert_eq!(compare(old, new).contradiction, Some(want), "{old} | {new}");
}

#[track_caller]
fn likely(old: &str, new: &str) {
    assert!(compare(old, new).contradiction.is_some_and(|contradiction| !contradiction.is_clear), "{old} | {new}");
}

#[track_caller]
fn none(old: &str, new: &str) {
    assert_eq!(compare(old, new).contradiction, None, "{old} | {new}");
}

#[test]
fn a_value_in_the_same_place_contradicts() {
    clear("The timeout is 30 s", "The timeout is now 45 s", "timeout 30 s → 45 s");
    clear("Tim prefers Celsius", "Tim prefers Fahrenheit", "prefers Celsius → Fahrenheit");
    clear("Tim lives in Oslo", "Tim lives in Bergen", "lives Oslo → Bergen");
    clear("billing timeout=30s", "billing timeout=45s", "timeout 30 s → 45 s");
    clear("The default branch is main", "The default branch is trunk", "branch main → trunk");
    clear("Newton has 3 services", "Newton has four services", "Newton 3 services → four services");
    clear("Tim prefers dark mode", "Tim prefers light mode", "prefers dark → light");
    clear("The flag is enabled", "The flag is disabled", "flag enabled → disabled");
    clear("The CEO of Acme is Ann Lee", "The CEO of Acme is Bo Ek", "Acme Ann Lee → Bo Ek");
    clear("Ann is married to Bo", "Ann is married to Carl", "married Bo → Carl");
    clear(
        "The pool has a limit of 1,000 tokens",
        "The pool has a limit of 2000 tokens",
        "limit 1,000 tokens → 2000 tokens",
    );
}

#[test]
fn a_denial_contradicts() {
    clear("Tim likes coffee", "Tim does not like coffee", "Tim likes coffee → Tim does not like coffee");
    clear("Tim no longer lives in Oslo", "Tim lives in Oslo", "Tim no longer lives in Oslo → Tim lives in Oslo");
    clear("The cache isn't shared", "The cache is shared", "The cache isn't shared → The cache is shared");
    none("Tim prefers Celsius", "Tim prefers Celsius not Fahrenheit");
}

/// A contrast says the same as the positive statement.
#[test]
fn what_is_set_off_against_something_contradicts_that() {
    let evidence = "prefers Celsius → Fahrenheit";
    for old in ["Tim prefers Celsius, not Fahrenheit", "Tim prefers Celsius rather than Fahrenheit."] {
        clear(old, "Tim prefers Fahrenheit", evidence);
        clear(old, "Tim prefers Fahrenheit, not Celsius", evidence);
    }
    clear("Tim prefers Celsius", "Tim prefers Fahrenheit instead of Celsius", evidence);
    none("Tim prefers Celsius, not Fahrenheit", "Tim prefers Celsius");
    none("Tim prefers Celsius, not Fahrenheit", "Tim prefers Celsius instead of Fahrenheit");
    none("Tim likes tea, not coffee", "Tim likes jazz");
    let long = "Tim prefers tea, not one of the many kinds of coffee that they sell";
    none(long, "Tim prefers jazz");
}

#[test]
fn what_stands_side_by_side_does_not() {
    none("Tim lives in Oslo", "Tim prefers Celsius");
    none("Tim likes tea", "Tim likes jazz");
    none("The team uses Postgres", "The team uses Redis");
    none("Tim speaks German", "Tim speaks French");
    none("Tim prefers dark mode", "Tim prefers short answers");
    none("Tim is tall", "Tim is a vegetarian");
    none("The billing service is slow", "The billing service is written in Go");
    none("The club was founded in Rome", "The club was founded by Ann");
    none("Queen Ann is affiliated with the Church", "Queen Ann is married to Bo");
    none("The server listens on port 80", "The server listens on port 443");
    none("Release 1.2 fixed the crash", "Release 1.3 fixed the crash");
    none("On 2026-01-03 Tim ran 5 km", "On 2026-01-04 Tim ran 7 km");
}

#[test]
fn another_subject_is_no_contradiction() {
    none("Tim prefers Celsius", "Ann prefers Fahrenheit");
    none("Ann was born in Paris", "Bo was born in London");
    none("The author of Dune is Frank Herbert", "The author of Emma is Jane Austen");
    none("The author of Dune is Frank Herbert", "The author of Emma is Frank Herbert");
    none(
        "The maker of the Ford Transit is Ford Motor Company",
        "The maker of the Ford F-Series is Ford Motor Company",
    );
    none("Team A uses Postgres", "Team B uses Postgres");
}

#[test]
fn what_the_words_leave_open_is_likely() {
    likely("Tim prefers Vim", "Tim prefers Emacs");
    likely("The mascot is Ferris", "The mascot is Gopher");
    likely("Backups go to Frankfurt", "Backups go to Dublin");
    likely("The billing service runs on heron", "The billing service runs on plover");
    none("Tim works on search", "Tim works on billing");
    none("The billing service runs on heron", "The billing service runs in a container on heron");
}

#[test]
fn the_same_in_other_words_differs_in_nothing() {
    for (old, new) in [
        ("The timeout is 30 s", "Timeout is now 30 seconds."),
        ("Tim has two cats", "Tim has 2 cats"),
        ("1,000 tokens", "1000 tokens"),
        ("Tim prefers Celsius", "tim prefers celsius!"),
    ] {
        assert!(!compare(old, new).values_differ, "{old} | {new}");
    }
    for (old, new) in [
        ("Tim reports to Ann", "Ann reports to Tim"),
        ("The timeout is 30 s", "The timeout is 30 s for 5 minutes"),
        ("It works", "It never works"),
        ("Port 8080 is open", "Port 8081 is open"),
    ] {
        assert!(compare(old, new).values_differ, "{old} | {new}");
    }
}

/// `Shingon Buddhism` is not `Buddhism`.
#[test]
fn more_words_before_a_contradiction_are_told() {
    let prefix_differs = |old, new| compare(old, new).prefix_differs;
    assert!(prefix_differs("Shingon Buddhism was founded by Ann", "Buddhism was founded by Bo"));
    assert!(prefix_differs("Asia is in the continent of Mu", "The capital of Asia is in Ur"));
    assert!(prefix_differs("Tim's brother likes tea", "Tim does not like tea"));
    assert!(!prefix_differs("Tim lives in Oslo", "Tim lives in Bergen by the sea"));
}

#[test]
fn a_name_with_joints_is_one_value() {
    clear(
        "The school of Ann is Berklee College of Music",
        "The school of Ann is The University of Arts",
        "Ann Berklee College of Music → University of Arts",
    );
}

#[test]
fn numbers_with_the_same_unit_may_differ_in_other_words() {
    likely("The billing service times out after 30 s", "Billing: timeout of 45 seconds");
    none("It has 3 cats", "It has 4 dogs");
    none("after 30 s", "after 30 min");
    none("after 30 s or 40 s", "after 45 s");
}

#[test]
fn likeness_is_measured_around_the_values() {
    assert_eq!(compare("Tim prefers Celsius", "Tim prefers Fahrenheit").context_similarity, 1.0);
    // {bill, timeout, ·, s} and {bill, servic, timeout, ·, s}: 4 / √20.
    let around = compare("billing timeout is 30 s", "billing service timeout is 45 s").context_similarity;
    assert!((around - 4.0 / 20_f64.sqrt()).abs() < 1e-12, "{around}");
}

/// Letters that change length when lowercased.
#[test]
fn a_denial_is_cut_off_by_its_own_letters() {
    for stem in ["ẞ", "K", "İİİİ", "Ⱥ", "is", "DOES"] {
        for denial in ["n't", "N'T", "n’t"] {
            let found = super::word::tokenize(&format!("{stem}{denial}"));
            assert_eq!(found.last().map(|word| word.key.as_str()), Some("not"), "{stem}{denial}");
            let shown: Vec<&str> = found.iter().map(|word| word.text.as_str()).collect();
            assert!(shown == [stem, "not"] || shown == ["not"], "{shown:?}");
        }
    }
}

proptest::proptest! {
    #[test]
    fn any_two_texts_are_compared(
        old in "(ẞ|K|İ|ŉ|Ⱥ|n't|N'T|n’t|'s|’s|-|€|5|30|%|°C|é| |[a-zA-Z]{1,6}|\\PC){0,16}",
        new in "(ẞ|K|İ|ŉ|Ⱥ|n't|N'T|n’t|'s|’s|-|€|5|30|%|°C|é| |[a-zA-Z]{1,6}|\\PC){0,16}",
    ) {
        proptest::prop_assert!(!compare(&old, &old).values_differ);
        let _ = compare(&old, &new);
    }
}
