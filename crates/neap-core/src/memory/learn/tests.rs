//! Runs commands against records in memory, as a driver does.

mod hits;

use std::collections::BTreeMap;

use super::*;
use crate::base::ids::{AgentId, SessionId, TurnNo};
use crate::base::policy::Policy;
use crate::base::testing::WordCounter;
use crate::memory::{
    Author, Censor, CensorAction, CensorPattern, CensorSide, Change, Confidence, Decision, Fact, MemoryDraft,
    Outcome, Provenance, Stakes, Status, Trust,
};
use crate::session::event::RecordedEvent;
use crate::session::state::{NewSession, SessionState};
use crate::text::terms::terms;

struct Agent {
    state: SessionState,
    versions: Vec<MemoryVersion>,
    now: i64,
}

impl Agent {
    fn new() -> Self {
        let id = AgentId::from_name("newton").unwrap().stream();
        let mut state = SessionState::default();
        let (encoding, policy) = (WordCounter.encoding(), Policy::default());
        state.create_if_new(Stamp(0), NewSession { id: &id, encoding, policy, imported_from: None });
        Self { state, versions: Vec::new(), now: 0 }
    }

    fn records(&self) -> BTreeMap<MemoryId, Memory> {
        self.versions.iter().map(|version| (version.memory.id, version.memory.clone())).collect()
    }

    fn one(&self, id: &str) -> Memory {
        self.records()[&get(id)].clone()
    }

    fn changes(&self, id: &str) -> Vec<Change> {
        let own = self.versions.iter().filter(|version| version.memory.id == get(id));
        own.map(|version| version.change.clone()).collect()
    }

    fn given(&self, query: MemoryQuery) -> MemoryQueryResult {
        let found =
            |memories| MemoryQueryResult::Records(RecallResponse { memories, ..RecallResponse::default() });
        match query {
            MemoryQuery::Recall(request) | MemoryQuery::Search { request, .. } => {
                let mut memories: Vec<Memory> = Vec::new();
                for (kind, max) in &request.limits {
                    let all = self.records().into_values().filter(|memory| memory.kind() == *kind);
                    let all =
                        all.filter(|m| m.status.is_current() || request.superseded && m.status.is_searchable());
                    let rests = |m: &Memory| match &m.body {
                        Body::Decision(d) => d.rests_on.iter().map(MemoryId::to_string).collect(),
                        Body::Fact(_) | Body::Procedure(_) | Body::Episode(_) | Body::Censor(_) => Vec::new(),
                    };
                    let has = |m: &Memory| {
                        let words: Vec<String> = terms(&m.search_text()).into_iter().chain(rests(m)).collect();
                        request.terms.iter().any(|term| words.contains(term))
                    };
                    memories.extend(all.filter(has).take(*max));
                }
                found(memories)
            }
            MemoryQuery::Get(ids) => found(self.records().into_values().filter(|m| ids.contains(&m.id)).collect()),
            MemoryQuery::History(id) => {
                let own = self.versions.iter().filter(|version| version.memory.id == id).cloned();
                MemoryQueryResult::History { versions: own.collect(), damaged: Vec::new() }
            }
            MemoryQuery::AsOf(_) | MemoryQuery::Due { .. } => panic!("not asked for here"),
        }
    }

    fn ask(&mut self, command: MemoryCommand) -> MemoryResponse {
        self.ask_with(command, |given| given)
    }

    /// Each command makes at most one commit.
    fn ask_with(
        &mut self,
        command: MemoryCommand,
        change: impl Fn(MemoryQueryResult) -> MemoryQueryResult,
    ) -> MemoryResponse {
        self.now += 60_000;
        let (mut machine, mut input, mut commits) = (LearnMachine::new(command), LearnInput::Begin, 0);
        loop {
            let now = Stamp(self.now);
            let head = self.state.head().agent.as_deref();
            input = match machine.step(&LearnContext { head, counter: &WordCounter, now }, input) {
                LearnStep::Query(query) => LearnInput::QueryResult(change(self.given(query))),
                LearnStep::Commit(writes) => {
                    commits += 1;
                    assert_eq!(commits, 1, "what belongs together is committed together");
                    for write in writes {
                        let (change, memory) = (write.change.clone(), write.memory.clone());
                        let before = self.records().get(&memory.id).map(crate::memory::CountedState::of);
                        assert_eq!(write.previous, before, "{change:?} of {}", memory.id);
                        let RecordedEvent { seq, at, .. } = self.state.record(now, write);
                        self.versions.push(MemoryVersion { seq, at, change, memory });
                    }
                    LearnInput::Committed
                }
                LearnStep::Done(answer) => return *answer,
            };
        }
    }

    #[track_caller]
    fn say(&mut self, draft: MemoryDraft) -> String {
        let answer = self.ask(MemoryCommand::Remember(Box::new(draft)));
        let MemoryResponse::Remembered { id, .. } = answer else { panic!("{answer:?}") };
        id.to_string()
    }

    fn amend(&mut self, id: &str, how: Amendment, by: Provenance) -> MemoryResponse {
        self.ask(MemoryCommand::Amend { id: get(id), how, by })
    }

    #[track_caller]
    fn done(&mut self, id: &str, how: Amendment) -> String {
        let answer = self.amend(id, how, person());
        let MemoryResponse::Changed { note, .. } = answer else { panic!("{answer:?}") };
        note
    }
}

fn get(id: &str) -> MemoryId {
    id.parse().unwrap()
}

fn person() -> Provenance {
    Provenance::from_author(Author::Person)
}

fn model(turn: u64) -> Provenance {
    let (session, turn) = (SessionId::from_name("main").ok(), Some(TurnNo(turn)));
    Provenance { session, turn, source: Some(format!("call{turn:?}")), ..Provenance::from_author(Author::Model) }
}

fn fact(subject: &str, content: &str, by: Provenance) -> MemoryDraft {
    let body = Fact {
        subject: subject.into(),
        content: content.into(),
        confidence: Confidence::FULL,
        confirmations: 0,
        last_confirmed: None,
        last_confirmed_by: None,
        superseded_by: None,
    };
    MemoryDraft::new(Body::Fact(body), by)
}

fn decision(description: &str, rests_on: &[&str]) -> MemoryDraft {
    let body = Decision {
        description: description.into(),
        context: String::new(),
        reasons: Vec::new(),
        confidence: Confidence::FULL,
        category: String::new(),
        stakes: Stakes::Medium,
        alternatives: Vec::new(),
        outcome: Outcome::Pending,
        outcome_notes: String::new(),
        reviewed_by: None,
        rests_on: rests_on.iter().map(|id| get(id)).collect(),
    };
    MemoryDraft::new(Body::Decision(body), person())
}

fn censor(action: CensorAction, by: Author) -> MemoryDraft {
    let (pattern, reason) = (CensorPattern::Words("drop table".into()), "it was agreed so".into());
    let body = Censor { pattern, side: CensorSide::Output, action, reason, triggers: 0, false_positives: 0 };
    MemoryDraft::new(Body::Censor(body), Provenance::from_author(by))
}

fn as_fact(memory: &Memory) -> &Fact {
    let Body::Fact(fact) = &memory.body else { panic!("another kind") };
    fact
}

/// f1 by a person and f2 by a model contradict each other; a decision rests on each.
fn contested() -> Agent {
    let mut agent = Agent::new();
    agent.say(fact("billing timeout", "The billing timeout is 30 seconds", person()));
    agent.say(decision("Retry billing after a minute", &["f1"]));
    agent.say(fact("billing timeout", "The billing timeout is 45 seconds", model(1)));
    agent.say(decision("Show the spinner for long", &["f2"]));
    assert_eq!(
        (&agent.one("f1").contested_with, &agent.one("f2").contested_with),
        (&vec![get("f2")], &vec![get("f1")])
    );
    agent
}

#[test]
fn a_fact_that_falls_contests_nothing_any_more() {
    let mut wrong = contested();
    wrong.done("f2", Amendment::Deactivate);
    let mut undone = contested();
    undone.done("f2", Amendment::Undo);
    let mut replaced = contested();
    assert_eq!(replaced.say(fact("billing timeout", "The billing timeout is 60 seconds", person())), "f3");
    for (agent, what) in [(&wrong, "proved wrong"), (&undone, "undone")] {
        assert_eq!(agent.one("f1").contested_with, [], "{what}");
        assert!(!agent.one("f1").lines.micro.contains("contested"), "{what}");
        assert_eq!(agent.one("d2").shaken_by, [get("f2")], "{what}");
        assert_eq!(agent.one("f2").status, Status::Inactive, "{what}");
    }
    assert_eq!(replaced.one("f1").status, Status::Superseded);
    assert_eq!(replaced.one("f2").status, Status::Superseded);
    assert_eq!(replaced.one("f3").contested_with, []);
}

#[test]
fn a_person_who_says_which_holds_settles_it() {
    let again = |agent: &mut Agent, seconds: &str| {
        agent.say(fact("billing timeout", &format!("The billing timeout is {seconds} seconds"), person()));
    };
    let (mut older, mut older_again, mut newer, mut newer_again) =
        (contested(), contested(), contested(), contested());
    assert!(older.done("f1", Amendment::Confirm).contains("f2 gave way to it."));
    again(&mut older_again, "30");
    for agent in [older, older_again] {
        assert_eq!((agent.one("f1").status, agent.one("f2").status), (Status::Confirmed, Status::Inactive));
        assert_eq!(agent.one("f1").contested_with, []);
        assert_eq!(agent.one("d2").shaken_by, [get("f2")]);
    }
    newer.done("f2", Amendment::Confirm);
    again(&mut newer_again, "45");
    for agent in [newer, newer_again] {
        assert_eq!((agent.one("f1").status, agent.one("f2").status), (Status::Superseded, Status::Confirmed));
        assert_eq!(
            (as_fact(&agent.one("f1")).superseded_by, agent.one("f2").contested_with),
            (Some(get("f2")), vec![])
        );
        assert_eq!(agent.one("d1").shaken_by, [get("f1")]);
    }
    // After undo, both facts are current again, and nothing is flagged.
    let (mut older, mut newer) = (contested(), contested());
    older.done("f1", Amendment::Confirm);
    older.done("f1", Amendment::Undo);
    newer.done("f2", Amendment::Confirm);
    newer.done("f2", Amendment::Undo);
    for agent in [older, newer] {
        assert_eq!((agent.one("f1").status, agent.one("f2").status), (Status::New, Status::New));
        assert_eq!(
            (agent.one("f1").contested_with, agent.one("f2").contested_with),
            (vec![get("f2")], vec![get("f1")])
        );
        assert_eq!(as_fact(&agent.one("f1")).superseded_by, None);
        assert!(agent.one("d1").shaken_by.is_empty() && agent.one("d2").shaken_by.is_empty());
    }
    // A fact deactivated later for another reason stays inactive.
    let mut doubted = contested();
    doubted.amend("f1", Amendment::Confirm, model(7));
    doubted.now += 1;
    doubted.done("f2", Amendment::Deactivate);
    doubted.done("f1", Amendment::Undo);
    assert_eq!((doubted.one("f1").status, doubted.one("f2").status), (Status::New, Status::Inactive));
    let mut doubted = contested();
    doubted.amend("f1", Amendment::Confirm, model(7));
    assert_eq!(doubted.one("f2").status, Status::New, "a model's word settles nothing");
}

#[test]
fn what_is_brought_back_carries_what_rests_on_it_and_is_contested_again() {
    let mut agent = contested();
    agent.done("f2", Amendment::Deactivate);
    agent.done("f2", Amendment::Undo);
    assert_eq!(
        (agent.one("f1").contested_with, agent.one("f2").contested_with),
        (vec![get("f2")], vec![get("f1")])
    );
    assert_eq!(agent.one("d2").shaken_by, []);

    let mut agent = Agent::new();
    agent.say(fact("billing timeout", "The billing timeout is 30 seconds", person()));
    agent.say(decision("Retry billing after a minute", &["f1"]));
    agent.say(fact("billing timeout", "The billing timeout is 45 seconds", person()));
    agent.say(decision("Show the spinner for long", &["f2"]));
    assert_eq!((agent.one("f1").status, agent.one("d1").shaken_by), (Status::Superseded, vec![get("f1")]));
    let mut other = Agent { versions: agent.versions.clone(), state: agent.state.clone(), now: agent.now };
    agent.done("f2", Amendment::Undo);
    assert_eq!((agent.one("f1").status, agent.one("f2").status), (Status::New, Status::Inactive));
    assert_eq!((agent.one("d1").shaken_by, agent.one("d2").shaken_by), (vec![], vec![get("f2")]));
    assert_eq!(agent.one("f1").contested_with, []);
    // Only the older fact is restored: both are current and contest each other.
    other.done("f1", Amendment::Undo);
    assert_eq!((other.one("f1").status, other.one("f2").status), (Status::New, Status::New));
    assert_eq!(
        (other.one("f1").contested_with, other.one("f2").contested_with),
        (vec![get("f2")], vec![get("f1")])
    );
    assert!(other.one("d1").shaken_by.is_empty() && other.one("d2").shaken_by.is_empty());
}

/// What gave way is shown with what replaced it, and comes back in one step.
#[test]
fn a_search_shows_what_a_fact_replaced_until_that_is_undone() {
    let mut agent = Agent::new();
    agent.say(fact("", "The billing timeout is 30 seconds", person()));
    agent.say(fact("", "The billing timeout is 45 seconds", person()));
    let recall = |agent: &mut Agent| {
        let (query, max) = ("billing timeout".to_owned(), 5);
        let command = MemoryCommand::Recall {
            query,
            kinds: Vec::new(),
            time: None,
            project: None,
            superseded: false,
            lists: false,
            max,
        };
        let MemoryResponse::Found { hits } = agent.ask(command) else { panic!("a search") };
        let shown = |hit: &MemoryHit| {
            let was: Vec<String> =
                hit.supersedes.iter().map(|fact| format!("{}: {}", fact.id, fact.text)).collect();
            (hit.id.to_string(), was)
        };
        hits.iter().map(shown).collect::<Vec<_>>()
    };
    assert_eq!(recall(&mut agent), [("f2".to_owned(), vec!["f1: The billing timeout is 30 seconds".to_owned()])]);
    // Also after the newer one has changed.
    agent.amend("f2", Amendment::Confirm, model(4));
    agent.done("f1", Amendment::Undo);
    assert_eq!(agent.one("f1").status, Status::New);
    let mut both = recall(&mut agent);
    both.sort();
    assert_eq!(both, [("f1".to_owned(), vec![]), ("f2".to_owned(), vec![])]);
}

#[test]
fn undoing_goes_back_change_by_change() {
    let mut agent = Agent::new();
    agent.say(fact("Tim", "Tim lives in Oslo", person()));
    let tagged = |tag: &str| {
        let edit = crate::memory::amend::Edit {
            tags: Some(vec![tag.into()]),
            ..crate::memory::amend::Edit::new(Author::Person)
        };
        Amendment::Edit(Box::new(edit))
    };
    agent.done("f1", Amendment::Confirm);
    assert_eq!(agent.changes("f1").len(), 3, "a confirmation moved it as well");
    agent.done("f1", tagged("a"));
    agent.done("f1", tagged("b"));
    let state = |agent: &Agent| {
        (agent.one("f1").tags.join(" "), as_fact(&agent.one("f1")).confirmations, agent.one("f1").status)
    };
    agent.done("f1", Amendment::Undo);
    assert_eq!(state(&agent), ("a".into(), 1, Status::Confirmed));
    agent.done("f1", tagged("c"));
    for want in
        [("a", 1, Status::Confirmed), ("", 1, Status::Confirmed), ("", 0, Status::New), ("", 0, Status::Inactive)]
    {
        agent.done("f1", Amendment::Undo);
        assert_eq!(state(&agent), (want.0.into(), want.1, want.2));
    }
    let answer = agent.amend("f1", Amendment::Undo, person());
    assert!(answer.refusal().is_some_and(|refusal| refusal.error.contains("undone already")), "{answer:?}");
}

#[test]
fn what_cannot_be_read_is_not_guessed() {
    let mut agent = Agent::new();
    agent.say(fact("Tim", "Tim lives in Oslo", person()));
    agent.done("f1", Amendment::Confirm);
    agent.done("f1", Amendment::MarkCore);
    let lost = |given: MemoryQueryResult, at: usize| match given {
        MemoryQueryResult::History { mut versions, mut damaged } => {
            damaged.push(versions.remove(at).seq);
            MemoryQueryResult::History { versions, damaged }
        }
        other @ (MemoryQueryResult::Records(_) | MemoryQueryResult::Versions(_)) => other,
    };
    let many = agent.versions.len();
    for at in [many - 2, many - 1] {
        let undo = MemoryCommand::Amend { id: get("f1"), how: Amendment::Undo, by: person() };
        let answer = agent.ask_with(undo, |given| lost(given, at));
        assert!(
            answer.refusal().is_some_and(|r| r.error.contains("cannot be read") && r.hint.is_some()),
            "{answer:?}"
        );
    }
    let undo = MemoryCommand::Amend { id: get("f1"), how: Amendment::Undo, by: person() };
    let answer = agent.ask_with(undo, |given| lost(given, 0));
    assert!(matches!(answer, MemoryResponse::Changed { .. }), "what is before that does not matter: {answer:?}");
}

#[test]
fn a_persons_word_raises_trust_and_counts_once_a_turn_is_a_models() {
    let start = || {
        let mut agent = Agent::new();
        agent.say(fact("Tim", "Tim lives in Oslo", model(1)));
        agent
    };
    let edit = Amendment::Edit(Box::new(crate::memory::amend::Edit::new(Author::Model)));
    for how in [Amendment::Confirm, Amendment::MarkCore, edit] {
        let mut agent = start();
        agent.done("f1", how.clone());
        assert_eq!(agent.one("f1").provenance.trust, Trust::High, "{how:?}");
        agent = start();
        agent.amend("f1", how.clone(), model(2));
        assert_eq!(agent.one("f1").provenance.trust, Trust::Medium, "{how:?}");
    }
    let mut agent = start();
    let confirmed = |agent: &Agent| as_fact(&agent.one("f1")).confirmations;
    agent.amend("f1", Amendment::Confirm, model(1));
    assert_eq!(confirmed(&agent), 0, "it was learnt in this turn");
    for _ in 0..4 {
        agent.amend("f1", Amendment::Confirm, model(2));
        agent.say(fact("Tim", "Tim lives in Oslo", Provenance { source: Some("other".into()), ..model(2) }));
    }
    assert_eq!(confirmed(&agent), 1, "once a turn");
    agent.amend("f1", Amendment::Confirm, model(3));
    agent.done("f1", Amendment::Confirm);
    agent.done("f1", Amendment::Confirm);
    assert_eq!(confirmed(&agent), 4, "other turns and people count");
    let file = Provenance { source: Some("notes.md".into()), ..Provenance::from_author(Author::Import) };
    agent.amend("f1", Amendment::Confirm, file.clone());
    agent.amend("f1", Amendment::Confirm, file);
    assert_eq!(confirmed(&agent), 5, "a file counts once");
}

#[test]
fn a_persons_review_stands_against_a_models() {
    let mut agent = Agent::new();
    agent.say(decision("Use Postgres", &[]));
    let review = |outcome| Amendment::Review { outcome, notes: String::new() };
    agent.amend("d1", review(Outcome::Success), model(1));
    agent.amend("d1", review(Outcome::Partial), model(2));
    agent.done("d1", review(Outcome::Failure));
    let answer = agent.amend("d1", review(Outcome::Success), model(3));
    assert!(answer.refusal().is_some_and(|r| r.error.contains("more trusted")), "{answer:?}");
    let Body::Decision(body) = &agent.one("d1").body else { panic!("a decision") };
    assert_eq!(body.outcome, Outcome::Failure);
    agent.done("d1", review(Outcome::Partial));
}

#[test]
fn a_persons_rule_takes_the_place_of_a_models() {
    let mut agent = Agent::new();
    agent.say(censor(CensorAction::Refuse, Author::Model));
    assert_eq!(agent.say(censor(CensorAction::Steer, Author::Model)), "c1", "it is in force");
    assert_eq!(agent.say(censor(CensorAction::Refuse, Author::Person)), "c2");
    assert_eq!((agent.one("c1").status, agent.one("c2").status), (Status::Retired, Status::Created));
    assert_eq!(agent.say(censor(CensorAction::Refuse, Author::Person)), "c2");
    assert_eq!(agent.say(censor(CensorAction::Refuse, Author::Model)), "c2");
}

#[test]
fn decisions_that_are_too_many_to_flag_are_told_of() {
    let mut agent = Agent::new();
    agent.say(fact("Tim", "Tim lives in Oslo", person()));
    let words = ["alpha", "beta", "gamma", "delta", "iota", "kappa", "lambda", "sigma", "omega"];
    for (first, second) in words.iter().flat_map(|first| words.iter().map(move |second| (first, second))).take(66)
    {
        agent.say(decision(&format!("Choose {first} for {second}{first}"), &["f1"]));
    }
    let note = agent.done("f1", Amendment::Deactivate);
    assert!(note.contains("2 more decisions that rest on f1 are not flagged"), "{note}");
    assert_eq!(agent.records().values().filter(|memory| !memory.shaken_by.is_empty()).count(), 64);
}
