//! Tests of receipts of whole conversations, and of repair.

use proptest::prelude::*;

use super::*;
use crate::base::message::Message;

fn log() -> Vec<Message> {
    vec![
        Message::user("The export in src/io/net.rs takes 30 s on host exp-7 since 8 May 2026. Why?"),
        Message::assistant(
            "vm.swappiness=90 was the cause. We chose not to add a cache, because data must be fresh.",
        ),
        Message::user(
            "I'll deploy it by Friday. See https://ci.example.com/run/81. It cost $1,200. Should we tell Ana?",
        ),
    ]
}

#[test]
fn probes_are_found_once_each_in_order() {
    let found = probes(&log());
    let values =
        |kind: ProbeKind| found.iter().filter(|p| p.kind == kind).map(|p| p.value.as_str()).collect::<Vec<_>>();
    assert_eq!(values(ProbeKind::Identifier), ["exp-7", "vm.swappiness"]);
    assert_eq!(values(ProbeKind::Path), ["src/io/net.rs"]);
    assert_eq!(values(ProbeKind::Number), ["30 s", "90", "$1,200"]);
    assert_eq!(values(ProbeKind::Date), ["8 May 2026", "Friday"]);
    assert_eq!(values(ProbeKind::Url), ["https://ci.example.com/run/81"]);
    assert_eq!(values(ProbeKind::Negation), ["We chose not to add a cache,"]);
    assert_eq!(values(ProbeKind::Commitment), ["because data must be fresh.", "I'll deploy it by Friday."]);
    assert_eq!(values(ProbeKind::Question), ["Should we tell Ana?"], "`Why?` was answered");
}

#[test]
fn what_is_kept_is_told_in_any_writing() {
    let summary = "On 2026-05-08 the export (SRC/IO/NET.RS) took 30 seconds and $1200; the cache was not added: we chose so.";
    let receipt = receipt(&log(), summary, Some("effort:export"));
    let retained = |kind| (receipt.tally(kind).retained, receipt.tally(kind).found);
    assert_eq!(retained(ProbeKind::Path), (1, 1));
    assert_eq!(retained(ProbeKind::Number), (2, 3));
    assert_eq!(retained(ProbeKind::Date), (1, 2));
    assert_eq!(retained(ProbeKind::Identifier), (0, 2));
    assert_eq!(receipt.tally(ProbeKind::Identifier).recoverable, 2);
    assert!(receipt.missing.is_empty() && receipt.changed.is_empty(), "{receipt:?}");
    assert_eq!(receipt.recoverable[0], Probe { kind: ProbeKind::Identifier, value: "exp-7".into() });
    assert_eq!(super::receipt(&log(), summary, None).total().recoverable, 0);
}

#[track_caller]
fn changed(original: &str, summary: &str) -> Vec<(String, String)> {
    let messages = [Message::user(original)];
    receipt(&messages, summary, None).changed.into_iter().map(|c| (c.from, c.to)).collect()
}

#[test]
fn what_the_original_never_had_is_a_change() {
    let one = |from: &str, to: &str| vec![(from.to_owned(), to.to_owned())];
    assert_eq!(changed("The port is 8080 now.", "The port is 18080 now."), one("8080", "18080"));
    assert_eq!(changed("Timeout after 30 s.", "Timeout after 30 ms."), one("30 s", "30 ms"));
    assert_eq!(changed("It is in src/net.rs.", "It is in src/nat.rs."), one("src/net.rs", "src/nat.rs"));
    assert_eq!(changed("We call getUser here.", "We call getUsers here."), one("getUser", "getUsers"));
    assert_eq!(changed("It was 8 May 2026.", "It was 9 May 2026."), one("8 May 2026", "9 May 2026"));
    assert_eq!(changed("See https://a.io/x.", "See https://a.io/y."), one("https://a.io/x", "https://a.io/y"));
    assert_eq!(changed("It works.", "It works in 12 of cases."), one("", "12"));
    assert_eq!(changed("It was -5 °C.", "It was 5 °C."), one("-5 °C", "5 °C"));
    let (from, to) = ("We do not add a cache.", "We add a cache.");
    assert_eq!(changed(from, to), one(from, to));
}

#[test]
fn another_way_of_writing_is_no_change() {
    for (original, summary) in [
        ("It took three nights.", "It took 3 nights."),
        ("It took 30 s.", "It took 30 seconds."),
        ("On 8 May 2026 it broke.", "It broke on May 8."),
        ("It is in src/io/net.rs:42.", "It is in net.rs, line 42."),
        ("It cost 1,200 euros.", "It cost €1200."),
        ("12 to 17 October", "12"),
        ("We do not add a cache. Later we add a cache.", "We add a cache."),
        ("The pull request is merged.", "The PR is merged."),
        ("超时设为30秒", "30"),
    ] {
        assert_eq!(changed(original, summary), [], "{summary}");
    }
}

#[test]
fn a_value_in_the_middle_of_a_long_message_vouches() {
    let padding = "word ".repeat(40_000);
    let original = format!("{padding} port 4242 {padding}");
    assert_eq!(changed(&original, "port 4242"), []);
    assert!(probes(&[Message::user(original)]).is_empty(), "only head and tail are probed");
}

#[test]
fn ten_megabytes_of_one_line_come_to_an_end() {
    let line = format!("port 8080 {} port 9090", "x7".repeat(5_000_000));
    let receipt = receipt(&[Message::user(line)], "port 9090 and 1234", None);
    assert_eq!((receipt.tally(ProbeKind::Number).found, receipt.tally(ProbeKind::Number).retained), (2, 1));
    assert_eq!(receipt.changed.len(), 1, "{:?}", receipt.changed);
    assert_eq!(receipt.tally(ProbeKind::Identifier).found, 0, "data are no identifier");
}

#[test]
fn a_receipt_is_small() {
    let text: String = (0..5_000).map(|n| format!("file_{n}.rs has {n} lines and not value_{n}. ")).collect();
    let receipt = receipt(&[Message::user(text)], "file_x.rs", Some("effort:x"));
    assert_eq!(receipt.tally(ProbeKind::Path).found, PROBES_PER_KIND_MAX as u32);
    let json = serde_json::to_string(&receipt).expect("plain data");
    assert!(json.len() < 3_000, "{} bytes", json.len());
    assert_eq!(serde_json::from_str::<Receipt>(&json).expect("what was written"), receipt);
}

#[test]
fn repair_puts_back_or_leaves_out() {
    let messages = [Message::user("The port is 8080. The limit is 20 MB. Ana said so.")];
    let fixed = Original::new(&messages)
        .repair("The port is 9080. Ana paid 77 coins. Ana said so.")
        .expect("something is left");
    assert_eq!(fixed.text, "The port is 8080. Ana said so.");
    assert_eq!(fixed.changes.len(), 2);
    let refused = Original::new(&messages).repair("It took 77 hours.").expect_err("nothing is left");
    assert_eq!(refused.to_string(), "it changed what was said: number '77 hours' was never said");
    let fine = Original::new(&messages).repair("The limit is 20 MB.").expect("nothing to do");
    assert_eq!((fine.text.as_str(), fine.changes.len()), ("The limit is 20 MB.", 0));
}

fn sentence() -> impl Strategy<Value = String> {
    let value = prop_oneof![
        "[1-9][0-9]{0,4}",
        "[1-9][0-9]{0,2} (ms|s|MB|%)",
        "[a-z]{2,5}_[a-z]{2,5}",
        "src/[a-z]{2,6}\\.rs",
        "2026-0[1-9]-1[0-9]",
        "https://[a-z]{3,6}\\.io/[a-z0-9]{2,5}",
        "not [a-z]{4,7} it",
    ];
    let start = prop::sample::select(vec!["The limit is", "We saw", "It was fixed in", "Ana chose"]);
    (start, value).prop_map(|(start, value)| format!("{start} {value} today."))
}

/// Replaces the letter or digit at each place by the next one.
fn mutate(text: &str, places: &[prop::sample::Index]) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for place in places {
        let byte = &mut bytes[place.index(text.len())];
        *byte = match *byte {
            b'9' => b'0',
            b'z' => b'a',
            b if b.is_ascii_digit() || b.is_ascii_lowercase() => b + 1,
            b => b,
        };
    }
    String::from_utf8(bytes).expect("one byte for another")
}

proptest! {
    /// A repaired summary has no changes, and no number that the original lacks.
    #[test]
    fn nothing_is_changed_after_a_repair(
        original in prop::collection::vec(sentence(), 1..12),
        picked in prop::collection::vec(any::<prop::sample::Index>(), 1..6),
        places in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let summary: Vec<&str> = picked.iter().map(|at| original[at.index(original.len())].as_str()).collect();
        let summary = mutate(&summary.join(" "), &places);
        let text = original.join(" ");
        let messages = [Message::user(text.as_str())];
        if let Ok(repaired) = Original::new(&messages).repair(&summary) {
            prop_assert_eq!(receipt(&messages, &repaired.text, None).changed, vec![]);
            let numbers = |text: &str| -> std::collections::BTreeSet<String> {
                let runs = text.split(|c: char| !c.is_ascii_digit()).filter(|run| !run.is_empty());
                runs.map(str::to_owned).collect()
            };
            let alone: Vec<&str> = repaired.text.split(' ').filter(|w| w.bytes().all(|b| b.is_ascii_digit())).collect();
            prop_assert!(alone.iter().all(|n| numbers(&text).contains(*n)), "{} of {}", repaired.text, text);
        }
    }

    #[test]
    fn an_extract_is_never_a_change(
        original in prop::collection::vec(sentence(), 1..12),
        picked in prop::collection::vec(any::<prop::sample::Index>(), 1..6),
    ) {
        let summary: Vec<&str> = picked.iter().map(|at| original[at.index(original.len())].as_str()).collect();
        let messages: Vec<Message> = original.iter().map(|text| Message::user(text.as_str())).collect();
        prop_assert_eq!(receipt(&messages, &summary.join(" "), None).changed, vec![]);
    }

    /// Any text is handled without a panic, and a repaired one has no changes.
    #[test]
    fn any_text_is_looked_at(original in "\\PC{0,200}", summary in "\\PC{0,200}") {
        let messages = [Message::user(original)];
        if let Ok(repaired) = Original::new(&messages).repair(&summary) {
            prop_assert_eq!(receipt(&messages, &repaired.text, None).changed, vec![]);
        }
    }
}
