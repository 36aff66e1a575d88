//! Patterns, rules and dry runs.

use super::*;
use crate::base::ids::Stamp;
use crate::memory::{
    Body, Censor, CensorPattern, CensorSide, Memory, MemoryId, MemoryKind, Provenance, RenderedMemory, Status,
    Trust,
};

fn words(text: &str) -> CensorPattern {
    CensorPattern::Words(text.to_owned())
}

fn regex(text: &str) -> CensorPattern {
    CensorPattern::Regex(text.to_owned())
}

fn like(text: &str) -> CensorPattern {
    CensorPattern::Like(text.to_owned())
}

#[track_caller]
fn finds(pattern: &CensorPattern, text: &str, want: bool) {
    let compiled = compile(pattern).expect("a pattern");
    assert_eq!(compiled.is_match(&AnalyzedText::new(text)), want, "{pattern:?} in {text:?}");
}

#[track_caller]
fn refuses(pattern: &CensorPattern, part: &str) {
    let refusal = compile(pattern).expect_err("should be refused");
    assert!(refusal.error.contains(part), "{}", refusal.error);
    assert!(refusal.hint.is_some_and(|hint| !hint.is_empty()));
}

#[test]
fn words_are_found_whole_in_any_order_and_case() {
    finds(&words("push main"), "Push it to MAIN.", true);
    finds(&words("push main"), "git push origin-main", true);
    finds(&words("push main"), "push it to the mainframe", false);
    finds(&words("push_main"), "main, then push", true);
    finds(&words("ui"), "build it", false);
    finds(&words("Größe"), "die GRÖSSE und die größe", true);
    finds(&words("登录"), "修复登录失败", true);
    finds(&words("错"), "出错了", true);
    finds(&words("删除 数据"), "修复登录失败", false);
}

#[test]
fn regular_expressions_are_taken_as_they_are() {
    finds(&regex(r"(?i)rm\s+-rf"), "RM  -rf /", true);
    finds(&regex(r"\bAKIA[0-9A-Z]{16}\b"), "key AKIAIOSFODNN7EXAMPLE.", true);
    finds(&regex(r"\bdrop table\b"), "Drop Table users", false);
}

/// A text like the pattern has at least four fifths of its terms.
#[test]
fn likeness_is_four_fifths_of_the_terms() {
    let five = like("deploy release production friday evening");
    finds(&five, "we deploy the release to production on Friday", true);
    finds(&five, "we deploy the release to production", false);
    finds(&five, "deploying releases, production, evenings", true);
}

/// Bad input: a regex bomb as censor.
#[test]
fn bombs_are_refused_with_a_clear_message() {
    refuses(&regex(r"(a{1000}){1000}"), "too large");
    refuses(&regex(r"((((\w{100}){100}){100}){100})"), "too large");
    refuses(&regex(&format!("{}x{}", "(".repeat(200), ")".repeat(200))), "cannot be read");
    refuses(&regex(&"a|b".repeat(5_000)), "characters");
    // Catastrophic backtracking elsewhere is harmless here.
    finds(&regex(r"^(a+)+$"), &format!("{}b", "a".repeat(10_000)), false);
}

/// Bad input: empty or invalid patterns.
#[test]
fn empty_and_broken_patterns_are_refused() {
    for text in ["", "   ", "\n\u{2028}"] {
        for pattern in [words(text), regex(text), like(text)] {
            refuses(&pattern, "empty");
        }
    }
    refuses(&words("!? --- []"), "no letters");
    refuses(&like("the of and"), "fewer than two");
    refuses(&regex("(unclosed"), "cannot be read: unclosed group");
    refuses(&regex(r"a(?=b)"), "cannot be read");
    refuses(&words(&"x".repeat(PATTERN_CHARS_MAX + 1)), "513 characters");
}

#[test]
fn patterns_that_find_everything_are_refused() {
    for text in [".", ".*", "a*", "^", "$", r"\w", r"\S+", "[a-z]", "(?s).", "x|", r"[^\d]"] {
        refuses(&regex(text), "matches any text");
    }
    refuses(&words("the"), "almost every text");
    refuses(&words("to do"), "almost every text");
    assert!(compile(&regex("quiet")).is_ok());
}

/// Our own delimiters are plain text to a pattern.
#[test]
fn delimiters_are_only_text() {
    finds(&regex(r"\[End of the record\]"), "x [End of the record] y", true);
    finds(&words("[End of the record]"), "the record has an end: of", true);
}

fn rule(number: u32, author: Author, action: CensorAction, status: Status) -> Memory {
    let censor = Censor {
        pattern: words("push main"),
        side: CensorSide::ToolCall,
        action,
        reason: format!("reason {number}"),
        triggers: 0,
        false_positives: 0,
    };
    Memory {
        id: MemoryId::new(MemoryKind::Censor, number).expect("a number"),
        body: Body::Censor(censor),
        status,
        provenance: Provenance::from_author(author),
        tags: Vec::new(),
        project: None,
        domain: None,
        pinned: false,
        created: Stamp(0),
        updated: Stamp(0),
        valid_from: None,
        valid_until: None,
        contested_with: Vec::new(),
        shaken_by: Vec::new(),
        masked: 0,
        pin_asked: false,
        forget_asked: false,
        lines: RenderedMemory::default(),
    }
}

/// The same rule, accepted by a person.
fn accepted(rule: Memory) -> Memory {
    Memory { provenance: Provenance { trust: Trust::High, ..rule.provenance.clone() }, ..rule }
}

fn actions(rules: &[Memory], side: CensorSide, text: &str) -> Vec<(u32, CensorAction)> {
    let hits = check(rules, &mut PatternCache::default(), side, text);
    hits.into_iter().map(|hit| (hit.id.number(), hit.action)).collect()
}

/// docs/decisions/0003-memories.md: automatic rules steer at most, an agent's refuse at most, only a person's abort.
#[test]
fn the_creators_right_caps_the_action() {
    use CensorAction::{Abort, Refuse, Steer};
    for (author, most) in
        [(Author::Person, Abort), (Author::Model, Refuse), (Author::Tool, Steer), (Author::Import, Steer)]
    {
        assert_eq!(
            [Steer, Refuse, Abort].map(|action| cap_action(author, action)),
            [Steer, Refuse.min(most), most]
        );
        let active = accepted(rule(1, author, Abort, Status::Active));
        assert_eq!(actions(&[active], CensorSide::ToolCall, "push main"), [(1, most)]);
    }
}

/// SOURCES, Newton, lessons: censors meant for output were checked on user input and killed turns.
#[test]
fn a_rule_looks_only_at_its_side() {
    let rules = [rule(1, Author::Person, CensorAction::Abort, Status::Active)];
    assert_eq!(actions(&rules, CensorSide::Input, "push main"), []);
    assert_eq!(actions(&rules, CensorSide::Output, "push main"), []);
    assert_eq!(actions(&rules, CensorSide::ToolCall, "pull main"), []);
    assert_eq!(actions(&rules, CensorSide::ToolCall, "push main"), [(1, CensorAction::Abort)]);
}

/// 003, Censors, CREATED: severity = warn, monitoring; a person's rule takes effect at once.
#[test]
fn a_new_rule_of_a_model_is_watched_first() {
    let hits = |author, status| {
        actions(&[accepted(rule(1, author, CensorAction::Refuse, status))], CensorSide::ToolCall, "push main")
    };
    assert_eq!(hits(Author::Model, Status::Created), [(1, CensorAction::Steer)]);
    assert_eq!(hits(Author::Model, Status::Active), [(1, CensorAction::Refuse)]);
    assert_eq!(hits(Author::Person, Status::Created), [(1, CensorAction::Refuse)]);
    assert_eq!(hits(Author::Person, Status::Retired), []);
}

/// docs/decisions/0006-trust.md: a rule that no person wrote or accepted has no effect.
#[test]
fn a_rule_that_no_person_accepted_is_not_in_force() {
    for author in [Author::Model, Author::Tool, Author::Import] {
        for status in [Status::Created, Status::Active, Status::Escalated] {
            let proposed = rule(1, author, CensorAction::Refuse, status);
            assert_eq!(actions(&[proposed], CensorSide::ToolCall, "push main"), []);
        }
    }
}

#[test]
fn the_strictest_comes_first_then_the_oldest() {
    use CensorAction::{Abort, Refuse, Steer};
    let numbered = |number, action| rule(number, Author::Person, action, Status::Active);
    let rules = [numbered(4, Steer), numbered(3, Refuse), numbered(2, Abort), numbered(1, Refuse)];
    let found = actions(&rules, CensorSide::ToolCall, "push main");
    assert_eq!(found, [(2, Abort), (1, Refuse), (3, Refuse), (4, Steer)]);
}

#[test]
fn a_changed_rule_is_made_anew_and_a_broken_one_never_matches() {
    let mut patterns = PatternCache::default();
    let mut changing = rule(1, Author::Person, CensorAction::Refuse, Status::Active);
    let mut hits = |memory: &Memory| check([memory], &mut patterns, CensorSide::ToolCall, "push main").len();
    assert_eq!(hits(&changing), 1);
    let Body::Censor(censor) = &mut changing.body else { unreachable!("a censor") };
    censor.pattern = words("pull main");
    assert_eq!(hits(&changing), 0);
    let Body::Censor(censor) = &mut changing.body else { unreachable!("a censor") };
    censor.pattern = regex("(");
    assert_eq!(hits(&changing), 0);
}

/// A megabyte of text, checked by the maximum number of rules.
#[test]
fn a_megabyte_is_fine() {
    let mut text = "lorem ipsum dolor ".repeat(60_000);
    text.push_str("push it to main");
    let mut rules: Vec<Memory> =
        (1..=256).map(|number| rule(number, Author::Person, CensorAction::Refuse, Status::Active)).collect();
    for memory in &mut rules[..128] {
        let Body::Censor(censor) = &mut memory.body else { unreachable!("a censor") };
        censor.pattern = regex(r"(a+)+\d{20}push");
    }
    assert_eq!(actions(&rules, CensorSide::ToolCall, &text).len(), 128);
}

/// Validated at creation with a dry run against recent turns.
#[test]
fn a_dry_run_counts_and_shows() {
    let compiled = compile(&words("deploy")).expect("a pattern");
    let long = format!("deploy\n{}", "x ".repeat(200));
    let run = dry_run(&compiled, &["deploy now", "hello", &long, "the deploy", "no deploy today"]);
    assert_eq!((run.checked, run.matched, run.samples.len()), (5, 4, 3));
    assert_eq!((run.samples[0].as_str(), run.samples[1].chars().count()), ("deploy now", 80));
}

#[test]
fn a_pattern_found_in_more_than_half_is_refused_unless_a_person_insists() {
    let run = |checked, matched| DryRun { checked, matched, samples: Vec::new() };
    for (checked, matched, fine) in [(0, 0, true), (3, 3, true), (4, 2, true), (4, 3, false), (100, 51, false)] {
        let run = run(checked, matched);
        assert_eq!(run.check(Author::Person, false).is_ok(), fine, "{matched} of {checked}");
        assert!(run.check(Author::Person, true).is_ok());
        assert_eq!(run.check(Author::Model, true).is_ok(), fine);
    }
    let refusal = run(4, 3).check(Author::Model, false).expect_err("too often");
    assert!(refusal.error.contains("3 of the last 4 texts"), "{}", refusal.error);
}
