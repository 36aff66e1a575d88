//! The memory tools.

use super::arguments::Arguments;
use crate::base::ids::Stamp;
use crate::base::message::ToolCall;
use crate::base::refusal::Refusal;
use crate::memory::learn::{Amendment, HITS_MAX, MemoryCommand};
use crate::memory::{
    Author, Body, Censor, CensorAction, CensorPattern, CensorSide, Confidence, Decision, Episode, Fact,
    MemoryDraft, MemoryKind, Outcome, Procedure, Provenance, Reason, Stakes,
};

use crate::recall::ProjectFilter;

/// The default confidence of a fact.
const FACT_CONFIDENCE: Confidence = Confidence::of_thousandths(800);
/// Most hits that a call may ask for.
const LIMIT_MAX: usize = 50;
/// Kinds that `remember` accepts; decisions have a tool of their own.
const KINDS: &str = "fact, procedure, episode, censor";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryCall {
    pub command: MemoryCommand,
    /// The effort that an episode is about, as given.
    pub effort: Option<String>,
}

impl MemoryCall {
    /// Parses a call. The caller fills in the provenance.
    pub(super) fn parse(call: &ToolCall) -> Result<Self, Refusal> {
        let args = Arguments::parse(&call.name, &call.arguments)?;
        let by = Provenance::from_author(Author::Model);
        let command = match call.name.as_str() {
            "remember" => return remember(&args),
            "recall" => recall(&args)?,
            "expand_detail" => MemoryCommand::Expand { id: args.memory_id("id")? },
            "record_decision" => MemoryCommand::Remember(Box::new(decision(&args)?)),
            "review_decision" => {
                let outcome = args.one_of("outcome", "success, partial, failure")?;
                let outcome: Outcome =
                    outcome.ok_or_else(|| Refusal::new("review_decision needs the argument 'outcome'."))?;
                let notes = args.optional("notes")?.unwrap_or_default();
                MemoryCommand::Amend { id: args.memory_id("id")?, how: Amendment::Review { outcome, notes }, by }
            }
            "confirm_fact" => MemoryCommand::Amend { id: args.memory_id("id")?, how: Amendment::Confirm, by },
            "forget" => {
                let reason = args.optional("reason")?.unwrap_or_default();
                MemoryCommand::Amend { id: args.memory_id("id")?, how: Amendment::AskToForget { reason }, by }
            }
            _ => MemoryCommand::Status,
        };
        Ok(Self { command, effort: None })
    }
}

fn kinds(args: &Arguments<'_>) -> Result<Vec<MemoryKind>, Refusal> {
    let names = args.list("kinds")?;
    names.iter().map(|name| name.parse().map_err(|error| Refusal::new(format!("{error}.")))).collect()
}

/// A project's words are searched for like the query's as well: records that belong to the person may name it.
fn recall(args: &Arguments<'_>) -> Result<MemoryCommand, Refusal> {
    let words = [args.optional("query")?, args.optional("project")?];
    let query = words.into_iter().flatten().collect::<Vec<_>>().join(" ");
    let limit = args.positive_number("limit")?.and_then(|limit| usize::try_from(limit).ok());
    let max = limit.unwrap_or(HITS_MAX).min(LIMIT_MAX);
    Ok(MemoryCommand::Recall {
        query,
        kinds: kinds(args)?,
        time: args.optional("time")?,
        project: args.project()?.map(ProjectFilter::Only),
        superseded: false,
        lists: false,
        max,
    })
}

/// Clients that never read the schema say `content`.
fn text(args: &Arguments<'_>) -> Result<Option<String>, Refusal> {
    Ok(args.optional("text")?.or(args.optional("content")?))
}

fn remember(args: &Arguments<'_>) -> Result<MemoryCall, Refusal> {
    let kind = args.optional("kind")?.map(|given| given.parse().map_err(|e| Refusal::new(format!("{e}."))));
    let kind: MemoryKind = kind.transpose()?.unwrap_or(MemoryKind::Fact);
    let effort = args.optional("effort")?;
    // An episode of an effort takes that effort's summary.
    let text = match (kind, &effort) {
        (MemoryKind::Episode, Some(_)) => text(args)?.unwrap_or_default(),
        (MemoryKind::Decision | MemoryKind::Fact | MemoryKind::Procedure | MemoryKind::Censor, _)
        | (MemoryKind::Episode, None) => text(args)?.map_or_else(|| args.required("text"), Ok)?,
    };
    let body = match kind {
        MemoryKind::Decision => {
            return Err(Refusal::new("A decision is not remembered this way.")
                .hint(format!("call record_decision; remember takes: {KINDS}")));
        }
        MemoryKind::Fact => Body::Fact(Fact::new(
            args.optional("subject")?.unwrap_or_default(),
            text,
            args.fraction("confidence")?.unwrap_or(FACT_CONFIDENCE),
        )),
        MemoryKind::Procedure => Body::Procedure(Procedure {
            core_patterns: args.list("patterns")?,
            steps: args.list("steps")?,
            ..Procedure::new(text)
        }),
        MemoryKind::Episode => Body::Episode(Episode {
            detail: args.optional("detail")?.unwrap_or_default(),
            participants: args.list("participants")?,
            outcome: args.optional("outcome")?.unwrap_or_default(),
            lessons: args.list("lessons")?,
            ..Episode::new(text)
        }),
        MemoryKind::Censor => Body::Censor(Censor::new(
            CensorPattern::Words(text),
            args.one_of("side", "input, output, tool_call")?.unwrap_or(CensorSide::Output),
            args.one_of("action", "steer, refuse")?.unwrap_or(CensorAction::Steer),
            args.required("reason")?,
        )),
    };
    let mut draft = MemoryDraft::new(body, Provenance::from_author(Author::Model));
    draft.pinned = args.flag("always")?;
    draft.tags = args.list("tags")?;
    draft.domain = args.optional("domain")?;
    draft.project = args.project()?;
    (draft.valid_from, draft.valid_until) = (args.day("from")?, args.day("until")?.map(Stamp::end_of_day));
    Ok(MemoryCall { command: MemoryCommand::Remember(Box::new(draft)), effort })
}

fn decision(args: &Arguments<'_>) -> Result<MemoryDraft, Refusal> {
    let rests_on: Result<Vec<_>, String> = args.list("rests_on")?.iter().map(|id| id.parse()).collect();
    let confidence = args.fraction("confidence")?;
    let confidence = confidence.ok_or_else(|| {
        Refusal::new("record_decision needs the argument 'confidence'.").hint("how sure you are, from 0 to 1")
    })?;
    let decision = Decision {
        context: args.optional("context")?.unwrap_or_default(),
        reasons: args.list("reasons")?.into_iter().map(Reason::parse).collect(),
        category: args.optional("category")?.unwrap_or_default(),
        stakes: args.one_of::<Stakes>("stakes", "low, medium, high, critical")?.unwrap_or_default(),
        alternatives: args.list("alternatives")?,
        rests_on: rests_on.map_err(|error| Refusal::new(format!("{error}.")))?,
        ..Decision::new(args.required("description")?, confidence)
    };
    let mut draft = MemoryDraft::new(Body::Decision(decision), Provenance::from_author(Author::Model));
    draft.tags = args.list("tags")?;
    draft.domain = args.optional("domain")?;
    Ok(draft)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::ReasonKind;

    fn parse(name: &str, arguments: &str) -> Result<MemoryCall, Refusal> {
        MemoryCall::parse(&ToolCall { id: "c".into(), name: name.into(), arguments: arguments.into() })
    }

    #[test]
    fn a_fact_may_hold_from_one_day_to_another() {
        let call = r#"{"kind": "fact", "text": "Ann is away", "from": "1970-01-02", "until": "1970-01-03"}"#;
        let MemoryCommand::Remember(draft) = parse("remember", call).unwrap().command else { panic!("a write") };
        assert_eq!((draft.valid_from, draft.valid_until), (Some(Stamp(86_400_000)), Some(Stamp(3 * 86_400_000))));
        let refusal = parse("remember", r#"{"kind": "fact", "text": "x", "until": "next week"}"#).unwrap_err();
        assert!(refusal.error.contains("YYYY-MM-DD"), "{refusal:?}");
    }

    #[test]
    fn calls_are_read_as_clients_guess_them() {
        for arguments in
            [r#"{"content": "Tim prefers Celsius"}"#, r#"{"text": "Tim prefers Celsius", "kind": null}"#]
        {
            let MemoryCommand::Remember(draft) = parse("remember", arguments).unwrap().command else {
                panic!("a write")
            };
            let Body::Fact(fact) = draft.body else { panic!("a fact: {arguments}") };
            assert_eq!(fact.content, "Tim prefers Celsius");
        }
        let recall = |arguments: &str| {
            let MemoryCommand::Recall { query, max, .. } = parse("recall", arguments).unwrap().command else {
                panic!("a search")
            };
            (query, max)
        };
        assert_eq!(recall(r#"{"query": "port", "limit": 3, "project": "heron"}"#), ("port heron".to_owned(), 3));
        assert_eq!(recall(r#"{"query": "port", "limit": 1000000}"#), ("port".to_owned(), LIMIT_MAX));
        assert_eq!(recall(r#"{"query": "port"}"#), ("port".to_owned(), HITS_MAX));
    }

    #[test]
    fn a_fact_and_a_decision_are_read() {
        let call =
            parse("remember", r#"{"kind": "fact", "text": "Tim prefers Celsius", "always": true}"#).unwrap();
        let MemoryCommand::Remember(draft) = call.command else { panic!("a write") };
        assert!(draft.pinned && draft.body.kind() == MemoryKind::Fact);
        assert_eq!(draft.provenance.author, Author::Model);
        let call = parse(
            "record_decision",
            r#"{"description": "Use Postgres", "confidence": 0.85, "reasons": ["evidence: measured", "simple"],
                "rests_on": ["f7"], "stakes": "High"}"#,
        );
        let MemoryCommand::Remember(draft) = call.unwrap().command else { panic!("a write") };
        let Body::Decision(decision) = draft.body else { panic!("a decision") };
        assert_eq!(decision.reasons[0], Reason { kind: ReasonKind::Evidence, text: "measured".into() });
        assert_eq!((decision.reasons[1].kind, decision.stakes), (ReasonKind::Analysis, Stakes::High));
    }

    /// Bad input: confidence 1.7, unknown kind.
    #[test]
    fn senseless_calls_are_refused_in_words() {
        let refused = |name: &str, arguments: &str, want: &str| {
            let refusal = parse(name, arguments).expect_err("refused");
            assert!(refusal.to_json().contains(want), "{refusal:?}");
        };
        refused("record_decision", r#"{"description": "x", "confidence": 1.7}"#, "not between 0 and 1");
        refused("record_decision", r#"{"description": "x", "confidence": "high"}"#, "a number from 0 to 1");
        refused("record_decision", r#"{"description": "x"}"#, "needs the argument 'confidence'");
        refused(
            "record_decision",
            r#"{"description": "x", "confidence": 1, "rests_on": "q1"}"#,
            "no id of a memory",
        );
        refused("remember", r#"{"kind": "opinion", "text": "x"}"#, "there are: decision, fact");
        refused("remember", r#"{"kind": "decision", "text": "x"}"#, "record_decision");
        refused("remember", r#"{"kind": "fact"}"#, "needs the argument 'text'");
        refused("recall", r#"{"query": "x", "limit": 0}"#, "a whole number above 0");
        refused(
            "remember",
            r#"{"kind": "censor", "text": "x", "reason": "y", "action": "destroy"}"#,
            "steer, refuse",
        );
        refused("review_decision", r#"{"id": "d1", "outcome": "fine"}"#, "success, partial, failure");
        refused("expand_detail", r#"{"id": "../../x"}"#, "no id of a memory");
        refused("recall", r#"{"query": "x", "kinds": ["feelings"]}"#, "no kind of memory");
    }
}
