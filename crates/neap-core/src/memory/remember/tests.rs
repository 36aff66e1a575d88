//! What becomes of facts, and of the other kinds.

use std::collections::BTreeMap;

use super::judge::{CONFIRMS_ABOVE, CONTESTS_FROM, SUPERSEDES_ABOVE, WARNS_FROM};
use super::*;
use crate::ids::{EffortId, SessionId, TurnNo};
use crate::memory::{
    Action, Author, Censor, Confidence, Decision, Episode, Fact, PINNED_MAX, Pattern, Procedure, Side, Stakes,
    Trust,
};
use crate::testing::WordCounter;

/// An agent's records, as a store would keep them.
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
            let was = self.records.get(&write.memory.id).map(crate::memory::Standing::of);
            assert_eq!(write.was, was, "a write says what the record counted as");
            self.head.follow(&write.memory, write.was.as_ref(), now);
            self.records.insert(write.memory.id, write.memory.clone());
        }
    }

    pub(in crate::memory) fn say(&mut self, draft: MemoryDraft) -> Result<Learnt, Refusal> {
        let near: Vec<Memory> = self.records.values().filter(|m| m.status.is_searched()).cloned().collect();
        let now = self.now();
        let learnt = remember(&self.head, &near, draft, &WordCounter, now)?;
        self.keep(&learnt.writes, now);
        Ok(learnt)
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
    MemoryDraft::new(Body::Fact(body), Provenance::of(Author::Person))
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
    MemoryDraft::new(Body::Decision(body), Provenance::of(Author::Person))
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
    MemoryDraft::new(Body::Procedure(body), Provenance::of(Author::Person))
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
    MemoryDraft::new(Body::Episode(body), Provenance::of(Author::Model))
}

pub(in crate::memory) fn censor(words: &str, action: Action, author: Author) -> MemoryDraft {
    let pattern = Pattern::Words(words.into());
    let reason = "learnt the hard way".into();
    let body = Censor { pattern, side: Side::ToolCall, action, reason, triggers: 0, false_positives: 0 };
    MemoryDraft::new(Body::Censor(body), Provenance::of(author))
}

pub(in crate::memory) fn by(author: Author, draft: MemoryDraft) -> MemoryDraft {
    MemoryDraft { provenance: Provenance::of(author), ..draft }
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
fn check(first: MemoryDraft, second: MemoryDraft, want: WhatLearnt) -> (Mind, Learnt) {
    let mut mind = Mind::default();
    mind.say(first).unwrap();
    let learnt = mind.say(second).unwrap();
    assert_eq!(learnt.what, want, "{}", learnt.note);
    (mind, learnt)
}

/// 003, Facts: "CONFIRMED: Re-encountered. confirmation_count++, last_confirmed updated."
#[test]
fn a_fact_met_again_is_confirmed_and_no_new_record() {
    let (mut mind, learnt) =
        check(fact("Tim", "Tim prefers Celsius"), fact("Tim", "Tim prefers Celsius."), WhatLearnt::Confirmed);
    assert_eq!((mind.records.len(), learnt.id.to_string().as_str()), (1, "f1"));
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
        let (mind, learnt) = check(fact(subject, old), fact(subject, new), WhatLearnt::Superseded);
        assert_eq!(learnt.superseded, ["f1".parse().unwrap()]);
        assert_eq!((mind.one("f1").status, mind.one("f2").status), (Status::Superseded, Status::New));
        assert_eq!(mind.as_fact("f1").superseded_by, "f2".parse().ok());
        let Change::Superseded { by, evidence: told } = &learnt.writes[1].change else { panic!("another kind") };
        assert_eq!(by.to_string(), "f2");
        assert!(told.ends_with(evidence), "{told}");
    }
}

#[test]
fn facts_of_one_subject_stand_side_by_side() {
    for (old, new) in [
        ("Tim lives in Oslo", "Tim prefers Celsius"),
        ("Tim likes tea", "Tim likes jazz"),
        ("Tim prefers Celsius", "Tim prefers dark mode"),
    ] {
        let (mind, learnt) = check(fact("Tim", old), fact("Tim", new), WhatLearnt::New);
        assert_eq!((mind.records.len(), learnt.writes.len()), (2, 1));
    }
    check(fact("Tim", "prefers Celsius"), fact("Ann", "prefers Fahrenheit"), WhatLearnt::New);
    check(fact("Tim", "prefers Celsius"), fact("Ann", "prefers Celsius"), WhatLearnt::New);
    check(fact("billing", "The timeout is 30 s"), fact("login", "The timeout is 45 s"), WhatLearnt::New);
}

#[test]
fn what_is_uncertain_is_contested_on_both_sides_and_nothing_gives_way() {
    for (first, second) in [
        // Another subject of a like name.
        (fact("billing", "The timeout is 30 s"), fact("billing service", "The timeout is 45 s")),
        // Other words.
        (
            fact("billing", "billing requests time out after 30 s"),
            fact("billing", "billing requests: after 45 s they end"),
        ),
        // Only the writer knows whether both can be.
        (fact("Tim", "Tim prefers Vim"), fact("Tim", "Tim prefers Emacs")),
        // Someone less trusted.
        (fact("Tim", "Tim lives in Oslo"), by(Author::Model, fact("Tim", "Tim lives in Bergen"))),
        (
            by(Author::Model, fact("Tim", "Tim lives in Oslo")),
            by(Author::Import, fact("Tim", "Tim lives in Bergen")),
        ),
        // What is written later holds from earlier on.
        (
            fact("Tim", "Tim lives in Oslo"),
            MemoryDraft { valid_from: Some(Stamp(0)), ..fact("Tim", "Tim lives in Bergen") },
        ),
    ] {
        let (mind, learnt) = check(first, second, WhatLearnt::Contested);
        assert_eq!(learnt.superseded, []);
        assert_eq!(mind.one("f1").contested_with, ["f2".parse().unwrap()]);
        assert_eq!(mind.one("f2").contested_with, ["f1".parse().unwrap()]);
        assert!(mind.records.values().all(|memory| memory.status == Status::New));
    }
}

/// A person's word settles what was contested: the older of the two gives way.
#[test]
fn confirming_one_of_two_contested_facts_settles_it() {
    let mut mind = Mind::default();
    mind.say(by(Author::Model, fact("Tim", "Tim lives in Oslo"))).unwrap();
    mind.say(by(Author::Import, fact("Tim", "Tim lives in Bergen"))).unwrap();
    let learnt = mind.say(fact("Tim", "Tim lives in Bergen")).unwrap();
    assert_eq!((learnt.what, learnt.superseded), (WhatLearnt::Confirmed, vec!["f1".parse().unwrap()]));
    assert_eq!(mind.as_fact("f1").superseded_by, "f2".parse().ok());
    assert_eq!(mind.one("f2").provenance.trust, Trust::High);
}

/// SOURCES, Facts: "similarity > 0.95 confirms the existing one".
#[test]
fn newton_above_095_confirms() {
    assert_eq!(CONFIRMS_ABOVE, 0.95);
    // Nine and ten words of content: √0.9 is less. Ten and eleven: √(10/11) is more.
    let nine = "alpha bravo charlie delta echo foxtrot golf hotel india";
    check(fact("alpha", nine), fact("alpha", &format!("{nine} juliett")), WhatLearnt::New);
    let ten = format!("{nine} juliett");
    check(fact("alpha", &ten), fact("alpha", &format!("{ten} kilo")), WhatLearnt::Confirmed);
    check(fact("alpha", &ten), fact("alpha", &format!("{ten} 7")), WhatLearnt::New);
}

/// SOURCES, Facts: "same subject and > 0.80 supersedes". Measured around the differing value.
#[test]
fn newton_same_subject_above_080_supersedes() {
    assert_eq!((SUPERSEDES_ABOVE, CONTESTS_FROM), (0.80, 0.50));
    let old = fact("pool", "The pool limit is 30");
    // {pool, limit, ·} and one or two words more: 3/√12 = 0.87, 3/√15 = 0.77.
    check(old.clone(), fact("pool", "The pool limit is 45 overall"), WhatLearnt::Superseded);
    check(old, fact("pool", "The pool limit is 45 overall, Monday"), WhatLearnt::Contested);
}

/// SOURCES, Facts: "0.85-0.95 warns of a contradiction".
#[test]
fn newton_085_to_095_warns() {
    assert_eq!(WARNS_FROM, 0.85);
    let (_, learnt) = check(
        fact("billing", "The timeout is 30 s"),
        fact("billing service", "The timeout is 45 s"),
        WhatLearnt::Contested,
    );
    assert!(learnt.note.contains("contradicts f1: timeout 30 s → 45 s"), "{}", learnt.note);
    // {alpha … delta} and one more: 2/√5 = 0.894, with no value that differs.
    let four = "alpha bravo charlie delta";
    let (_, learnt) = check(fact("alpha", four), fact("alpha", &format!("{four} echo")), WhatLearnt::New);
    assert!(learnt.note.contains("f1 is much like it (0.89)"), "{}", learnt.note);
}

#[test]
fn a_fact_that_holds_later_takes_no_place_now() {
    let later = Stamp(1_800_000_000_000);
    let draft = MemoryDraft { valid_from: Some(later), ..fact("Tim", "Tim lives in Bergen") };
    let (mind, _) = check(fact("Tim", "Tim lives in Oslo"), draft, WhatLearnt::New);
    assert_eq!((mind.one("f1").status, mind.one("f1").valid_until), (Status::New, Some(later)));
    assert!(mind.one("f1").holds(Stamp(5_000)) && !mind.one("f2").holds(Stamp(5_000)));
    assert!(!mind.one("f1").holds(later) && mind.one("f2").holds(later));
    // What held only in the past, or holds no longer, contradicts nothing.
    let past = |draft| MemoryDraft { valid_until: Some(Stamp(500)), ..draft };
    check(fact("Tim", "Tim lives in Oslo"), past(fact("Tim", "Tim lives in Bergen")), WhatLearnt::New);
    check(past(fact("Tim", "Tim lives in Oslo")), fact("Tim", "Tim lives in Bergen"), WhatLearnt::New);
    check(past(fact("Tim", "Tim lives in Oslo")), fact("Tim", "Tim lives in Oslo"), WhatLearnt::New);
    let planned = MemoryDraft { valid_from: Some(later), ..fact("Tim", "Tim lives in Oslo") };
    check(planned, fact("Tim", "Tim lives in Bergen"), WhatLearnt::New);
}

#[test]
fn a_write_that_is_sent_again_changes_nothing() {
    let one = at(fact("Tim", "Tim lives in Oslo"), 3, "call-1");
    let (_, learnt) = check(one.clone(), one.clone(), WhatLearnt::Known);
    assert_eq!(learnt.writes, []);
    // Nor does it when its record gave way since.
    let mut mind = Mind::default();
    mind.say(one.clone()).unwrap();
    mind.say(at(fact("Tim", "Tim lives in Bergen"), 4, "call-1")).unwrap();
    assert_eq!(mind.say(one.clone()).unwrap().what, WhatLearnt::Known);
    assert_eq!(mind.records.len(), 2);
    // Another text from the same call is another record; the same text in the same turn confirms nothing.
    check(one.clone(), at(fact("Tim", "Tim likes tea"), 3, "call-1"), WhatLearnt::New);
    check(one.clone(), at(fact("Tim", "Tim lives in Oslo"), 3, "call-2"), WhatLearnt::Known);
    check(one, at(fact("Tim", "Tim lives in Oslo"), 4, "call-1"), WhatLearnt::Confirmed);
    for draft in [
        decision("Use Postgres", Outcome::Success),
        procedure("Deploy", &["merge"]),
        episode("Moved house", None),
        censor("push main", Action::Refuse, Author::Person),
    ] {
        let draft = at(draft, 1, "x");
        check(draft.clone(), draft, WhatLearnt::Known);
    }
}

#[test]
fn a_decision_is_recorded_once_while_it_is_open() {
    let (_, learnt) = check(
        decision("Use Postgres", Outcome::Pending),
        decision("use Postgres!", Outcome::Pending),
        WhatLearnt::Known,
    );
    assert!(learnt.note.contains("Review d1"), "{}", learnt.note);
    check(decision("Use Postgres", Outcome::Pending), decision("Use MySQL", Outcome::Pending), WhatLearnt::New);
    let (mind, _) = check(
        decision("Use Postgres", Outcome::Success),
        decision("Use Postgres", Outcome::Pending),
        WhatLearnt::New,
    );
    assert_eq!((mind.one("d1").status, mind.one("d2").status), (Status::Reviewed, Status::Recorded));
}

#[test]
fn a_procedure_of_the_same_name_is_added_to() {
    let (mind, learnt) = check(
        procedure("Deploy", &["merge", "tag"]),
        procedure("deploy", &["Tag", "announce"]),
        WhatLearnt::Confirmed,
    );
    let Body::Procedure(is) = &mind.one("p1").body else { panic!("another kind") };
    assert_eq!(is.steps, ["merge", "tag", "announce"]);
    assert_eq!(learnt.writes[0].change, Change::Edited);
    check(procedure("Deploy", &["merge"]), procedure("Deploy", &["merge"]), WhatLearnt::Known);
    check(procedure("Deploy", &["merge"]), procedure("Roll back", &["merge"]), WhatLearnt::New);
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
        WhatLearnt::Confirmed,
    );
    let Body::Episode(is) = &mind.one("e1").body else { panic!("another kind") };
    assert_eq!(is.summary, "Moved house");
    check(episode("Moved house", Some("move")), episode("Moved house", Some("garden")), WhatLearnt::New);
    check(episode("Moved house", None), episode("Planted trees", None), WhatLearnt::New);
    check(episode("Moved house", None), episode("Moved house", None), WhatLearnt::Known);
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
        mind.say(censor(&format!("w{n}"), Action::Steer, Author::Person)).unwrap();
    }
    let refusal = mind.say(censor("one more", Action::Steer, Author::Person)).unwrap_err();
    assert!(refusal.error.contains("256") && refusal.hint.is_some());
    assert_eq!(mind.say(censor("w1", Action::Steer, Author::Person)).unwrap().what, WhatLearnt::Known);
}

/// DESIGN, decision 14: an agent's rule refuses at most.
#[test]
fn a_censor_is_no_stricter_than_its_author_may_set() {
    let mut mind = Mind::default();
    let learnt = mind.say(censor("push main", Action::Abort, Author::Model)).unwrap();
    let Body::Censor(is) = &mind.one("c1").body else { panic!("another kind") };
    assert_eq!(is.action, Action::Refuse);
    assert!(learnt.note.contains("milder"), "{}", learnt.note);
}

/// DESIGN, Dependencies: what rests on a superseded fact is flagged, and search finds it by the fact's id.
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
    let request = dependants(f1);
    let found = crate::terms::terms(&mind.one("d1").text());
    assert!(request.terms.iter().all(|term| found.contains(term)), "{found:?}");
    let write = shaken(mind.one("d1"), f1, &WordCounter, Stamp(9)).unwrap();
    assert_eq!((write.change.clone(), &write.memory.shaken_by), (Change::Shaken { by: f1 }, &vec![f1]));
    assert_eq!(shaken(&write.memory, f1, &WordCounter, Stamp(10)), None);
    assert_eq!(shaken(mind.one("d1"), "f2".parse().unwrap(), &WordCounter, Stamp(9)), None);
}

#[test]
fn what_is_looked_up_finds_the_record_itself() {
    for draft in [
        fact("Tim", "Tim lives in Oslo"),
        decision("Use Postgres", Outcome::Pending),
        procedure("Deploy", &["merge"]),
        episode("Moved house", Some("auth-bug")),
    ] {
        let request = wanted(&draft).unwrap();
        let mut mind = Mind::default();
        let id = mind.say(draft).unwrap().id;
        let text = crate::terms::terms(&mind.records[&id].text());
        assert!(request.terms.iter().all(|term| text.contains(term)), "{request:?} {text:?}");
        assert_eq!(request.limits[0].0, id.kind());
        assert_eq!(request.superseded, id.kind() == MemoryKind::Fact);
    }
    assert_eq!(wanted(&censor("x", Action::Steer, Author::Person)), None);
}

#[test]
fn secrets_are_masked_and_said() {
    let mut mind = Mind::default();
    let learnt = mind.say(fact("db", "The db login is root, password: hunter2")).unwrap();
    assert_eq!(mind.as_fact("f1").content, "The db login is root, password: [masked: password]");
    assert_eq!((mind.one("f1").masked, learnt.note.contains("masked before it was stored: 1")), (1, true));
}
