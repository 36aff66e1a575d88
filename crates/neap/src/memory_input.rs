//! Builds memory drafts and edits from command-line options, and refuses options that do not apply to the kind.

use std::io::Read as _;

use neap_core::base::refusal::Refusal;
use neap_core::memory::amend::Edit;
use neap_core::memory::{
    Author, Body, Censor, CensorAction, CensorPattern, CensorSide, Confidence, Decision, Episode, Fact, Memory,
    MemoryDraft, MemoryKind, Procedure, Provenance, Reason,
};

use crate::cli::{ClearableField, DecideArgs, DecisionFields, MemoryEditArgs, MemoryFields, RuleFields};
use crate::out::Failure;
use crate::project::Asked;

/// Confidence of a fact where none is given.
const DEFAULT_FACT_THOUSANDTHS: u16 = 800;
/// Most bytes read from standard input; a memory holds far less.
const INPUT_BYTES_MAX: u64 = 8 * 1_024 * 1_024;

pub(crate) fn draft(kind: MemoryKind, text: String, mut fields: MemoryFields) -> Result<MemoryDraft, Failure> {
    check_options(kind, &fields, &DecisionFields::default())?;
    fields.detail = fields.detail.take().map(text_or_stdin).transpose()?;
    let mut draft = MemoryDraft::new(empty_body(kind), Provenance::from_author(Author::Person));
    draft.pinned = fields.always;
    (draft.valid_from, draft.valid_until) = (fields.valid_from, fields.valid_until);
    (draft.tags, draft.domain) = (std::mem::take(&mut fields.tags), fields.domain.take());
    apply_fields(&mut draft.body, Some(text), fields, DecisionFields::default());
    Ok(draft)
}

pub(crate) fn decision_draft(args: DecideArgs) -> MemoryDraft {
    let mut draft = MemoryDraft::new(empty_body(MemoryKind::Decision), Provenance::from_author(Author::Person));
    (draft.tags, draft.domain) = (args.tags, args.domain);
    let fields =
        MemoryFields { confidence: Some(args.confidence), reasons: args.reasons, ..MemoryFields::default() };
    apply_fields(&mut draft.body, Some(args.text), fields, args.fields);
    draft
}

/// The edit of a memory; refused if it changes nothing.
pub(crate) fn edit(memory: &Memory, args: MemoryEditArgs) -> Result<Edit, Failure> {
    let MemoryEditArgs { id, text, project, not_always, clear, mut fields, decision } = args;
    check_options(memory.kind(), &fields, &decision)?;
    let mut edit = Edit::new(Author::Person);
    let is_cleared = |field: ClearableField| clear.contains(&field);
    let tags = std::mem::take(&mut fields.tags);
    edit.tags = (!tags.is_empty() || is_cleared(ClearableField::Tags) && !memory.tags.is_empty()).then_some(tags);
    edit.domain = fields
        .domain
        .take()
        .map(Some)
        .or((is_cleared(ClearableField::Domain) && memory.domain.is_some()).then_some(None));
    edit.pinned = if fields.always { Some(true) } else { not_always.then_some(false) };
    let project = project.map(|name| Asked::of(Some(&name))).transpose()?.map(|asked| asked.project());
    edit.project = project.filter(|project| *project != memory.project);
    let current = (memory.valid_from, memory.valid_until);
    let base = if is_cleared(ClearableField::Dates) { (None, None) } else { current };
    let valid = (fields.valid_from.or(base.0), fields.valid_until.or(base.1));
    edit.valid = (valid != current).then_some(valid);
    fields.detail = fields.detail.take().map(text_or_stdin).transpose()?;
    let text = text.map(text_or_stdin).transpose()?;
    let mut body = memory.body.clone();
    apply_fields(&mut body, text, fields, decision);
    edit.body = (body != memory.body).then_some(body);
    if edit == Edit::new(Author::Person) {
        return Err(Failure::from_refusal(&Refusal::new(format!("The edit changes nothing in {id}.")).hint(
            format!("give the new text: neap memory edit {id} \"…\"; `neap memory edit --help` lists the options"),
        )));
    }
    Ok(edit)
}

pub(crate) fn pattern(text: String, regex: bool, like: bool) -> CensorPattern {
    match (regex, like) {
        (true, _) => CensorPattern::Regex(text),
        (false, true) => CensorPattern::Like(text),
        (false, false) => CensorPattern::Words(text),
    }
}

/// The text itself, or standard input for `-`.
pub(crate) fn text_or_stdin(text: String) -> Result<String, Failure> {
    if text != "-" {
        return Ok(text);
    }
    let mut bytes = Vec::new();
    std::io::stdin().lock().take(INPUT_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > INPUT_BYTES_MAX {
        return Err(Failure::from_refusal(
            &Refusal::new(format!("Standard input has more than {INPUT_BYTES_MAX} bytes."))
                .hint("keep only what matters later"),
        ));
    }
    String::from_utf8(bytes).map_err(|_| Failure::new("standard input is not UTF-8 text").hint("save it as UTF-8"))
}

fn apply_fields(body: &mut Body, text: Option<String>, fields: MemoryFields, more: DecisionFields) {
    match body {
        Body::Decision(decision) => {
            set_if_given(&mut decision.description, text);
            set_if_given(&mut decision.confidence, fields.confidence);
            replace_if_given(&mut decision.reasons, fields.reasons.into_iter().map(Reason::parse).collect());
            replace_if_given(&mut decision.alternatives, more.alternatives);
            set_if_given(&mut decision.stakes, more.stakes.map(Into::into));
            set_if_given(&mut decision.category, more.category);
            set_if_given(&mut decision.context, more.context);
            replace_if_given(&mut decision.rests_on, more.rests_on);
        }
        Body::Fact(fact) => {
            set_if_given(&mut fact.content, text);
            set_if_given(&mut fact.subject, fields.subject);
            set_if_given(&mut fact.confidence, fields.confidence);
        }
        Body::Procedure(procedure) => {
            set_if_given(&mut procedure.name, text);
            replace_if_given(&mut procedure.core_patterns, fields.patterns);
            replace_if_given(&mut procedure.steps, fields.steps);
        }
        Body::Episode(episode) => {
            set_if_given(&mut episode.summary, text);
            set_if_given(&mut episode.detail, fields.detail);
            replace_if_given(&mut episode.participants, fields.participants);
            episode.minutes = fields.minutes.or(episode.minutes);
            set_if_given(&mut episode.outcome, fields.outcome);
            replace_if_given(&mut episode.lessons, fields.lessons);
        }
        Body::Censor(censor) => apply_rule(censor, text, fields.reasons.into_iter().next_back(), &fields.rule),
    }
}

fn apply_rule(censor: &mut Censor, text: Option<String>, reason: Option<String>, rule: &RuleFields) {
    let (CensorPattern::Words(current) | CensorPattern::Regex(current) | CensorPattern::Like(current)) =
        &censor.pattern;
    if text.is_some() || rule.regex || rule.like {
        censor.pattern = pattern(text.unwrap_or_else(|| current.clone()), rule.regex, rule.like);
    }
    set_if_given(&mut censor.reason, reason);
    set_if_given(&mut censor.side, rule.side.map(Into::into));
    set_if_given(&mut censor.action, rule.action.map(Into::into));
}

fn set_if_given<T>(target: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *target = value;
    }
}

fn replace_if_given<T>(target: &mut Vec<T>, values: Vec<T>) {
    if !values.is_empty() {
        *target = values;
    }
}

fn empty_body(kind: MemoryKind) -> Body {
    let confidence = Confidence::from_thousandths(DEFAULT_FACT_THOUSANDTHS).unwrap_or(Confidence::FULL);
    match kind {
        MemoryKind::Decision => Body::Decision(Decision::new("", confidence)),
        MemoryKind::Fact => Body::Fact(Fact::new("", "", confidence)),
        MemoryKind::Procedure => Body::Procedure(Procedure::new("")),
        MemoryKind::Episode => Body::Episode(Episode::new("")),
        MemoryKind::Censor => Body::Censor(Censor::new(
            CensorPattern::Words(String::new()),
            CensorSide::Output,
            CensorAction::Steer,
            "",
        )),
    }
}

/// Refuses options that do not apply to the kind, rather than dropping them silently.
fn check_options(kind: MemoryKind, fields: &MemoryFields, more: &DecisionFields) -> Result<(), Failure> {
    use MemoryKind::{Censor, Decision, Episode, Fact, Procedure};
    let rule = &fields.rule;
    let options: [(&str, bool, &[MemoryKind]); 19] = [
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
    let Some((option, _, kinds)) = options.iter().find(|(_, is_given, kinds)| *is_given && !kinds.contains(&kind))
    else {
        return Ok(());
    };
    let owners: Vec<&str> = kinds.iter().map(|kind| with_article(*kind)).collect();
    let mut hint = format!("it belongs to {}", owners.join(" or "));
    if *option == "--outcome" && kind == Decision {
        hint = "`neap memory review` records how a decision turned out".to_owned();
    }
    Err(Failure::from_refusal(
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
