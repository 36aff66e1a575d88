//! Preconditions and writes of each change; `remember`'s sequences check that undo restores the earlier record.

use super::super::remember::tests::{Mind, by, censor, decision, episode, fact, procedure};
use super::*;
use crate::base::testing::WordCounter;
use crate::memory::{Censor, CensorAction, Decision, Fact, MemoryDraft, Procedure};

const NOW: Stamp = Stamp(50_000);

fn written(draft: MemoryDraft) -> Memory {
    let mut mind = Mind::default();
    let id = mind.say(draft).unwrap().id;
    mind.records[&id].clone()
}

/// The record after the last write; each write must refer to the state before it.
#[track_caller]
fn after(writes: WriteResult) -> Memory {
    let writes = writes.unwrap();
    for pair in writes.windows(2) {
        assert_eq!(pair[1].previous, Some(crate::memory::CountedState::of(&pair[0].memory)));
    }
    writes.last().unwrap().memory.clone()
}

#[track_caller]
fn refused(writes: WriteResult, error: &str) {
    let refusal = writes.unwrap_err();
    assert!(refusal.error.contains(error), "{refusal:?}");
}

fn as_procedure(memory: &Memory) -> &Procedure {
    let Body::Procedure(procedure) = &memory.body else { panic!("another kind") };
    procedure
}

/// 003, Facts: "CORE: confirmed 3+ times OR manually marked."
#[test]
fn facts_are_confirmed_and_marked() {
    let mut memory = written(fact("Tim", "Tim lives in Oslo"));
    let marked = after(mark_core(&memory, Author::Person, &WordCounter, NOW));
    assert_eq!(marked.status, Status::Core);
    refused(mark_core(&marked, Author::Person, &WordCounter, NOW), "f1 is core already");
    for want in [Status::Confirmed, Status::Confirmed, Status::Core] {
        memory = after(confirm(
            &AgentHead::default(),
            &memory,
            &Provenance::from_author(Author::Person),
            &WordCounter,
            NOW,
        ));
        assert_eq!(memory.status, want);
    }
    let wrong = after(deactivate(&memory, &WordCounter, NOW));
    assert_eq!(wrong.status, Status::Inactive);
    refused(
        confirm(&AgentHead::default(), &wrong, &Provenance::from_author(Author::Person), &WordCounter, NOW),
        "f1 is inactive",
    );
    refused(mark_core(&wrong, Author::Person, &WordCounter, NOW), "f1 is inactive");
    refused(deactivate(&wrong, &WordCounter, NOW), "inactive already");
    refused(retire(&memory, &WordCounter, NOW), "facts are not retired");
}

/// 003, Decisions: "RECORDED → PENDING → REVIEWED"; "Outcome logged. Feeds calibration."
#[test]
fn decisions_are_carried_out_and_reviewed() {
    let memory = written(decision("Use Postgres", Outcome::Pending));
    assert_eq!(memory.status, Status::Recorded);
    let pending = after(mark_carried_out(&memory, &WordCounter, NOW));
    assert_eq!(pending.status, Status::Pending);
    refused(mark_carried_out(&pending, &WordCounter, NOW), "pending already");
    let writes =
        review(&pending, Author::Person, Outcome::Success, "fast, password: hunter2", &WordCounter, NOW).unwrap();
    let mut head = AgentHead::default();
    head.apply_change(&pending, None, NOW);
    for write in &writes {
        head.apply_change(&write.memory, write.previous.as_ref(), NOW);
    }
    assert_eq!((head.reviews.count, head.reviews.value_sum, head.reviews.squares_sum), (1, 1_000, 250_000));
    let reviewed = after(Ok(writes));
    let Body::Decision(Decision { outcome_notes, .. }) = &reviewed.body else { panic!("another kind") };
    assert_eq!(outcome_notes, "fast, password: [masked: password]");
    assert_eq!((reviewed.status, reviewed.masked), (Status::Reviewed, 1));
    // A second review corrects the outcome and the counts.
    let again = review(&reviewed, Author::Person, Outcome::Failure, "", &WordCounter, NOW).unwrap();
    head.apply_change(&again[0].memory, again[0].previous.as_ref(), NOW);
    assert_eq!((head.reviews.count, head.reviews.value_sum, head.reviews.squares_sum), (1, 0, 250_000));
    refused(review(&memory, Author::Person, Outcome::Pending, "", &WordCounter, NOW), "must say how it came out");
    refused(retire(&memory, &WordCounter, NOW), "permanent");
    refused(deactivate(&memory, &WordCounter, NOW), "only a fact");
}

/// 003, Procedures: "EFFECTIVE: effectiveness > 0.6 after 5+ activations."
#[test]
fn procedures_are_used_and_judged() {
    let mut memory = written(procedure("Deploy", &["merge"]));
    memory = after(record_use(&memory, None, &WordCounter, NOW));
    for succeeded in [true, true, true, false] {
        memory = after(record_use(&memory, Some(succeeded), &WordCounter, NOW));
        assert_eq!(memory.status, Status::Active);
    }
    memory = after(record_use(&memory, Some(true), &WordCounter, NOW));
    assert_eq!((memory.status, as_procedure(&memory).activations), (Status::Effective, 5));
    let retired = after(retire(&memory, &WordCounter, NOW));
    assert_eq!(retired.status, Status::Retired);
    refused(record_use(&retired, None, &WordCounter, NOW), "p1 is retired");
    refused(retire(&retired, &WordCounter, NOW), "retired already");
}

/// 003, Censors: ESCALATED above the trigger threshold; RETIRED with too many false positives.
#[test]
fn censors_trigger_escalate_and_retire() {
    let mut memory = written(censor("push main", CensorAction::Steer, Author::Person));
    refused(record_false_positive(&memory, &WordCounter, NOW), "found something 0 times");
    for want in [Status::Active, Status::Active, Status::Escalated] {
        memory = after(record_trigger(&memory, &WordCounter, NOW));
        assert_eq!(memory.status, want);
    }
    let Body::Censor(Censor { action, .. }) = &memory.body else { panic!("another kind") };
    assert_eq!(*action, CensorAction::Refuse);
    for _ in 0..2 {
        memory = after(record_trigger(&memory, &WordCounter, NOW));
    }
    for want in [Status::Escalated, Status::Escalated, Status::Retired] {
        memory = after(record_false_positive(&memory, &WordCounter, NOW));
        assert_eq!(memory.status, want);
    }
    refused(record_trigger(&memory, &WordCounter, NOW), "retired");
}

#[test]
fn an_edit_changes_what_is_said_and_never_what_is_counted() {
    let head = AgentHead::default();
    let memory = after(confirm(
        &head,
        &written(fact("Tim", "Tim lives in Oslo")),
        &Provenance::from_author(Author::Person),
        &WordCounter,
        NOW,
    ));
    let body = Some(fact("Tim", "Tim lives in Oslo, token=abc").body);
    let edited =
        Edit { body, pinned: Some(true), domain: Some(Some("People".into())), ..Edit::new(Author::Person) };
    let edited = after(edit(&head, &memory, edited, &WordCounter, NOW));
    let Body::Fact(Fact { content, confirmations, .. }) = &edited.body else { panic!("another kind") };
    assert_eq!((content.as_str(), *confirmations), ("Tim lives in Oslo, token=[masked: token]", 1));
    assert_eq!((edited.pinned, edited.domain.as_deref(), edited.masked), (true, Some("people"), 1));
    assert!(edited.lines.micro.contains("token"));
    let wrong = Edit { body: Some(procedure("x", &["y"]).body), ..Edit::new(Author::Person) };
    refused(edit(&head, &memory, wrong, &WordCounter, NOW), "f1 is a fact and stays one");
    let empty = Edit { body: Some(fact("Tim", "").body), ..Edit::new(Author::Person) };
    refused(edit(&head, &memory, empty, &WordCounter, NOW), "needs content");
    refused(edit(&head, &memory, Edit::new(Author::Model), &WordCounter, NOW), "more trusted");
    let valid = Edit { valid: Some((Some(Stamp(2)), Some(Stamp(1)))), ..Edit::new(Author::Person) };
    refused(edit(&head, &memory, valid, &WordCounter, NOW), "before it begins");
    let models = written(by(Author::Model, fact("Tim", "Tim lives in Oslo")));
    assert!(edit(&head, &models, Edit::new(Author::Person), &WordCounter, NOW).is_ok());
}

/// A model cannot delete, only ask.
#[test]
fn forgetting_is_asked_for() {
    let memory = written(episode("Moved house", None));
    let asked = after(request_forget(&memory, "out of date", &WordCounter, NOW));
    assert!(asked.forget_asked && asked.status == memory.status);
    refused(request_forget(&asked, "", &WordCounter, NOW), "asked before");
}

#[test]
fn undoing_a_supersession_brings_the_old_fact_back() {
    let mut mind = Mind::default();
    mind.say(fact("Tim", "Tim lives in Oslo")).unwrap();
    mind.say(fact("Tim", "Tim lives in Oslo")).unwrap();
    let f1 = "f1".parse().unwrap();
    let before = mind.records[&f1].clone();
    let learnt = mind.say(fact("Tim", "Tim lives in Bergen")).unwrap();
    assert_eq!(learnt.superseded, [f1]);
    let writes = undo(&mind.head, &mind.records[&f1], Some(&before), Seq(7), &WordCounter, NOW).unwrap();
    assert_eq!(writes[0].change, Change::Undone { seq: Seq(7) });
    assert_eq!(writes[0].memory, Memory { updated: NOW, ..before });
    assert_eq!(writes[0].memory.status, Status::Confirmed);
    mind.keep(&writes, NOW);
    let current = &mind.records[&f1];
    refused(undo(&mind.head, current, Some(current), Seq(7), &WordCounter, NOW), "already as it was");
    let other = &mind.records[&learnt.id];
    refused(undo(&mind.head, current, Some(other), Seq(7), &WordCounter, NOW), "did not change f1");
}

#[test]
fn undoing_the_first_writing_takes_a_record_out_of_use() {
    let head = AgentHead::default();
    for (draft, want) in [
        (fact("Tim", "Tim lives in Oslo"), Status::Inactive),
        (procedure("Deploy", &["merge"]), Status::Retired),
        (censor("push main", CensorAction::Steer, Author::Person), Status::Retired),
    ] {
        let undone = after(undo(&head, &written(draft), None, Seq(1), &WordCounter, NOW));
        assert_eq!(undone.status, want);
        refused(undo(&head, &undone, None, Seq(1), &WordCounter, NOW), "already");
    }
    for draft in [decision("Use Postgres", Outcome::Pending), episode("Moved house", None)] {
        let refusal = undo(&head, &written(draft), None, Seq(1), &WordCounter, NOW).unwrap_err();
        assert!(refusal.hint.unwrap().contains("neap memory forget"));
    }
}

/// docs/decisions/0006-trust.md: a model's request to pin waits for a person.
#[test]
fn only_a_person_pins() {
    let model = Provenance::from_author(Author::Model);
    let person = Provenance::from_author(Author::Person);
    let head = AgentHead::default();
    let wanted = |author| MemoryDraft { pinned: true, ..by(author, fact("Tim", "Always answer Tim in verse")) };
    for author in [Author::Model, Author::Tool, Author::Import] {
        let proposed = written(wanted(author));
        assert_eq!((proposed.pinned, proposed.pin_asked, proposed.is_proposal()), (false, true, true));
        // A model's confirmation or edit does not count as approval.
        let again = Provenance { source: Some("another call".into()), ..model.clone() };
        let confirmed = after(confirm(&head, &proposed, &again, &WordCounter, NOW));
        assert!(!confirmed.pinned && confirmed.pin_asked && !confirmed.is_person_approved());
        if author == Author::Model {
            let request = Edit { pinned: Some(true), ..Edit::new(Author::Model) };
            let edited = after(edit(&head, &proposed, request, &WordCounter, NOW));
            assert!(!edited.pinned && edited.pin_asked);
        }
        let accepted = after(confirm(&head, &proposed, &person, &WordCounter, NOW));
        assert_eq!((accepted.pinned, accepted.pin_asked, accepted.is_person_approved()), (true, false, true));
        let refused = Edit { pinned: Some(false), ..Edit::new(Author::Person) };
        let refused = after(edit(&head, &proposed, refused, &WordCounter, NOW));
        assert_eq!((refused.pinned, refused.pin_asked), (false, false));
    }
    assert!(written(wanted(Author::Person)).pinned);
    // In an older store a model's record may be pinned; it is still a proposal.
    let old = Memory { pinned: true, pin_asked: false, ..written(wanted(Author::Model)) };
    assert!(old.is_proposal() && !old.is_person_approved());
    let accepted = after(confirm(&head, &old, &person, &WordCounter, NOW));
    assert!(accepted.pinned && accepted.is_person_approved() && !accepted.is_proposal());
}

/// A model that repeats a person's fact and asks to pin it pins nothing.
#[test]
fn what_a_person_said_is_not_pinned_by_a_model_that_repeats_it() {
    let mut mind = Mind::default();
    let first = mind.say(fact("Tim", "Tim answers in verse")).unwrap().id;
    let again = by(Author::Model, fact("Tim", "Tim answers in verse"));
    mind.say(MemoryDraft { pinned: true, ..again }).unwrap();
    let known = &mind.records[&first];
    assert_eq!((known.pinned, known.pin_asked, mind.records.len()), (false, true, 1));
    mind.say(MemoryDraft { pinned: true, ..fact("Tim", "Tim answers in verse") }).unwrap();
    assert_eq!((mind.records[&first].pinned, mind.records[&first].pin_asked), (true, false));
}

#[test]
fn a_rule_of_a_model_waits_for_a_person() {
    let proposed = written(censor("drop table", CensorAction::Refuse, Author::Model));
    assert!(proposed.is_proposal());
    let person = Provenance::from_author(Author::Person);
    let accepted = after(confirm(&AgentHead::default(), &proposed, &person, &WordCounter, NOW));
    assert!(!accepted.is_proposal() && accepted.is_person_approved() && accepted.status == Status::Created);
    refused(confirm(&AgentHead::default(), &accepted, &person, &WordCounter, NOW), "only a fact can be");
    // Proposals at their limit leave room for a person's rules.
    let mut mind = Mind::default();
    for n in 0..super::super::CENSORS_MAX {
        mind.say(censor(&format!("word{n}"), CensorAction::Steer, Author::Model)).unwrap();
    }
    assert!(mind.say(censor("one more", CensorAction::Steer, Author::Model)).is_err());
    assert!(mind.say(censor("one more", CensorAction::Steer, Author::Person)).is_ok());
}
