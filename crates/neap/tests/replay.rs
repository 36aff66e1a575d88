//! `neap lab replay`: a scripted conversation in, one object a turn out.

use crate::rig::{Neap, lines, objects};
use serde_json::{Value, json};

const KEYS: [&str; 13] = [
    "active", "ambient_exchanges", "banners", "budget", "evicted", "evicted_count", "expanded", "naive_tokens",
    "open", "refusals", "shown_summaries", "tokens", "turn",
];

/// Ten sentences that share no keywords with each other or with the efforts below.
const CHATTER: [&str; 5] = [
    "Tell me a joke about cats.",
    "Does pasta cook quicker at altitude?",
    "I slept badly last night.",
    "Which planet has most moons?",
    "Do penguins have knees?",
];

fn say(user: &str) -> Value {
    json!({"user": user, "assistant": "Hm."})
}

fn call(user: &str, name: &str, arguments: Value) -> Value {
    json!({"user": user, "calls": [{"name": name, "arguments": arguments}], "assistant": "Done."})
}

/// An effort about something, opened, worked on and concluded.
fn effort(name: &str, about: &str) -> Vec<Value> {
    vec![
        call(about, "open_effort", json!({"name": name})),
        say(&format!("More about it: {about}")),
        call("That is settled.", "close_effort", json!({})),
    ]
}

fn chatter(count: usize) -> Vec<Value> {
    (0..count).map(|at| say(CHATTER[at % CHATTER.len()])).collect()
}

/// Replays turns without keeping them; every object must be well-formed and within its budget.
#[track_caller]
fn check(args: &[&str], turns: &[Value]) -> Vec<Value> {
    let told = Neap::new().replay(args, turns);
    assert_eq!(told.len(), turns.len());
    for (at, turn) in told.iter().enumerate() {
        let keys: Vec<&str> = turn.as_object().expect("an object").keys().map(String::as_str).collect();
        assert_eq!(keys, KEYS);
        assert_eq!(turn["turn"], at + 1);
        let tokens = turn["tokens"].as_object().expect("tokens by layer");
        let layers: u64 =
            tokens.iter().filter(|(k, _)| *k != "total").map(|(_, v)| v.as_u64().expect("count")).sum();
        assert_eq!(tokens["total"], layers, "layers sum to the total: {turn}");
        assert!(layers <= turn["budget"].as_u64().expect("a budget"), "I1: {turn}");
    }
    told
}

#[test]
fn each_turn_has_exactly_the_documented_keys_and_layers() {
    let told = check(&[], &[say("Hello.")]);
    let layers: Vec<&str> = told[0]["tokens"].as_object().expect("layers").keys().map(String::as_str).collect();
    let known = [
        "active", "ambient", "calibration", "censors", "decisions", "episodes", "expanded", "facts", "focus",
        "frame", "identity", "message", "note", "open", "procedures", "profile", "protocol", "summaries", "tail",
        "tools", "total",
    ];
    assert_eq!(layers, known);
}

#[test]
fn an_effort_is_open_then_its_summary_stands_for_it() {
    let told = check(&[], &effort("water-pump", "The water pump rattles at 40 Hz."));
    assert_eq!(told[0]["active"], "water-pump");
    assert_eq!(told[0]["open"], json!(["water-pump"]));
    assert_eq!(told[0]["banners"], json!(["--- Started effort: water-pump ---"]));
    assert_eq!((&told[2]["active"], &told[2]["shown_summaries"]), (&Value::Null, &json!(["water-pump"])));
    let banner = told[2]["banners"][0].as_str().expect("a banner");
    assert!(banner.starts_with("--- Concluded effort: water-pump ---\nSummary: "), "{banner}");
}

#[test]
fn an_expansion_decays_after_exactly_three_turns() {
    let mut turns = effort("water-pump", "The water pump rattles at 40 Hz.");
    turns.push(call("Show it.", "expand_effort", json!({"id": "water-pump"})));
    turns.extend(chatter(4));
    let told = check(&[], &turns);
    let expanded: Vec<usize> = told[3..].iter().map(|t| t["expanded"].as_array().expect("ids").len()).collect();
    assert_eq!(expanded, [1, 1, 1, 0, 0]);
    let banner = "--- Auto-collapsed effort: water-pump (inactive for 3 turns) ---";
    assert_eq!(told[6]["banners"], json!([banner]));
}

#[test]
fn a_summary_is_evicted_after_exactly_twenty_turns() {
    let mut turns = effort("water-pump", "The water pump rattles at 40 Hz.");
    turns.extend(chatter(21));
    let told = check(&[], &turns);
    let concluded = 3;
    assert_eq!(told[concluded - 1 + 19]["shown_summaries"], json!(["water-pump"]));
    let at_20 = &told[concluded - 1 + 20];
    assert_eq!((&at_20["shown_summaries"], &at_20["evicted"]), (&json!([]), &json!(["water-pump"])));
    assert_eq!(at_20["evicted_count"], 1);
}

#[test]
fn seed_names_set_thresholds() {
    let mut turns = effort("water-pump", "The water pump rattles at 40 Hz.");
    turns.push(call("Show it.", "expand_effort", json!({"id": "water-pump"})));
    turns.extend(chatter(6));
    let set = ["DECAY_THRESHOLD=5", "SUMMARY_EVICTION_THRESHOLD=6", "AMBIENT_WINDOW=2", "EPOCH=every-turn"];
    let set: Vec<&str> = set.into_iter().flat_map(|set| ["--set", set]).collect();
    let told = check(&set, &turns);
    let expanded: Vec<usize> = told[3..].iter().map(|t| t["expanded"].as_array().expect("ids").len()).collect();
    assert_eq!(expanded, [1, 1, 1, 1, 1, 0, 0]);
    assert_eq!(told[9]["evicted"], json!(["water-pump"]));
    assert_eq!(told[9]["ambient_exchanges"], 2);
}

#[test]
fn a_wrong_setting_is_refused_with_a_hint() {
    let neap = Neap::new();
    for (set, said) in [
        ("decay_treshold=5", "unknown setting 'decay_treshold'; did you mean 'decay_threshold'?"),
        ("decay_threshold=many", "'many' is not a whole number"),
        ("decay_threshold=0", "decay_threshold = 0 is outside 1..=1000000"),
        ("decay_threshold", "write it as key=value"),
        ("context_tokens_max=300", "the budget of 300 tokens is below the least that can be sent"),
    ] {
        let ran = neap.fed(&["lab", "replay", "-", "--set", set], lines(&[say("Hello.")]));
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{set}");
        assert!(ran.err.contains(said), "{set}: {}", ran.err);
    }
}

#[test]
fn what_the_model_may_not_do_is_refused_in_words() {
    let turns = [
        call("Close.", "close_effort", json!({})),
        call("Expand.", "expand_effort", json!({"id": "nothing"})),
        call("Sing.", "sing", json!({})),
        call("Open.", "open_effort", json!({"name": "a"})),
        call("Again.", "open_effort", json!({"name": "A"})),
        call("Expand.", "expand_effort", json!({"id": "a"})),
    ];
    let refused: Vec<Value> =
        check(&[], &turns).iter().map(|turn| turn["refusals"].get(0).cloned().unwrap_or_default()).collect();
    let words = ["No active effort to close.", "No effort with id 'nothing'.", "Unknown tool: sing"];
    assert_eq!(refused[..3], words.map(|word| json!(word)));
    assert_eq!(refused[3], Value::Null);
    assert!(refused[4].as_str().is_some_and(|word| word.contains("'a'")), "{refused:?}");
    assert!(refused[5].as_str().is_some_and(|word| word.contains("open")), "{refused:?}");
}

#[test]
fn arguments_are_an_object_or_the_text_a_model_wrote() {
    let as_object = check(&[], &[call("Begin.", "open_effort", json!({"name": "Garden Fence"}))]);
    let as_text = check(&[], &[call("Begin.", "open_effort", json!(r#"{"name":"Garden Fence"}"#))]);
    assert_eq!(as_object, as_text);
    assert_eq!(as_text[0]["active"], "garden-fence");
}

#[test]
fn a_malformed_line_is_named_and_what_came_before_it_is_kept() {
    for (line, why) in [
        ("nope", "expected ident"),
        (r#"{"assistant":"x"}"#, "missing field `user`"),
        (r#"{"user":"x","calls":3}"#, "invalid type"),
    ] {
        let neap = Neap::new();
        let script = neap.file("script.jsonl", format!("{}\n{line}\n", lines(&[say("Hello.")])));
        let ran = neap.run(&["lab", "replay", &script, "--session", "kept", "--json"]);
        assert_eq!((ran.code, objects(&ran.out).len()), (2, 1), "{}", ran.err);
        let told: Value = serde_json::from_str(&ran.err).expect("an error in JSON");
        // The blank line counts.
        let error = told["error"].as_str().expect("an error");
        assert!(error.starts_with(&format!("line 3 of {script}: {why}")), "{error}");
        assert!(told["hint"].as_str().is_some_and(|hint| hint.contains(r#""user""#)), "{told}");
        assert_eq!(neap.json(&["session", "show", "kept"])["turns"], 1);
        assert_eq!(neap.run(&["store", "doctor"]).code, 0, "the folder shows what was kept");
    }
}

#[test]
fn without_a_session_nothing_is_kept() {
    let neap = Neap::new();
    neap.replay(&[], &[say("Hello.")]);
    assert!(!neap.data().exists());
    assert_eq!(neap.json(&["session", "list"]), json!([]));
}

#[test]
fn with_a_session_a_second_replay_goes_on() {
    let neap = Neap::new();
    let script = neap.file("script.jsonl", lines(&effort("water-pump", "The water pump rattles at 40 Hz.")));
    assert!(neap.ok(&["lab", "replay", &script, "--session", "kept"]).contains("turn 3"));
    let turns = [call("Show it.", "expand_effort", json!({"id": "water-pump"})), say("And?")];
    let told = neap.replay(&["--session", "kept"], &turns);
    assert_eq!((&told[0]["turn"], &told[1]["expanded"]), (&json!(4), &json!(["water-pump"])));
    let told = neap.replay(&["--session", "kept"], &[say("Good morning.")]);
    assert_eq!((&told[0]["turn"], &told[0]["expanded"]), (&json!(6), &json!([])), "a restart clears expansions");
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let ran = Neap::new().run(&["lab", "replay", "nowhere.jsonl"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.starts_with("error: cannot read nowhere.jsonl"), "{}", ran.err);
    assert!(ran.err.contains("\nhint: "), "{}", ran.err);
}

/// Mixed work: efforts open side by side, closed, expanded, searched; long and short messages.
fn mixed(count: usize) -> Vec<Value> {
    let words = ["amber", "basalt", "cobalt", "dune", "ember", "fjord", "glacier", "harbour", "iris", "juniper"];
    let turn = |at: usize| {
        let word = |n: usize| format!("{}{}", words[(at + n) % words.len()], (at + n) / 50);
        let long = if at.is_multiple_of(97) { 3_000 } else { at % 40 };
        let user = format!("{} {} {}", word(0), word(3), "lorem ".repeat(long));
        let before = at.saturating_sub(10) / 10 * 10;
        match at % 10 {
            0 => call(&user, "open_effort", json!({"name": format!("work-{at}")})),
            3 if at.is_multiple_of(3) => call(&user, "open_effort", json!({"name": format!("side-{at}")})),
            5 => call(&user, "close_effort", json!({})),
            6 => call(&user, "search_efforts", json!({"query": word(7)})),
            7 if at % 20 == 7 => call(&user, "expand_effort", json!({"id": format!("work-{before}")})),
            _ => say(&user),
        }
    };
    (0..count).map(turn).collect()
}

#[test]
fn a_thousand_turns_stay_within_the_budget() {
    let told = check(&[], &mixed(1_000));
    let last = told.last().expect("a thousand");
    let (total, naive) = (&last["tokens"]["total"], &last["naive_tokens"]);
    assert!(naive.as_u64() > Some(16_000) && total.as_u64() < naive.as_u64(), "{last}");
    assert!(last["evicted_count"].as_u64() > Some(10), "{last}");
    let ever =
        |what: &str| told.iter().filter(|turn| turn[what].as_array().is_some_and(|ids| !ids.is_empty())).count();
    let (open, expanded, shown) = (ever("open"), ever("expanded"), ever("shown_summaries"));
    assert!(open > 300 && expanded > 100 && shown > 500, "mixed: {open} open, {expanded} expanded, {shown} shown");
}

#[test]
fn a_thousand_turns_stay_within_a_small_budget() {
    let told = check(&["--set", "context_tokens_max=2000"], &mixed(1_000));
    assert!(told.iter().all(|turn| turn["budget"] == 2_000));
    // Some of the messages alone are longer than the budget, so it is what holds them back.
    let most = |of: &dyn Fn(&Value) -> Option<u64>| told.iter().filter_map(of).max();
    let (peak, naive) =
        (most(&|turn| turn["tokens"]["total"].as_u64()), most(&|turn| turn["naive_tokens"].as_u64()));
    assert!(peak > Some(1_500) && naive > Some(20_000), "pressed against: {peak:?} of {naive:?}");
}
