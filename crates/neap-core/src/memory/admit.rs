//! What may be remembered: drafts are tidied, masked and measured before any rule looks at them.

use super::{Body, MemoryDraft, MemoryId, MemoryKind, Pattern};
use crate::censor::compile;
use crate::ids::Stamp;
use crate::reference::words;
use crate::secrets::{holds_key, mask};
use crate::tools::Refusal;

/// Longest text of one field, in characters; a fact is a sentence or two.
pub const TEXT_CHARS_MAX: usize = 2_000;
/// Longest text of a field that tells at length (context, detail, notes), in characters.
pub const BLOCK_CHARS_MAX: usize = 20_000;
/// Longest name (of a subject, a procedure, a field, a participant), in characters.
pub const NAME_CHARS_MAX: usize = 200;
/// Longest pattern of a censor, in characters.
pub const PATTERN_CHARS_MAX: usize = 1_000;
/// All texts of a record together, in bytes.
pub const RECORD_BYTES_MAX: usize = 32 * 1_024;
/// Entries of a list.
pub const LIST_MAX: usize = 32;
/// Tags of a record.
pub const TAGS_MAX: usize = 16;
/// Facts that a decision rests on.
pub const RESTS_ON_MAX: usize = 16;
/// The years in which times lie, from the beginning of the first to the beginning of the last, in milliseconds.
const YEARS: (i64, i64) = (-2_208_988_800_000, 7_258_118_400_000);

/// A draft as it may be stored, and how many secrets were masked in it.
///
/// Counts, and what took a fact's place, are not the writer's to give: they begin at nothing.
pub fn admit(mut draft: MemoryDraft) -> Result<(MemoryDraft, u32), Refusal> {
    let mut gate = Gate::default();
    gate.body(&mut draft.body)?;
    gate.tags(&mut draft.tags)?;
    if let Some(domain) = &mut draft.domain {
        gate.line("the domain", domain, NAME_CHARS_MAX)?;
    }
    draft.domain = draft.domain.filter(|domain| !domain.is_empty()).map(|domain| domain.to_lowercase());
    if let Some(source) = &mut draft.provenance.source {
        gate.line("the source", source, NAME_CHARS_MAX)?;
    }
    draft.provenance.trust = draft.provenance.trust.min(draft.provenance.author.trust());
    times(draft.valid_from, draft.valid_until)?;
    if gate.bytes > RECORD_BYTES_MAX {
        return Err(Refusal::new(format!(
            "The record has {} bytes of text; at most {RECORD_BYTES_MAX} are kept.",
            gate.bytes
        ))
        .hint("Keep what matters later; the conversation itself is stored anyway."));
    }
    Ok((draft, gate.masked))
}

/// A text at length, as it may be stored, and how many secrets were masked in it.
pub(super) fn block(what: &str, text: &str) -> Result<(String, u32), Refusal> {
    let mut gate = Gate::default();
    let mut text = text.to_owned();
    gate.block(what, &mut text)?;
    Ok((text, gate.masked))
}

#[derive(Default)]
struct Gate {
    masked: u32,
    bytes: usize,
}

impl Gate {
    fn body(&mut self, body: &mut Body) -> Result<(), Refusal> {
        let kind = body.kind();
        match body {
            Body::Decision(decision) => {
                self.line("the description", &mut decision.description, TEXT_CHARS_MAX)?;
                self.block("the context", &mut decision.context)?;
                self.line("the category", &mut decision.category, NAME_CHARS_MAX)?;
                few("reasons", decision.reasons.len(), LIST_MAX)?;
                for reason in &mut decision.reasons {
                    self.line("a reason", &mut reason.text, TEXT_CHARS_MAX)?;
                }
                decision.reasons.retain(|reason| !reason.text.is_empty());
                self.list("alternatives", &mut decision.alternatives, TEXT_CHARS_MAX)?;
                self.block("the notes", &mut decision.outcome_notes)?;
                rests_on(&mut decision.rests_on)?;
                needed(kind, "a description", &decision.description)
            }
            Body::Fact(fact) => {
                self.line("the subject", &mut fact.subject, NAME_CHARS_MAX)?;
                self.line("the content", &mut fact.content, TEXT_CHARS_MAX)?;
                if let Some(by) = fact.superseded_by {
                    return Err(Refusal::new(format!("A new fact cannot be superseded by {by} already."))
                        .hint("What takes a fact's place is decided when the newer one is remembered."));
                }
                (fact.confirmations, fact.last_confirmed) = (0, None);
                needed(kind, "content", &fact.content)
            }
            Body::Procedure(procedure) => {
                self.line("the name", &mut procedure.name, NAME_CHARS_MAX)?;
                self.list("patterns", &mut procedure.core_patterns, TEXT_CHARS_MAX)?;
                self.list("steps", &mut procedure.steps, TEXT_CHARS_MAX)?;
                (procedure.activations, procedure.successes, procedure.failures) = (0, 0, 0);
                needed(kind, "a name", &procedure.name)?;
                let first = procedure.core_patterns.first().or(procedure.steps.first());
                needed(kind, "a core pattern or a step", first.map_or("", String::as_str))
            }
            Body::Episode(episode) => {
                self.line("the summary", &mut episode.summary, TEXT_CHARS_MAX)?;
                self.block("the detail", &mut episode.detail)?;
                self.list("participants", &mut episode.participants, NAME_CHARS_MAX)?;
                self.line("the outcome", &mut episode.outcome, TEXT_CHARS_MAX)?;
                self.list("lessons", &mut episode.lessons, TEXT_CHARS_MAX)?;
                episode.detail_at = None;
                needed(kind, "a summary", &episode.summary)
            }
            Body::Censor(censor) => {
                self.line("the reason", &mut censor.reason, TEXT_CHARS_MAX)?;
                let (Pattern::Words(of) | Pattern::Regex(of) | Pattern::Like(of)) = &mut censor.pattern;
                short("the pattern", of, PATTERN_CHARS_MAX)?;
                self.bytes += of.len();
                if holds_key(of) {
                    return Err(Refusal::new("The pattern holds a secret, and secrets are never stored.")
                        .hint("Describe its form with a regular expression instead."));
                }
                (censor.triggers, censor.false_positives) = (0, 0);
                needed(kind, "a pattern", of)?;
                needed(kind, "a reason", &censor.reason)?;
                compile(&censor.pattern).map(drop)
            }
        }
    }

    /// A text on one line.
    fn line(&mut self, what: &str, text: &mut String, chars_max: usize) -> Result<(), Refusal> {
        short(what, text, chars_max)?;
        let folded = visible(text).collect::<String>();
        self.keep(text, &folded.split_whitespace().collect::<Vec<_>>().join(" "));
        Ok(())
    }

    /// A text that may have lines.
    fn block(&mut self, what: &str, text: &mut String) -> Result<(), Refusal> {
        short(what, text, BLOCK_CHARS_MAX)?;
        let folded = visible(text).collect::<String>();
        let lines = folded.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
        self.keep(text, lines.collect::<Vec<_>>().join("\n").trim());
        Ok(())
    }

    fn keep(&mut self, text: &mut String, tidy: &str) {
        let (safe, masked) = mask(tidy);
        self.masked += masked;
        self.bytes += safe.len();
        *text = safe;
    }

    fn list(&mut self, what: &str, entries: &mut Vec<String>, chars_max: usize) -> Result<(), Refusal> {
        few(what, entries.len(), LIST_MAX)?;
        for entry in entries.iter_mut() {
            self.line(&format!("one of the {what}"), entry, chars_max)?;
        }
        entries.retain(|entry| !entry.is_empty());
        Ok(())
    }

    fn tags(&mut self, tags: &mut Vec<String>) -> Result<(), Refusal> {
        few("tags", tags.len(), TAGS_MAX)?;
        let mut kept: Vec<String> = Vec::new();
        for tag in tags.iter_mut() {
            self.line("a tag", tag, NAME_CHARS_MAX)?;
            let slug = words(tag).join("-");
            if !slug.is_empty() && !kept.contains(&slug) {
                kept.push(slug);
            }
        }
        *tags = kept;
        Ok(())
    }
}

/// What can be seen of a text: line breaks of every sort as one, other controls as spaces, what hides or turns text
/// around left out.
fn visible(text: &str) -> impl Iterator<Item = char> + '_ {
    text.chars().filter_map(|c| match c {
        '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}' => Some('\n'),
        '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{61c}' | '\u{2060}'..='\u{2069}' | '\u{feff}' => None,
        '\u{202a}'..='\u{202e}' | '\u{e0000}'..='\u{e007f}' => None,
        c if c.is_control() => Some(' '),
        c => Some(c),
    })
}

fn short(what: &str, text: &str, chars_max: usize) -> Result<(), Refusal> {
    // As many bytes are as many characters at most.
    let chars = if text.len() <= chars_max { 0 } else { text.trim().chars().count() };
    if chars <= chars_max {
        return Ok(());
    }
    Err(Refusal::new(format!("{} has {chars} characters; at most {chars_max} are kept.", capital(what)))
        .hint("Say it shorter, or remember several records."))
}

fn few(what: &str, count: usize, max: usize) -> Result<(), Refusal> {
    if count <= max {
        return Ok(());
    }
    Err(Refusal::new(format!("There are {count} {what}; at most {max} are kept."))
        .hint("Keep those that matter most."))
}

fn needed(kind: MemoryKind, what: &str, text: &str) -> Result<(), Refusal> {
    if text.chars().any(char::is_alphanumeric) {
        return Ok(());
    }
    let (article, example) = match kind {
        MemoryKind::Decision => ("A", "what was chosen, and over what"),
        MemoryKind::Fact => ("A", "what is so, in a sentence"),
        MemoryKind::Procedure => ("A", "its name, and what to do"),
        MemoryKind::Episode => ("An", "what happened, in a sentence"),
        MemoryKind::Censor => ("A", "what it looks for, and why"),
    };
    Err(Refusal::new(format!("{article} {kind} needs {what}.")).hint(format!("Say {example}.")))
}

fn rests_on(ids: &mut Vec<MemoryId>) -> Result<(), Refusal> {
    ids.sort();
    ids.dedup();
    few("facts that it rests on", ids.len(), RESTS_ON_MAX)?;
    match ids.iter().find(|id| id.kind() != MemoryKind::Fact) {
        None => Ok(()),
        Some(id) => Err(Refusal::new(format!("A decision rests on facts, and {id} is a {}.", id.kind()))
            .hint("Ids of facts begin with 'f'.")),
    }
}

fn times(from: Option<Stamp>, until: Option<Stamp>) -> Result<(), Refusal> {
    for stamp in [from, until].into_iter().flatten() {
        if !(YEARS.0..YEARS.1).contains(&stamp.0) {
            return Err(Refusal::new(format!(
                "A time of {} ms since 1970 is not in the years from 1900 to 2200.",
                stamp.0
            ))
            .hint("Give the day as YYYY-MM-DD."));
        }
    }
    match (from, until) {
        (Some(from), Some(until)) if from > until => {
            Err(Refusal::new("It would cease to hold before it begins to.").hint("Exchange the two times."))
        }
        (Some(_) | None, _) => Ok(()),
    }
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::remember::tests::{by, censor, decision, episode, fact, procedure};
    use super::*;
    use crate::memory::{Action, Author, Outcome, Reason, ReasonKind, Trust};

    #[track_caller]
    fn refused(draft: MemoryDraft, error: &str) {
        let refusal = admit(draft).unwrap_err();
        assert!(refusal.error.contains(error), "{refusal:?}");
        assert!(refusal.hint.is_some(), "{refusal:?}");
    }

    /// Issue, bad input: a 1 MB fact.
    #[test]
    fn a_megabyte_is_refused_with_the_numbers() {
        refused(fact("x", &"a".repeat(1 << 20)), "The content has 1048576 characters; at most 2000 are kept.");
        assert!(admit(fact("x", &"ä".repeat(TEXT_CHARS_MAX))).is_ok());
        refused(fact("x", &"ä".repeat(TEXT_CHARS_MAX + 1)), "2001");
        let mut long = episode("It took long", None);
        if let Body::Episode(episode) = &mut long.body {
            episode.detail = "word ".repeat(3_000);
            episode.lessons = vec!["lesson ".repeat(200); 16];
        }
        refused(long, "at most 32768 are kept");
    }

    #[test]
    fn what_makes_a_record_useful_is_needed() {
        refused(fact("Tim", " \n\t "), "A fact needs content.");
        refused(fact("Tim", "…!"), "A fact needs content.");
        refused(decision("", Outcome::Pending), "A decision needs a description.");
        refused(procedure("Deploy", &[]), "A procedure needs a core pattern or a step.");
        refused(procedure("Deploy", &[" "]), "A procedure needs a core pattern or a step.");
        refused(procedure("", &["merge"]), "A procedure needs a name.");
        refused(episode(" ", None), "An episode needs a summary.");
        refused(censor(" ", Action::Steer, Author::Person), "A censor needs a pattern.");
    }

    #[test]
    fn lists_have_a_length() {
        let many = vec!["step"; LIST_MAX + 1];
        refused(procedure("Deploy", &many), "There are 33 steps; at most 32");
        refused(MemoryDraft { tags: vec!["a".into(); TAGS_MAX + 1], ..fact("x", "y") }, "17 tags; at most 16");
        let tags = ["Big Data", "big-data", "../x", "!"].map(str::to_owned).to_vec();
        assert_eq!(admit(MemoryDraft { tags, ..fact("x", "y") }).unwrap().0.tags, ["big-data", "x"]);
    }

    /// Issue, bad input: wrong dates.
    #[test]
    fn times_are_in_order_and_in_reach() {
        let held = |from: i64, until: i64| MemoryDraft {
            valid_from: Some(Stamp(from)),
            valid_until: Some(Stamp(until)),
            ..fact("x", "y")
        };
        assert!(admit(held(5, 5)).is_ok());
        refused(held(6, 5), "cease to hold before");
        refused(held(YEARS.0 - 1, 5), "from 1900 to 2200");
        refused(held(5, YEARS.1), "from 1900 to 2200");
        refused(held(i64::MIN, i64::MAX), "from 1900 to 2200");
        assert_eq!((Stamp(YEARS.0).date(), Stamp(YEARS.1).date()), ("1900-01-01".into(), "2200-01-01".into()));
    }

    #[test]
    fn a_decision_rests_on_facts() {
        let on = |ids: &[&str]| {
            let mut draft = decision("Use Postgres", Outcome::Pending);
            if let Body::Decision(decision) = &mut draft.body {
                decision.rests_on = ids.iter().map(|id| id.parse().unwrap()).collect();
            }
            draft
        };
        refused(on(&["f1", "d2"]), "d2 is a decision");
        let many: Vec<String> = (1..=17).map(|n| format!("f{n}")).collect();
        refused(on(&many.iter().map(String::as_str).collect::<Vec<_>>()), "17 facts that it rests on; at most 16");
        let Body::Decision(decision) = admit(on(&["f2", "f1", "f2"])).unwrap().0.body else {
            panic!("another kind")
        };
        assert_eq!(decision.rests_on.len(), 2);
    }

    /// Issue, bad input: cyclic supersession. What takes a fact's place is not the writer's to say.
    #[test]
    fn what_is_counted_or_decided_is_not_the_writers_to_give() {
        let mut draft = fact("x", "y");
        if let Body::Fact(fact) = &mut draft.body {
            (fact.confirmations, fact.last_confirmed) = (99, Some(Stamp(1)));
        }
        assert_eq!(admit(draft.clone()).unwrap().0.body, admit(fact("x", "y")).unwrap().0.body);
        if let Body::Fact(fact) = &mut draft.body {
            fact.superseded_by = "f1".parse().ok();
        }
        refused(draft, "cannot be superseded by f1");
        let mut forged = by(Author::Tool, fact("x", "y"));
        forged.provenance.trust = Trust::High;
        assert_eq!(admit(forged).unwrap().0.provenance.trust, Trust::Low);
    }

    #[test]
    fn texts_are_tidied_and_masked_in_every_field() {
        let key = format!("ghp_{}", "aB3dE6gH9jK2".repeat(3));
        let mut draft = decision(&format!("Use\u{2028}{key}\u{202e}\t now"), Outcome::Pending);
        if let Body::Decision(decision) = &mut draft.body {
            decision.context = format!("one \r\n\x07two {key}");
            decision.reasons = vec![Reason { kind: ReasonKind::Evidence, text: key.clone() }];
            decision.alternatives = vec![key.clone(), " ".into()];
        }
        draft.domain = Some(" Storage ".into());
        let (draft, masked) = admit(draft).unwrap();
        assert_eq!((masked, draft.domain.as_deref()), (4, Some("storage")));
        let Body::Decision(decision) = draft.body else { panic!("another kind") };
        assert_eq!(decision.description, "Use [masked: github token] now");
        assert_eq!(decision.context, "one\n\ntwo [masked: github token]");
        assert_eq!(
            (decision.reasons[0].text.as_str(), decision.alternatives.len()),
            ("[masked: github token]", 1)
        );
        let mut rule = censor("x", Action::Steer, Author::Person);
        if let Body::Censor(censor) = &mut rule.body {
            censor.pattern = Pattern::Regex("ghp_[A-Za-z0-9]{36}|password=\\S+".into());
        }
        assert_eq!(admit(rule.clone()).unwrap().0.body, rule.body, "a form is no secret");
        if let Body::Censor(censor) = &mut rule.body {
            censor.pattern = Pattern::Words(key);
        }
        refused(rule, "holds a secret");
    }

    proptest::proptest! {
        #[test]
        fn what_is_admitted_is_admitted_again_as_it_is(content in "\\PC{0,60}|[\\s\\x00-\\x20a-z=:]{0,60}") {
            if let Ok((draft, _)) = admit(fact("x", &content)) {
                proptest::prop_assert_eq!(admit(draft.clone()), Ok((draft, 0)));
            }
        }
    }
}
