//! A record as it is typed: options become what a memory of its kind says, and what does not belong to it is refused.

use std::io::Read as _;

use neap_core::memory::amend::Edit;
use neap_core::memory::{
    Action, Author, Body, Censor, Confidence, Decision, Episode, Fact, Memory, MemoryDraft, MemoryKind, Pattern,
    Procedure, Provenance, Reason, Side,
};
use neap_core::tools::Refusal;

use crate::cli::{Cleared, DecideArgs, DecisionFields, EditArgs, Fields, RuleFields};
use crate::out::Failure;

/// How sure a fact is where nobody says.
const FACT_THOUSANDTHS: u16 = 800;
/// Standard input is read up to this many bytes; a record holds far less.
const INPUT_BYTES_MAX: u64 = 8 * 1_024 * 1_024;

/// A draft of a kind, by a person.
pub(crate) fn draft(kind: MemoryKind, text: String, mut fields: Fields) -> Result<MemoryDraft, Failure> {
    check(kind, &fields, &DecisionFields::default())?;
    fields.detail = fields.detail.take().map(from_input).transpose()?;
    let mut draft = MemoryDraft::new(blank(kind), Provenance::of(Author::Person));
    draft.pinned = fields.always;
    (draft.valid_from, draft.valid_until) = (fields.valid_from, fields.valid_until);
    (draft.tags, draft.domain) = (std::mem::take(&mut fields.tags), fields.domain.take());
    put(&mut draft.body, Some(text), fields, DecisionFields::default());
    Ok(draft)
}

/// A decision, by a person.
pub(crate) fn decision(args: DecideArgs) -> MemoryDraft {
    let mut draft = MemoryDraft::new(blank(MemoryKind::Decision), Provenance::of(Author::Person));
    (draft.tags, draft.domain) = (args.tags, args.domain);
    let fields = Fields { confidence: Some(args.confidence), reasons: args.reasons, ..Fields::default() };
    put(&mut draft.body, Some(args.text), fields, args.fields);
    draft
}

/// What an edit changes of a record; refused if it changes nothing.
pub(crate) fn edit(memory: &Memory, args: EditArgs) -> Result<Edit, Failure> {
    let EditArgs { id, text, not_always, clear, mut fields, decision } = args;
    check(memory.kind(), &fields, &decision)?;
    let mut edit = Edit::by(Author::Person);
    let is_cleared = |what: Cleared| clear.contains(&what);
    let tags = std::mem::take(&mut fields.tags);
    edit.tags = (!tags.is_empty() || is_cleared(Cleared::Tags) && !memory.tags.is_empty()).then_some(tags);
    edit.domain = fields
        .domain
        .take()
        .map(Some)
        .or((is_cleared(Cleared::Domain) && memory.domain.is_some()).then_some(None));
    edit.pinned = if fields.always { Some(true) } else { not_always.then_some(false) };
    let was = (memory.valid_from, memory.valid_until);
    let kept = if is_cleared(Cleared::Dates) { (None, None) } else { was };
    let valid = (fields.valid_from.or(kept.0), fields.valid_until.or(kept.1));
    edit.valid = (valid != was).then_some(valid);
    fields.detail = fields.detail.take().map(from_input).transpose()?;
    let text = text.map(from_input).transpose()?;
    let mut body = memory.body.clone();
    put(&mut body, text, fields, decision);
    edit.body = (body != memory.body).then_some(body);
    if edit == Edit::by(Author::Person) {
        return Err(Failure::refused(&Refusal::new(format!("Nothing of {id} would change.")).hint(format!(
            "say what it says from now on: neap memory edit {id} \"…\"; `neap memory edit --help` lists the options"
        ))));
    }
    Ok(edit)
}

/// What a rule looks for.
pub(crate) fn pattern(of: String, regex: bool, like: bool) -> Pattern {
    match (regex, like) {
        (true, _) => Pattern::Regex(of),
        (false, true) => Pattern::Like(of),
        (false, false) => Pattern::Words(of),
    }
}

/// A text as it was typed, or what standard input has for `-`.
pub(crate) fn from_input(text: String) -> Result<String, Failure> {
    if text != "-" {
        return Ok(text);
    }
    let mut bytes = Vec::new();
    std::io::stdin().lock().take(INPUT_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > INPUT_BYTES_MAX {
        return Err(Failure::refused(
            &Refusal::new(format!("Standard input has more than {INPUT_BYTES_MAX} bytes."))
                .hint("keep what matters later"),
        ));
    }
    String::from_utf8(bytes).map_err(|_| Failure::new("standard input is not UTF-8 text").hint("save it as UTF-8"))
}

/// Puts what was given into a body; what was not stays.
fn put(body: &mut Body, text: Option<String>, fields: Fields, more: DecisionFields) {
    match body {
        Body::Decision(decision) => {
            set(&mut decision.description, text);
            set(&mut decision.confidence, fields.confidence);
            fill(&mut decision.reasons, fields.reasons.into_iter().map(Reason::read).collect());
            fill(&mut decision.alternatives, more.alternatives);
            set(&mut decision.stakes, more.stakes.map(Into::into));
            set(&mut decision.category, more.category);
            set(&mut decision.context, more.context);
            fill(&mut decision.rests_on, more.rests_on);
        }
        Body::Fact(fact) => {
            set(&mut fact.content, text);
            set(&mut fact.subject, fields.subject);
            set(&mut fact.confidence, fields.confidence);
        }
        Body::Procedure(procedure) => {
            set(&mut procedure.name, text);
            fill(&mut procedure.core_patterns, fields.patterns);
            fill(&mut procedure.steps, fields.steps);
        }
        Body::Episode(episode) => {
            set(&mut episode.summary, text);
            set(&mut episode.detail, fields.detail);
            fill(&mut episode.participants, fields.participants);
            episode.minutes = fields.minutes.or(episode.minutes);
            set(&mut episode.outcome, fields.outcome);
            fill(&mut episode.lessons, fields.lessons);
        }
        Body::Censor(censor) => rule(censor, text, fields.reasons.into_iter().next_back(), &fields.rule),
    }
}

fn rule(censor: &mut Censor, text: Option<String>, reason: Option<String>, given: &RuleFields) {
    let (Pattern::Words(was) | Pattern::Regex(was) | Pattern::Like(was)) = &censor.pattern;
    if text.is_some() || given.regex || given.like {
        censor.pattern = pattern(text.unwrap_or_else(|| was.clone()), given.regex, given.like);
    }
    set(&mut censor.reason, reason);
    set(&mut censor.side, given.side.map(Into::into));
    set(&mut censor.action, given.action.map(Into::into));
}

fn set<T>(place: &mut T, given: Option<T>) {
    if let Some(given) = given {
        *place = given;
    }
}

fn fill<T>(place: &mut Vec<T>, given: Vec<T>) {
    if !given.is_empty() {
        *place = given;
    }
}

/// A body that says nothing yet.
fn blank(kind: MemoryKind) -> Body {
    let confidence = Confidence::from_thousandths(FACT_THOUSANDTHS).unwrap_or(Confidence::FULL);
    match kind {
        MemoryKind::Decision => Body::Decision(Decision::new("", confidence)),
        MemoryKind::Fact => Body::Fact(Fact::new("", "", confidence)),
        MemoryKind::Procedure => Body::Procedure(Procedure::new("")),
        MemoryKind::Episode => Body::Episode(Episode::new("")),
        MemoryKind::Censor => {
            Body::Censor(Censor::new(Pattern::Words(String::new()), Side::Output, Action::Steer, ""))
        }
    }
}

/// Refuses options that a record of this kind has no place for: silence would lose what was typed.
fn check(kind: MemoryKind, fields: &Fields, more: &DecisionFields) -> Result<(), Failure> {
    use MemoryKind::{Censor, Decision, Episode, Fact, Procedure};
    let rule = &fields.rule;
    let given: [(&str, bool, &[MemoryKind]); 19] = [
        ("--confidence", fields.confidence.is_some(), &[Decision, Fact]),
        ("--subject", fields.subject.is_some(), &[Fact]),
        ("--pattern", !fields.patterns.is_empty(), &[Procedure]),
        ("--step", !fields.steps.is_empty(), &[Procedure]),
        ("--detail", fields.detail.is_some(), &[Episode]),
        ("--participant", !fields.participants.is_empty(), &[Episode]),
        ("--minutes", fields.minutes.is_some(), &[Episode]),
        ("--outcome", fields.outcome.is_some(), &[Episode]),
        ("--lesson", !fields.lessons.is_empty(), &[Episode]),
        ("--reason", !fields.reasons.is_empty(), &[Decision, Censor]),
        ("--side", rule.side.is_some(), &[Censor]),
        ("--action", rule.action.is_some(), &[Censor]),
        ("--regex", rule.regex, &[Censor]),
        ("--like", rule.like, &[Censor]),
        ("--alternative", !more.alternatives.is_empty(), &[Decision]),
        ("--stakes", more.stakes.is_some(), &[Decision]),
        ("--category", more.category.is_some(), &[Decision]),
        ("--context", more.context.is_some(), &[Decision]),
        ("--rests-on", !more.rests_on.is_empty(), &[Decision]),
    ];
    let Some((option, _, kinds)) = given.iter().find(|(_, is_given, kinds)| *is_given && !kinds.contains(&kind))
    else {
        return Ok(());
    };
    let of: Vec<&str> = kinds.iter().map(|kind| with_article(*kind)).collect();
    let mut hint = format!("it belongs to {}", of.join(" or "));
    if *option == "--outcome" && kind == Decision {
        hint = "how a decision came out is told by `neap review`".to_owned();
    }
    Err(Failure::refused(
        &Refusal::new(format!("The option {option} is not for {}.", with_article(kind))).hint(hint),
    ))
}

fn with_article(kind: MemoryKind) -> &'static str {
    match kind {
        MemoryKind::Decision => "a decision",
        MemoryKind::Fact => "a fact",
        MemoryKind::Procedure => "a procedure",
        MemoryKind::Episode => "an episode",
        MemoryKind::Censor => "a censor",
    }
}
