//! Every row of the five lifecycle tables (003), and the boundaries between them.

use super::*;
use crate::base::testing::WordCounter;
use crate::memory::{CensorPattern, CensorSide, Confidence, Decision, Episode, MemoryId, Provenance, Stakes};

const START: Stamp = Stamp(1_700_000_000_000);

fn memory(body: Body, status: Status) -> Memory {
    let id = MemoryId::new(body.kind(), 1).unwrap();
    let mut memory = Memory {
        id,
        body,
        status,
        provenance: Provenance::from_author(Author::Person),
        tags: Vec::new(),
        project: None,
        domain: None,
        pinned: false,
        created: START,
        updated: START,
        valid_from: None,
        valid_until: None,
        contested_with: Vec::new(),
        shaken_by: Vec::new(),
        masked: 0,
        pin_asked: false,
        forget_asked: false,
        lines: RenderedMemory::default(),
    };
    memory.lines = RenderedMemory::render(&WordCounter, &memory);
    memory
}

fn fact(confirmations: u32, status: Status) -> Memory {
    let (subject, content) = ("Tim".to_owned(), "Tim prefers Celsius".to_owned());
    let confidence = Confidence::FULL;
    let fact = Fact {
        subject,
        content,
        confidence,
        confirmations,
        last_confirmed: None,
        last_confirmed_by: None,
        superseded_by: None,
    };
    memory(Body::Fact(fact), status)
}

fn procedure(successes: u32, failures: u32, status: Status) -> Memory {
    let steps = vec!["branch".to_owned()];
    let name = "Deploy".to_owned();
    let activations = successes.saturating_add(failures);
    memory(
        Body::Procedure(Procedure { name, core_patterns: vec![], steps, activations, successes, failures }),
        status,
    )
}

fn episode(status: Status) -> Memory {
    let episode = Episode {
        summary: "Storage talk".to_owned(),
        detail: "All that was said.".to_owned(),
        detail_at: None,
        participants: vec![],
        minutes: None,
        outcome: String::new(),
        lessons: vec![],
        session: None,
        effort: None,
    };
    memory(Body::Episode(episode), status)
}

fn censor(author: Author, action: CensorAction, counts: (u32, u32), status: Status) -> Memory {
    let censor = Censor {
        pattern: CensorPattern::Words("push main".to_owned()),
        side: CensorSide::ToolCall,
        action,
        reason: "review first".to_owned(),
        triggers: counts.0,
        false_positives: counts.1,
    };
    Memory { provenance: Provenance::from_author(author), ..memory(Body::Censor(censor), status) }
}

fn decision(outcome: Outcome, status: Status) -> Memory {
    let decision = Decision {
        description: "Chose Postgres".to_owned(),
        context: String::new(),
        reasons: vec![],
        confidence: Confidence::FULL,
        category: String::new(),
        stakes: Stakes::Medium,
        alternatives: vec![],
        outcome,
        outcome_notes: String::new(),
        reviewed_by: None,
        rests_on: vec![],
    };
    memory(Body::Decision(decision), status)
}

#[track_caller]
fn check(memory: &Memory, want: Option<Status>) {
    check_at(memory, 0, want);
}

#[track_caller]
fn check_at(memory: &Memory, after: i64, want: Option<Status>) {
    let now = Stamp(START.0 + after);
    let found = next_status(memory, now);
    assert_eq!(found.map(|(status, _)| status), want);
    let write = transition_write(memory, Seq(9), &WordCounter, now);
    assert_eq!(write.as_ref().map(|write| write.memory.status), want);
    if let (Some((to, reason)), Some(write)) = (found, write) {
        assert!(is_allowed(memory.kind(), memory.status, to));
        assert_eq!(write.change, Change::Moved { from: memory.status, reason: reason.to_owned() });
        assert_eq!((write.memory.updated, write.previous.map(|was| was.status)), (now, Some(memory.status)));
        assert_eq!(write.memory.lines, RenderedMemory::render(&WordCounter, &write.memory));
    }
}

/// 003, Facts, NEW: just learned.
#[test]
fn newton_fact_new() {
    assert_eq!(Status::initial(MemoryKind::Fact), Status::New);
    check(&fact(0, Status::New), None);
    check_at(&fact(0, Status::New), 10_000 * DAY_MS, None);
}

/// 003, Facts, CONFIRMED: re-encountered.
#[test]
fn newton_fact_confirmed_when_met_again() {
    check(&fact(1, Status::New), Some(Status::Confirmed));
    check(&fact(1, Status::Confirmed), None);
    check(&fact(2, Status::Confirmed), None);
}

/// 003, Facts, CORE: confirmed 3+ times OR manually marked.
#[test]
fn newton_fact_core_at_three_confirmations_or_marked() {
    check(&fact(2, Status::New), Some(Status::Confirmed));
    check(&fact(3, Status::Confirmed), Some(Status::Core));
    check(&fact(3, Status::New), Some(Status::Core));
    check(&fact(4, Status::Core), None);
    assert!(is_allowed(MemoryKind::Fact, Status::New, Status::Core));
    // A fact marked by a person stays core, however few its confirmations.
    check(&fact(0, Status::Core), None);
    check(&fact(1, Status::Core), None);
}

/// 003, Facts, SUPERSEDED: contradicted by a newer fact, superseded_by set.
#[test]
fn newton_fact_superseded_by_a_newer_one() {
    for from in [Status::New, Status::Confirmed, Status::Core] {
        let mut old = fact(3, from);
        let Body::Fact(body) = &mut old.body else { unreachable!("a fact") };
        body.superseded_by = MemoryId::new(MemoryKind::Fact, 2);
        check(&old, Some(Status::Superseded));
        old.status = Status::Superseded;
        check(&old, None);
    }
}

/// 003, Facts, INACTIVE: proven wrong; only by command.
#[test]
fn newton_fact_inactive_by_word_alone() {
    for from in [Status::New, Status::Confirmed, Status::Core, Status::Superseded] {
        assert!(is_allowed(MemoryKind::Fact, from, Status::Inactive));
    }
    check(&fact(7, Status::Inactive), None);
    assert!(!is_allowed(MemoryKind::Fact, Status::Inactive, Status::New));
}

/// An expired fact was not wrong: its status stays, only its validity ends.
#[test]
fn an_expired_fact_keeps_its_status() {
    let mut timed = fact(0, Status::New);
    timed.valid_from = Some(Stamp(START.0 + 10));
    timed.valid_until = Some(Stamp(START.0 + 20));
    check_at(&timed, 1_000, None);
    assert_eq!(timed.transition_due(), None);
    let holds = [0, 9, 10, 19, 20, 21].map(|after| timed.is_valid_at(Stamp(START.0 + after)));
    assert_eq!(holds, [false, false, true, true, false, false]);
}

/// 003, Episodes, ACTIVE: recent (< 30 days); SUMMARIZED: older.
#[test]
fn newton_episode_summarized_at_thirty_days() {
    let active = episode(Status::Active);
    assert_eq!(active.transition_due(), Some(Stamp(START.0 + 30 * DAY_MS)));
    check_at(&active, 30 * DAY_MS - 1, None);
    check_at(&active, 30 * DAY_MS, Some(Status::Summarized));
    // One step at a time, however late the sweep.
    check_at(&active, 400 * DAY_MS, Some(Status::Summarized));
    let write = transition_write(&active, Seq(9), &WordCounter, Stamp(START.0 + 30 * DAY_MS)).unwrap();
    assert_eq!(write.memory.body, active.body, "its detail stays");
}

/// 003, Episodes, ARCHIVED: 90 days; only summary and metadata remain, the history keeps the detail.
#[test]
fn newton_episode_archived_at_ninety_days() {
    let summarized = episode(Status::Summarized);
    assert_eq!(summarized.transition_due(), Some(Stamp(START.0 + 90 * DAY_MS)));
    check_at(&summarized, 90 * DAY_MS - 1, None);
    check_at(&summarized, 90 * DAY_MS, Some(Status::Archived));
    let write = transition_write(&summarized, Seq(9), &WordCounter, Stamp(START.0 + 90 * DAY_MS)).unwrap();
    let Body::Episode(after) = &write.memory.body else { unreachable!("an episode") };
    assert_eq!(
        (after.detail.as_str(), after.detail_at, after.summary.as_str()),
        ("", Some(Seq(9)), "Storage talk")
    );
    let archived = episode(Status::Archived);
    assert_eq!(archived.transition_due(), None);
    check_at(&archived, 1_000 * DAY_MS, None);
}

#[test]
fn an_archived_episode_without_detail_points_nowhere() {
    let mut bare = episode(Status::Summarized);
    let Body::Episode(body) = &mut bare.body else { unreachable!("an episode") };
    body.detail.clear();
    let write = transition_write(&bare, Seq(9), &WordCounter, Stamp(START.0 + 90 * DAY_MS)).unwrap();
    assert!(matches!(write.memory.body, Body::Episode(Episode { detail_at: None, .. })));
}

/// 003, Procedures, ACTIVE: effectiveness not yet computed (< 5 activations).
#[test]
fn newton_procedure_active_below_five_outcomes() {
    check(&procedure(4, 0, Status::Active), None);
    check(&procedure(0, 4, Status::Active), None);
}

/// 003, Procedures, EFFECTIVE: > 0.6 after 5+; exactly 0.6 is not.
#[test]
fn newton_procedure_effective_above_six_tenths() {
    check(&procedure(3, 2, Status::Active), None);
    check(&procedure(4, 1, Status::Active), Some(Status::Effective));
    check(&procedure(601, 399, Status::Active), Some(Status::Effective));
    check(&procedure(600, 400, Status::Active), None);
    check(&procedure(4, 1, Status::Ineffective), Some(Status::Effective));
}

/// 003, Procedures, INEFFECTIVE: < 0.4 after 5+; exactly 0.4 is not.
#[test]
fn newton_procedure_ineffective_below_four_tenths() {
    check(&procedure(2, 3, Status::Active), None);
    check(&procedure(1, 4, Status::Active), Some(Status::Ineffective));
    check(&procedure(399, 601, Status::Active), Some(Status::Ineffective));
    check(&procedure(1, 4, Status::Effective), Some(Status::Ineffective));
}

#[test]
fn a_procedure_between_is_active_again() {
    check(&procedure(3, 3, Status::Effective), Some(Status::Active));
    check(&procedure(3, 3, Status::Ineffective), Some(Status::Active));
    check(&procedure(u32::MAX, u32::MAX, Status::Active), None);
}

/// 003, Procedures, RETIRED: manually deactivated; use does not bring it back.
#[test]
fn newton_procedure_retired_by_word_alone() {
    for from in [Status::Active, Status::Effective, Status::Ineffective] {
        assert!(is_allowed(MemoryKind::Procedure, from, Status::Retired));
    }
    check(&procedure(9, 0, Status::Retired), None);
}

/// 003, Censors, CREATED → ACTIVE: on the first trigger.
#[test]
fn newton_censor_active_on_its_first_trigger() {
    check(&censor(Author::Person, CensorAction::Steer, (0, 0), Status::Created), None);
    check(&censor(Author::Person, CensorAction::Steer, (1, 0), Status::Created), Some(Status::Active));
}

/// 003, Censors, ESCALATED: activation_count over the threshold → severity upgraded; SOURCES: after 3.
#[test]
fn newton_censor_escalated_after_three_triggers() {
    check(&censor(Author::Person, CensorAction::Steer, (2, 0), Status::Active), None);
    let third = censor(Author::Person, CensorAction::Steer, (3, 0), Status::Active);
    check(&third, Some(Status::Escalated));
    let write = transition_write(&third, Seq(0), &WordCounter, START).unwrap();
    assert!(matches!(&write.memory.body, Body::Censor(censor) if censor.action == CensorAction::Refuse));
    assert!(write.memory.lines.micro.contains("**REFUSE:**"), "{}", write.memory.lines.micro);
    // It escalates once, and false positives do not count.
    check(&write.memory, None);
    check(&censor(Author::Person, CensorAction::Steer, (3, 1), Status::Active), None);
    check(&censor(Author::Person, CensorAction::Steer, (4, 1), Status::Active), Some(Status::Escalated));
}

/// docs/decisions/0003-memories.md: never beyond what the rule's author may set.
#[test]
fn escalation_is_capped_by_who_made_the_rule() {
    for author in [Author::Tool, Author::Import] {
        check(&censor(author, CensorAction::Steer, (99, 0), Status::Active), None);
    }
    for author in [Author::Model, Author::Person] {
        check(&censor(author, CensorAction::Steer, (99, 0), Status::Active), Some(Status::Escalated));
        check(&censor(author, CensorAction::Refuse, (99, 0), Status::Active), None);
    }
    check(&censor(Author::Person, CensorAction::Abort, (99, 0), Status::Active), None);
}

/// 003, Censors, RETIRED: false positives too many; SOURCES: above 50 % after 5.
#[test]
fn newton_censor_retired_above_half_false_positives_after_five() {
    check(&censor(Author::Person, CensorAction::Refuse, (4, 4), Status::Active), None);
    check(&censor(Author::Person, CensorAction::Refuse, (5, 2), Status::Active), None);
    for from in [Status::Created, Status::Active, Status::Escalated] {
        check(&censor(Author::Person, CensorAction::Refuse, (5, 3), from), Some(Status::Retired));
    }
    check(&censor(Author::Person, CensorAction::Refuse, (6, 3), Status::Active), None);
    check(&censor(Author::Person, CensorAction::Refuse, (9, 9), Status::Retired), None);
    assert!(is_allowed(MemoryKind::Censor, Status::Created, Status::Retired), "or manually deactivated");
}

/// 003, Decisions: RECORDED → PENDING → REVIEWED.
#[test]
fn newton_decision_recorded_pending_reviewed() {
    assert_eq!(Status::initial(MemoryKind::Decision), Status::Recorded);
    assert!(is_allowed(MemoryKind::Decision, Status::Recorded, Status::Pending));
    check(&decision(Outcome::Pending, Status::Recorded), None);
    check(&decision(Outcome::Pending, Status::Pending), None);
    for outcome in [Outcome::Success, Outcome::Partial, Outcome::Failure] {
        check(&decision(outcome, Status::Pending), Some(Status::Reviewed));
        check(&decision(outcome, Status::Recorded), Some(Status::Reviewed));
        check(&decision(outcome, Status::Reviewed), None);
    }
}

/// 003, Decisions: no deletion, permanent records.
#[test]
fn newton_decisions_are_permanent() {
    let ends = TRANSITIONS.iter().filter(|row| row.kind == MemoryKind::Decision).map(|row| row.to);
    assert!(ends.into_iter().all(|to| to.is_current() && to.is_searchable()));
    check_at(&decision(Outcome::Failure, Status::Reviewed), 10_000 * DAY_MS, None);
}

/// The table is sound: no self-transitions, one row per trigger, every source status reachable, no mixing of
/// kinds.
#[test]
fn the_table_is_sound() {
    for (at, row) in TRANSITIONS.iter().enumerate() {
        assert_ne!(row.from, row.to);
        let same = |other: &Transition| {
            (other.kind, other.from, other.to, other.trigger) == (row.kind, row.from, row.to, row.trigger)
        };
        assert!(!TRANSITIONS[at + 1..].iter().any(same), "{row:?}");
        let reached = row.from == Status::initial(row.kind)
            || TRANSITIONS.iter().any(|other| other.kind == row.kind && other.to == row.from);
        assert!(reached, "nothing leads to {row:?}");
    }
    assert!(!is_allowed(MemoryKind::Fact, Status::Recorded, Status::Pending), "words of another kind");
    assert!(!is_allowed(MemoryKind::Episode, Status::Archived, Status::Active));
}

/// A sweep is deterministic at a given time and terminates.
#[test]
fn a_sweep_comes_to_rest() {
    let now = Stamp(START.0 + 400 * DAY_MS);
    let mut swept = episode(Status::Active);
    let mut moves = Vec::new();
    while let Some(write) = transition_write(&swept, Seq(9), &WordCounter, now) {
        assert_eq!(Some(&write), transition_write(&swept, Seq(9), &WordCounter, now).as_ref());
        moves.push(write.memory.status);
        swept = write.memory;
    }
    assert_eq!(moves, [Status::Summarized, Status::Archived]);
}
