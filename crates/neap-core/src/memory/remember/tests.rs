//! Outcomes of drafts, for facts and the other kinds.

use std::collections::BTreeMap;

use super::judge::{CONFIRMS_ABOVE, CONTESTS_FROM, SUPERSEDES_ABOVE, WARNS_FROM};
use super::*;
use crate::base::ids::{EffortId, SessionId, TurnNo};
use crate::base::testing::WordCounter;
use crate::memory::{
    Author, Censor, CensorAction, CensorPattern, CensorSide, Confidence, Decision, Episode, Fact, PINNED_MAX,
    Procedure, Stakes, Trust,
};

/// An agent's records, as a store holds them.
#[derive(Default)]
pub(in crate::memory) struct Mind {
    pub(in crate::memory) head: AgentHead,
    pub(in crate::memory) records: BTreeMap<MemoryId, Memory>,
    pub(in crate::memory) now: i64,
}

impl Mind {
    pub(in crate::memory) fn now(&mut self) -> Stamp {
        self.now += 1_000;
        Stamp(self.now)
    }

    pub(in crate::memory) fn keep(&mut self, writes: &[MemoryWrite], now: Stamp) {
        for write in writes {
            let was = self.records.get(&write.memory.id).map(crate::memory::CountedState::of);
            assert_eq!(write.previous, was, "a write says what the record counted as");
            self.head.apply_change(&write.memory, write.previous.as_ref(), now);
            self.records.insert(write.memory.id, write.memory.clone());
        }
    }

    pub(in crate::memory) fn say(&mut self, draft: MemoryDraft) -> Result<RememberPlan, Refusal> {
        let similar: Vec<Memory> = self.records.values().filter(|m| m.status.is_searchable()).cloned().collect();
        let now = self.now();
        let plan = remember(&self.head, &similar, draft, &WordCounter, now)?;
        self.keep(&plan.writes, now);
        Ok(plan)
    }

    fn one(&self, id: &str) -> &Memory {
        &self.records[&id.parse().unwrap()]
    }

    fn as_fact(&self, id: &str) -> &Fact {
        let Body::Fact(fact) = &self.one(id).body else { panic!("another kind") };
        fact
    }
}

fn half() -> Confidence {
    Confidence::try_from(0.5).unwrap()
}

pub(in crate::memory) fn fact(subject: &str, content: &str) -> MemoryDraft {
    let body = Fact {
        subject: subject.into(),
        content: content.into(),
        confidence: half(),
        confirmations: 0,
        last_confirmed: None,
        last_confirmed_by: None,
        superseded_by: None,
    };
    MemoryDraft::new(Body::Fact(body), Provenance::from_author(Author::Person))
}

pub(in crate::memory) fn decision(description: &str, outcome: Outcome) -> MemoryDraft {
    let body = Decision {
        description: description.into(),
        context: String::new(),
        reasons: Vec::new(),
        confidence: half(),
        category: String::new(),
        stakes: Stakes::Medium,
        alternatives: Vec::new(),
        outcome,
        outcome_notes: String::new(),
        reviewed_by: None,
        rests_on: Vec::new(),
    };
    MemoryDraft::new(Body::Decision(body), Provenance::from_author(Author::Person))
}

pub(in crate::memory) fn procedure(name: &str, steps: &[&str]) -> MemoryDraft {
    let steps = steps.iter().map(|s| (*s).to_owned()).collect();
    let body = Procedure {
        name: name.into(),
        core_patterns: Vec::new(),
        steps,
        activations: 0,
        successes: 0,
        failures: 0,
    };
    MemoryDraft::new(Body::Procedure(body), Provenance::from_author(Author::Person))
}

pub(in crate::memory) fn episode(summary: &str, effort: Option<&str>) -> MemoryDraft {
    let body = Episode {
        summary: summary.into(),
        detail: String::new(),
        detail_at: None,
        participants: Vec::new(),
        minutes: None,
        outcome: String::new(),
        lessons: Vec::new(),
        session: Some(SessionId::from_name("main").unwrap()),
        effort: effort.map(|name| EffortId::from_name(name).unwrap()),
    };
    MemoryDraft::new(Body::Episode(body), Provenance::from_author(Author::Model))
}

pub(in crate::memory) fn censor(words: &str, action: CensorAction, author: Author) -> MemoryDraft {
    let pattern = CensorPattern::Words(words.into());
    let reason = "learnt the hard way".into();
    let body = Censor { pattern, side: CensorSide::ToolCall, action, reason, triggers: 0, false_positives: 0 };
    MemoryDraft::new(Body::Censor(body), Provenance::from_author(author))
}

pub(in crate::memory) fn by(author: Author, draft: MemoryDraft) -> MemoryDraft {
    MemoryDraft { provenance: Provenance::from_author(author), ..draft }
}

fn at(draft: MemoryDraft, turn: u64, source: &str) -> MemoryDraft {
    let provenance = Provenance {
        session: SessionId::from_name("main").ok(),
        turn: Some(TurnNo(turn)),
        source: Some(source.into()),
        ..draft.provenance
    };
    MemoryDraft { provenance, ..draft }
}

#[track_caller]
fn check(first: MemoryDraft, second: MemoryDraft, want: DraftOutcome) -> (Mind, RememberPlan) {
    let mut mind = Mind::default();
    mind.say(first).unwrap();
    let plan = mind.say(second).unwrap();
    assert_eq!(plan.outcome, want, "{}", plan.note);
    (mind, plan)
}

/// 003, Facts: "CONFIRMED: Re-encountered. confirmation_count++, last_confirmed updated."
#[test]
fn a_fact_met_again_is_confirmed_and_no_new_record() {
    let (mut mind, plan) =
        check(fact("Tim", "Tim prefers Celsius"), fact("Tim", "Tim prefers Celsius."), DraftOutcome::Confirmed);
    assert_eq!((mind.records.len(), plan.id.to_string().as_str()), (1, "f1"));
    let f1 = mind.as_fact("f1");
    assert_eq!(
        (f1.confirmations, f1.last_confirmed, mind.one("f1").status),
        (1, Some(Stamp(2_000)), Status::Confirmed)
    );
    mind.say(fact("tim", "prefers celsius")).unwrap();
    mind.say(fact("Tim", "Tim prefers Celsius")).unwrap();
    assert_eq!((mind.as_fact("f1").confirmations, mind.one("f1").status), (3, Status::Core));
}

/// 003, Facts: "SUPERSEDED: Contradicted by newer fact. superseded_by set."
#[test]
fn a_newer_value_takes_the_place_of_the_older_with_evidence() {
    for (subject, old, new, evidence) in [
        ("billing", "The timeout is 30 s", "The timeout is 45 s", "timeout 30 s → 45 s"),
        ("Tim", "Tim prefers Celsius", "Tim prefers Fahrenheit", "prefers Celsius → Fahrenheit"),
        ("", "Tim lives in Oslo", "Tim lives in Bergen", "lives Oslo → Bergen"),
        ("cache", "The cache is shared", "The cache is not shared", "cache is shared → The cache is not shared"),
    ] {
        let (mind, plan) = check(fact(subject, old), fact(subject, new), DraftOutcome::Superseded);
        assert_eq!(plan.superseded, ["f1".parse().unwrap()]);
        assert_eq!((mind.one("f1").status, mind.one("f2").status), (Status::Superseded, Status::New));
        assert_eq!(mind.as_fact("f1").superseded_by, "f2".parse().ok());
        let Change::Superseded { by, evidence: recorded } = &plan.writes[1].change else { panic!("another kind") };
        assert_eq!(by.to_string(), "f2");
        assert!(recorded.ends_with(evidence), "{recorded}");
    }
}

#[test]
fn facts_of_one_subject_stand_side_by_side() {
    for (old, new) in [
        ("Tim lives in Oslo", "Tim prefers Celsius"),
        ("Tim likes tea", "Tim likes jazz"),
        ("Tim prefers Celsius", "Tim prefers dark mode"),
    ] {
        let (mind, plan) = check(fact("Tim", old), fact("Tim", new), DraftOutcome::New);
        assert_eq!((mind.records.len(), plan.writes.len()), (2, 1));
    }
    check(fact("Tim", "prefers Celsius"), fact("Ann", "prefers Fahrenheit"), DraftOutcome::New);
    check(fact("Tim", "prefers Celsius"), fact("Ann", "prefers Celsius"), DraftOutcome::New);
    check(fact("billing", "The timeout is 30 s"), fact("login", "The timeout is 45 s"), DraftOutcome::New);
}

#[test]
fn what_is_uncertain_is_contested_on_both_sides_and_nothing_gives_way() {
    for (first, second) in [
        // Another subject with a similar name.
        (fact("billing", "The timeout is 30 s"), fact("billing service", "The timeout is 45 s")),
        // Different wording.
        (
            fact("billing", "billing requests time out after 30 s"),
            fact("billing", "billing requests: after 45 s they end"),
        ),
        // Only the author knows whether both can be true.
        (fact("Tim", "Tim prefers Vim"), fact("Tim", "Tim prefers Emacs")),
        // A less trusted author.
        (fact("Tim", "Tim lives in Oslo"), by(Author::Model, fact("Tim", "Tim lives in Bergen"))),
        (
            by(Author::Model, fact("Tim", "Tim lives in Oslo")),
            by(Author::Import, fact("Tim", "Tim lives in Bergen")),
        ),
        // Recorded later, but valid from earlier.
        (
            fact("Tim", "Tim lives in Oslo"),
            MemoryDraft { valid_from: Some(Stamp(0)), ..fact("Tim", "Tim lives in Bergen") },
        ),
    ] {
        let (mind, plan) = check(first, second, DraftOutcome::Contested);
        assert_eq!(plan.superseded, []);
        assert_eq!(mind.one("f1").contested_with, ["f2".parse().unwrap()]);
        assert_eq!(mind.one("f2").contested_with, ["f1".parse().unwrap()]);
        assert!(mind.records.values().all(|memory| memory.status == Status::New));
    }
}

/// A person's confirmation resolves a contest: the older fact gives way.
#[test]
fn confirming_one_of_two_contested_facts_settles_it() {
    let mut mind = Mind::default();
    mind.say(by(Author::Model, fact("Tim", "Tim lives in Oslo"))).unwrap();
    mind.say(by(Author::Import, fact("Tim", "Tim lives in Bergen"))).unwrap();
    let plan = mind.say(fact("Tim", "Tim lives in Bergen")).unwrap();
    assert_eq!((plan.outcome, plan.superseded), (DraftOutcome::Confirmed, vec!["f1".parse().unwrap()]));
    assert_eq!(mind.as_fact("f1").superseded_by, "f2".parse().ok());
    assert_eq!(mind.one("f2").provenance.trust, Trust::High);
}

/// SOURCES, Facts: "similarity > 0.95 confirms the existing one".
#[test]
fn newton_above_095_confirms() {
    assert_eq!(CONFIRMS_ABOVE, 0.95);
    // Nine and ten content words: √0.9 is below 0.95. Ten and eleven: √(10/11) is above.
    let nine = "alpha bravo charlie delta echo foxtrot golf hotel india";
    check(fact("alpha", nine), fact("alpha", &format!("{nine} juliett")), DraftOutcome::New);
    let ten = format!("{nine} juliett");
    check(fact("alpha", &ten), fact("alpha", &format!("{ten} kilo")), DraftOutcome::Confirmed);
    check(fact("alpha", &ten), fact("alpha", &format!("{ten} 7")), DraftOutcome::New);
}

/// SOURCES, Facts: "same subject and > 0.80 supersedes". Measured around the differing value.
#[test]
fn newton_same_subject_above_080_supersedes() {
    assert_eq!((SUPERSEDES_ABOVE, CONTESTS_FROM), (0.80, 0.50));
    let old = fact("pool", "The pool limit is 30");
    // {pool, limit, ·} plus one or two words: 3/√12 = 0.87, 3/√15 = 0.77.
    check(old.clone(), fact("pool", "The pool limit is 45 overall"), DraftOutcome::Superseded);
    check(old, fact("pool", "The pool limit is 45 overall, Monday"), DraftOutcome::Contested);
}

/// SOURCES, Facts: "0.85-0.95 warns of a contradiction".
#[test]
fn newton_085_to_095_warns() {
    assert_eq!(WARNS_FROM, 0.85);
    let (_, plan) = check(
        fact("billing", "The timeout is 30 s"),
        fact("billing service", "The timeout is 45 s"),
        DraftOutcome::Contested,
    );
    assert!(plan.note.contains("contradicts f1: timeout 30 s → 45 s"), "{}", plan.note);
    // {alpha … delta} plus one word: 2/√5 = 0.894, with no differing value.
    let four = "alpha bravo charlie delta";
    let (_, plan) = check(fact("alpha", four), fact("alpha", &format!("{four} echo")), DraftOutcome::New);
    assert!(plan.note.contains("f1 is much like it (0.89)"), "{}", plan.note);
}

#[test]
fn a_fact_that_holds_later_takes_no_place_now() {
    let later = Stamp(1_800_000_000_000);
    let draft = MemoryDraft { valid_from: Some(later), ..fact("Tim", "Tim lives in Bergen") };
    let (mind, _) = check(fact("Tim", "Tim lives in Oslo"), draft, DraftOutcome::New);
    assert_eq!((mind.one("f1").status, mind.one("f1").valid_until), (Status::New, Some(later)));
    assert!(mind.one("f1").is_valid_at(Stamp(5_000)) && !mind.one("f2").is_valid_at(Stamp(5_000)));
    assert!(!mind.one("f1").is_valid_at(later) && mind.one("f2").is_valid_at(later));
    // A fact valid only in the past contradicts nothing.
    let past = |draft| MemoryDraft { valid_until: Some(Stamp(500)), ..draft };
    check(fact("Tim", "Tim lives in Oslo"), past(fact("Tim", "Tim lives in Bergen")), DraftOutcome::New);
    check(past(fact("Tim", "Tim lives in Oslo")), fact("Tim", "Tim lives in Bergen"), DraftOutcome::New);
    check(past(fact("Tim", "Tim lives in Oslo")), fact("Tim", "Tim lives in Oslo"), DraftOutcome::New);
    let planned = MemoryDraft { valid_from: Some(later), ..fact("Tim", "Tim lives in Oslo") };
    check(planned, fact("Tim", "Tim lives in Bergen"), DraftOutcome::New);
}

#[test]
fn a_write_that_is_sent_again_changes_nothing() {
    let one = at(fact("Tim", "Tim lives in Oslo"), 3, "call-1");
    let (_, plan) = check(one.clone(), one.clone(), DraftOutcome::Known);
    assert_eq!(plan.writes, []);
    // Not even after its record was superseded.
    let mut mind = Mind::default();
    mind.say(one.clone()).unwrap();
    mind.say(at(fact("Tim", "Tim lives in Bergen"), 4, "call-1")).unwrap();
    assert_eq!(mind.say(one.clone()).unwrap().outcome, DraftOutcome::Known);
    assert_eq!(mind.records.len(), 2);
    // Other text from the same call is a new record; the same text in the same turn confirms nothing.
    check(one.clone(), at(fact("Tim", "Tim likes tea"), 3, "call-1"), DraftOutcome::New);
    check(one.clone(), at(fact("Tim", "Tim lives in Oslo"), 3, "call-2"), DraftOutcome::Known);
    check(one, at(fact("Tim", "Tim lives in Oslo"), 4, "call-1"), DraftOutcome::Confirmed);
    for draft in [
        decision("Use Postgres", Outcome::Success),
        procedure("Deploy", &["merge"]),
        episode("Moved house", None),
        censor("push main", CensorAction::Refuse, Author::Person),
    ] {
        let draft = at(draft, 1, "x");
        check(draft.clone(), draft, DraftOutcome::Known);
    }
}

#[test]
fn a_decision_is_recorded_once_while_it_is_open() {
    let (_, plan) = check(
        decision("Use Postgres", Outcome::Pending),
        decision("use Postgres!", Outcome::Pending),
        DraftOutcome::Known,
    );
    assert!(plan.note.contains("Review d1"), "{}", plan.note);
    check(decision("Use Postgres", Outcome::Pending), decision("Use MySQL", Outcome::Pending), DraftOutcome::New);
    let (mind, _) = check(
        decision("Use Postgres", Outcome::Success),
        decision("Use Postgres", Outcome::Pending),
        DraftOutcome::New,
    );
    assert_eq!((mind.one("d1").status, mind.one("d2").status), (Status::Reviewed, Status::Recorded));
}

#[test]
fn a_procedure_of_the_same_name_is_added_to() {
    let (mind, plan) = check(
        procedure("Deploy", &["merge", "tag"]),
        procedure("deploy", &["Tag", "announce"]),
        DraftOutcome::Confirmed,
    );
    let Body::Procedure(stored) = &mind.one("p1").body else { panic!("another kind") };
    assert_eq!(stored.steps, ["merge", "tag", "announce"]);
    assert_eq!(plan.writes[0].change, Change::Edited);
    check(procedure("Deploy", &["merge"]), procedure("Deploy", &["merge"]), DraftOutcome::Known);
    check(procedure("Deploy", &["merge"]), procedure("Roll back", &["merge"]), DraftOutcome::New);
    let mut mind = Mind::default();
    mind.say(procedure("Deploy", &["merge"])).unwrap();
    let refusal = mind.say(by(Author::Model, procedure("Deploy", &["force-push"]))).unwrap_err();
    assert!(refusal.error.contains("more trusted"), "{refusal:?}");
}

#[test]
fn an_effort_leaves_one_episode() {
    let (mind, _) = check(
        episode("Began the move", Some("move")),
        episode("Moved house", Some("move")),
        DraftOutcome::Confirmed,
    );
    let Body::Episode(stored) = &mind.one("e1").body else { panic!("another kind") };
    assert_eq!(stored.summary, "Moved house");
    check(episode("Moved house", Some("move")), episode("Moved house", Some("garden")), DraftOutcome::New);
    check(episode("Moved house", None), episode("Planted trees", None), DraftOutcome::New);
    check(episode("Moved house", None), episode("Moved house", None), DraftOutcome::Known);
}

#[test]
fn pins_and_censors_have_a_limit() {
    let mut mind = Mind::default();
    let pinned = |n: usize| MemoryDraft {
        pinned: true,
        ..fact(&format!("s{n}"), &format!("rule number {n} of the house"))
    };
    for n in 0..PINNED_MAX {
        mind.say(pinned(n)).unwrap();
    }
    let refusal = mind.say(pinned(PINNED_MAX)).unwrap_err();
    assert!(refusal.error.contains("64") && refusal.hint.is_some());
    for n in 0..CENSORS_MAX {
        mind.say(censor(&format!("w{n}"), CensorAction::Steer, Author::Person)).unwrap();
    }
    let refusal = mind.say(censor("one more", CensorAction::Steer, Author::Person)).unwrap_err();
    assert!(refusal.error.contains("256") && refusal.hint.is_some());
    assert_eq!(mind.say(censor("w1", CensorAction::Steer, Author::Person)).unwrap().outcome, DraftOutcome::Known);
}

/// docs/decisions/0003-memories.md: a model's rule can refuse at most.
#[test]
fn a_censor_is_no_stricter_than_its_author_may_set() {
    let mut mind = Mind::default();
    let plan = mind.say(censor("push main", CensorAction::Abort, Author::Model)).unwrap();
    let Body::Censor(stored) = &mind.one("c1").body else { panic!("another kind") };
    assert_eq!(stored.action, CensorAction::Refuse);
    assert!(plan.note.contains("milder"), "{}", plan.note);
}

/// Decisions that rest on a superseded fact are flagged, and found by the fact's id.
#[test]
fn what_rests_on_a_superseded_fact_is_found_and_flagged() {
    let mut mind = Mind::default();
    mind.say(fact("Tim", "Tim lives in Oslo")).unwrap();
    let mut draft = decision("Open the office in Oslo", Outcome::Pending);
    let f1 = "f1".parse().unwrap();
    if let Body::Decision(decision) = &mut draft.body {
        decision.rests_on = vec![f1];
    }
    mind.say(draft).unwrap();
    let request = dependants_request(f1);
    let found = crate::text::terms::terms(&mind.one("d1").search_text());
    assert!(request.terms.iter().all(|term| found.contains(term)), "{found:?}");
    let write = mark_shaken(mind.one("d1"), f1, &WordCounter, Stamp(9)).unwrap();
    assert_eq!((write.change.clone(), &write.memory.shaken_by), (Change::Shaken { by: f1 }, &vec![f1]));
    assert_eq!(mark_shaken(&write.memory, f1, &WordCounter, Stamp(10)), None);
    assert_eq!(mark_shaken(mind.one("d1"), "f2".parse().unwrap(), &WordCounter, Stamp(9)), None);
}

#[test]
fn what_is_looked_up_finds_the_record_itself() {
    for draft in [
        fact("Tim", "Tim lives in Oslo"),
        decision("Use Postgres", Outcome::Pending),
        procedure("Deploy", &["merge"]),
        episode("Moved house", Some("auth-bug")),
    ] {
        let request = lookup_request(&draft).unwrap();
        let mut mind = Mind::default();
        let id = mind.say(draft).unwrap().id;
        let text = crate::text::terms::terms(&mind.records[&id].search_text());
        assert!(request.terms.iter().all(|term| text.contains(term)), "{request:?} {text:?}");
        assert_eq!(request.limits[0].0, id.kind());
        assert_eq!(request.superseded, id.kind() == MemoryKind::Fact);
    }
    assert_eq!(lookup_request(&censor("x", CensorAction::Steer, Author::Person)), None);
}

#[test]
fn secrets_are_masked_and_said() {
    let mut mind = Mind::default();
    let plan = mind.say(fact("db", "The db login is root, password: hunter2")).unwrap();
    assert_eq!(mind.as_fact("f1").content, "The db login is root, password: [masked: password]");
    assert_eq!((mind.one("f1").masked, plan.note.contains("masked before it was stored: 1")), (1, true));
}
