//! Renders a record for the context at two lengths (003, Memory Record Sizes).
//!
//! All kinds share one form, a whole line: `- ID TEXT [STATE] — MORE (PROVENANCE, DATE)`. A procedure's summary is
//! a block under `## Procedure: NAME (ID, PROVENANCE, DATE)`. Stored text is sanitized ([`sanitize_inline`]), so
//! that only we can write the id, the state in square brackets and the provenance at the end.

use super::{
    Body, Censor, CensorAction, CensorPattern, Decision, Episode, Fact, Memory, MemoryId, Procedure, Reason,
    ReasonKind, RenderedMemory, Status,
};
use crate::base::ids::Stamp;
use crate::base::refusal::Refusal;
use crate::base::tokens::{TokenCounter, Tokens};
use crate::text::reference::folded_words;
use crate::text::sanitize::{sanitize_inline, sanitize_leading, sanitize_quoted, sanitize_required};

/// Limit of the one-line form; most need half.
pub const MICRO_TOKENS_MAX: Tokens = Tokens(40);
pub const SUMMARY_TOKENS_MAX: Tokens = Tokens(128);
/// A summary at or above this gets no further parts.
const SUMMARY_TOKENS_TARGET: Tokens = Tokens(100);
/// Limit of one pattern of a procedure, with its bullet.
const PATTERN_TOKENS_MAX: Tokens = Tokens(24);
const PATTERNS_MAX: usize = 6;
const REASONS_MAX: usize = 3;
const IDS_MAX: usize = 3;
/// A longer provenance is reduced to the author.
const PROVENANCE_TOKENS_MAX: Tokens = Tokens(14);
/// Facts below this confidence show it.
const CONFIDENT_THOUSANDTHS: u64 = 700;
/// Longer texts are cut before their tokens are counted.
const TEXT_BYTES_MAX: usize = 4_096;

impl RenderedMemory {
    pub fn render(counter: &dyn TokenCounter, memory: &Memory) -> RenderedMemory {
        let template = LineTemplate::new(counter, memory);
        let (micro, summary) = match &memory.body {
            Body::Decision(decision) => template.render_decision(decision),
            Body::Fact(fact) => template.render_fact(fact),
            Body::Procedure(procedure) => template.render_procedure(procedure),
            Body::Episode(episode) => template.render_episode(episode),
            Body::Censor(censor) => template.render_censor(censor),
        };
        RenderedMemory::counted(counter, micro, summary)
    }

    /// Puts a model's wording into the same template, under the same limits.
    ///
    /// Decisions and episodes take both lengths, procedures only the line; facts and censors keep their words.
    pub fn from_model_text(
        counter: &dyn TokenCounter,
        memory: &Memory,
        micro: &str,
        summary: &str,
    ) -> Result<RenderedMemory, Refusal> {
        let template = LineTemplate::new(counter, memory);
        let rendered = RenderedMemory::render(counter, memory);
        match &memory.body {
            Body::Decision(_) | Body::Episode(_) => {
                let micro = template.model_line(micro, MICRO_TOKENS_MAX)?;
                Ok(RenderedMemory::counted(counter, micro, template.model_line(summary, SUMMARY_TOKENS_MAX)?))
            }
            Body::Procedure(_) => Ok(RenderedMemory::counted(
                counter,
                template.model_line(micro, MICRO_TOKENS_MAX)?,
                rendered.summary,
            )),
            Body::Fact(_) | Body::Censor(_) => Ok(rendered),
        }
    }

    fn counted(counter: &dyn TokenCounter, micro: String, summary: String) -> RenderedMemory {
        let (micro_tokens, summary_tokens) = (counter.count(&micro), counter.count(&summary));
        RenderedMemory { micro, micro_tokens, summary, summary_tokens }
    }
}

/// The parts of a record's lines that stored text cannot forge.
struct LineTemplate<'a> {
    counter: &'a dyn TokenCounter,
    id: MemoryId,
    /// e.g. `[success, 0.85]`; may be empty.
    state: String,
    /// In brackets: author and date.
    author: String,
    /// In brackets: author, session and turn if short enough, and date.
    provenance: String,
}

impl<'a> LineTemplate<'a> {
    fn new(counter: &'a dyn TokenCounter, memory: &Memory) -> Self {
        let mut author = memory.provenance.author.as_str().to_owned();
        let mut provenance = memory.provenance.label();
        if counter.count(&provenance) > PROVENANCE_TOKENS_MAX {
            provenance.clone_from(&author);
        }
        if memory.provenance.trust < memory.provenance.author.trust() {
            provenance.push_str(", less trusted");
        }
        if memory.created > Stamp(0) {
            let written = format!(", {}", memory.created.date());
            author.push_str(&written);
            provenance.push_str(&written);
        }
        Self { counter, id: memory.id, state: state_text(memory), author, provenance }
    }

    fn render_decision(&self, decision: &Decision) -> (String, String) {
        let description = sanitize_required(&decision.description);
        let micro = self.render_line(MICRO_TOKENS_MAX, &description, "");
        let mut reasons: Vec<&Reason> = decision.reasons.iter().collect();
        reasons.sort_by_key(|reason| reason_rank(reason.kind));
        let mut quotes = reasons.into_iter().take(REASONS_MAX).map(|reason| sanitize_quoted(&reason.text));
        let quote = |text: String| (!text.is_empty()).then_some(SummaryPart { before: "\"", text, after: "\"" });
        let strongest = quotes.next().and_then(quote);
        let notes = Some(sanitize_inline(&decision.outcome_notes)).filter(|notes| !notes.is_empty());
        let notes = notes.map(|text| SummaryPart { before: "Outcome: ", text, after: "" });
        let parts = strongest.into_iter().chain(notes).chain(quotes.filter_map(quote)).collect();
        (micro, self.render_summary(&description, parts))
    }

    fn render_fact(&self, fact: &Fact) -> (String, String) {
        let (subject, content) = (sanitize_inline(&fact.subject), sanitize_required(&fact.content));
        let content_words = folded_words(&content);
        let named = folded_words(&subject).iter().all(|word| content_words.contains(word));
        let text = if named { content } else { format!("{subject}: {content}") };
        (self.render_line(MICRO_TOKENS_MAX, &text, ""), self.render_line(SUMMARY_TOKENS_MAX, &text, ""))
    }

    fn render_procedure(&self, procedure: &Procedure) -> (String, String) {
        let name = sanitize_required(&procedure.name);
        let sanitize_all = |texts: &[String]| -> Vec<String> {
            texts.iter().map(|text| sanitize_inline(text)).filter(|text| !text.is_empty()).collect()
        };
        let (steps, patterns) = (sanitize_all(&procedure.steps), sanitize_all(&procedure.core_patterns));
        let text = if steps.is_empty() { patterns.join("; ") } else { steps.join(" → ") };
        let micro = self.render_line(MICRO_TOKENS_MAX, &format!("{name}: {text}"), "");
        let (title, items) = if patterns.is_empty() { ("Steps", steps) } else { ("Core patterns", patterns) };
        let state = if self.state.is_empty() { String::new() } else { format!(" {}", self.state) };
        let heading = |name: &str| format!("## Procedure: {name}{state} ({}, {})\n", self.id, self.provenance);
        let mut block = self.fit_tokens(MICRO_TOKENS_MAX, &name, heading, || {
            format!("## Procedure: … ({}, {})\n", self.id, self.author)
        });
        block.push_str(title);
        block.push_str(":\n");
        for item in items.iter().take(PATTERNS_MAX) {
            let line = self.fit_tokens(
                PATTERN_TOKENS_MAX,
                &sanitize_leading(item),
                |text| format!("- {text}\n"),
                || "- …\n".into(),
            );
            if self.counter.count(&block) + self.counter.count(&line) > SUMMARY_TOKENS_MAX {
                break;
            }
            block.push_str(&line);
        }
        (micro, block)
    }

    fn render_episode(&self, episode: &Episode) -> (String, String) {
        let participants: Vec<String> =
            episode.participants.iter().take(IDS_MAX).map(|name| sanitize_name(name)).collect();
        let duration = episode.minutes.map(format_minutes);
        let with = (!participants.is_empty()).then(|| format!("with {}", participants.join(" and ")));
        let about: Vec<String> = duration.into_iter().chain(with).collect();
        let about = if about.is_empty() { String::new() } else { format!(" ({})", about.join(", ")) };
        let outcome = sanitize_inline(&episode.outcome);
        let outcome_text = if outcome.is_empty() { String::new() } else { format!(" — {outcome}") };
        let summary = sanitize_required(&episode.summary);
        let micro = self.render_line(MICRO_TOKENS_MAX, &format!("{summary}{about}{outcome_text}"), "");
        let mut parts: Vec<SummaryPart> = Vec::new();
        parts.extend((!outcome.is_empty()).then_some(SummaryPart { before: "", text: outcome, after: "" }));
        let lessons =
            episode.lessons.iter().map(|lesson| sanitize_inline(lesson)).filter(|lesson| !lesson.is_empty());
        parts.extend(lessons.map(|text| SummaryPart { before: "learnt: ", text, after: "" }));
        (micro, self.render_summary(&format!("{summary}{about}"), parts))
    }

    fn render_censor(&self, censor: &Censor) -> (String, String) {
        let verdict = match censor.action {
            CensorAction::Steer => "**WARN:**",
            CensorAction::Refuse => "**REFUSE:**",
            CensorAction::Abort => "**BLOCK:**",
        };
        let (CensorPattern::Words(pattern) | CensorPattern::Regex(pattern) | CensorPattern::Like(pattern)) =
            &censor.pattern;
        let text = format!("{} — {}", sanitize_required(pattern), sanitize_required(&censor.reason));
        let verdict = format!("{verdict} ");
        (
            self.render_line(MICRO_TOKENS_MAX, &text, &verdict),
            self.render_line(SUMMARY_TOKENS_MAX, &text, &verdict),
        )
    }
}

struct SummaryPart {
    before: &'static str,
    text: String,
    after: &'static str,
}

impl LineTemplate<'_> {
    /// `- ID LEAD TEXT STATE (PROVENANCE)`, with the text cut to fit.
    fn render_line(&self, max: Tokens, text: &str, lead: &str) -> String {
        let state = if self.state.is_empty() { String::new() } else { format!(" {}", self.state) };
        let provenance = if max <= MICRO_TOKENS_MAX { &self.author } else { &self.provenance };
        let line = |text: &str| format!("- {} {lead}{text}{state} ({provenance})\n", self.id);
        let bare = |state: &str| format!("- {} …{state} ({})\n", self.id, self.author);
        self.fit_tokens(max, text, line, || {
            // The state outranks the text; a state that is too long itself is dropped.
            Some(bare(&state)).filter(|line| self.counter.count(line) <= max).unwrap_or_else(|| bare(""))
        })
    }

    /// A line with parts after its state: whole while they fit, the last one cut.
    fn render_summary(&self, text: &str, parts: Vec<SummaryPart>) -> String {
        let tail = format!("({})\n", self.provenance);
        let mut line = self.render_line(SUMMARY_TOKENS_MAX, text, "");
        let mut sign = " — ";
        for SummaryPart { before, text, after } in parts {
            let Some(head) = line.strip_suffix(&tail) else { break };
            let head = head.trim_end().to_owned();
            if self.counter.count(&line) >= SUMMARY_TOKENS_TARGET {
                break;
            }
            let more = |text: &str| format!("{head}{sign}{before}{text}{after} {tail}");
            line = self.fit_tokens(SUMMARY_TOKENS_MAX, &text, more, || line.clone());
            sign = "; ";
        }
        line
    }

    /// A model's text in our line; refused if empty or too long.
    fn model_line(&self, text: &str, max: Tokens) -> Result<String, Refusal> {
        let sanitized = sanitize_inline(text);
        if sanitized.is_empty() {
            return Err(Refusal::new(format!("The wording of {} is empty.", self.id)));
        }
        let line = self.render_line(max, &sanitized, "");
        if line.contains(&sanitized) {
            return Ok(line);
        }
        Err(Refusal::new(format!("The wording of {} is too long: {max} tokens are the most.", self.id)))
    }

    /// A line of at most `max` tokens: with the whole text, with the text cut at a word, or `bare`.
    fn fit_tokens(
        &self,
        max: Tokens,
        text: &str,
        line: impl Fn(&str) -> String,
        bare: impl Fn() -> String,
    ) -> String {
        let short = &text[..text.floor_char_boundary(TEXT_BYTES_MAX)];
        if short.len() == text.len() {
            let whole = line(text);
            if self.counter.count(&whole) <= max {
                return whole;
            }
        }
        let fits = |part: &str| self.counter.count(&line(&format!("{part}…"))) <= max;
        let cut = |bytes: usize| &short[..short.floor_char_boundary(bytes)];
        let (mut least, mut most) = (0, short.len());
        while least < most {
            let middle = (least + most).div_ceil(2);
            (least, most) = if fits(cut(middle)) { (middle, most) } else { (least, middle - 1) };
        }
        let part = cut_at_word(short, cut(least));
        if !part.is_empty() && fits(part) {
            return line(&format!("{part}…"));
        }
        bare()
    }
}

/// Cuts at the last whole word, if that is not far back.
fn cut_at_word<'a>(text: &str, part: &'a str) -> &'a str {
    let ends_word = text[part.len()..].chars().next().is_none_or(|c| c == ' ');
    let part = match part.rfind(' ') {
        Some(at) if !ends_word && at >= part.len() / 2 => &part[..at],
        Some(_) | None => part,
    };
    part.trim_end_matches([' ', ',', ';', ':', '—', '·', '-', '→', '(', '"', '…'])
}

/// The record's state in square brackets, or empty.
fn state_text(memory: &Memory) -> String {
    let mut parts: Vec<String> = Vec::new();
    match &memory.body {
        Body::Decision(decision) => {
            parts.push(format!("{}, {}", decision.outcome.as_str(), decision.confidence));
        }
        Body::Fact(fact) => {
            match (memory.status, fact.superseded_by) {
                (Status::Superseded, Some(by)) => parts.push(format!("superseded by {by}")),
                (Status::Superseded, None) => parts.push("superseded".to_owned()),
                (Status::Inactive, _) => parts.push("proved wrong".to_owned()),
                (_, _) => {}
            }
            if fact.confidence.thousandths() < CONFIDENT_THOUSANDTHS {
                parts.push(format!("confidence {}", fact.confidence));
            }
        }
        Body::Procedure(procedure) => {
            if memory.status == Status::Ineffective {
                let all = u64::from(procedure.successes) + u64::from(procedure.failures);
                parts.push(format!("worked {} times of {all}", procedure.successes));
            }
        }
        Body::Episode(_) | Body::Censor(_) => {}
    }
    if memory.status == Status::Retired {
        parts.push("out of use".to_owned());
    }
    parts.extend(
        memory.valid_from.filter(|from| *from > memory.created).map(|from| format!("from {}", from.date())),
    );
    parts.extend(memory.valid_until.map(|until| format!("until {}", until.date())));
    // An outdated record contests nothing.
    if !memory.contested_with.is_empty() && memory.status.is_current() {
        parts.push(format!("contested by {}", join_ids(&memory.contested_with)));
    }
    if !memory.shaken_by.is_empty() {
        parts.push(format!("rests on {}, superseded", join_ids(&memory.shaken_by)));
    }
    if parts.is_empty() { String::new() } else { format!("[{}]", parts.join("; ")) }
}

fn join_ids(all: &[MemoryId]) -> String {
    let named: Vec<String> = all.iter().take(IDS_MAX).map(MemoryId::to_string).collect();
    let more = all.len().saturating_sub(IDS_MAX);
    if more == 0 { named.join(" and ") } else { format!("{} and {more} more", named.join(", ")) }
}

/// Strongest first: observations and constraints before analysis and preference.
fn reason_rank(kind: ReasonKind) -> u8 {
    match kind {
        ReasonKind::Evidence => 0,
        ReasonKind::Constraint => 1,
        ReasonKind::Experience => 2,
        ReasonKind::Analysis => 3,
        ReasonKind::Authority => 4,
        ReasonKind::Preference => 5,
    }
}

/// `45 min`, `2h`, `2h 30 min`.
fn format_minutes(minutes: u32) -> String {
    match (minutes / 60, minutes % 60) {
        (0, minutes) => format!("{minutes} min"),
        (hours, 0) => format!("{hours}h"),
        (hours, minutes) => format!("{hours}h {minutes} min"),
    }
}

/// A name for use inside our round brackets.
fn sanitize_name(name: &str) -> String {
    sanitize_inline(name).replace(['(', ')', ',', ';'], "").chars().take(40).collect()
}

#[cfg(test)]
#[path = "lines_tests.rs"]
mod tests;
