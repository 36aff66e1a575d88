//! What holds for every result.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::client::trim::lines::ERRORS_SHOWN_MAX;

/// Words are without vowels, so that none is by chance one of a problem.
fn log_line() -> impl Strategy<Value = String> {
    prop_oneof![
        "2026-01-0[1-9] 10:0[0-9]:[0-5][0-9] INFO [b-dg-hj-n]{3,9} [b-dg-hj-n]{3,9} [0-9]{1,5}",
        "test [b-dg-hj-n]{3,8}::[b-dg-hj-n]{3,8}_error \\.\\.\\. ok",
        "   Compiling [b-dg-hj-n]{3,9} v[0-9]\\.[0-9]",
        "[b-dg-hj-n]{2,9}( [b-dg-hj-n]{2,9}){3,14}\\.",
    ]
}

fn entry_line() -> impl Strategy<Value = String> {
    "(src|tests|docs)/[a-z]{2,6}/(error|[a-z]{2,8})\\.rs"
}

/// Lines of one kind, with problems at random places.
fn with_planted(
    lines: impl Strategy<Value = String>,
    planted: std::ops::Range<usize>,
) -> impl Strategy<Value = (String, usize)> {
    (
        prop::collection::vec(lines, 400..900),
        prop::collection::vec((any::<prop::sample::Index>(), 0..5_u8), planted),
    )
        .prop_map(|(mut lines, places)| {
            for (n, (place, kind)) in places.iter().enumerate() {
                let line = match kind {
                    0 => format!("error: E{n:04} cannot borrow `x` as mutable"),
                    1 => format!("FAILED E{n:04} tests of a module"),
                    2 => format!("AssertionError: E{n:04} is not 3"),
                    3 => format!("panicked: E{n:04} index out of bounds"),
                    _ => format!("  E   E{n:04} an exception was raised in it"),
                };
                lines.insert(place.index(lines.len()), line);
            }
            (lines.join("\n"), places.len())
        })
}

fn check_planted(text: &str, count: usize) -> Result<(), TestCaseError> {
    let short = trimmed(text);
    let shown = (0..count).filter(|n| short.contains(&format!("E{n:04} "))).count();
    prop_assert!(shown >= count.min(ERRORS_SHOWN_MAX), "{} of {}:\n{}", shown, count, short);
    prop_assert!(short.contains(&format!(" with {count} error line")), "{}", short);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    /// Errors are never lost; of more than the cap, the others are counted.
    #[test]
    fn every_error_in_an_output_is_shown((text, count) in with_planted(log_line(), 1..40)) {
        check_planted(&text, count)?;
    }

    #[test]
    fn every_error_in_a_listing_is_shown((text, count) in with_planted(entry_line(), 1..40)) {
        check_planted(&text, count)?;
    }

    #[test]
    fn every_error_in_a_document_is_shown(
        size in 200..600_usize,
        places in prop::collection::btree_set(0..200_usize, 1..30),
        nested in any::<bool>(),
    ) {
        let items: Vec<Value> = (0..size).map(|n| {
            let error = places.contains(&n).then(|| format!("E{n:04} no such disk"));
            let item = json!({"id": n, "name": format!("disk {n}"), "size": n * 37, "error": error});
            if nested { json!({"disk": {"state": item}}) } else { item }
        }).collect();
        let short = trimmed(&json!({"items": items, "total": size}).to_string());
        let shown = places.iter().filter(|n| short.contains(&format!("E{n:04} no"))).count();
        prop_assert!(shown >= places.len().min(ERRORS_SHOWN_MAX), "{} of {}:\n{}", shown, places.len(), short);
        let counted = format!("{} of {}:]", shown.min(ERRORS_SHOWN_MAX), places.len());
        prop_assert!(short.contains(&counted), "{}", short);
    }

    /// Any text stays as it is, or becomes a short one that stays; always the same.
    #[test]
    fn any_text_can_be_trimmed(
        lines in prop::collection::vec("(\\PC{0,80}|[a-z ]{0,90}|error: \\PC{0,60}|[{}\\[\\]\",:0-9]{0,40}|\r|\x1b\\[3[0-9]m[a-z]+)", 0..300),
        joint in prop::sample::select(vec!["\n", "\r\n", " ", ""]),
    ) {
        let text = lines.join(joint);
        let short = trim_text(&WordCounter, &long(&text));
        prop_assert_eq!(&short, &trim_text(&WordCounter, &long(&text)));
        if let Some(short) = short {
            prop_assert!(wire_tokens(&short) <= Tokens(TRIMMED_PROBLEM_TOKENS.1));
            prop_assert_eq!(trim_text(&WordCounter, &long(&short)), None);
        } else {
            prop_assert!(wire_tokens(&text) < TRIM_TOKENS_MIN || code::is_file_or_diff(&text) || code::is_source(&text) || json::parse(&text).is_some());
        }
    }
}
