//! Validates drafts: normalizes whitespace, masks secrets and enforces limits before any rule sees them.

use super::{Body, Censor, CensorPattern, MemoryDraft, MemoryId, MemoryKind};
use crate::base::ids::Stamp;
use crate::base::refusal::Refusal;
use crate::memory::censor::compile;
use crate::text::fold_whitespace;
use crate::text::reference::folded_words;
use crate::text::secrets::{has_key, mask};

/// Characters of an ordinary text field; a fact is a sentence or two.
pub const TEXT_CHARS_MAX: usize = 2_000;
/// Characters of a long field (context, detail, notes).
pub const BLOCK_CHARS_MAX: usize = 20_000;
/// Characters of a name (subject, procedure, domain, participant).
pub const NAME_CHARS_MAX: usize = 200;
pub const PATTERN_CHARS_MAX: usize = 1_000;
/// Bytes of all texts of a record together.
pub const RECORD_BYTES_MAX: usize = 32 * 1_024;
pub const LIST_MAX: usize = 32;
pub const TAGS_MAX: usize = 16;
pub const RESTS_ON_MAX: usize = 16;
/// Accepted timestamps in milliseconds: 1900 up to, not including, 2200.
const TIME_RANGE_MS: (i64, i64) = (-2_208_988_800_000, 7_258_118_400_000);

/// The draft as stored, and the number of secrets masked in it. Counts and supersession are reset: the author
/// cannot set them.
pub fn validate_draft(mut draft: MemoryDraft) -> Result<(MemoryDraft, u32), Refusal> {
    let mut sanitizer = DraftSanitizer::default();
    sanitizer.sanitize_body(&mut draft.body)?;
    sanitizer.sanitize_tags(&mut draft.tags)?;
    if let Some(domain) = &mut draft.domain {
        sanitizer.sanitize_line("the domain", domain, NAME_CHARS_MAX)?;
    }
    draft.domain = draft.domain.filter(|domain| !domain.is_empty()).map(|domain| domain.to_lowercase());
    if let Some(source) = &mut draft.provenance.source {
        sanitizer.sanitize_line("the source", source, NAME_CHARS_MAX)?;
    }
    draft.provenance.trust = draft.provenance.trust.min(draft.provenance.author.trust());
    check_validity(draft.valid_from, draft.valid_until)?;
    if sanitizer.bytes > RECORD_BYTES_MAX {
        return Err(Refusal::new(format!(
            "The record has {} bytes of text; at most {RECORD_BYTES_MAX} are kept.",
            sanitizer.bytes
        ))
        .hint("Keep what matters later; the conversation itself is stored anyway."));
    }
    Ok((draft, sanitizer.masked))
}

/// A long text as stored, and the number of secrets masked in it.
pub(super) fn validate_block(what: &str, text: &str) -> Result<(String, u32), Refusal> {
    let mut sanitizer = DraftSanitizer::default();
    let mut text = text.to_owned();
    sanitizer.sanitize_block(what, &mut text)?;
    Ok((text, sanitizer.masked))
}

#[derive(Default)]
struct DraftSanitizer {
    masked: u32,
    bytes: usize,
}

impl DraftSanitizer {
    fn sanitize_body(&mut self, body: &mut Body) -> Result<(), Refusal> {
        let kind = body.kind();
        match body {
            Body::Decision(decision) => {
                self.sanitize_line("the description", &mut decision.description, TEXT_CHARS_MAX)?;
                self.sanitize_block("the context", &mut decision.context)?;
                self.sanitize_line("the category", &mut decision.category, NAME_CHARS_MAX)?;
                check_count("reasons", decision.reasons.len(), LIST_MAX)?;
                for reason in &mut decision.reasons {
                    self.sanitize_line("a reason", &mut reason.text, TEXT_CHARS_MAX)?;
                }
                decision.reasons.retain(|reason| !reason.text.is_empty());
                self.sanitize_list("alternatives", &mut decision.alternatives, TEXT_CHARS_MAX)?;
                self.sanitize_block("the notes", &mut decision.outcome_notes)?;
                check_rests_on(&mut decision.rests_on)?;
                require_text(kind, "a description", &decision.description)
            }
            Body::Fact(fact) => {
                self.sanitize_line("the subject", &mut fact.subject, NAME_CHARS_MAX)?;
                self.sanitize_line("the content", &mut fact.content, TEXT_CHARS_MAX)?;
                if let Some(by) = fact.superseded_by {
                    return Err(Refusal::new(format!("A new fact cannot be superseded by {by} already."))
                        .hint("What takes a fact's place is decided when the newer one is remembered."));
                }
                (fact.confirmations, fact.last_confirmed) = (0, None);
                require_text(kind, "content", &fact.content)
            }
            Body::Procedure(procedure) => {
                self.sanitize_line("the name", &mut procedure.name, NAME_CHARS_MAX)?;
                self.sanitize_list("patterns", &mut procedure.core_patterns, TEXT_CHARS_MAX)?;
                self.sanitize_list("steps", &mut procedure.steps, TEXT_CHARS_MAX)?;
                (procedure.activations, procedure.successes, procedure.failures) = (0, 0, 0);
                require_text(kind, "a name", &procedure.name)?;
                let first = procedure.core_patterns.first().or(procedure.steps.first());
                require_text(kind, "a core pattern or a step", first.map_or("", String::as_str))
            }
            Body::Episode(episode) => {
                self.sanitize_line("the summary", &mut episode.summary, TEXT_CHARS_MAX)?;
                self.sanitize_block("the detail", &mut episode.detail)?;
                self.sanitize_list("participants", &mut episode.participants, NAME_CHARS_MAX)?;
                self.sanitize_line("the outcome", &mut episode.outcome, TEXT_CHARS_MAX)?;
                self.sanitize_list("lessons", &mut episode.lessons, TEXT_CHARS_MAX)?;
                episode.detail_at = None;
                require_text(kind, "a summary", &episode.summary)
            }
            Body::Censor(censor) => self.sanitize_censor(censor),
        }
    }

    fn sanitize_censor(&mut self, censor: &mut Censor) -> Result<(), Refusal> {
        self.sanitize_line("the reason", &mut censor.reason, TEXT_CHARS_MAX)?;
        let (CensorPattern::Words(pattern) | CensorPattern::Regex(pattern) | CensorPattern::Like(pattern)) =
            &mut censor.pattern;
        check_length("the pattern", pattern, PATTERN_CHARS_MAX)?;
        self.bytes += pattern.len();
        if has_key(pattern) {
            return Err(Refusal::new("The pattern holds a secret, and secrets are never stored.")
                .hint("Describe its form with a regular expression instead."));
        }
        (censor.triggers, censor.false_positives) = (0, 0);
        require_text(MemoryKind::Censor, "a pattern", pattern)?;
        require_text(MemoryKind::Censor, "a reason", &censor.reason)?;
        compile(&censor.pattern).map(drop)
    }

    fn sanitize_line(&mut self, what: &str, text: &mut String, chars_max: usize) -> Result<(), Refusal> {
        check_length(what, text, chars_max)?;
        let folded = strip_invisible(text).collect::<String>();
        self.store_masked(text, &fold_whitespace(&folded));
        Ok(())
    }

    fn sanitize_block(&mut self, what: &str, text: &mut String) -> Result<(), Refusal> {
        check_length(what, text, BLOCK_CHARS_MAX)?;
        let folded = strip_invisible(text).collect::<String>();
        let lines = folded.lines().map(fold_whitespace);
        self.store_masked(text, lines.collect::<Vec<_>>().join("\n").trim());
        Ok(())
    }

    fn store_masked(&mut self, text: &mut String, tidy: &str) {
        let (safe, masked) = mask(tidy);
        self.masked += masked;
        self.bytes += safe.len();
        *text = safe;
    }

    fn sanitize_list(&mut self, what: &str, entries: &mut Vec<String>, chars_max: usize) -> Result<(), Refusal> {
        check_count(what, entries.len(), LIST_MAX)?;
        for entry in entries.iter_mut() {
            self.sanitize_line(&format!("one of the {what}"), entry, chars_max)?;
        }
        entries.retain(|entry| !entry.is_empty());
        Ok(())
    }

    fn sanitize_tags(&mut self, tags: &mut Vec<String>) -> Result<(), Refusal> {
        check_count("tags", tags.len(), TAGS_MAX)?;
        let mut slugs: Vec<String> = Vec::new();
        for tag in tags.iter_mut() {
            self.sanitize_line("a tag", tag, NAME_CHARS_MAX)?;
            let slug = folded_words(tag).join("-");
            if !slug.is_empty() && !slugs.contains(&slug) {
                slugs.push(slug);
            }
        }
        *tags = slugs;
        Ok(())
    }
}

/// Unifies line breaks, turns other control characters into spaces, and drops invisible characters.
fn strip_invisible(text: &str) -> impl Iterator<Item = char> + '_ {
    text.chars().filter_map(|c| match c {
        '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}' => Some('\n'),
        '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{61c}' | '\u{2060}'..='\u{2069}' | '\u{feff}' => None,
        '\u{202a}'..='\u{202e}' | '\u{e0000}'..='\u{e007f}' => None,
        c if c.is_control() => Some(' '),
        c => Some(c),
    })
}

fn check_length(what: &str, text: &str, chars_max: usize) -> Result<(), Refusal> {
    // A text never has more characters than bytes.
    let chars = if text.len() <= chars_max { 0 } else { text.trim().chars().count() };
    if chars <= chars_max {
        return Ok(());
    }
    Err(Refusal::new(format!("{} has {chars} characters; at most {chars_max} are kept.", capitalize(what)))
        .hint("Say it shorter, or remember several records."))
}

fn check_count(what: &str, count: usize, max: usize) -> Result<(), Refusal> {
    if count <= max {
        return Ok(());
    }
    Err(Refusal::new(format!("There are {count} {what}; at most {max} are kept."))
        .hint("Keep those that matter most."))
}

fn require_text(kind: MemoryKind, what: &str, text: &str) -> Result<(), Refusal> {
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

fn check_rests_on(ids: &mut Vec<MemoryId>) -> Result<(), Refusal> {
    ids.sort();
    ids.dedup();
    check_count("facts that it rests on", ids.len(), RESTS_ON_MAX)?;
    match ids.iter().find(|id| id.kind() != MemoryKind::Fact) {
        None => Ok(()),
        Some(id) => Err(Refusal::new(format!("A decision rests on facts, and {id} is a {}.", id.kind()))
            .hint("Ids of facts begin with 'f'.")),
    }
}

fn check_validity(from: Option<Stamp>, until: Option<Stamp>) -> Result<(), Refusal> {
    for stamp in [from, until].into_iter().flatten() {
        if !(TIME_RANGE_MS.0..TIME_RANGE_MS.1).contains(&stamp.0) {
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

fn capitalize(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::remember::tests::{by, censor, decision, episode, fact, procedure};
    use super::*;
    use crate::memory::{Author, CensorAction, Outcome, Reason, ReasonKind, Trust};

    #[track_caller]
    fn refused(draft: MemoryDraft, error: &str) {
        let refusal = validate_draft(draft).unwrap_err();
        assert!(refusal.error.contains(error), "{refusal:?}");
        assert!(refusal.hint.is_some(), "{refusal:?}");
    }

    /// Bad input: a 1 MB fact.
    #[test]
    fn a_megabyte_is_refused_with_the_numbers() {
        refused(fact("x", &"a".repeat(1 << 20)), "The content has 1048576 characters; at most 2000 are kept.");
        assert!(validate_draft(fact("x", &"ä".repeat(TEXT_CHARS_MAX))).is_ok());
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
        refused(censor(" ", CensorAction::Steer, Author::Person), "A censor needs a pattern.");
    }

    #[test]
    fn lists_have_a_length() {
        let many = vec!["step"; LIST_MAX + 1];
        refused(procedure("Deploy", &many), "There are 33 steps; at most 32");
        refused(MemoryDraft { tags: vec!["a".into(); TAGS_MAX + 1], ..fact("x", "y") }, "17 tags; at most 16");
        let tags = ["Big Data", "big-data", "../x", "!"].map(str::to_owned).to_vec();
        assert_eq!(validate_draft(MemoryDraft { tags, ..fact("x", "y") }).unwrap().0.tags, ["big-data", "x"]);
    }

    /// Bad input: wrong dates.
    #[test]
    fn times_are_in_order_and_in_reach() {
        let held = |from: i64, until: i64| MemoryDraft {
            valid_from: Some(Stamp(from)),
            valid_until: Some(Stamp(until)),
            ..fact("x", "y")
        };
        assert!(validate_draft(held(5, 5)).is_ok());
        refused(held(6, 5), "cease to hold before");
        refused(held(TIME_RANGE_MS.0 - 1, 5), "from 1900 to 2200");
        refused(held(5, TIME_RANGE_MS.1), "from 1900 to 2200");
        refused(held(i64::MIN, i64::MAX), "from 1900 to 2200");
        assert_eq!(
            (Stamp(TIME_RANGE_MS.0).date(), Stamp(TIME_RANGE_MS.1).date()),
            ("1900-01-01".into(), "2200-01-01".into())
        );
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
        let Body::Decision(decision) = validate_draft(on(&["f2", "f1", "f2"])).unwrap().0.body else {
            panic!("another kind")
        };
        assert_eq!(decision.rests_on.len(), 2);
    }

    /// Bad input: cyclic supersession. The author cannot say what supersedes a fact.
    #[test]
    fn what_is_counted_or_decided_is_not_the_writers_to_give() {
        let mut draft = fact("x", "y");
        if let Body::Fact(fact) = &mut draft.body {
            (fact.confirmations, fact.last_confirmed) = (99, Some(Stamp(1)));
        }
        assert_eq!(validate_draft(draft.clone()).unwrap().0.body, validate_draft(fact("x", "y")).unwrap().0.body);
        if let Body::Fact(fact) = &mut draft.body {
            fact.superseded_by = "f1".parse().ok();
        }
        refused(draft, "cannot be superseded by f1");
        let mut forged = by(Author::Tool, fact("x", "y"));
        forged.provenance.trust = Trust::High;
        assert_eq!(validate_draft(forged).unwrap().0.provenance.trust, Trust::Low);
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
        let (draft, masked) = validate_draft(draft).unwrap();
        assert_eq!((masked, draft.domain.as_deref()), (4, Some("storage")));
        let Body::Decision(decision) = draft.body else { panic!("another kind") };
        assert_eq!(decision.description, "Use [masked: github token] now");
        assert_eq!(decision.context, "one\n\ntwo [masked: github token]");
        assert_eq!(
            (decision.reasons[0].text.as_str(), decision.alternatives.len()),
            ("[masked: github token]", 1)
        );
        let mut rule = censor("x", CensorAction::Steer, Author::Person);
        if let Body::Censor(censor) = &mut rule.body {
            censor.pattern = CensorPattern::Regex("ghp_[A-Za-z0-9]{36}|password=\\S+".into());
        }
        assert_eq!(validate_draft(rule.clone()).unwrap().0.body, rule.body, "a form is no secret");
        if let Body::Censor(censor) = &mut rule.body {
            censor.pattern = CensorPattern::Words(key);
        }
        refused(rule, "holds a secret");
    }

    proptest::proptest! {
        #[test]
        fn what_is_admitted_is_admitted_again_as_it_is(content in "\\PC{0,60}|[\\s\\x00-\\x20a-z=:]{0,60}") {
            if let Ok((draft, _)) = validate_draft(fact("x", &content)) {
                proptest::prop_assert_eq!(validate_draft(draft.clone()), Ok((draft, 0)));
            }
        }
    }
}
