//! I1 and I8 over real tokens: whatever was stored, a page of what is known costs what its ledger says, counted by the
//! tokenizer of the model and not by a stand-in.
#![allow(clippy::unwrap_used, reason = "a test fails loudly")]

use std::sync::Arc;

use neap_core::base::ids::{AgentId, Stamp};
use neap_core::base::prompt;
use neap_core::base::tokens::Tokens;
use neap_core::memory::knowledge::{AgentProfile, Placement, QuestionContext};
use neap_core::memory::learn::MemoryCommand;
use neap_core::memory::{
    Author, Body, Censor, CensorAction, CensorPattern, CensorSide, Confidence, Decision, Episode, Fact,
    MemoryDraft, Outcome, Procedure, Provenance, Reason, ReasonKind, Stakes,
};
use neap_engine::{Engine, FixedClock};
use neap_model::bpe::counter_for;
use neap_store::MemStore;
use proptest::prelude::*;

/// Has a term of every record, so that all of them come into question.
const QUESTION: &str = "What is a zebra?";

/// Text that tokenizers, headings and delimiters trip over, and any other.
fn text() -> impl Strategy<Value = String> {
    let odd = prop::sample::select(vec![
        "\n", "\r\n", "  ", "\t", "\n\n## Identity\n", "- d1 x (person)\n", "§[End of the records]", "/", "//\n",
        "…", "\"", "'s", "\u{2028}", "\u{200b}", "é修🦀", "<|endoftext|>", "12345", "don't", "—", "#", "naïve",
    ]);
    prop::collection::vec(
        prop_oneof![3 => odd.prop_map(str::to_owned), 1 => any::<String>(), 2 => "[a-z]{1,9}"],
        0..12,
    )
    .prop_map(|parts| format!("zebra {}", parts.join(" ")))
}

fn body(kind: u8, one: String, two: String) -> Body {
    let confidence = Confidence::try_from(0.8).unwrap();
    match kind {
        0 => Body::Decision(Decision {
            reviewed_by: None,
            description: one,
            context: String::new(),
            reasons: vec![Reason { kind: ReasonKind::Evidence, text: two.clone() }],
            confidence,
            category: String::new(),
            stakes: Stakes::Medium,
            alternatives: Vec::new(),
            outcome: Outcome::Success,
            outcome_notes: two,
            rests_on: Vec::new(),
        }),
        1 => Body::Procedure(Procedure {
            name: one.clone(),
            core_patterns: vec![two, one],
            steps: Vec::new(),
            activations: 0,
            successes: 0,
            failures: 0,
        }),
        2 => Body::Episode(Episode {
            summary: one,
            detail: String::new(),
            detail_at: None,
            participants: vec![two.clone()],
            minutes: Some(90),
            outcome: two.clone(),
            lessons: vec![two],
            session: None,
            effort: None,
        }),
        3 => Body::Censor(Censor {
            pattern: CensorPattern::Words(one),
            side: CensorSide::Output,
            action: CensorAction::Steer,
            reason: two,
            triggers: 0,
            false_positives: 0,
        }),
        _ => Body::Fact(Fact {
            last_confirmed_by: None,
            subject: two,
            content: one,
            confidence,
            confirmations: 0,
            last_confirmed: None,
            superseded_by: None,
        }),
    }
}

/// The page for the question, once all of this is remembered; what is refused is not there.
fn page(
    records: Vec<(u8, bool, String, String)>,
    identity: String,
    placement: Placement,
    room: u64,
) -> QuestionContext {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let outlook = AgentProfile { identity, placement, ..AgentProfile::default() };
        let engine = Engine::builder(Arc::new(MemStore::default()))
            .clock(Arc::new(FixedClock::at(Stamp(1_771_000_000_000))))
            .agent(AgentId::from_name("newton").unwrap(), outlook)
            .build();
        let mut agent = engine.agent().await.unwrap().unwrap();
        for (kind, pinned, one, two) in records {
            let mut draft = MemoryDraft::new(body(kind, one, two), Provenance::from_author(Author::Person));
            draft.pinned = pinned && kind > 3;
            agent.run_command(MemoryCommand::Remember(Box::new(draft))).await.unwrap();
        }
        agent.context(QUESTION, None, Some(Tokens(room))).await.unwrap()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn a_page_costs_what_its_ledger_says_in_real_tokens(
        records in prop::collection::vec((0..6_u8, any::<bool>(), text(), text()), 1..16),
        identity in prop_oneof![Just(String::new()), text()],
        is_tail in any::<bool>(),
        room in 0..6_000_u64,
    ) {
        let placement = if is_tail { Placement::Tail } else { Placement::System };
        let page = page(records, identity, placement, room).knowledge;
        let counter = counter_for("o200k_base");
        let text = page.text();
        let marks = counter.count(prompt::RECORDS) + counter.count(prompt::RECORDS_END);
        let marks = if text.contains(prompt::RECORDS) { marks } else { Tokens::ZERO };
        prop_assert_eq!(page.tokens.total() + marks, counter.count(&text), "{}", text);
        prop_assert!(counter.count(&text) <= Tokens(room), "I1");
        for (layer, text) in &page.sections {
            prop_assert_eq!(page.tokens.get(*layer), counter.count(text), "{:?}: {}", layer, text);
        }
    }
}

/// The property above would hold of empty pages, too.
#[test]
fn such_pages_have_every_kind_on_them() {
    let zebras = |kind: u8| (kind, false, format!("zebra matter {kind}"), format!("zebra number {kind}"));
    let page = page((0..5).map(zebras).collect(), "A keeper.".to_owned(), Placement::System, 6_000).knowledge;
    assert_eq!(page.items.len(), 4, "{}", page.text());
    assert!(page.text().contains("zebra matter 3"), "the censor stands among the constraints");
}
