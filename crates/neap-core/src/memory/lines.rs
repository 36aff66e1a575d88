//! How a record stands in a context, at two lengths, by template (003, Memory Record Sizes).
//!
//! One form for all kinds: `- ID TEXT [STATE] — MORE (PROVENANCE, DATE)`, a whole line. A procedure's summary is a block
//! instead, whose heading names it: `## Procedure: NAME (ID, PROVENANCE, DATE)`. What is stored stands in it tamed (see
//! [`tame`](super::tame)): the id at the beginning, the state in square brackets and the provenance at the end are ours.

use super::tame::{said, tame, tame_first, tame_quoted};
use super::{
    Action, Body, Censor, Decision, Episode, Fact, Lines, Memory, MemoryId, Pattern, Procedure, Reason,
    ReasonKind, Status,
};
use crate::ids::Stamp;
use crate::reference::words;
use crate::tokens::{TokenCounter, Tokens};
use crate::tools::Refusal;

/// One line costs at most this; most cost half.
pub const MICRO_TOKENS_MAX: Tokens = Tokens(40);
/// A summary costs at most this.
pub const SUMMARY_TOKENS_MAX: Tokens = Tokens(128);
/// More is added to a summary only below this.
const SUMMARY_TOKENS: Tokens = Tokens(100);
/// One pattern of a procedure, with its mark.
const PATTERN_TOKENS_MAX: Tokens = Tokens(24);
/// The core band of a procedure.
const PATTERNS_MAX: usize = 6;
/// Reasons that a summary quotes.
const REASONS_MAX: usize = 3;
/// Ids that a state names.
const IDS_MAX: usize = 3;
/// Where a record comes from costs at most this; else only its author is named.
const PROVENANCE_TOKENS_MAX: Tokens = Tokens(14);
/// Facts that one is less sure of say so.
const SURE: u64 = 700;
/// No line needs more of a text than this.
const TEXT_BYTES_MAX: usize = 4_096;

impl Lines {
    /// By template.
    pub fn of(counter: &dyn TokenCounter, memory: &Memory) -> Lines {
        let frame = Frame::of(counter, memory);
        let (micro, summary) = match &memory.body {
            Body::Decision(decision) => frame.decision(decision),
            Body::Fact(fact) => frame.fact(fact),
            Body::Procedure(procedure) => frame.procedure(procedure),
            Body::Episode(episode) => frame.episode(episode),
            Body::Censor(censor) => frame.censor(censor),
        };
        Lines::counted(counter, micro, summary)
    }

    /// In a model's words, put into the same frame: id, state and provenance stay ours, and so do the caps.
    ///
    /// Only what a model can say better is taken from it: both lengths of a decision or an episode, the one line of
    /// a procedure. A fact and a censor are their own words.
    pub fn worded(
        counter: &dyn TokenCounter,
        memory: &Memory,
        micro: &str,
        summary: &str,
    ) -> Result<Lines, Refusal> {
        let frame = Frame::of(counter, memory);
        let template = Lines::of(counter, memory);
        match &memory.body {
            Body::Decision(_) | Body::Episode(_) => {
                let micro = frame.worded(micro, MICRO_TOKENS_MAX)?;
                Ok(Lines::counted(counter, micro, frame.worded(summary, SUMMARY_TOKENS_MAX)?))
            }
            Body::Procedure(_) => {
                Ok(Lines::counted(counter, frame.worded(micro, MICRO_TOKENS_MAX)?, template.summary))
            }
            Body::Fact(_) | Body::Censor(_) => Ok(template),
        }
    }

    fn counted(counter: &dyn TokenCounter, micro: String, summary: String) -> Lines {
        let (micro_tokens, summary_tokens) = (counter.count(&micro), counter.count(&summary));
        Lines { micro, micro_tokens, summary, summary_tokens }
    }
}

/// What is ours in a record's lines.
struct Frame<'a> {
    counter: &'a dyn TokenCounter,
    id: MemoryId,
    /// `[success, 0.85] ` without the space; or nothing.
    state: String,
    /// Within brackets: who wrote it, and on which day.
    author: String,
    /// Within brackets, with session and turn if there is room.
    provenance: String,
}

impl<'a> Frame<'a> {
    fn of(counter: &'a dyn TokenCounter, memory: &Memory) -> Self {
        let mut author = memory.provenance.author.as_str().to_owned();
        let mut provenance = memory.provenance.short();
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
        Self { counter, id: memory.id, state: state(memory), author, provenance }
    }

    fn decision(&self, decision: &Decision) -> (String, String) {
        let said = said(&decision.description);
        let micro = self.line(MICRO_TOKENS_MAX, &said, "");
        let mut reasons: Vec<&Reason> = decision.reasons.iter().collect();
        reasons.sort_by_key(|reason| strength(reason.kind));
        let mut quotes = reasons.into_iter().take(REASONS_MAX).map(|reason| tame_quoted(&reason.text));
        let quote = |text: String| (!text.is_empty()).then_some(Part { before: "\"", text, after: "\"" });
        let strongest = quotes.next().and_then(quote);
        let notes = Some(tame(&decision.outcome_notes)).filter(|notes| !notes.is_empty());
        let notes = notes.map(|text| Part { before: "Outcome: ", text, after: "" });
        let parts = strongest.into_iter().chain(notes).chain(quotes.filter_map(quote)).collect();
        (micro, self.summary(&said, parts))
    }

    fn fact(&self, fact: &Fact) -> (String, String) {
        let (subject, content) = (tame(&fact.subject), said(&fact.content));
        let told = words(&content);
        let named = words(&subject).iter().all(|word| told.contains(word));
        let text = if named { content } else { format!("{subject}: {content}") };
        (self.line(MICRO_TOKENS_MAX, &text, ""), self.line(SUMMARY_TOKENS_MAX, &text, ""))
    }

    fn procedure(&self, procedure: &Procedure) -> (String, String) {
        let name = said(&procedure.name);
        let tamed = |texts: &[String]| -> Vec<String> {
            texts.iter().map(|text| tame(text)).filter(|text| !text.is_empty()).collect()
        };
        let (steps, patterns) = (tamed(&procedure.steps), tamed(&procedure.core_patterns));
        let way = if steps.is_empty() { patterns.join("; ") } else { steps.join(" → ") };
        let micro = self.line(MICRO_TOKENS_MAX, &format!("{name}: {way}"), "");
        let (title, items) = if patterns.is_empty() { ("Steps", steps) } else { ("Core patterns", patterns) };
        let state = if self.state.is_empty() { String::new() } else { format!(" {}", self.state) };
        let heading = |name: &str| format!("## Procedure: {name}{state} ({}, {})\n", self.id, self.provenance);
        let mut block = self
            .fit(MICRO_TOKENS_MAX, &name, heading, || format!("## Procedure: … ({}, {})\n", self.id, self.author));
        block.push_str(title);
        block.push_str(":\n");
        for item in items.iter().take(PATTERNS_MAX) {
            let line =
                self.fit(PATTERN_TOKENS_MAX, &tame_first(item), |text| format!("- {text}\n"), || "- …\n".into());
            if self.counter.count(&block) + self.counter.count(&line) > SUMMARY_TOKENS_MAX {
                break;
            }
            block.push_str(&line);
        }
        (micro, block)
    }

    fn episode(&self, episode: &Episode) -> (String, String) {
        let who: Vec<String> = episode.participants.iter().take(IDS_MAX).map(|name| name_of(name)).collect();
        let took = episode.minutes.map(took);
        let with = (!who.is_empty()).then(|| format!("with {}", who.join(" and ")));
        let about: Vec<String> = took.into_iter().chain(with).collect();
        let about = if about.is_empty() { String::new() } else { format!(" ({})", about.join(", ")) };
        let outcome = tame(&episode.outcome);
        let came = if outcome.is_empty() { String::new() } else { format!(" — {outcome}") };
        let said = said(&episode.summary);
        let micro = self.line(MICRO_TOKENS_MAX, &format!("{said}{about}{came}"), "");
        let mut parts: Vec<Part> = Vec::new();
        parts.extend((!outcome.is_empty()).then_some(Part { before: "", text: outcome, after: "" }));
        let lessons = episode.lessons.iter().map(|lesson| tame(lesson)).filter(|lesson| !lesson.is_empty());
        parts.extend(lessons.map(|text| Part { before: "learnt: ", text, after: "" }));
        (micro, self.summary(&format!("{said}{about}"), parts))
    }

    fn censor(&self, censor: &Censor) -> (String, String) {
        let verdict = match censor.action {
            Action::Steer => "**WARN:**",
            Action::Refuse => "**REFUSE:**",
            Action::Abort => "**BLOCK:**",
        };
        let (Pattern::Words(of) | Pattern::Regex(of) | Pattern::Like(of)) = &censor.pattern;
        let text = format!("{} — {}", said(of), said(&censor.reason));
        let verdict = format!("{verdict} ");
        (self.line(MICRO_TOKENS_MAX, &text, &verdict), self.line(SUMMARY_TOKENS_MAX, &text, &verdict))
    }
}

/// Something added to a summary.
struct Part {
    before: &'static str,
    text: String,
    after: &'static str,
}

impl Frame<'_> {
    /// A line of ours: `- ID LEAD TEXT STATE (PROVENANCE)`, its text cut to the room.
    fn line(&self, max: Tokens, text: &str, lead: &str) -> String {
        let state = if self.state.is_empty() { String::new() } else { format!(" {}", self.state) };
        let provenance = if max <= MICRO_TOKENS_MAX { &self.author } else { &self.provenance };
        let line = |text: &str| format!("- {} {lead}{text}{state} ({provenance})\n", self.id);
        let bare = |state: &str| format!("- {} …{state} ({})\n", self.id, self.author);
        self.fit(max, text, line, || {
            // A state is more than nothing of the text; one that is too long itself is left out.
            Some(bare(&state)).filter(|line| self.counter.count(line) <= max).unwrap_or_else(|| bare(""))
        })
    }

    /// A line with more behind its state: each part whole while there is room, the last one cut.
    fn summary(&self, text: &str, parts: Vec<Part>) -> String {
        let tail = format!("({})\n", self.provenance);
        let mut line = self.line(SUMMARY_TOKENS_MAX, text, "");
        let mut sign = " — ";
        for Part { before, text, after } in parts {
            let Some(head) = line.strip_suffix(&tail) else { break };
            let head = head.trim_end().to_owned();
            if self.counter.count(&line) >= SUMMARY_TOKENS {
                break;
            }
            let more = |text: &str| format!("{head}{sign}{before}{text}{after} {tail}");
            line = self.fit(SUMMARY_TOKENS_MAX, &text, more, || line.clone());
            sign = "; ";
        }
        line
    }

    /// A model's text in our line, if it is one and short enough.
    fn worded(&self, text: &str, max: Tokens) -> Result<String, Refusal> {
        let tamed = tame(text);
        if tamed.is_empty() {
            return Err(Refusal::new(format!("The wording of {} is empty.", self.id)));
        }
        let line = self.line(max, &tamed, "");
        if line.contains(&tamed) {
            return Ok(line);
        }
        Err(Refusal::new(format!("The wording of {} is too long: {max} tokens are the most.", self.id)))
    }

    /// What a text gives in a line of at most `max` tokens: whole, or cut at a word; `bare` if nothing of it fits.
    fn fit(&self, max: Tokens, text: &str, line: impl Fn(&str) -> String, bare: impl Fn() -> String) -> String {
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
        let part = at_word(short, cut(least));
        if !part.is_empty() && fits(part) {
            return line(&format!("{part}…"));
        }
        bare()
    }
}

/// The part up to its last whole word, if that is not far.
fn at_word<'a>(text: &str, part: &'a str) -> &'a str {
    let ends_word = text[part.len()..].chars().next().is_none_or(|c| c == ' ');
    let part = match part.rfind(' ') {
        Some(at) if !ends_word && at >= part.len() / 2 => &part[..at],
        Some(_) | None => part,
    };
    part.trim_end_matches([' ', ',', ';', ':', '—', '·', '-', '→', '(', '"', '…'])
}

/// What a record's state adds to its text, in square brackets.
fn state(memory: &Memory) -> String {
    let mut said: Vec<String> = Vec::new();
    match &memory.body {
        Body::Decision(decision) => {
            said.push(format!("{}, {}", decision.outcome.as_str(), decision.confidence));
        }
        Body::Fact(fact) => {
            match (memory.status, fact.superseded_by) {
                (Status::Superseded, Some(by)) => said.push(format!("superseded by {by}")),
                (Status::Superseded, None) => said.push("superseded".to_owned()),
                (Status::Inactive, _) => said.push("proved wrong".to_owned()),
                (_, _) => {}
            }
            if fact.confidence.thousandths() < SURE {
                said.push(format!("confidence {}", fact.confidence));
            }
        }
        Body::Procedure(procedure) => {
            if memory.status == Status::Ineffective {
                let all = u64::from(procedure.successes) + u64::from(procedure.failures);
                said.push(format!("worked {} times of {all}", procedure.successes));
            }
        }
        Body::Episode(_) | Body::Censor(_) => {}
    }
    if memory.status == Status::Retired {
        said.push("out of use".to_owned());
    }
    said.extend(
        memory.valid_from.filter(|from| *from > memory.created).map(|from| format!("from {}", from.date())),
    );
    said.extend(memory.valid_until.map(|until| format!("until {}", until.date())));
    // What is out of date contests nothing.
    if !memory.contested_with.is_empty() && memory.status.is_current() {
        said.push(format!("contested by {}", ids(&memory.contested_with)));
    }
    if !memory.shaken_by.is_empty() {
        said.push(format!("rests on {}, superseded", ids(&memory.shaken_by)));
    }
    if said.is_empty() { String::new() } else { format!("[{}]", said.join("; ")) }
}

fn ids(all: &[MemoryId]) -> String {
    let named: Vec<String> = all.iter().take(IDS_MAX).map(MemoryId::to_string).collect();
    let more = all.len().saturating_sub(IDS_MAX);
    if more == 0 { named.join(" and ") } else { format!("{} and {more} more", named.join(", ")) }
}

/// Strongest first: what was seen and what cannot be otherwise, before what is thought and wanted.
fn strength(kind: ReasonKind) -> u8 {
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
fn took(minutes: u32) -> String {
    match (minutes / 60, minutes % 60) {
        (0, minutes) => format!("{minutes} min"),
        (hours, 0) => format!("{hours}h"),
        (hours, minutes) => format!("{hours}h {minutes} min"),
    }
}

/// A name within round brackets of ours.
fn name_of(name: &str) -> String {
    tame(name).replace(['(', ')', ',', ';'], "").chars().take(40).collect()
}

#[cfg(test)]
#[path = "lines_tests.rs"]
mod tests;
