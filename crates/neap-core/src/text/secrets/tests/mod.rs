//! Tests of what is masked: formats and look-alikes generated from descriptions, several values each, in several
//! contexts.
//!
//! Two thirds of the formats were used while writing the rules; the others are held out, with values of their own.
//! The snapshot of [`report`] has the figures of each.

mod before;
mod formats;
mod generate;
mod harmless;
mod inside;
mod linear;
mod report;

use std::sync::LazyLock;

use regex::Regex;

use super::{Masking, count_masks, mask, mask_id};

static LABEL: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\[masked: [^\]]*\]").expect("a form of ours"));

fn without_labels(text: &str) -> String {
    LABEL.replace_all(text, "[masked]").into_owned()
}

#[test]
fn a_masked_place_says_what_it_was_and_is_counted() {
    let key = format!("gs{}_{}", "k", "aB3dE6gH9jK2mN5pQ8sT1vW4".repeat(2));
    let (text, places) = mask(&format!("use {key} now, password=hunter2"));
    assert_eq!((text.as_str(), places), ("use [masked: groq api key] now, password=[masked: password]", 2));
    assert_eq!((count_masks(&text), count_masks("[masked] and [maskedd]"), count_masks("none")), (2, 1, 0));
}

#[test]
fn the_owner_may_turn_it_off() {
    assert_eq!(Masking::Off.mask("password=hunter2"), ("password=hunter2".into(), 0));
    assert_eq!(Masking::default().mask("password=hunter2").1, 1);
}

#[test]
fn what_was_json_stays_json() {
    for text in [
        r#"{"password":"hunter2","a":1}"#,
        r#"{"cmd":"export DB_PASS=hunter2\" && echo \"done","n":[1,2]}"#,
        r#"{"cmd":"password=abc\\","x":"token=\"q1w2e3r4\""}"#,
        r#"{"cookie":"Cookie: sid=a1b2c3d4e5f6g7h8","u":"postgres://a:b\"c@h/x"}"#,
    ] {
        let (masked, places) = Masking::On.mask(text);
        assert!(places > 0 && serde_json::from_str::<serde_json::Value>(&masked).is_ok(), "{masked}");
        assert_eq!(Masking::On.mask(&masked), (masked.clone(), 0), "{masked}");
    }
}

#[test]
fn keys_that_hold_a_secret_stay_apart_without_it() {
    let masked_id = |n: &str| mask_id(Masking::On, &format!("gl{}-{}{n}", "pat", "aB3dE6gH9jK2mN5pQ8sT"));
    assert_ne!(masked_id("1"), masked_id("2"));
    assert!(masked_id("1").starts_with("masked-") && !masked_id("1").contains("aB3dE6"));
    assert_eq!(mask_id(Masking::On, "turn-17"), "turn-17");
}

/// Most patterns are otherwise compiled only when their keyword turns up.
#[test]
fn every_rule_can_be_read_and_compiled() {
    for file in [include_str!("../gitleaks.txt"), include_str!("../ours.txt")] {
        for rule in super::rule::parse_rules(file) {
            rule.pattern.regex();
            assert!(rule.id == "*" || !rule.keywords.is_empty(), "{}", rule.id);
            assert!(rule.keywords.iter().all(|word| !word.bytes().any(|b| b.is_ascii_uppercase())), "{}", rule.id);
        }
    }
}

proptest::proptest! {
    #[test]
    fn masking_again_changes_nothing(
        text in "(password|token|secret|api key|bearer|is|=|:|://u:|@|\"|'|\\\\| |\n|ghp_|sk-|Cookie: |[a-zA-Z0-9]{1,24}|[0-9a-f]{32}|\\[masked\\]|\\[masked: |\\]|\\PC){0,24}"
    ) {
        let (once, places) = mask(&text);
        proptest::prop_assert_eq!(mask(&once), (once.clone(), 0));
        proptest::prop_assert!(count_masks(&once) >= places as usize);
    }
}
